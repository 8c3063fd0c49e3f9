"""The scores of one cell, by example, and copies among them as clusters.

The unit of analysis is the example: its repeats are averaged here, first of all. Failures and skips stay
apart; the two bounds are what the scores would be if each failure counted as the worst or the best score.
"""

import heapq
import math
from array import array
from collections import Counter
from collections.abc import Iterable, Mapping, MutableSequence, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, TypeVar

from optimize_eval.base import strict_json
from optimize_eval.base.frozen import frozen
from optimize_eval.base.protocol import ScoreRange
from optimize_eval.statistics.estimates import within_sd
from optimize_eval.store.command_units import JournalRecord
from optimize_eval.store.layout import Cell, Label, Split

UNKNOWN = math.nan
WORST_SHOWN = 5
LINES_KEPT = 20

_LONGEST_SHOWN = 500

_Number = TypeVar("_Number", int, float)

Values = MutableSequence[float]  # by example, UNKNOWN where there is none


@dataclass(slots=True, eq=False, repr=False)
class Failures:
    """The failures of one kind at one stage, which is that of the model where there was no reply to score."""

    kind: str
    stage: str
    count: int = 0
    first_message: str = ""
    first_side_info: str = ""  # as JSON, so much of it as is shown
    lines: list[int | None] = field(default_factory=list)


@dataclass(slots=True, eq=False, repr=False)
class Skips:
    """The calls that were skipped: by their evaluator, or because rules leave the rows out."""

    count: int = 0
    first_message: str = ""
    lines: list[int | None] = field(default_factory=list)
    excluded_by: Counter[str] = field(default_factory=Counter)  # a row counts for each rule


@frozen
class Outcomes:
    """What became of some examples, as far as a comparison needs it."""

    means: Values
    lows: Values | None  # with failures as 0; None where that means nothing, or nothing failed
    highs: Values | None
    failed: int
    skipped: int
    numbers: MutableSequence[int]  # scores that a mean is made of, by example
    failed_calls: MutableSequence[int]
    skipped_calls: MutableSequence[int]
    ruled_calls: MutableSequence[int]  # of these: left out by rules
    whole: Values | None  # means with what rules left out; None where they left out nothing
    is_ruled_by_outcome: bool  # whether a rule that looks at scores or replies left out any of it

    @property
    def over_all_rows(self) -> Values:
        return self.means if self.whole is None else self.whole

    def at(self, places: Sequence[int]) -> "Outcomes":
        """Take some of the examples; all of them without a copy."""
        if isinstance(places, range) and len(places) == len(self.means):
            return self
        failed, skipped = _at(self.failed_calls, places), _at(self.skipped_calls, places)
        return Outcomes(
            means=_at(self.means, places),
            lows=self.lows and _at(self.lows, places),
            highs=self.highs and _at(self.highs, places),
            failed=sum(failed),
            skipped=sum(skipped),
            numbers=_at(self.numbers, places),
            failed_calls=failed,
            skipped_calls=skipped,
            ruled_calls=_at(self.ruled_calls, places),
            whole=self.whole and _at(self.whole, places),
            is_ruled_by_outcome=self.is_ruled_by_outcome,
        )


def joined_outcomes(parts: Sequence[Outcomes]) -> Outcomes:
    """Put examples of several cells, whose scores are from 0 to 1, one after the other."""
    return Outcomes(
        means=_joined(part.means for part in parts),
        lows=_joined(part.means if part.lows is None else part.lows for part in parts),
        highs=_joined(part.means if part.highs is None else part.highs for part in parts),
        failed=sum(part.failed for part in parts),
        skipped=sum(part.skipped for part in parts),
        numbers=_joined(part.numbers for part in parts),
        failed_calls=_joined(part.failed_calls for part in parts),
        skipped_calls=_joined(part.skipped_calls for part in parts),
        ruled_calls=_joined(part.ruled_calls for part in parts),
        whole=_joined(part.over_all_rows for part in parts),
        is_ruled_by_outcome=any(part.is_ruled_by_outcome for part in parts),
    )


def _joined(parts: Iterable[Iterable[_Number]]) -> list[_Number]:
    return [value for part in parts for value in part]


def _at(values: Sequence[_Number], places: Iterable[int]) -> list[_Number]:
    return [values[place] for place in places]


_OWED, _SCORED, _SKIPPED = range(3)  # in the place of kinds of failures


