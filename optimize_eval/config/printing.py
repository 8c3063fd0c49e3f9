"""Options of what a command prints."""

from typing import Annotated, ClassVar

from optimize_eval.config.declared import Heading, Option, OptionGroup


class PrintOptions(OptionGroup):
    """How a command prints its result."""

    heading: ClassVar = Heading.OUTPUT

    as_json: Annotated[bool, Option("Print one JSON value instead of text.", flags=("--json",))] = False


class ResultOptions(PrintOptions):
    """How a command prints a result that has more to it than the answer."""

    details: Annotated[bool, Option("All tables, points and worst examples.")] = False


class ShownOptions(ResultOptions):
    """How a command that takes long prints its result."""

    quiet: Annotated[bool, Option("Only the verdict and the folder.", flags=("-q", "--quiet"))] = False


class ViewOptions(OptionGroup):
    """Whether what a command calls is to be seen meanwhile."""

    heading: ClassVar = Heading.OUTPUT

    view: Annotated[bool, Option("Serve its page to a browser meanwhile.")] = False


class PlanOptions(OptionGroup):
    """Whether a command only says what it would do."""

    heading: ClassVar = Heading.OUTPUT

    dry_run: Annotated[bool, Option("Show the plan; call nothing.")] = False


class RunPlanOptions(PlanOptions):
    """The same of a run, which may be planned after another."""

    like: Annotated[str | None, Option("With --dry-run: scores vary as there.", "RUN")] = None
    show: Annotated[str | None, Option("Show one example, step by step, instead.", "ID")] = None


class LastFailedOptions(OptionGroup):
    """Whether only some examples of an earlier run are called again."""

    heading: ClassVar = Heading.DATA

    last_failed: Annotated[
        bool, Option("Only what failed or got worse last.", flags=("--lf", "--last-failed"))
    ] = False
