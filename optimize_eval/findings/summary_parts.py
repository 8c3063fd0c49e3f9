"""The documents of a summary's rows: scores, measures, side information, cell by cell."""

from collections.abc import Mapping
from typing import Annotated

from optimize_eval.base.documents import FLAT, IF_ANY, UNSAID, Key
from optimize_eval.base.frozen import frozen
from optimize_eval.statistics.differences import CarriedShare, ScoreDifference, ScoreGap
from optimize_eval.statistics.estimates import Estimate, Interval
from optimize_eval.statistics.rates import Calibration


@frozen
class PassRates:
    """How often any of k repeats passes, and how often all do."""

    k: int
    any_: Annotated[Estimate, Key("any")]
    all_: Annotated[Estimate, Key("all")]


@frozen
class CorpusBleu:
    """BLEU over all outputs together."""

    score: float
    outputs: int


@frozen
class StatedConfidence:
    """How well stated confidences agree with scores; `unusable` ones are no numbers from 0 to 1."""

    calibration: Annotated[Calibration, FLAT]
    unusable: int


@frozen
class ReplyCounts:
    """What models' replies say of themselves."""

    scored: int
    cut_off: int
    off_scale: int
    first_off_scale: Annotated[float | None, IF_ANY] = None
    with_thoughts: Annotated[int, IF_ANY] = 0
    refused: Annotated[int, IF_ANY] = 0
    empty: Annotated[int, IF_ANY] = 0
    answered_by: Mapping[str, int]


@frozen
class MeasuredCell:
    """Where something was measured."""

    candidate: str
    evaluator: str
    task_model: str | None
    split: str


@frozen
class PassesEntry:
    """The pass rates of a cell."""

    where: Annotated[MeasuredCell, FLAT]
    by_k: tuple[PassRates, ...]


@frozen
class CalibrationEntry:
    """The calibration of a cell."""

    where: Annotated[MeasuredCell, FLAT]
    stated: Annotated[StatedConfidence, FLAT]


@frozen
class BleuEntry:
    """The corpus BLEU of a cell."""

    where: Annotated[MeasuredCell, FLAT]
    bleu: Annotated[CorpusBleu, FLAT]


@frozen
class RepliesEntry:
    """The replies of a cell."""

    where: Annotated[MeasuredCell, FLAT]
    counts: Annotated[ReplyCounts, FLAT]


@frozen
class FreshCalls:
    """Calls about one example that were made to confirm that it is below its rate."""

    made: int  # skipped ones, too, which are no calls
    passed: int
    calls: int


@frozen
class Suspect:
    """An example that passed less often than is demanded of each.

    `chance` is that of so few fresh passes, or fewer, at the lowest rate; None where fresh calls are owed:
    then the count alone decides.
    """

    line: int | None
    passed: int
    calls: int
    fresh: Annotated[FreshCalls | None, IF_ANY] = None
    chance: float | None
    is_below: Annotated[bool, Key("below")]


@frozen
class Stability:
    """How stable the calls of a cell are, as a gate asks; `value` is its pass@k or pass^k.

    Failed calls count as not passed. `examples` are those that have enough calls; none where scores are
    graded: not all 0 or 1.
    """

    where: Annotated[MeasuredCell, FLAT]
    demand: str  # each, pass@5, pass^5
    least: float
    examples: int
    is_graded: Annotated[bool, Key("graded")]
    value: Annotated[Estimate | None, IF_ANY] = None
    suspects: Annotated[tuple[Suspect, ...], IF_ANY] = ()


@frozen
class Coefficient:
    """How far several agree, from chance, 0, to always, 1."""

    value: float
    ci: Interval | None


@frozen
class JudgesBias:
    """By how much a judge scores higher than people."""

    mean: float
    ci: Interval


@frozen
class CorrectedDifference:
    """A candidate against the baseline, by what people would say; the interval holds for all comparisons."""

    diff: float
    se: float
    ci: Interval
    comparisons: int


@frozen
class CorrectedScores:
    """What people would say of a cell on average: a judge's mean without its error on what they labelled."""

    candidate: str
    task_model: str | None
    split: str
    labels: int
    mean: float
    se: float
    ci: Interval
    vs_baseline: Annotated[CorrectedDifference | None, IF_ANY] = None


@frozen
class Agreement:
    """How far a judge agrees with people; `ceiling` is how far they agree with each other.

    Labels are `chosen` where all have a known chance of having been given.
    """

    evaluator: str
    kind: str  # kappa, quadratic_kappa, alpha
    value: float | None
    ci: Interval | None
    labels: int
    raters: tuple[str, ...]
    ceiling: Annotated[Coefficient | None, IF_ANY] = None
    bias: JudgesBias | None
    chosen: Annotated[bool, IF_ANY] = False
    looks: Annotated[int, IF_ANY] = 0
    corrected: tuple[CorrectedScores, ...]


@frozen
class JudgedPairs:
    """Which place a judge that compares says is better, over all its votes, each given in both orders."""

    evaluator: str
    against: str
    votes: int
    first: float | None  # the share of the first place; a tie counts half
    ci: Interval | None
    flipped: int  # votes for one place in both orders
    same: int  # pairs of one text, which are ties without a call


