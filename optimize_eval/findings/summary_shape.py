"""The summary of a run: the whole of summary.json, with leakage, metrics and conclusions in it."""

from collections.abc import Mapping, Sequence
from dataclasses import field
from typing import Annotated

from optimize_eval.base import documents
from optimize_eval.base.documents import FLAT, IF_ANY, JsonDict, JsonMapping, Key, from_dict
from optimize_eval.base.frozen import frozen
from optimize_eval.base.spent import SpendingTotals
from optimize_eval.findings.leakage import Leakages
from optimize_eval.findings.summary_parts import (
    Agreement,
    BleuEntry,
    CalibrationEntry,
    CandidatePair,
    JudgedPairs,
    LatencyEntry,
    MeasuredCell,
    ModelPair,
    Panel,
    PassesEntry,
    RepliesEntry,
    Row,
    SideInfoEntry,
    Stability,
)
from optimize_eval.findings.wording import count, left_out_by
from optimize_eval.statistics.estimates import Interval
from optimize_eval.store.ledger import JournalEnd

MetricRow = JsonMapping  # a scorer's fields for one sample


@frozen
class Measured:
    """The results of one metric; a number that is not defined, such as 0/0, is None."""

    type: str
    values: Mapping[str, float | None] = field(default_factory=dict)
    n: int = 0  # rows that they are of
    missing: Annotated[int, IF_ANY] = 0  # rows in which a field is null or not there
    left_out: Annotated[int, IF_ANY] = 0  # rows with another answer than the two that count
    confusion: Annotated[Mapping[str, Mapping[str, int]], IF_ANY] = field(
        default_factory=dict
    )  # what is right → what was said → rows
    problem: Annotated[str, IF_ANY] = ""  # why there are no values


@frozen
class MetricsTable:
    """All metrics of a scorer. Each sample is scored, excluded or failed."""

    n_total: int
    n_scored: int  # which metrics are of
    n_excluded: Annotated[int, IF_ANY] = 0
    n_failed: Annotated[int, IF_ANY] = 0
    excluded_by: Annotated[Mapping[str, int], IF_ANY] = field(
        default_factory=dict
    )  # rules; a sample counts for each that excludes it
    metrics: tuple[Measured, ...] = ()


@frozen
class Sampled:
    """What a scorer has of a sample."""

    fields: MetricRow | None  # None: it failed
    excluded_by: Sequence[str] = ()  # rules of the task's actions


class MetricFault(ValueError):
    """Why a metric cannot be computed of these rows."""


@frozen
class RuleFaults:
    """The rows that a rule could not be applied to; they are left in."""

    rule: str
    count: int
    line: int | None  # of the first of them
    repeat: int
    message: str

    def told(self, split: str) -> str:
        """Say which rows the rule leaves in, as it cannot be applied to them."""
        at = split if self.line is None else f"{split} {self.line}"
        rows = f"{count(self.count, 'row')}, which stay{'s' * (self.count == 1)} in"
        return f"the rule {self.rule} cannot be applied to {rows}; the first is {at}: {self.message}"


@frozen
class ScorerMetrics:
    """The metrics of one scorer of a task, for one candidate and model, on one split."""

    evaluator: str
    task: str
    scorer: str
    display_name: Annotated[str, IF_ANY] = ""  # what people call the scorer, and the task before it
    description: Annotated[str, IF_ANY] = ""  # of the task
    purpose: str = "score"
    candidate: str
    task_model: str | None
    split: str
    table: Annotated[MetricsTable, FLAT]
    rule_faults: Annotated[tuple[RuleFaults, ...], IF_ANY] = ()
    problem: Annotated[str, IF_ANY] = ""  # why there are no metrics


SCHEMA = "optimize-eval.summary.v2"


@frozen
class Point:
    """One of the sentences that belong to a verdict."""

    mark: str
    text: str


@frozen
class WonBy:
    """The gain that a verdict names; `from_` says what it was measured on."""

    diff: float | None
    ci: Interval | None
    p: float | None
    from_: Annotated[str, Key("from")]


@frozen
class Verdict:
    """What came out, in words."""

    text: str
    points: tuple[Point, ...] = ()
    state: (
        str | None
    )  # better, steered, worse, no_difference, not_shown, too_few, single, failed, leaked; a search's own
    winner: str | None = None
    by: WonBy | None = None


NO_VERDICT = Verdict(text="", state=None)


@frozen
class Units:
    """How many calls there were, by what became of them."""

    total: int
    scored: int
    failed: int
    skipped: int
    owed: int


@frozen
class WinnersSelection:
    """The best candidate's plain gain, whose interval's lower end holds for all `k` that were tried."""

    k: int
    candidate: str
    diff: float | None
    se: float | None
    ci: Interval | None


@frozen
class LostInShort:
    """What of a gain is lost."""

    value: float
    ci: Interval | None


@frozen
class WinnersCarryOver:
    """How much of the winner's train gain carries over to val."""

    share: float | None
    ci: Interval | None
    lost: LostInShort
    kept: bool


@frozen
class LeftOut:
    """An evaluator that was added to the run later, and is not complete or not one program."""

    evaluator: str
    calls: int
    done: int
    scored: int
    changed: bool


@frozen
class FailureGroup(MeasuredCell):
    """The calls of one cell that failed alike."""

    kind: str
    count: int
    first_message: str
    lines: tuple[int | None, ...]
    first_side_info: str  # JSON, its first 500 letters
    stage: Annotated[str, IF_ANY] = ""  # "model" where there was no reply to score


