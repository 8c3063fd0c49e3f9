"""Options of what is compared, what it is held against, and what is printed."""

from enum import StrEnum
from typing import Annotated, ClassVar

from optimize_eval.config import values
from optimize_eval.config.declared import Heading, Option, OptionGroup

RUN = "run"  # the table of a sweep file


class Leaks(StrEnum):
    """What becomes of examples that an earlier split holds, too."""

    DROP = "drop"
    KEEP = "keep"


class CandidateFileOptions(OptionGroup):
    """Files of candidates; only a command line keeps the order in which the two are mixed."""

    heading: ClassVar = Heading.COMPARED

    candidate: Annotated[tuple[str, ...], Option("A file, a glob, or - for stdin.", "FILE")] = ()
    candidates: Annotated[
        tuple[str, ...],
        Option('JSONL of {"id", "candidate"}.', "FILE", values.PATHS, RUN, flags=("--candidates",)),
    ] = ()


class MovedCandidateOptions(CandidateFileOptions):
    """Files of a run's candidates that are no longer where they were."""

    candidate: Annotated[tuple[str, ...], Option("Where a candidate is now.", "FILE")] = ()
    candidates: Annotated[
        tuple[str, ...], Option("Where a list of them is now.", "FILE", flags=("--candidates",))
    ] = ()


class CandidateOptions(CandidateFileOptions):
    """Candidates, of files or of the examples themselves."""

    candidate_fields: Annotated[
        tuple[str, ...], Option("Score recorded outputs.", "FIELD", values.TEXTS, RUN)
    ] = ()


class TaskModelOption(OptionGroup):
    """The name of a model, for evaluators."""

    heading: ClassVar = Heading.EVALUATORS

    task_model: Annotated[
        str | None,
        Option("A model's name, passed to the evaluator.", "NAME", key="task_models"),
    ] = None


class TaskModelOptions(OptionGroup):
    """The names of models, for evaluators."""

    heading: ClassVar = Heading.COMPARED

    task_models: Annotated[
        tuple[str, ...], Option("Model to compare; may be repeated.", "NAME", values.TEXTS, RUN)
    ] = ()


class AxisOptions(TaskModelOptions):
    """What is compared besides candidates, and with what."""

    heading: ClassVar = Heading.COMPARED

    baseline: Annotated[str | None, Option("The candidate to beat (first).", "NAME", values.TEXT, RUN)] = None
    repeats: Annotated[int, Option("Calls per example.", "N", values.COUNT, RUN, least=1)] = 1


class TrainAndValOptions(OptionGroup):
    """The files that the examples of a comparison are in."""

    heading: ClassVar = Heading.DATA

    dataset: Annotated[
        str | None, Option("Train: JSONL, CSV …; - is stdin.", "FILE", values.DATASET, RUN)
    ] = None
    valset: Annotated[str | None, Option("The val examples: held out.", "FILE", values.DATASET, RUN)] = None


class SplitOptions(TrainAndValOptions):
    """Those files, and a test set."""

    testset: Annotated[
        str | None, Option("Confirm the winner on a separate test set.", "FILE", values.DATASET, RUN)
    ] = None

    @property
    def files(self) -> dict[str, str | None]:
        """Give the files by the names of the splits."""
        return {"train": self.dataset, "val": self.valset, "test": self.testset}


class MovedSplitOptions(SplitOptions):
    """Files of a run's examples that are no longer where they were."""

    dataset: Annotated[str | None, Option("Where the train examples are now.", "FILE")] = None
    valset: Annotated[str | None, Option("Where the val examples are now.", "FILE")] = None
    testset: Annotated[str | None, Option("Where the test examples are now.", "FILE")] = None


class ChoiceOptions(OptionGroup):
    """Which examples take part, by what they hold."""

    heading: ClassVar = Heading.DATA

    filters: Annotated[
        tuple[str, ...],
        Option("Only examples with this; may be repeated.", "FIELD=VALUE", values.FILTERS, RUN, key="filter"),
    ] = ()
    ids: Annotated[tuple[str, ...], Option("Only this example; may be repeated.", "ID", values.IDS, RUN)] = ()


class PartOptions(ChoiceOptions):
    """Which and how many examples of each split take part."""

    limit: Annotated[
        int | None, Option("The first examples of each split.", "N", values.COUNT, RUN, least=1)
    ] = None
    sample: Annotated[
        int | None, Option("A random sample of each split.", "N", values.COUNT, RUN, least=1)
    ] = None
    seed: Annotated[int, Option("For the sample and the tests.", "S", values.INTEGER, RUN)] = 0


class GroupingOptions(OptionGroup):
    """Which examples belong together."""

    heading: ClassVar = Heading.DATA

    cluster_by: Annotated[str | None, Option("Examples that belong together.", "PATH", values.TEXT, RUN)] = (
        None
    )
    group_by: Annotated[
        tuple[str, ...], Option("Also show the numbers by group.", "PATH", values.TEXTS, RUN)
    ] = ()


class LeakOptions(OptionGroup):
    """What becomes of examples that an earlier split holds, too."""

    heading: ClassVar = Heading.DATA

    leaks: Annotated[
        Leaks,
        Option(
            "Val rows that train has: drop, or keep.",
            "HOW",
            values.same(values.OneOf((*Leaks,))),
            RUN,
            shows_default=False,
        ),
    ] = Leaks.DROP


class ComparisonOptions(
    CandidateOptions, AxisOptions, SplitOptions, PartOptions, GroupingOptions, LeakOptions
):
    """All that says what a run compares."""


GATES = "gates"  # the table of a sweep file


class BoardGateOptions(OptionGroup):
    """What leaderboards are held against."""

    heading: ClassVar = Heading.GATES
    max_gap: float | None = None  # runs alone have the option: a board has no train and val

    fail_under: Annotated[
        tuple[str, ...], Option("Fail if the score is below this.", "MODEL[@TASK]=X", values.LOWEST)
    ] = ()
    no_regression_against: Annotated[
        str | None, Option("Fail if worse than this bench or board.", "BENCH", values.PATH)
    ] = None


class RunGateOptions(BoardGateOptions):
    """What runs are held against."""

    fail_under: Annotated[
        tuple[str, ...], Option("Fail if a mean or pass rate is below.", "NAME=X", values.LOWEST, GATES)
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
