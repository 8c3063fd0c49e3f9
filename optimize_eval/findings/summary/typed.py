"""summary.json with types: names that an editor can complete, for programs.

How the numbers are computed is aggregates', which run they are of is results'.
"""

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any, TypeVar

_T = TypeVar("_T")

Interval = tuple[float, float]


@dataclass(frozen=True, slots=True, kw_only=True)
class Point:
    """One of the sentences that belong to a verdict."""

    mark: str
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """What came out, in words."""

    text: str
    points: tuple[Point, ...]
    state: str | None  # better, worse, no_difference, not_shown, too_few, single, failed; None before the end
    winner: str | None
    by: Mapping[str, Any] | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Units:
    """How many calls there were, by what became of them."""

    total: int
    scored: int
    failed: int
    skipped: int
    owed: int


@dataclass(frozen=True, slots=True, kw_only=True)
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


@dataclass(frozen=True, slots=True, kw_only=True)
class Difference:
    """A candidate against another one on the same examples."""

    diff: float | None
    se: float | None
    ci: Interval | None
    p: float | None
    p_holm: float | None
    test: str | None
    n_pairs: int
    dropped: int
    wins: int
    ties: int
    losses: int
    units: int  # independent ones: pairs, or clusters
    comparisons: int  # that were corrected together
    at_most: float | None  # the share of examples that may differ, where none of these does
    skew: float | None
    mde: float | None  # found in 80 of 100 runs; known of comparisons with the baseline that decide
    mark: str
    despite_failures: str | None = None  # told where calls failed
    at_worst: Mapping[str, Any] | None = None
    at_zero: Mapping[str, Any] | None = None
    margin: Mapping[str, Any] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Gap:
    """How much is lost from train to val; `state` is an overfit's name."""

    value: float
    se: float
    ci: Interval | None
    df: float | None
    flag: bool
    p: float | None = None
    p_holm: float | None = None
    state: str | None = None
    carry_over: Mapping[str, Any] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
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


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """One candidate on one evaluator; `vs_baseline` is None in the baseline's own row."""

    evaluator: str
    candidate: str
    task_model: str | None
    splits: Mapping[str, SplitScores]
    vs_baseline: Mapping[str, Difference] | None
    gap: Gap | None
    overfit: Gap | None
    groups: Mapping[str, Any]
    worst: tuple[LowScore, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Pair:
    """Candidate b against candidate a."""

    a: str
    b: str
    evaluator: str
    task_model: str | None
    split: str
    difference: Difference


@dataclass(frozen=True, slots=True, kw_only=True)
class Failures:
    """The calls of one cell that failed alike."""

    evaluator: str
    candidate: str
    task_model: str | None
    split: str
    kind: str
    count: int
    first_message: str
    lines: tuple[int | None, ...]
    first_side_info: str  # JSON, its first 500 letters


@dataclass(frozen=True, slots=True, kw_only=True)
class Summary:
    """All numbers of a run; `document` is the same as `report --json` prints it."""

    verdict: Verdict
    baseline: str
    decided_on: str
    units: Units
    rows: tuple[Row, ...]
    pairs: tuple[Pair, ...]
    score_ranges: Mapping[str, str]
    selection: Mapping[str, Any] | None  # of the winner: its gain with and without the choice
    not_told_apart: tuple[str, ...]  # from the winner
    carry_over: Mapping[str, Any] | None  # of the winner's train gain
    leakage: int
    duplicates: Mapping[str, int]
    changed: tuple[str, ...]
    failures: tuple[Failures, ...]
    document: Mapping[str, Any]


def typed(document: Mapping[str, Any]) -> Summary:
    return _made(
        Summary,
        document,
        verdict=_made(Verdict, document["verdict"], points=_all(Point, document["verdict"]["points"])),
        units=_made(Units, document["units"]),
        rows=tuple(map(_row, document["rows"])),
        pairs=tuple(_made(Pair, pair, difference=_made(Difference, pair)) for pair in document["pairs"]),
        failures=_all(Failures, document["failures"]),
        document=document,
    )


def _row(row: Mapping[str, Any]) -> Row:
    return _made(
        Row,
        row,
        splits={name: _made(SplitScores, scores) for name, scores in row["splits"].items()},
        vs_baseline=row["vs_baseline"]
        and {name: _made(Difference, difference) for name, difference in row["vs_baseline"].items()},
        gap=row["gap"] and _made(Gap, row["gap"]),
        overfit=row["overfit"] and _made(Gap, row["overfit"]),
        worst=_all(LowScore, row["worst"]),
    )


def _all(kind: type[_T], values: list[Mapping[str, Any]]) -> tuple[_T, ...]:
    return tuple(_made(kind, value) for value in values)


def _made(kind: type[_T], value: Mapping[str, Any], **made: Any) -> _T:
    """Make a dataclass of what a mapping has of its fields, and of those that are made already."""
    known = {
        field.name: _frozen(value[field.name])
        for field in fields(kind)  # type: ignore[arg-type]  # all of ours are dataclasses
        if field.name in value and field.name not in made
    }
    return kind(**known, **made)


def _frozen(value: Any) -> Any:
    return tuple(value) if isinstance(value, list) else value
