"""Prompts and models that are called, as options name them: loaded, identified, put around evaluators.

The models of tasks in YAML are called in the same way; such tasks say themselves what a model is sent.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

from optimize_eval.base.documents import JsonDict, JsonMapping
from optimize_eval.base.errors import UsageError
from optimize_eval.base.evaluator import EvaluatorSpec, check_how
from optimize_eval.base.frozen import frozen
from optimize_eval.base.names import distinct
from optimize_eval.config.prompts import PromptingOptions
from optimize_eval.config.values import SUFFIX
from optimize_eval.data.candidates import Candidate
from optimize_eval.evaluators.command_kind import name_of_command
from optimize_eval.evaluators.endpoint_kind import name_of_url
from optimize_eval.evaluators.kinds import given_name
from optimize_eval.models.model_kinds import (
    CMD,
    FUNCTION,
    HTTP,
    REPLAY,
    ModelSpec,
    ModelText,
    identify_model,
    parse_model,
    retries_of,
    without_base,
)
from optimize_eval.programs.exchange import split_command
from optimize_eval.programs.identity import Identity, PythonFunction
from optimize_eval.run.host import Say
from optimize_eval.run.inputs import is_utf8, models_of, read_prompts
from optimize_eval.run.plan import Plan
from optimize_eval.run.splits import SplitSource
from optimize_eval.store.folder import OUTPUTS
from optimize_eval.store.run_document import RunDocument
from optimize_eval.tasks.targets import Sample, samples_of, task_of, with_task

if TYPE_CHECKING:
    from optimize_eval.config.model_tables import NamedModel
    from optimize_eval.tasks.prompts import PromptFile


WrittenModel: TypeAlias = "str | NamedModel | PythonFunction"  # the last two from programs that call us


@frozen
class Prompting:
    """Prompts, if the candidates are some, and the models that reply, each with its identity."""

    prompts: "tuple[PromptFile, ...]"
    models: tuple[ModelSpec, ...]
    extract: str = ""
    system: str | None = None
    is_of_tasks: bool = False  # tasks in YAML say what models are sent; other evaluators score no replies

    @property
    def candidates(self) -> tuple[Candidate, ...]:
        return tuple(prompt.candidate for prompt in self.prompts)

    @property
    def identities(self) -> tuple[Identity, ...]:
        return tuple(map(identity_of, self.models))

    def stored(self) -> JsonDict:
        """Give what run.json keeps of where prompts were, for a later command that needs them again."""
        if not self.prompts:
            return {}
        paths = [prompt.path for prompt in self.prompts if is_utf8(prompt.path)]
        system = {"system": self.system} if self.system and is_utf8(self.system) else {}
        return {"prompts": paths, **system}

    def around(self, specs: Iterable[EvaluatorSpec]) -> tuple[EvaluatorSpec, ...]:
        """Let evaluators score what the models reply, in the time of the most patient evaluator."""
        scorers = tuple(specs)
        longest = max(spec.timeout for spec in scorers)
        models = tuple(model.with_how(timeout=longest) for model in self.models)
        return tuple(self._around(spec, models) for spec in scorers)

    def _around(self, spec: EvaluatorSpec, models: tuple[ModelSpec, ...]) -> EvaluatorSpec:
        if samples_of(spec):
            return with_task(spec, models=models)
        return spec if self.is_of_tasks else _of_prompts(spec, models, self.extract)

    def note_twice(self, say: Say) -> None:
        """Point out models that are the same one."""
        for name, other in _same_models(self.models).items():
            say(f"note: {name} is the same model as {other}: its replies count for both")

    def check(self, sources: Iterable[SplitSource], say: Say) -> None:
        """Render all prompts over all examples; raises DataError with all that is wrong."""
        from optimize_eval.tasks.prompts import Where, check_prompts_alone  # noqa: PLC0415  see around

        examples = [Where(source.file, example) for source in sources for example in source.examples]
        for name in check_prompts_alone(self.prompts, examples):
            say(f"note: the prompt {name} names no field: each example is sent the same text")


def _same_models(models: Sequence[ModelSpec]) -> Mapping[str, str]:
    """Find models that are the same one: to compare them is to compare a model with itself."""
    first: dict[str, str] = {}
    names = {model.name: first.setdefault(identity_of(model).sha256, model.name) for model in models}
    return {name: other for name, other in names.items() if name != other}


def load_prompting(
    prompts: Sequence[str | Candidate],
    models: Sequence[WrittenModel],
    options: PromptingOptions,
    how: EvaluatorSpec,
    *,
    api_base: str | None = None,
    tables: "Mapping[str, NamedModel] | None" = None,
) -> Prompting | None:
    """Load what options name; None where no model is. `how` says how programs are called."""
    if not models:
        return None
    from optimize_eval.tasks.of_replies import extraction_of  # noqa: PLC0415

    extraction_of(options.extract or "")
    usual = ModelSpec(
        how=how,
        api_base=api_base or "",
        temperature=options.temperature,
        max_tokens=options.max_tokens,
        keep_thoughts=options.keep_thoughts,
        fails_refusals=options.refusals == "fail",
    )
    specs = model_specs(models, usual, tables=tables)
    return Prompting(
        prompts=read_prompts(prompts, options.system) if prompts else (),
        models=tuple(map(identified, specs)),
        extract=options.extract or "",
        system=options.system,
        is_of_tasks=not prompts,
    )


def model_specs(
    written: Sequence[WrittenModel], usual: ModelSpec, *, tables: "Mapping[str, NamedModel] | None" = None
) -> tuple[ModelSpec, ...]:
    """Make models, each by a name of its own; what is the same for all of them `usual` says.

    A text may be the name of one of `tables`, which are those of a sweep file.
    """
    known = tables or {}
    texts = [text for text in written if isinstance(text, str)]
    if usual.api_base:
        check_one_base(text for text in texts if not text.endswith(SUFFIX) and text not in known)
    models = [model for item in written for model in _models(item, usual, known)]
    names = distinct(model.name for model in models)
    return tuple(replace(model, name=name) for model, name in zip(models, names, strict=True))


def _models(
    written: WrittenModel, usual: ModelSpec, tables: "Mapping[str, NamedModel]"
) -> Iterator[ModelSpec]:
    """Make the model of a text, a table [[model]] or a function, or all of a file of tables."""
    if isinstance(written, PythonFunction):
        text = f"{FUNCTION}{written.name}"
        yield replace(usual, name=written.name, text=text, retries=usual.how.retries or 0, function=written)
    elif isinstance(written, str) and not written.endswith(SUFFIX) and written not in tables:
        yield model_of(written, usual)
    else:
        for model in _tables(written, tables):
            treated = usual.with_how(manners=model.handled(usual.how.manners))
            yield replace(model_of(model.text, replace(treated, table=model.spec)), name=model.name)


def _tables(written: "str | NamedModel", tables: "Mapping[str, NamedModel]") -> "Sequence[NamedModel]":
    if not isinstance(written, str):
        return [written]
    return [tables[written]] if written in tables else _of_file(written)


def model_of(written: str, usual: ModelSpec) -> ModelSpec:
    """Make a model of its text, which may be written NAME=MODEL; raises UsageError where it names none."""
    name, text = _apart(written)
    named = parse_model(text)
    check_how(usual.how)
    retries = retries_of(text) if usual.how.retries is None else usual.how.retries
    return replace(usual, name=name or _name_of(named), text=text, retries=retries)


def check_one_base(models: Iterable[str]) -> None:
    """Refuse one base for models of several providers; those that have their own do not count."""
    from optimize_eval.models.providers import apart, check_one_provider  # noqa: PLC0415  few have a base

    named = [parse_model(_apart(text)[1]) for text in models]
    check_one_provider(model.rest for model in named if not model.kind and not apart(model.rest)[1])


def _apart(model: str) -> tuple[str, str]:
    """Take `NAME=MODEL` apart; the name is empty where there is none."""
    name = given_name(model)
    return ("", model) if name is None else (name, model[len(name) + 1 :])


def _name_of(model: ModelText) -> str:
    """Name a program by its script, outputs by their file, a URL by host and path, others as they are."""
    if model.kind == CMD:
        return name_of_command(split_command(model.rest) or ("",))
    if model.kind == HTTP:
        return name_of_url(model.rest)
    if model.kind == FUNCTION:
        return model.rest
    if model.kind == REPLAY:
        return Path(model.rest).stem
    return model.kind or without_base(model.rest)


def _of_file(path: str) -> "list[NamedModel]":
    from optimize_eval.config.model_tables import load_models  # noqa: PLC0415  it loads an HTTP client

    return load_models(path)


def identified(model: ModelSpec) -> ModelSpec:
    """Digest what a model is, once for all evaluators."""
    return replace(model, known_as=identify_model(model))


def identity_of(model: ModelSpec) -> Identity:
    """Give what a model was digested to be, by the name that it has here."""
    known = model.known_as
    if known is None:
        raise UsageError(f"the model {model.name} is not known", hint="name it with --model")
    return replace(known, name=model.name)


def called_in(
    folder: Path,
    specs: Iterable[EvaluatorSpec],
    sources: Sequence[SplitSource],
    prompting: Prompting | None,
) -> tuple[EvaluatorSpec, ...]:
    """Make evaluators as they are called, where models write their replies into a folder."""
    sampled = with_samples(specs, sources)
    return writing_to(folder, prompting.around(sampled) if prompting else sampled)


def with_samples(specs: Iterable[EvaluatorSpec], sources: Iterable[SplitSource]) -> tuple[EvaluatorSpec, ...]:
    """Hand all samples of each split to the scorers that look at all of them."""
    samples = {one.name: [Sample(example.line, example.raw) for example in one.examples] for one in sources}
    return tuple(_with_samples(spec, samples) for spec in specs)


def _with_samples(spec: EvaluatorSpec, samples: Mapping[str, Sequence[Sample]]) -> EvaluatorSpec:
    target = samples_of(spec)
    if target is None or not target.looks_at_all or target.samples:
        return spec
    return with_task(spec, samples=samples)


def with_outputs(plan: Plan, folder: Path) -> Plan:
    """Say where the models' replies are written down."""
    return replace(plan, specs=writing_to(folder, plan.specs)) if plan.models else plan


