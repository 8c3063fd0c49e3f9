"""Options of prompts, models, benches and tasks in YAML."""

from collections.abc import Iterable, Mapping, Sequence
from enum import StrEnum
from typing import Annotated, Any, ClassVar

from optimize_eval.base.documents import JsonDict
from optimize_eval.base.errors import UsageError
from optimize_eval.config import values
from optimize_eval.config.compared import RUN, PartOptions
from optimize_eval.config.declared import Heading, Option, OptionGroup
from optimize_eval.config.evaluators import EvaluatorOptions, JudgedByOptions, ProgramOptions
from optimize_eval.tasks.targets import Given


class ModelOptions(OptionGroup):
    """The models that reply."""

    heading: ClassVar = Heading.COMPARED

    models: Annotated[
        tuple[str, ...],
        Option(
            "Model that answers the prompts: openai/gpt-4o-mini, cmd:./program, URL",
            "MODEL",
            values.TEXTS,
            RUN,
        ),
    ] = ()


class PromptOptions(ModelOptions):
    """Prompts, and the models that reply to them."""

    heading: ClassVar = Heading.COMPARED

    prompts: Annotated[
        tuple[str, ...], Option("With {{field}}; --model replies.", "FILE", values.PATHS, RUN)
    ] = ()
    system: Annotated[
        str | None, Option("A message of the system before prompts.", "FILE", values.PATH, RUN)
    ] = None


class Refusals(StrEnum):
    """What a refusal of a model is."""

    SCORE = "score"
    FAIL = "fail"


class ModelCallOptions(OptionGroup):
    """How models are called."""

    heading: ClassVar = Heading.MODELS

    temperature: Annotated[float | None, Option("For models of providers.", "T", values.TEMPERATURE)] = None
    max_tokens: Annotated[int | None, Option("For models of providers.", "N", values.COUNT, least=1)] = None
    keep_thoughts: Annotated[
        bool,
        Option("Score a model's text with its thoughts.", value=values.BOOLEAN),
    ] = False
    refusals: Annotated[
        Refusals,
        Option("score them, or fail.", "HOW", values.same(values.OneOf((*Refusals,))), shows_default=False),
    ] = Refusals.SCORE


class PromptingOptions(PromptOptions, ModelCallOptions):
    """All that says what models are sent, and what of a reply is scored."""

    heading: ClassVar = Heading.COMPARED

    extract: Annotated[
        str | None,
        Option("Score this: letter, code, json:PATH, regex:…", "RULE", values.TEXT, RUN),
    ] = None


FLAGS = {
    "prompts": "--prompt",
    "models": "--model",
    "task_models": "--task-model",
    "system": "--system",
    "extract": "--extract",
    "candidates": "--candidate, --candidates and --candidate-field",
    "how": "--prompt 'prompts/*.md' --model openai/gpt-4o-mini, or --model cmd:./model",
}
NAMES = {  # of arguments in Python, and of keys in a sweep file
    **{name: name for name in FLAGS},
    "candidates": "candidates and candidate_fields",
    "how": 'prompts = ["prompts/*.md"], models = ["openai/gpt-4o-mini"], or models = ["cmd:./model"]',
}


def check_prompting(
    *,
    prompts: Sequence[object],
    models: Sequence[object],
    others: Sequence[object],
    task_models: Sequence[str] = (),
    system: str | None = None,
    extract: str | None = None,
    words: Mapping[str, str] = FLAGS,
    has_tasks: bool = False,
) -> None:
    """Refuse options that contradict each other, or of which one is missing; `words` name them.

    Tasks in YAML among the evaluators call models, too.
    """
    how = words["how"]
    if prompts and others:
        raise UsageError(f"{words['prompts']} names the candidates", hint=f"omit {words['candidates']}")
    if models and task_models:
        raise UsageError(f"{words['models']} names the task models", hint=f"omit {words['task_models']}")
    if prompts and not models:
        raise UsageError("no model is named that replies to the prompts", hint=f"name one: {how}")
    for option, given in (("models", models), ("system", system)):
        if given and not prompts and not (option == "models" and has_tasks):
            raise UsageError(
                f"{words[option]} is for prompts, and none is named",
                hint=f"write {how}; a model's name alone, passed to evaluators, is {words['task_models']}",
            )
    if extract is not None and not prompts:
        raise UsageError(f"{words['extract']} is for models' replies", hint=f"write {how}")


class BenchModelOptions(OptionGroup):
    """Who is ranked."""

    heading: ClassVar = Heading.COMPARED

    models: Annotated[
        tuple[str, ...], Option("Model to rank: openai/gpt-4o-mini, cmd:./program, URL, replay:FILE", "MODEL")
    ] = ()


class ScorerOptions(EvaluatorOptions):
    """Who scores replies besides the tasks' own metrics."""

    evaluators: Annotated[
        tuple[str, ...],
        Option("Also score replies with this (JSONL tasks).", "SPEC", flags=("-e", "--evaluator")),
    ] = ()


