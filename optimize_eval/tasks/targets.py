"""What an evaluator of a task is of, as plain data: which models reply, and who scores what they say.

A task in YAML is a file at first, and what was given to it; a session reads it. Tasks in JSONL, prompts and
tasks in YAML ask models each in a way of its own, and are scored accordingly; whoever only wants to know of
models, evaluators and where replies are need not know which of them it is.

Its identity makes it the same one tomorrow; which models are under test, units say. Of a task in YAML these
are the parts of one scorer as data, whose digest it is. Not the task's file: a scorer that is changed leaves
the others as they are. How an evaluator that scores is identified is handed in.
"""

import hashlib
import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import MISSING, field, fields, is_dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple, Self

from optimize_eval.base.documents import JsonMapping
from optimize_eval.base.evaluator import Compares, EvaluatorSpec, Sighted
from optimize_eval.base.frozen import frozen
from optimize_eval.models.model_kinds import ModelSpec, identify_model, sha256_of
from optimize_eval.programs.identity import Identity

if TYPE_CHECKING:  # a file that is only named is not read
    from optimize_eval.tasks.definition import Scorer, TaskDefinition


SUFFIXES = (".yaml", ".yml")
TASKS = "tasks"  # where the settings of a run have what is kept of tasks
RULES_SINCE = "rules_since"  # of a task there: since when its rules are others than scores were made with
METRICS_SINCE = "metrics_since"  # and its metrics
CODE = "code"  # where they have what the code of tasks ran in
DIALECT = "task_yaml"  # what files of these are called beside those of tasks in JSONL

OWN = "evaluator:"  # before the name of an evaluator of one's own, in the examples dialect
_OWN = re.compile(rf"{OWN}[A-Za-z0-9_.-]{{1,250}}")


def is_own(metric: str) -> bool:
    """Return True if a metric names an evaluator of one's own."""
    return _OWN.fullmatch(metric) is not None


@frozen
class Given:
    """What a task is given from outside: values of its parameters, and what its keys stand for."""

    config: JsonMapping = field(default_factory=dict)
    model_keys: Mapping[str, str] = field(default_factory=dict)
    data: Mapping[str, str] = field(default_factory=dict)
    sandbox: str = ""  # what its code runs in; empty: nothing, with the user's rights
    folder: str = ""  # that was named, all of which the task may read; empty: its file was named
    max_turns: int | None = None  # calls of models for one sample

    @property
    def is_something(self) -> bool:
        return bool(self.config or self.model_keys or self.data or self.max_turns)

    def over(self, other: "Given") -> "Given":
        """Fill in from another what this one does not say."""
        return Given(
            config={**other.config, **self.config},
            model_keys={**other.model_keys, **self.model_keys},
            data={**other.data, **self.data},
            sandbox=self.sandbox or other.sandbox,
            folder=self.folder or other.folder,
            max_turns=other.max_turns if self.max_turns is None else self.max_turns,
        )


NOTHING_GIVEN = Given()


@frozen
class WrittenTask:
    """A task as it was named; a session reads it and makes an evaluator of each scorer."""

    kind: ClassVar[str] = "definition"
    path: str
    given: Given = NOTHING_GIVEN


@frozen
class TaskTarget:
    """What all of them have."""

    kind: ClassVar[str] = "task"
    models: "tuple[ModelSpec, ...]" = ()  # under test, of which a payload's task model names one
    is_stored: bool = False  # replies are read where they were written down, and no model is called

    @property
    def replying(self) -> "tuple[ModelSpec, ...]":
        """Give all models that reply."""
        return self.models

    @property
    def called(self) -> "tuple[ModelSpec, ...]":
        """Give those that are called."""
        return () if self.is_stored else self.models

    @property
    def evaluators(self) -> tuple[EvaluatorSpec, ...]:
        """Give the evaluators that score."""
        return ()

    @property
    def of_all(self) -> tuple[EvaluatorSpec, ...]:
        """Give those among them that score whatever the task says of its own."""
        return ()

    @property
    def compares_with_baseline(self) -> bool:
        """Return True if a judge that scores compares each reply with the baseline's."""
        targets: Iterable[object] = (spec.target for spec in self.of_all)
        return any(isinstance(target, Compares) and target.compares_with_baseline for target in targets)

    def writing_to(self, path: str) -> Self:
        """Let models write their replies down."""
        return replace(self, models=_writing_to(path, self.models))


@frozen
class RecordTask(TaskTarget):
    """Tasks in JSONL: a record says what a model is sent, and which metric scores.

    Without models a payload's task model is the text of one.
    """

    metrics: tuple[EvaluatorSpec, ...] = ()  # by their names, which are the metrics' ids
    scorer: EvaluatorSpec | None = None  # who scores whatever a task's metric is; None: the metrics do
    loaded: Mapping[tuple[int | None, bytes], object] = field(
        default_factory=dict, compare=False, repr=False
    )  # tasks by line and record, where their file was read already
    tells_thoughts: bool = False  # as side info of each score; otherwise they are with the outputs alone
    batch_size: int | None = None  # prompts in one call at most; None: as the program declares

    @property
    def evaluators(self) -> tuple[EvaluatorSpec, ...]:
        return self.of_all or self.metrics

    @property
    def of_all(self) -> tuple[EvaluatorSpec, ...]:
        return (self.scorer,) if self.scorer else ()