@frozen
class Scores(Outcomes):
    """One cell's outcomes."""

    cell: Cell
    scored: int
    failures: Sequence[Failures]
    skips: Sequence[Skips]
    within_sd: float | None
    seconds: Values  # by unit
    attempts: int  # of all calls whose time is known
    kinds: Sequence[int]  # of failures, by unit: their places in `kind_names`; or what else became of it
    kind_names: Sequence[str]
    is_unit: bool  # whether all scores are from 0 to 1, be others allowed or not

    @property
    def coverage(self) -> float | None:
        calls = self.scored + self.failed
        return self.scored / calls if calls else None

    def has_only_skips(self, example: int) -> bool:
        """Return True if every call of an example was skipped."""
        return self.skipped_calls[example] * len(self.means) == self.cell.size

    def seconds_of(self, examples: slice) -> list[float]:
        """List how long the scored calls of some examples took."""
        units = self._units(examples)
        pairs = zip(self.seconds[units], self.kinds[units], strict=True)
        return [seconds for seconds, kind in pairs if kind == _SCORED]

    def kinds_of(self, examples: slice) -> Counter[str]:
        """Count the failures of some examples by their kinds."""
        return Counter(self.kind_names[kind] for kind in self.kinds[self._units(examples)] if kind > _SKIPPED)

    def _units(self, examples: slice) -> slice:
        start, stop, _ = examples.indices(len(self.means))
        repeats = self.cell.size // len(self.means)
        return slice(start * repeats, stop * repeats)


class CellReading:
    """Takes in the records of one cell, in the order of its units."""

    def __init__(
        self, cell: Cell, lines: Sequence[int | None], repeats: int, score_range: ScoreRange
    ) -> None:
        self._cell = cell
        self._lines = lines
        self._repeats = repeats
        self._has_ends = score_range is ScoreRange.UNIT
        self._scores: list[list[float]] = [[] for _ in lines]
        self._failed = array("I", [0]) * len(lines)
        self._skipped = array("I", [0]) * len(lines)
        self._ruled = array("I", [0]) * len(lines)
        self._left_out: dict[int, list[float]] = {}
        self._by_outcome = False
        self._skips: dict[bool, Skips] = {}  # whether by rules
        self._outcomes: Counter[str] = Counter()
        self._failures: dict[tuple[str, str], Failures] = {}
        self._kinds = array("I", [_OWED]) * cell.size
        self._kind_names: dict[str | int, int] = {number: number for number in (_OWED, _SCORED, _SKIPPED)}
        self._seconds = array("d", [UNKNOWN]) * cell.size
        self._attempts = 0
        self._is_unit = True

    def take(self, place: int, record: JournalRecord) -> None:
        example = place // self._repeats
        outcome = record["outcome"]
        self._outcomes[outcome] += 1
        if "seconds" in record:
            self._seconds[place] = record["seconds"]
            self._attempts += record.get("attempts", 1)
        if outcome == "scored":
            score: float | None = record["score"]
            self._kinds[place] = _SCORED
            if score is not None:  # a label may stand in its place
                self._scores[example].append(score)
            if not self._has_ends and (score is None or not 0.0 <= score <= 1.0):
                self._is_unit = False
        elif outcome == "failed":
            self._failed[example] += 1
            self._kinds[place] = self._kind_names.setdefault(record["kind"], len(self._kind_names))
            self._take_failure(record, self._lines[example])
        else:
            self._skipped[example] += 1
            self._kinds[place] = _SKIPPED
            if record.get("excluded_by"):
                self._take_left_out(example, record)
            self._take_skip(record, self._lines[example])

    def done(self) -> Scores:
        has_bounds = self._has_ends and self._outcomes["failed"] > 0
        return Scores(
            cell=self._cell,
            means=self._mean(),
            lows=self._mean(0.0) if has_bounds else None,
            highs=self._mean(1.0) if has_bounds else None,
            scored=self._outcomes["scored"],
            failed=self._outcomes["failed"],
            skipped=self._outcomes["skipped"],
            failures=tuple(self._failures.values()),
            numbers=array("I", map(len, self._scores)),
            failed_calls=self._failed,
            skipped_calls=self._skipped,
            ruled_calls=self._ruled,
            whole=self._whole() if any(self._ruled) else None,
            is_ruled_by_outcome=self._by_outcome,
            skips=tuple(self._skips.values()),
            within_sd=within_sd(self._scores) if self._repeats > 1 else None,
            seconds=self._seconds,
            kinds=self._kinds,
            kind_names=[str(name) for name in self._kind_names],
            attempts=self._attempts,
            is_unit=self._is_unit,
        )

    def _take_left_out(self, example: int, record: JournalRecord) -> None:
        self._ruled[example] += 1
        self._by_outcome = self._by_outcome or record.get("by_outcome", False)
        if record["score"] is not None:
            self._left_out.setdefault(example, []).append(record["score"])

    def _whole(self) -> Values:
        kept = enumerate(self._scores)
        return array("d", (_average([*scores, *self._left_out.get(at, ())]) for at, scores in kept))

    def _take_failure(self, record: JournalRecord, line: int | None) -> None:
        key = kind, stage = record["kind"], record.get("stage", "")
        failures = self._failures.get(key)
        if failures is None:
            failures = self._failures[key] = Failures(
                kind=kind,
                stage=stage,
                first_message=record["message"],
                first_side_info=_shown(record.get("side_info")),
            )
        failures.count += 1
        if line not in failures.lines and len(failures.lines) < LINES_KEPT:
            failures.lines.append(line)

    def _take_skip(self, record: JournalRecord, line: int | None) -> None:
        rules = record.get("excluded_by", ())
        skips = self._skips.setdefault(bool(rules), Skips(first_message=record.get("message", "")))
        skips.count += 1
        skips.excluded_by.update(rules)
        if line not in skips.lines and len(skips.lines) < LINES_KEPT:
            skips.lines.append(line)

    def _mean(self, failure_as: float | None = None) -> Values:
        """Average each example's repeats; failed ones are left out, or count as a number for a bound."""
        means: Values = array("d")
        for scores, failed in zip(self._scores, self._failed, strict=True):
            ends = [] if failure_as is None else [failure_as] * failed
            counted = [*scores, *ends]
            means.append(_average(counted))
        return means