class TaskOptions(PartOptions):
    """Which tasks, and how often."""

    format: Annotated[
        str | None, Option("spec or examples; else as it looks (JSONL).", "FORMAT", values.TEXT)
    ] = None
    allow_bad_tasks: Annotated[
        bool,
        Option("Omit bad lines; the board says so.", value=values.BOOLEAN),
    ] = False
    tags: Annotated[
        tuple[str, ...],
        Option("Only tasks in YAML that have this tag.", "TAG", values.TEXTS, flags=("--tag",)),
    ] = ()
    limit: Annotated[
        int | None, Option("Only the first N examples of each file.", "N", values.COUNT, least=1)
    ] = None
    sample: Annotated[
        int | None, Option("Only N random examples of each file.", "N", values.COUNT, least=1)
    ] = None
    repeats: Annotated[int, Option("Calls per example.", "N", values.COUNT, least=1)] = 1


class ReplyOptions(ModelCallOptions):
    """How models are called, and what of a reply is scored."""

    batch_size: Annotated[int | None, Option("Most prompts in one call.", "N", values.COUNT, least=1)] = None
    api_base: Annotated[
        str | None, Option("Base URL of all models; of one: MODEL@URL.", "URL", values.URL)
    ] = None


class BoardOptions(OptionGroup):
    """What a board has."""

    heading: ClassVar = Heading.OUTPUT

    include_per_example: Annotated[
        bool,
        Option("Keep each prediction on the board.", value=values.BOOLEAN),
    ] = False


class OneTaskOptions(OptionGroup):
    """A task that is shown instead of a board."""

    heading: ClassVar = Heading.OUTPUT

    show: Annotated[str | None, Option("Show one example, step by step, instead.", "ID")] = None


class BenchOptions(
    BenchModelOptions, TaskOptions, ReplyOptions, ScorerOptions, ProgramOptions, JudgedByOptions
):
    """All that says what a bench ranks."""


class Sandbox(StrEnum):
    """How closed off code has to be that a task brings along, or that a model wrote."""

    STRICT = "strict"
    BEST_EFFORT = "best-effort"
    NONE = "none"


class ParameterOptions(OptionGroup):
    """Values of a task's parameters."""

    heading: ClassVar = Heading.DATA

    config: Annotated[
        tuple[str, ...], Option("Set a parameter of a task in YAML.", "KEY=VALUE", values.PAIRS)
    ] = ()
    config_file: Annotated[str | None, Option("Such parameters, in YAML or JSON.", "FILE", values.PATH)] = (
        None
    )


class SandboxOptions(OptionGroup):
    """What code runs in."""

    heading: ClassVar = Heading.EVALUATORS

    sandbox: Annotated[
        Sandbox | None,
        Option(
            "Code: strict|best-effort|none (your rights).",
            "LEVEL",
            values.same(values.OneOf((*Sandbox,))),
            RUN,
        ),
    ] = None


class TurnOptions(OptionGroup):
    """How often a solver may call models."""

    heading: ClassVar = Heading.STOPPING

    max_turns: Annotated[
        int | None,
        Option("Most model calls of a YAML task's sample.", "N", values.COUNT, RUN, least=1),
    ] = None


class DefinitionOptions(ParameterOptions, SandboxOptions, TurnOptions):
    """What a task in YAML is given from outside."""

    model_key: Annotated[
        tuple[str, ...], Option("The model that a task names by KEY.", "KEY=MODEL", values.PAIRS)
    ] = ()


class DefinedDataOptions(DefinitionOptions):
    """The same where a task finds its own dataset."""

    data: Annotated[
        tuple[str, ...], Option("The file of the dataset KEY of a task.", "KEY=FILE", values.PAIRS)
    ] = ()


def given_of(options: DefinitionOptions) -> Given:
    """Read what tasks are given."""
    return Given(
        config=config_given(options),
        model_keys=pairs("--model-key", options.model_key),
        data=pairs("--data", getattr(options, "data", ())),
        sandbox=str(options.sandbox or ""),
        max_turns=options.max_turns,
    )


def config_given(options: ParameterOptions) -> JsonDict:
    """Read values of parameters: those of a file, and those that stand for themselves, which win."""
    if not options.config and not options.config_file:
        return {}
    from optimize_eval.tasks.yaml.parameters import config_of  # noqa: PLC0415  it reads YAML

    return config_of(pairs("--config", options.config), options.config_file or "")


def pairs(option: str, given: Iterable[str | tuple[str, Any]]) -> JsonDict:
    """Read `KEY=VALUE` texts; a program gives pairs."""
    read: JsonDict = {}
    for item in given:
        key, value = _pair(option, item) if isinstance(item, str) else item
        if key in read:
            raise UsageError(f"{option} gives {key} twice", hint="give one of the two")
        read[key] = value
    return read


def _pair(option: str, text: str) -> tuple[str, str]:
    key, equals, value = text.partition("=")
    if not key.strip() or not equals:
        raise UsageError(f"{option} {text!r} has no key and value", hint=f"write {option} KEY=VALUE")
    return key.strip(), value