@frozen
class PromptTask(TaskTarget):
    """Candidates are prompts; who scores sees the reply, not the prompt."""

    scorer: EvaluatorSpec
    extract: str = ""  # what of a reply is scored; empty: all

    @property
    def evaluators(self) -> tuple[EvaluatorSpec, ...]:
        return (self.scorer,)

    @property
    def of_all(self) -> tuple[EvaluatorSpec, ...]:
        return (self.scorer,)

    @property
    def _sighted(self) -> Sighted | None:
        target: object = self.scorer.target
        return target if isinstance(target, Sighted) else None

    @property
    def shows(self) -> tuple[str, ...]:
        """What a judge that scores is shown of an example, as the other fields of the example here."""
        return self._sighted.shows if self._sighted else ()

    @property
    def hides(self) -> tuple[str, ...]:
        return self._sighted.hides if self._sighted else ()

    @property
    def human(self) -> tuple[str, ...]:
        return self._sighted.human if self._sighted else ()

    @property
    def rival_fields(self) -> tuple[str, ...]:
        return self._sighted.rival_fields if self._sighted else ()

    @property
    def objective_fields(self) -> tuple[str, ...]:
        return self._sighted.objective_fields if self._sighted else ()

    def hiding(self, fields: Collection[str], *, models: bool = False) -> Self:
        return replace(self, scorer=self.scorer.hiding(fields, models=models))


class Sample(NamedTuple):
    """A row of a dataset."""

    line: int | None
    raw: bytes


@frozen
class SampleTask(TaskTarget):
    """One scorer of a task in YAML, which says what is sent about each row of a dataset.

    Models under test are known by their names, others by the keys that the task has for them. Scorers of one
    task share the traces of its samples.
    """

    kind: ClassVar[str] = "definition"
    task: "TaskDefinition"
    scorer: "Scorer"
    program: EvaluatorSpec | None = None  # the evaluator that the scorer is, if it is one
    keyed: "Mapping[str, ModelSpec]" = field(default_factory=dict)
    sandbox: str = ""  # see Given
    max_turns: int | None = None  # see Given
    samples: Mapping[str, Sequence[Sample]] = field(
        default_factory=dict, compare=False, repr=False
    )  # of each split, for a scorer that looks at all of them

    @property
    def replying(self) -> "tuple[ModelSpec, ...]":
        return (*self.models, *self.keyed.values())

    @property
    def called(self) -> "tuple[ModelSpec, ...]":
        return tuple(self.keyed.values()) if self.is_stored else self.replying

    @property
    def evaluators(self) -> tuple[EvaluatorSpec, ...]:
        return (self.program,) if self.program else ()

    @property
    def looks_at_all(self) -> bool:
        """Return True if the scorer is given all samples of a split at once."""
        return self.scorer.type == "python_all_samples"

    def writing_to(self, path: str) -> Self:
        keyed = dict(zip(self.keyed, _writing_to(path, self.keyed.values()), strict=True))
        return replace(self, models=_writing_to(path, self.models), keyed=keyed)


def _writing_to(path: str, models: "Iterable[ModelSpec]") -> "tuple[ModelSpec, ...]":
    return tuple(replace(model, outputs=path) for model in models)


def task_of(spec: EvaluatorSpec) -> TaskTarget | None:
    """Give the task that an evaluator scores replies of; None for any other."""
    return spec.target if isinstance(spec.target, TaskTarget) else None


def samples_of(spec: EvaluatorSpec) -> SampleTask | None:
    """Give the scorer of a task in YAML that an evaluator is; None for any other."""
    return spec.target if isinstance(spec.target, SampleTask) else None


def models_of(spec: EvaluatorSpec) -> "tuple[ModelSpec, ...]":
    """Give the models under test whose replies an evaluator scores."""
    task = task_of(spec)
    return task.models if task else ()


def with_task(spec: EvaluatorSpec, **changes: Any) -> EvaluatorSpec:
    """Change what an evaluator of a task is of."""
    task = task_of(spec)
    assert task, "it is an evaluator of a task"  # noqa: S101  for the checker
    return replace(spec, target=replace(task, **changes))


def definitions_in(specs: Iterable[EvaluatorSpec]) -> "list[TaskDefinition]":
    """List the tasks in YAML that evaluators score, each once."""
    scored = {id(target.task): target.task for spec in specs if (target := samples_of(spec))}
    return [*scored.values()]


def ways_kept(settings: JsonMapping) -> list[JsonMapping]:
    """Read what the code of a run's tasks ran in; nothing where nobody said so, or it was edited."""
    ways = settings.get(CODE)
    return ways if isinstance(ways, list) and all(map(_is_way, ways)) else []