@frozen
class SkipGroup(MeasuredCell):
    """The calls of one cell that were skipped: by their evaluator, or because rules leave the rows out."""

    count: int
    first_message: str
    lines: tuple[int | None, ...]
    excluded_by: Annotated[Mapping[str, int], IF_ANY] = field(
        default_factory=dict
    )  # rules; a row counts for each

    @property
    def why(self) -> str:
        """Give the rules, each with its rows, or what the evaluator gave as the first reason."""
        return left_out_by(self.excluded_by) if self.excluded_by else self.first_message


@frozen
class Selected:
    """The examples that a summary is about, where that is not all of them; and why these."""

    why: str
    examples: Mapping[str, int]
    of: Mapping[str, int]


@frozen
class SettingBefore:
    """What a setting was when results were last shown under it, where it is something else now."""

    setting: str
    was: str
    until: str  # the date


@frozen
class Beside:
    """Another folder in which other candidates were scored on at least half of the examples that decide."""

    run: str
    candidates: int


@frozen
class TriedCandidates:
    """What was ever tried on the examples that decide."""

    split: str
    k: int
    named: int  # candidates of the command, besides the baseline
    versions: int  # others that have a score on these examples
    baselines: int  # more than one: k is all ordered pairs
    steps: int  # made after results of these examples were shown
    look: int  # the first is 1
    confirmed: Annotated[int, IF_ANY] = 0  # winners that were held against test
    changed: Annotated[tuple[SettingBefore, ...], IF_ANY] = ()
    beside: Annotated[tuple[Beside, ...], IF_ANY] = ()

    @property
    def verdicts(self) -> int:
        """Count the verdicts over these examples, this one with them; a version made after results is one."""
        return self.look + self.steps

    @property
    def comparisons(self) -> int:
        """Count those that are corrected for: at the verdict j > 1 over these examples by j (j + 1), too.

        Over more rows all candidates are looked at once more, over the same rows the new version alone.
        """
        again = self.k if self.look > 1 else 1
        return max(self.k, again * self.verdicts * (self.verdicts + 1)) if self.verdicts > 1 else self.k


@frozen
class Summary:
    """All numbers of a run; `document` is the same as `report --json` prints it."""

    schema: str
    verdict: Verdict
    baseline: str
    decided_on: str
    score_ranges: Mapping[str, str]
    margins: Mapping[str, float]
    judges: Mapping[str, str]
    units: Units
    rows: tuple[Row, ...]
    selection: WinnersSelection | None  # of the winner: its gain as the best of several
    not_told_apart: tuple[str, ...]  # from the winner
    carry_over: WinnersCarryOver | None  # of the winner's train gain
    largest_gain: Annotated[float | None, IF_ANY] = None  # that any candidate may have, where none is better
    pairs: tuple[CandidatePair, ...]
    pairs_left_out: int
    leakage: Leakages
    duplicates: Mapping[str, int]
    clusters: Mapping[str, int]
    changed: tuple[str, ...]
    additions_left_out: tuple[LeftOut, ...]
    failures: tuple[FailureGroup, ...]
    skips: Annotated[tuple[SkipGroup, ...], IF_ANY] = ()
    side_info: tuple[SideInfoEntry, ...]
    latency: tuple[LatencyEntry, ...]
    tried: Annotated[TriedCandidates | None, IF_ANY] = None  # of a bench, and of some examples, none
    journal: Annotated[JournalEnd | None, IF_ANY] = None  # up to where it goes; None of some examples
    passes: tuple[PassesEntry, ...]
    calibration: tuple[CalibrationEntry, ...]
    corpus_bleu: tuple[BleuEntry, ...]
    replies: tuple[RepliesEntry, ...]
    spent: SpendingTotals | None = None  # None where no model was called
    selected: Annotated[Selected | None, IF_ANY] = None
    metrics: Annotated[tuple[ScorerMetrics, ...], IF_ANY] = ()  # of tasks in YAML; of some examples none
    rules_waiting: Annotated[tuple[str, ...], IF_ANY] = ()  # of some examples: as waits_for_rules of all
    models: Annotated[tuple[ModelPair, ...], IF_ANY] = ()  # those that replied to prompts, with the first
    stability: Annotated[tuple[Stability, ...], IF_ANY] = ()  # where the run's own gates ask for it
    people: Annotated[tuple[Agreement, ...], IF_ANY] = ()  # of judges beside whom people gave labels
    judged_pairs: Annotated[tuple[JudgedPairs, ...], IF_ANY] = ()  # of judges that compare
    panels: Annotated[tuple[Panel, ...], IF_ANY] = ()  # of judges with several votes

    @property
    def waits_for_rules(self) -> tuple[str, ...]:
        """Name the tasks whose rules were not applied yet to all that is scored."""
        waiting = () if self.additions_left_out else (one.task for one in self.metrics if one.problem)
        return self.rules_waiting or tuple(dict.fromkeys(waiting))

    def to_dict(self) -> JsonDict:
        made = documents.to_dict(self)
        if self.selected:
            del made["spent"]  # which is known of all examples only
            made.pop("journal", None)
        return made

    @property
    def document(self) -> JsonMapping:
        return self.to_dict()


def summary_from(document: JsonMapping) -> Summary:
    """Read a summary; raises as from_dict does where it is none."""
    if document["schema"] != SCHEMA:
        raise ValueError(f"its schema is not {SCHEMA}")
    return from_dict(Summary, {"spent": None, **document})


@frozen
class Conclusion:
    """The verdict of a leaderboard, or of a comparison of two documents."""

    text: str
    points: tuple[Point, ...]
