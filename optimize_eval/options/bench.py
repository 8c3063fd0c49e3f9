"""Options of `bench` alone: models and tasks."""

from typing import Annotated, ClassVar

from optimize_eval.options import values
from optimize_eval.options.compared import PartOptions
from optimize_eval.options.declared import Heading, Option, OptionGroup
from optimize_eval.options.evaluators import EvaluatorOptions, JudgedByOptions, ProgramOptions
from optimize_eval.options.prompts import ModelCallOptions


class BenchModelOptions(OptionGroup):
    """Who is ranked."""

    heading: ClassVar = Heading.COMPARED

    models: Annotated[tuple[str, ...], Option("cmd:…, URL, replay:…, PROVIDER/…", "MODEL")] = ()


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
        int | None, Option("The first examples of each task file.", "N", values.COUNT, least=1)
    ] = None
    sample: Annotated[
        int | None, Option("A random sample of each task file.", "N", values.COUNT, least=1)
    ] = None
    repeats: Annotated[int, Option("Calls per example.", "N", values.COUNT, least=1)] = 1


class ReplyOptions(ModelCallOptions):
    """How models are called, and what of a reply is scored."""

    batch_size: Annotated[int | None, Option("Most prompts in one call.", "N", values.COUNT, least=1)] = None
    api_base: Annotated[str | None, Option("Base URL of models, as of a proxy: …/v1.", "URL", values.URL)] = (
        None
    )


class BoardOptions(OptionGroup):
    """What a board has."""

    heading: ClassVar = Heading.OUTPUT

    include_per_example: Annotated[
        bool,
        Option("Put each prediction on the board.", value=values.BOOLEAN),
    ] = False


class OneTaskOptions(OptionGroup):
    """A task that is shown instead of a board."""

    heading: ClassVar = Heading.OUTPUT

    show: Annotated[str | None, Option("Show one example, step by step, instead.", "ID")] = None


class BenchOptions(
    BenchModelOptions, TaskOptions, ReplyOptions, ScorerOptions, ProgramOptions, JudgedByOptions
):
    """All that says what a bench ranks."""
