"""Options that hold a result against demands."""

from typing import Annotated, ClassVar

from optimize_eval.options import values
from optimize_eval.options.compared import RUN
from optimize_eval.options.declared import Heading, Option, OptionGroup

GATES = "gates"  # the table of a sweep file


class BoardGateOptions(OptionGroup):
    """What leaderboards are held against."""

    heading: ClassVar = Heading.GATES

    fail_under: Annotated[
        tuple[str, ...], Option("Fail if the score is below this.", "MODEL[@TASK]=X", values.LOWEST)
    ] = ()
    no_regression_against: Annotated[
        str | None, Option("Fail if worse than this bench or board.", "BENCH", values.PATH)
    ] = None


class RunGateOptions(BoardGateOptions):
    """What runs are held against."""

    fail_under: Annotated[
        tuple[str, ...], Option("Fail if the mean is below this.", "NAME=MEAN", values.LOWEST, GATES)
    ] = ()
    max_gap: Annotated[
        float | None, Option("Fail if train exceeds val by more than this.", "GAP", values.NUMBER, GATES)
    ] = None
    no_regression_against: Annotated[
        str | None, Option("Fail if worse than this run or bench.", "RUN", values.PATH, GATES)
    ] = None
    margin: Annotated[
        tuple[str, ...], Option("A loss too small to matter, in score units.", "[NAME=]X", values.MARGIN, RUN)
    ] = ()
