"""A row of a summary: one candidate on one evaluator, by split, against the baseline, with its gaps."""

from collections.abc import Mapping
from typing import Annotated

from optimize_eval.base.frozen import frozen
from optimize_eval.findings.documents import FLAT, value_at
from optimize_eval.findings.shapes.difference import ScoreDifference
from optimize_eval.findings.shapes.measured import Estimate
from optimize_eval.statistics.estimates import Interval


@frozen
class SplitScores:
    """How a candidate did on one split; `n` counts examples, what was scored, failed or skipped calls."""

    mean: float | None
    se: float | None
    ci: Interval | None
    method: str | None
    n: int
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
class ScoreGap:
    """How much lower a mean is on val than on train."""

    value: float
    se: float
    ci: Interval | None
    df: float | None
    flag: bool


@frozen
class CarriedShare:
    """The share of a train gain that is there on val."""

    share: float
    ci: Interval | None

    __getitem__ = value_at


@frozen
class Overfit:
    """How much of the gain over the baseline is lost from train to val; `state` names that."""

    value: float
    se: float
    ci: Interval | None
    df: float | None
    flag: bool
    p: float | None
    p_holm: float | None
    state: str | None
    carry_over: CarriedShare | None


@frozen
class GroupScores:
    """The examples of one group, by split; in the baseline's row nothing is compared."""

    splits: Mapping[str, Estimate]
    vs_baseline: Mapping[str, ScoreDifference]

    __getitem__ = value_at


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
