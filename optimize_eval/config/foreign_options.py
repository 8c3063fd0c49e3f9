"""Options of reading what other tools wrote."""

from enum import StrEnum
from typing import Annotated, ClassVar

from optimize_eval.config.declared import Heading, Option, OptionGroup


class Errors(StrEnum):
    """What becomes of what a tool counts as 0 although nothing was scored."""

    FAIL = "fail"
    AS_TOOL = "as-tool"


class Empty(StrEnum):
    """What becomes of cells without a score."""

    FAIL = "fail"
    SKIP = "skip"


class ReadResultsOptions(OptionGroup):
    """How results of another tool are read."""

    heading: ClassVar = Heading.RESULTS

    metrics: Annotated[tuple[str, ...], Option("Only this metric; the first decides.", "NAME")] = ()
    task: Annotated[str | None, Option("The task, where files are of several.", "NAME")] = None
    errors: Annotated[Errors, Option("fail, or as-tool: counted as there.", "HOW", shows_default=False)] = (
        Errors.FAIL
    )
    empty: Annotated[Empty, Option("Cells without a score: fail, or skip.", "HOW", shows_default=False)] = (
        Empty.FAIL
    )
    id_column: Annotated[str | None, Option("Of tables: what tells examples apart.", "NAME")] = None


class OtherResultsOptions(ReadResultsOptions):
    """How results of another tool become a run."""

    heading: ClassVar = Heading.RESULTS

    as_names: Annotated[
        tuple[str, ...], Option("Name the system of a file.", "NAME=FILE", flags=("--as",))
    ] = ()
    systems: Annotated[tuple[str, ...], Option("Only this system; may be repeated.", "NAME")] = ()
    baseline: Annotated[str | None, Option("The system to beat (first).", "NAME")] = None
    out: Annotated[str | None, Option("Keep it as a run in this folder.", "RUN")] = None


class MatchedResultsOptions(ReadResultsOptions):
    """How systems of two results of another tool belong together."""

    heading: ClassVar = Heading.RESULTS

    maps: Annotated[tuple[str, ...], Option("A system of the first is this one now.", "OLD=NEW")] = ()
