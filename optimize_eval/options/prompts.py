"""Options of prompts: which, which models they are sent to, and what of a reply is scored."""

from typing import Annotated, ClassVar

from optimize_eval.options import values
from optimize_eval.options.compared import RUN
from optimize_eval.options.declared import Heading, Option, OptionGroup


class PromptOptions(OptionGroup):
    """Prompts, and the models that reply to them."""

    heading: ClassVar = Heading.COMPARED

    prompts: Annotated[
        tuple[str, ...], Option("With {{field}}; --model replies.", "FILE", values.PATHS, RUN)
    ] = ()
    models: Annotated[
        tuple[str, ...], Option("Who replies: cmd:…, URL, PROVIDER/…", "MODEL", values.TEXTS, RUN)
    ] = ()
    system: Annotated[
        str | None, Option("A message of the system before prompts.", "FILE", values.PATH, RUN)
    ] = None


class ModelCallOptions(OptionGroup):
    """How models are called."""

    heading: ClassVar = Heading.MODELS

    temperature: Annotated[float | None, Option("For models of providers.", "T", values.TEMPERATURE)] = None
    max_tokens: Annotated[int | None, Option("For models of providers.", "N", values.COUNT, least=1)] = None
    keep_thoughts: Annotated[
        bool,
        Option("Score a model's text with its thoughts.", value=values.BOOLEAN),
    ] = False


class PromptingOptions(PromptOptions, ModelCallOptions):
    """All that says what models are sent, and what of a reply is scored."""

    heading: ClassVar = Heading.COMPARED

    extract: Annotated[
        str | None,
        Option("Score this: letter, code, json:PATH, regex:…", "RULE", values.TEXT, RUN),
    ] = None