@frozen
class PanelJudge:
    """A judge of a panel: by how much it votes higher than all, and whether a comparison hangs on it."""

    judge: str
    votes: int
    failed: int
    bias: float | None
    ci: Interval | None
    turns: bool


@frozen
class MostVaried:
    """A call whose votes lie far apart."""

    candidate: str
    task_model: str | None
    split: str
    line: int | None
    least: float
    most: float


@frozen
class Panel:
    """How far several votes agree."""

    evaluator: str
    vote: str
    units: int  # with two votes or more
    alpha: Coefficient | None
    judges: tuple[PanelJudge, ...]
    most_varied: tuple[MostVaried, ...]


@frozen
class LatencyEntry:
    """How long the calls of an evaluator took on a split, in seconds."""

    evaluator: str
    split: str
    n: int
    p50: float
    p95: float
    max: float
    attempts: int
    total: float


@frozen
class SplitScores(Estimate):
    """How a candidate did on one split; `n` counts examples, what was scored, failed or skipped calls."""

    tasks: Annotated[int | None, UNSAID] = None
    repeats: int
    scored: int
    failed: int
    skipped: int
    coverage: float | None
    bounds: tuple[float | None, float | None] | None  # the mean with failures as 0, and as 1
    within_sd: float | None
    between_sd: float | None
    failures: Mapping[str, int]


@frozen
class Overfit(ScoreGap):
    """How much of the gain over the baseline is lost from train to val; `state` names that."""

    p: float | None
    p_holm: float | None
    state: str | None
    carry_over: CarriedShare | None


@frozen
class GroupScores:
    """The examples of one group, by split; in the baseline's row nothing is compared."""

    splits: Mapping[str, Estimate]
    vs_baseline: Mapping[str, ScoreDifference]


@frozen
class LowScore:
    """An example that got worse than with the baseline; in the baseline's row, one with a low score.

    `name` and `input` are short texts by which to know it, `text` is the reason that the evaluator gave.
    """

    split: str
    line: int | None
    name: str
    input: str
    score: float
    baseline: float | None
    text: str | None


@frozen
class Row:
    """One candidate on one evaluator; `vs_baseline` is None in the baseline's own row."""

    candidate: str
    evaluator: str
    task_model: str | None
    splits: Mapping[str, SplitScores]
    vs_baseline: Mapping[str, ScoreDifference] | None
    gap: ScoreGap | None
    overfit: Overfit | None
    groups: Mapping[str, GroupScores]
    worst: tuple[LowScore, ...]

    def against_baseline(self, split: str) -> ScoreDifference | None:
        """Give the comparison with the baseline; None for the baseline itself."""
        return self.vs_baseline[split] if self.vs_baseline is not None else None

    def difference(self, split: str) -> ScoreDifference:
        """Give the comparison of a row that is not the baseline's."""
        d = self.against_baseline(split)
        if d is None:
            raise ValueError(f"{self.candidate} is the baseline")
        return d


@frozen
class ModelPair:
    """Model b against model a, as they reply to one prompt; `failed` counts the calls of both."""

    a: str
    b: str
    candidate: str
    evaluator: str
    split: str
    failed: int
    difference: Annotated[ScoreDifference, FLAT]


@frozen
class CandidatePair:
    """Candidate b against candidate a."""

    a: str
    b: str
    evaluator: str
    task_model: str | None
    split: str
    difference: Annotated[ScoreDifference, FLAT]


@frozen
class Distribution:
    """Numbers; what overflows is None."""

    n: int
    mean: float | None
    sd: float | None
    min: float
    p50: float | None
    p95: float | None
    max: float


@frozen
class Truths:
    """Booleans, and how many of them are true."""

    n: int
    rate: float


@frozen
class TextCount:
    """A short text, and how often it was said."""

    value: str
    count: int


@frozen
class ShortTexts:
    """Short texts, the most frequent first."""

    n: int
    distinct: int
    top: tuple[TextCount, ...]


@frozen
class TextBeside:
    """A long text that came with a low score."""

    line: int | None
    score: float
    text: str


@frozen
class LongTexts:
    """Long texts, those with the lowest scores."""

    n: int
    worst: tuple[TextBeside, ...]


@frozen
class ValuesAtPath:
    """All values that stood at one path."""

    n: int
    missing: int
    numbers: Annotated[Distribution | None, IF_ANY] = None
    booleans: Annotated[Truths | None, IF_ANY] = None
    texts: Annotated[ShortTexts | None, IF_ANY] = None
    long_texts: Annotated[LongTexts | None, IF_ANY] = None
    lists: Annotated[Distribution | None, IF_ANY] = None
    objects: Annotated[int, IF_ANY] = 0
    nulls: Annotated[int, IF_ANY] = 0


@frozen
class ErrorsBeside:
    """Errors that were reported beside scores."""

    n: int
    first: str


@frozen
class SideInfoEntry:
    """The side information of a cell."""

    where: Annotated[MeasuredCell, FLAT]
    keys: Mapping[str, ValuesAtPath]
    values_left_out: Annotated[int, IF_ANY] = 0
    errors: Annotated[ErrorsBeside | None, IF_ANY] = None