def _is_way(way: object) -> bool:
    if not isinstance(way, dict) or not isinstance(way.get("sandbox"), str):
        return False
    texts = (way.get("layers", []), way.get("missing", []))
    return all(isinstance(some, list) and all(isinstance(entry, str) for entry in some) for some in texts)


_MODEL_KEYS = ("model_key", "judge_model_key")
_CODE = ("snippet",)


def plain(part: Any) -> Any:
    """Write a part with the name of its class; what is as by default is left out, so that parts may grow."""
    if is_dataclass(part) and not isinstance(part, type):
        said = {slot.name: getattr(part, slot.name) for slot in fields(part)}
        chosen = {
            entry.name: plain(said[entry.name])
            for entry in fields(part)
            if said[entry.name] != _default(entry)
        }
        return [type(part).__name__, chosen]
    if isinstance(part, Mapping):
        return {str(key): plain(value) for key, value in part.items()}
    if isinstance(part, Sequence) and not isinstance(part, str):
        return [plain(item) for item in part]
    return part


def model_keys(part: Any) -> Iterator[str]:
    """Find the keys of models in a part and whatever is in it."""
    return _values(part, _MODEL_KEYS)


def has_code(part: Any) -> bool:
    """Return True if there is code in a part or whatever is in it."""
    return any(_values(part, _CODE))


def _values(part: Any, names: Sequence[str]) -> Iterator[str]:
    """Find the values of the fields of these names."""
    if is_dataclass(part) and not isinstance(part, type):
        for field in fields(part):
            value = getattr(part, field.name)
            if field.name in names:
                yield value
            else:
                yield from _values(value, names)
    elif isinstance(part, list | tuple):
        for field in part:
            yield from _values(field, names)


def _default(one: Any) -> Any:
    if one.default is not MISSING:
        return one.default
    return one.default_factory() if one.default_factory is not MISSING else MISSING


Identify = Callable[[EvaluatorSpec], Identity]


def identify(spec: EvaluatorSpec, task: TaskTarget, identify_scorer: Identify) -> Identity:
    """Digest what scores, with the files that it names; which models are under test, the units say."""
    match task:
        case RecordTask():
            return _of_records(spec, task, identify_scorer)
        case PromptTask():
            return _of_prompts(spec, task, identify_scorer)
        case SampleTask():
            return _of_samples(spec, task, identify_scorer)
    raise TypeError(type(task))


def _of_records(spec: EvaluatorSpec, task: RecordTask, identify_scorer: Identify) -> Identity:
    scorers = [(scorer.name, identify_scorer(scorer)) for scorer in task.evaluators]
    files = (file for _, scorer in scorers for file in scorer.files)
    judge = task.scorer.target if task.scorer else None
    known = scorers[0][1].judge if task.scorer else {}
    shown = ["shown the prompt"] if getattr(judge, "shows_prompt", False) else []
    return Identity(
        name=spec.name,
        text=scorers[0][1].text if task.scorer else f"task:{Path(spec.text).name}",
        files=tuple(dict.fromkeys(files)),
        sha256=sha256_of([None, [(name, scorer.sha256) for name, scorer in scorers], *shown]),
        judge=known if known.keys() & {"against", "panel", "samples"} else {},  # whose votes are looked at
    )


def _of_prompts(spec: EvaluatorSpec, task: PromptTask, identify_scorer: Identify) -> Identity:
    """Give the scorer's identity, and with it what of a reply it scores."""
    known = identify_scorer(replace(task.scorer, name=spec.name))
    if not task.extract:
        return known
    digest = sha256_of(["extract", task.extract, known.sha256])
    return replace(known, text=f"{known.text} --extract {task.extract}", sha256=digest)


def _of_samples(spec: EvaluatorSpec, target: SampleTask, identify_scorer: Identify) -> Identity:
    scored = identify_scorer(target.program) if target.program else None
    parts = [
        target.task.entity,
        plain(target.task.solver),
        plain(target.scorer.how),
        _models(target),
        scored and scored.sha256,
        [(name, _digest(samples)) for name, samples in target.samples.items()],
    ]
    return Identity(
        name=spec.name,
        text=f"task:{Path(target.task.path).name} {target.scorer.key}",
        files=scored.files if scored else (),
        sha256=sha256_of(["definition", *parts]),
    )


def _models(target: SampleTask) -> list[Any]:
    """Digest the models that the solver and this scorer name by keys."""
    keys = dict.fromkeys((*model_keys(target.task.solver), *model_keys(target.scorer)))
    return [(key, _of_model(target.keyed[key])) for key in sorted(keys) if key in target.keyed]


def _of_model(model: ModelSpec) -> str:
    return (model.known_as or identify_model(model.with_how(environment={}))).sha256


def _digest(samples: Sequence[Sample]) -> str:
    return hashlib.sha256(b"\n".join(sample.raw for sample in samples)).hexdigest()
