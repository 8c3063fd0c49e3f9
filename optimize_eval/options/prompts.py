"""Options of prompts: which, which models they are sent to, and what of a reply is scored."""

from collections.abc import Mapping, Sequence
from enum import StrEnum
from typing import Annotated, ClassVar

from optimize_eval.base.errors import UsageError
from optimize_eval.options import values
from optimize_eval.options.compared import RUN
from optimize_eval.options.declared import Heading, Option, OptionGroup

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


class ModelOptions(OptionGroup):
    """The models that reply."""

    heading: ClassVar = Heading.COMPARED

    models: Annotated[
        tuple[str, ...], Option("Who replies: cmd:…, URL, PROVIDER/…", "MODEL", values.TEXTS, RUN)
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


def check_prompting(
    *,
    prompts: Sequence[object],
    models: Sequence[str],
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
