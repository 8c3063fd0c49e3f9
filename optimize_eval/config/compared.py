"""Options of what is compared, what it is held against, and of how calls are made and when they end.

None of how calls are made makes a run another run.
"""

import os
from enum import StrEnum
from typing import Annotated, Any, ClassVar

from optimize_eval.base import checks
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
        int | None, Option("Only the first N examples of each split.", "N", values.COUNT, RUN, least=1)
    ] = None
    sample: Annotated[
        int | None, Option("Only N random examples of each split.", "N", values.COUNT, RUN, least=1)
    ] = None
    seed: Annotated[int, Option("Seed of random samples and tests.", "S", values.INTEGER, RUN)] = 0


class GroupingOptions(OptionGroup):
    """Which examples belong together."""

    heading: ClassVar = Heading.DATA

    cluster_by: Annotated[
        str | None, Option("Field of examples that belong together.", "PATH", values.TEXT, RUN)
    ] = None
    group_by: Annotated[
        tuple[str, ...], Option("Field by which to show numbers, too.", "PATH", values.TEXTS, RUN)
    ] = ()


class LeakOptions(OptionGroup):
    """What becomes of examples that an earlier split holds, too."""

    heading: ClassVar = Heading.DATA

    leaks: Annotated[
        Leaks,
        Option(
            "Val rows also in train: drop, or keep.",
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
    min_agreement: tuple[str, ...] = ()  # of runs, too

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
    min_agreement: Annotated[
        tuple[str, ...],
        Option("Fail if a judge agrees with people less.", "NAME=X", values.LOWEST, GATES),
    ] = ()
    margin: Annotated[
        tuple[str, ...], Option("A loss too small to matter, in score units.", "[NAME=]X", values.MARGIN, RUN)
    ] = ()


PATIENCE = "10m"
SLOTS = min(32, 4 * (os.cpu_count() or 1))


class OnFailure(StrEnum):
    """What a failed call does to a run."""

    EXCLUDE = "exclude"
    ABORT = "abort"


class EngineName(StrEnum):
    """Where calls are made."""

    LOCAL = "local"
    RAY = "ray"


class EngineOptions(OptionGroup):
    """Where calls are made, and how a cluster is used."""

    heading: ClassVar = Heading.CLUSTER

    engine: Annotated[EngineName, Option("local, or ray: a cluster.", "NAME", values.ENGINE, RUN)] = (
        EngineName.LOCAL
    )
    address: Annotated[str | None, Option("Where its head listens.", "HOST:PORT", values.TEXT, RUN)] = None
    slots_per_node: Annotated[
        int | None, Option("Calls at once on a node (-j).", "N", values.COUNT, RUN, least=1)
    ] = None
    chunk: Annotated[int, Option("Calls sent together.", "N", values.COUNT, RUN, least=1)] = 16
    inflight: Annotated[int, Option("Chunks that a node has.", "N", values.COUNT, RUN, least=1)] = 2
    working_dir: Annotated[
        str | None, Option("A folder that nodes get a copy of.", "DIR", values.PATH, RUN)
    ] = None


class SlotOptions(OptionGroup):
    """How many calls are made at once."""

    heading: ClassVar = Heading.CALLING

    concurrency: Annotated[
        int, Option("Calls at once.", "N", values.COUNT, RUN, flags=("-j", "--concurrency"), least=1)
    ] = SLOTS


class CallOptions(SlotOptions):
    """How calls are made."""

    keep_stderr: Annotated[bool, Option("Also keep stderr of successful calls.", value=values.BOOLEAN)] = (
        False
    )
    no_preflight: Annotated[
        bool,
        Option("Do not stop early when the first calls fail.", value=values.BOOLEAN),
    ] = False


class ResumeOptions(OptionGroup):
    """What becomes of earlier calls, of this run or of others."""

    heading: ClassVar = Heading.CALLING

    fresh: Annotated[
        bool,
        Option("Delete what is in the folder and start over.", value=values.BOOLEAN),
    ] = False
    replace: Annotated[
        tuple[str, ...], Option("Call this evaluator again from the start.", "NAME", values.TEXTS)
    ] = ()
    reuse: Annotated[
        tuple[str, ...], Option("Copy scores of the same calls from there.", "RUN|auto", values.RUNS, RUN)
    ] = ()


class RecheckOptions(OptionGroup):
    """Whether scored calls are repeated."""

    heading: ClassVar = Heading.CALLING

    recheck: Annotated[
        int | None,
        Option("Then repeat N scored calls; report changes.", "N", values.COUNT, least=1),
    ] = None


class PatienceOptions(OptionGroup):
    """How long a call waits for a server of models."""

    heading: ClassVar = Heading.MODELS

    patience: Annotated[
        str,
        Option("Wait this long for a busy server (10m).", "TIME", values.DURATION, RUN, shows_default=False),
    ] = PATIENCE


class ServerOptions(PatienceOptions):
    """How servers of models are treated."""

    rpm: Annotated[
        float | None, Option("Calls per minute to a model server.", "N", values.ABOVE_ZERO, RUN)
    ] = None
    tpm: Annotated[
        float | None, Option("Tokens per minute to a model server.", "N", values.ABOVE_ZERO, RUN)
    ] = None


class PricedServerOptions(ServerOptions):
    """How they are treated, and what they cost."""

    prices: Annotated[Any, Option("TOML: [prices] of models.", "FILE", values.PRICES, typed=str | None)] = (
        None
    )


class TimeOptions(OptionGroup):
    """When calls end by the clock."""

    heading: ClassVar = Heading.STOPPING

    max_time: Annotated[
        str | None, Option("Begin no call after this long: 10m, 1h30m.", "DURATION", values.DURATION, RUN)
    ] = None


class StopOptions(TimeOptions):
    """When calls end before all are made."""

    on_failure: Annotated[
        OnFailure, Option("A failed call: exclude it, or abort.", "HOW", values.ON_FAILURE, RUN)
    ] = OnFailure.EXCLUDE
    max_failures: Annotated[
        str | None, Option("Stop after more failures than this.", "N|P%", values.MAX_FAILURES, RUN)
    ] = None


class SpendingOptions(OptionGroup):
    """When calls end by what they cost."""

    heading: ClassVar = Heading.STOPPING

    max_cost: Annotated[
        float | None, Option("Pause after spending this much.", "DOLLARS", values.ABOVE_ZERO, RUN)
    ] = None
    max_tokens_total: Annotated[
        int | None, Option("Pause after this many tokens.", "N", values.COUNT, RUN, least=1)
    ] = None
    estimate_tokens: Annotated[
        bool, Option("Estimate unknown tokens: characters / 4.", value=values.BOOLEAN, table=RUN)
    ] = False


class FolderOptions(OptionGroup):
    """Where a run is on disk."""

    heading: ClassVar = Heading.OUTPUT

    out: Annotated[str | None, Option("The run's folder.", "DIR", values.PATH, RUN)] = None


class NoteOptions(OptionGroup):
    """A note about a run."""

    heading: ClassVar = Heading.OUTPUT

    note: Annotated[
        str | None,
        Option("A note about the run; empty removes it.", "TEXT", values.NOTE, callback=checks.check_note),
    ] = None


class HandlingOptions(CallOptions, ResumeOptions, StopOptions, SpendingOptions, NoteOptions):
    """All that says how to call, and none of it what."""
