"""Options of what a command prints."""

from enum import StrEnum
from typing import Annotated, ClassVar, TypeVar

from optimize_eval.base.errors import UsageError
from optimize_eval.config.declared import Heading, Option, OptionGroup


class PrintOptions(OptionGroup):
    """How a command prints its result."""

    heading: ClassVar = Heading.OUTPUT

    as_json: Annotated[bool, Option("Print one JSON value instead of text.", flags=("--json",))] = False


class ResultOptions(PrintOptions):
    """How a command prints a result that has more to it than the answer."""

    details: Annotated[bool, Option("All tables, points and worst examples.")] = False


class FormatName(StrEnum):
    """What a report can be written as."""

    TERMINAL = "terminal"
    JSON = "json"
    CSV = "csv"
    JSONL = "jsonl"
    MD = "md"
    JUNIT = "junit"
    HTML = "html"


class DiffFormat(StrEnum):
    """What a comparison can be written as."""

    TERMINAL = "terminal"
    JSON = "json"
    HTML = "html"


_MaxMb = Annotated[float | None, Option("How large html may get (25).", "MB")]
_Full = Annotated[bool, Option("Every record in full, however large html gets.")]


class ReportOptions(ResultOptions):
    """As what a report is written, and of what."""

    heading: ClassVar = Heading.OUTPUT

    check: Annotated[bool, Option("Compute the numbers in another way.")] = False
    all: Annotated[bool, Option("Also show what the last command did not name.")] = False
    format: Annotated[FormatName | None, Option(", ".join(FormatName), "FORMAT")] = None
    output: Annotated[
        str | None, Option("Where html goes (RUN/report.html).", "FILE", flags=("-o", "--output"))
    ] = None
    max_mb: _MaxMb = None
    full: _Full = False
    wide: Annotated[bool, Option("csv, jsonl: one row for each example.")] = False
    with_fields: Annotated[
        str | None, Option("Fields of the examples to put into --wide.", "FIELD,…", flags=("--with",))
    ] = None
    step_summary: Annotated[bool, Option("Add it and annotations to the GitHub job.")] = False
    flaky: Annotated[bool, Option("List examples that pass now and then.")] = False


class DiffOptions(ResultOptions):
    """As what a comparison is written."""

    heading: ClassVar = Heading.OUTPUT

    force: Annotated[bool, Option("Compare only what both have.")] = False
    format: Annotated[DiffFormat | None, Option(", ".join(DiffFormat), "FORMAT")] = None
    output: Annotated[
        str | None, Option("Where html goes (RUN_B/diff.html).", "FILE", flags=("-o", "--output"))
    ] = None
    max_mb: _MaxMb = None
    full: _Full = False


_Name = TypeVar("_Name", FormatName, DiffFormat)


def choose_format(names: type[_Name], asked: ReportOptions | DiffOptions) -> _Name:
    """Choose what is written, for people where nothing is said."""
    if asked.as_json and asked.format not in {None, names.JSON}:
        raise UsageError(f"--json and --format {asked.format} exclude each other", hint="give one of the two")
    return names.JSON if asked.as_json else names(asked.format or names.TERMINAL)


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

    like: Annotated[str | None, Option("With --dry-run: plan by its scores.", "RUN")] = None
    show: Annotated[str | None, Option("Show one example, step by step, instead.", "ID")] = None


class LastFailedOptions(OptionGroup):
    """Whether only some examples of an earlier run are called again."""

    heading: ClassVar = Heading.DATA

    last_failed: Annotated[
        bool, Option("Only what failed or got worse last.", flags=("--lf", "--last-failed"))
    ] = False