def _shown(side_info: Mapping[str, Any] | None) -> str:
    return strict_json.dumps(side_info).decode()[:_LONGEST_SHOWN] if side_info else ""


def _average(values: Sequence[float]) -> float:
    try:
        return math.fsum(values) / len(values)
    except (ZeroDivisionError, OverflowError):
        return UNKNOWN


def worst_places(values: Values, before: Values | None) -> list[int]:
    """Choose the examples that lost most against `before`; without it, those with the lowest values."""
    if before is None:
        return heapq.nsmallest(WORST_SHOWN, known(values), key=lambda place: (values[place], place))
    lost = (place for place in known(values) if values[place] < before[place])  # no value is below NaN
    return heapq.nsmallest(
        WORST_SHOWN, lost, key=lambda place: (values[place] - before[place], values[place], place)
    )


def known(values: Values, places: Iterable[int] | None = None) -> list[int]:
    """List the examples that have a value."""
    return [
        place
        for place in (range(len(values)) if places is None else places)
        if values[place] == values[place]
    ]


FEWEST_COPIES = 0.01  # of a split's lines, from which on copies are clustered


def copies_in(sha256: Sequence[str]) -> int:
    """Count the lines that are copies of an earlier one."""
    return len(sha256) - len(set(sha256))


def with_copies_joined(split: Split) -> Split:
    """Put copies into one cluster, together with the clusters that each of them is in."""
    return replace(split, clusters=joined(split.contents, split.clusters))


def joined(
    sha256: Sequence[str], clusters: Sequence[Label] | None, fewest: float = FEWEST_COPIES
) -> tuple[Label, ...] | None:
    """Join the clusters that share equal lines; None where every line stands for itself."""
    if copies_in(sha256) <= fewest * len(sha256):
        return None if clusters is None else tuple(clusters)
    if clusters is None:
        return tuple(sha256)
    parent: dict[str, str] = {}
    for digest, label in zip(sha256, clusters, strict=True):
        parent[_root(parent, f"line {digest}")] = _root(parent, f"cluster {label}")
    return tuple(_root(parent, f"cluster {label}") for label in clusters)


def _root(parent: dict[str, str], name: str) -> str:
    """Find the name that a joined cluster goes by."""
    path = []
    while (above := parent.get(name, name)) != name:
        path.append(name)
        name = above
    parent.update(dict.fromkeys(path, name))
    return name