def outputs_in(folder: Path) -> str:
    """Say where in a run's folder models write their replies."""
    return str((folder / OUTPUTS).absolute())


def writing_to(folder: Path, specs: Iterable[EvaluatorSpec]) -> tuple[EvaluatorSpec, ...]:
    """Let the models of evaluators write their replies into a folder."""
    path = outputs_in(folder)
    return tuple(_writing_to(path, spec) for spec in specs)


def _writing_to(path: str, spec: EvaluatorSpec) -> EvaluatorSpec:
    task = task_of(spec)
    return replace(spec, target=task.writing_to(path)) if task and task.replying else spec


def of_stored(
    specs: Iterable[EvaluatorSpec], document: RunDocument, folder: Path
) -> tuple[EvaluatorSpec, ...]:
    """Let evaluators score the replies that a run has; its models are not called, and may be gone."""
    models = stored_models(document, folder)
    if not models:
        return tuple(specs)
    return tuple(_of_stored(spec, models, document.settings) for spec in specs)


def _of_prompts(
    spec: EvaluatorSpec, models: tuple[ModelSpec, ...], extract: str, *, is_stored: bool = False
) -> EvaluatorSpec:
    from optimize_eval.evaluators.task_kind import of_prompts  # noqa: PLC0415  most runs send no prompt

    return of_prompts(spec, models, extract=extract, is_stored=is_stored)


def _of_stored(spec: EvaluatorSpec, models: tuple[ModelSpec, ...], settings: JsonMapping) -> EvaluatorSpec:
    """Let one score them: a task in YAML makes its traces of them, others score them as they are."""
    if samples_of(spec):
        return with_task(spec, models=models, is_stored=True)
    return _of_prompts(spec, models, settings.get("extract", ""), is_stored=True)


def stored_models(document: RunDocument, folder: Path) -> tuple[ModelSpec, ...]:
    """Give the models of a run by what they replied; none of them is called, and they may be gone."""
    outputs = outputs_in(folder)
    return tuple(
        ModelSpec(name=known.name, text=known.text, outputs=outputs, known_as=known)
        for known in models_of(document)
    )
