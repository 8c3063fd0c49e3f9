"""The cells of a run: their records, each read once, in the order of units, as scores by example.

The unit of analysis is the example: its repeats are averaged here, first of all. Failures and skips stay
apart; the two bounds are what the scores would be if each failure counted as the worst or the best score.
"""

import heapq
import math
from array import array
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, MutableSequence, Sequence
from functools import cached_property
from itertools import compress
from typing import Any, NamedTuple, TypeVar

from optimize_eval.base import strict_json
from optimize_eval.base.documents import JsonDict, JsonMapping
from optimize_eval.base.frozen import Remembers, extend, frozen
from optimize_eval.base.protocol import ScoreRange
from optimize_eval.findings.leakage import RecordsByCell, with_copies_joined
from optimize_eval.findings.measures import MOST_IN_A_BYTE, MeasuredCells, Measures, no_calls, of_cells
from optimize_eval.findings.side_info import Durations, SideInfo, latency_of
from optimize_eval.findings.summary_parts import LatencyEntry, MeasuredCell, SideInfoEntry, SplitScores
from optimize_eval.findings.summary_shape import FailureGroup, SkipGroup
from optimize_eval.statistics.estimates import Estimate, spread_of, within_sd
from optimize_eval.store.command_units import JournalRecord
from optimize_eval.store.layout import Cell, CellName, Layout, Split


class CellFamily(NamedTuple):
    """The cells of one evaluator, task model and split."""

    evaluator: str
    task_model: str | None
    split: str


UNKNOWN = math.nan
WORST_SHOWN = 5
LINES_KEPT = 20
SAME = "same"  # beside the score of two texts that are one, of which no judge was asked

_LONGEST_SHOWN = 500
_PLACES = frozenset({"first", "second", "tie"})
_SAID = frozenset({"better", "votes", SAME})

_Number = TypeVar("_Number", int, float)

_Lines = list[int | None]
Values = MutableSequence[float]  # by example, UNKNOWN where there is none


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
        every: JsonDict = {name: getattr(self, name) for name in _BY_EXAMPLE}
        some = {name: values and [values[place] for place in places] for name, values in every.items()}
        return Outcomes(
            **some,
            failed=sum(some["failed_calls"]),
            skipped=sum(some["skipped_calls"]),
            is_ruled_by_outcome=self.is_ruled_by_outcome,
        )


_BY_EXAMPLE = (
    *("means", "lows", "highs", "numbers", "failed_calls", "skipped_calls", "ruled_calls", "whole"),
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


_OWED, _SCORED, _SKIPPED = range(3)  # in the place of kinds of failures


@frozen
class Scores(Outcomes):
    """One cell's outcomes."""

    cell: Cell
    scored: int
    failures: tuple[FailureGroup, ...]
    skips: tuple[SkipGroup, ...]
    within_sd: float | None
    durations: Durations  # by unit
    attempts: int  # of all calls whose time is known
    # By unit: what became of it, or of a failure its place in `kind_names`; empty where all were scored.
    kinds: Sequence[int]
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
        seconds = self.durations.at(units)
        return [*compress(seconds, map(_SCORED.__eq__, self.kinds[units]))] if self.kinds else seconds

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
        self._failed, self._skipped, self._ruled = (no_calls(len(lines), repeats) for _ in range(3))
        self._left_out: dict[int, list[float]] = {}
        self._by_outcome = False
        self._skips: dict[bool, tuple[str, _Lines]] = {}  # whether by rules: the first message
        self._excluded_by: Counter[str] = Counter()  # a row counts for each rule
        self._failures: dict[
            tuple[str, str], tuple[str, str, _Lines]
        ] = {}  # message and side info of the first
        self._kinds = array("B", [_OWED]) * cell.size
        self._kind_names: dict[str | int, int] = {number: number for number in (_OWED, _SCORED, _SKIPPED)}
        self._seconds = array("d", [UNKNOWN]) * cell.size
        self._attempts = 0
        self._is_unit = True

    def take(self, place: int, record: JournalRecord) -> None:
        example = place // self._repeats
        outcome = record["outcome"]
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
            self._kinds[place] = self._number_of(record["kind"])
            self._take_failure(record, self._lines[example])
        else:
            self._skipped[example] += 1
            self._kinds[place] = _SKIPPED
            if record.get("excluded_by"):
                self._take_left_out(example, record)
            self._take_skip(record, self._lines[example])

    def done(self) -> Scores:
        scored, skipped = self._kinds.count(_SCORED), self._kinds.count(_SKIPPED)
        failed = len(self._kinds) - self._kinds.count(_OWED) - scored - skipped
        has_bounds = self._has_ends and failed > 0
        return Scores(
            cell=self._cell,
            means=self._mean(),
            lows=self._mean(0.0) if has_bounds else None,
            highs=self._mean(1.0) if has_bounds else None,
            scored=scored,
            failed=failed,
            skipped=skipped,
            failures=tuple(self._failure_groups()),
            numbers=array(self._failed.typecode, map(len, self._scores)),
            failed_calls=self._failed,
            skipped_calls=self._skipped,
            ruled_calls=self._ruled,
            whole=self._whole() if any(self._ruled) else None,
            is_ruled_by_outcome=self._by_outcome,
            skips=tuple(self._skip_groups()),
            within_sd=within_sd(self._scores) if self._repeats > 1 else None,
            durations=Durations(self._seconds),
            kinds=self._kinds if scored < len(self._kinds) else b"",
            kind_names=[str(name) for name in self._kind_names],
            attempts=self._attempts,
            is_unit=self._is_unit,
        )

    def _number_of(self, kind: str) -> int:
        number = self._kind_names.setdefault(kind, len(self._kind_names))
        if number > MOST_IN_A_BYTE and self._kinds.typecode == "B":  # only in runs of others
            self._kinds = array("I", self._kinds)
        return number

    def _take_left_out(self, example: int, record: JournalRecord) -> None:
        self._ruled[example] += 1
        self._by_outcome = self._by_outcome or record.get("by_outcome", False)
        if record["score"] is not None:
            self._left_out.setdefault(example, []).append(record["score"])

    def _whole(self) -> Values:
        kept = enumerate(self._scores)
        return array("d", (_average([*scores, *self._left_out.get(at, ())]) for at, scores in kept))

    def _take_failure(self, record: JournalRecord, line: int | None) -> None:
        key = record["kind"], record.get("stage", "")
        if key not in self._failures:
            self._failures[key] = record["message"], _shown(record.get("side_info")), []
        self._failures[key][-1].append(line)

    def _take_skip(self, record: JournalRecord, line: int | None) -> None:
        rules = record.get("excluded_by", ())
        _, lines = self._skips.setdefault(bool(rules), (record.get("message", ""), []))
        lines.append(line)
        self._excluded_by.update(rules)

    def _failure_groups(self) -> Iterator[FailureGroup]:
        for (kind, stage), (message, side_info, lines) in self._failures.items():
            yield extend(
                FailureGroup,
                measured_in(self._cell),
                kind=kind,
                count=len(lines),
                first_message=message,
                lines=_first_of(lines),
                first_side_info=side_info,
                stage=stage,
            )

    def _skip_groups(self) -> Iterator[SkipGroup]:
        for is_by_rules, (message, lines) in self._skips.items():
            yield extend(
                SkipGroup,
                measured_in(self._cell),
                count=len(lines),
                first_message=message,
                lines=_first_of(lines),
                excluded_by=dict(self._excluded_by) if is_by_rules else {},
            )

    def _mean(self, failure_as: float | None = None) -> Values:
        """Average each example's repeats; failed ones are left out, or count as a number for a bound."""
        means: Values = array("d")
        for scores, failed in zip(self._scores, self._failed, strict=True):
            if failed and failure_as is not None:
                means.append(_average([*scores, *[failure_as] * failed]))
            else:
                means.append(scores[0] if len(scores) == 1 else _average(scores))
        return means


def _first_of(lines: _Lines) -> tuple[int | None, ...]:
    return tuple(dict.fromkeys(lines))[:LINES_KEPT]


def _shown(side_info: JsonMapping | None) -> str:
    return strict_json.dumps(side_info).decode()[:_LONGEST_SHOWN] if side_info else ""


def _average(values: Sequence[float]) -> float:
    try:
        return math.fsum(values) / len(values)
    except (ZeroDivisionError, OverflowError):
        return UNKNOWN


def worst_places(values: Values, before: Values | None) -> list[int]:
    """Choose the examples that lost most against `before`; without it, those with the lowest values."""
    if before is None:
        lowest = heapq.nsmallest(WORST_SHOWN, ((values[example], example) for example in known(values)))
        return [example for _, example in lowest]
    both = enumerate(zip(values, before, strict=True))
    lost = ((own - other, own, example) for example, (own, other) in both if own < other)  # none below NaN
    return [example for _, _, example in heapq.nsmallest(WORST_SHOWN, lost)]


def known(values: Values, places: Iterable[int] | None = None) -> list[int]:
    """List the examples that have a value."""
    return [
        place
        for place in (range(len(values)) if places is None else places)
        if values[place] == values[place]
    ]


Keep = Callable[[JournalRecord], Any]  # what is kept of each record besides, by example


class Ballot(NamedTuple):
    """A vote: of a judge of several by its name, else of the only one; of a pair with both answers."""

    judge: str
    score: float
    better: tuple[str, ...] = ()


class Heard:
    """Takes in the scored records of one cell."""

    def __init__(self) -> None:
        self.units: list[tuple[int, list[Ballot]]] = []  # by example, in the order of records
        self.failed: Counter[str] = Counter()  # votes that did not come, by judge
        self.same = 0  # pairs of one text, of which nobody was asked

    def take(self, example: int, record: JournalRecord) -> None:
        side_info = record["side_info"]
        if _SAID.isdisjoint(side_info) or record["score"] is None:
            return
        if side_info.get(SAME) is True:
            self.same += 1
            self.units.append((example, []))
            return
        votes = side_info.get("votes")
        every = votes if isinstance(votes, list) else [{**side_info, "score": record["score"]}]
        ballots = [ballot for vote in every if (ballot := _ballot(vote))]
        if isinstance(votes, list) or any(ballot.better for ballot in ballots):
            self.units.append((example, ballots))
        failed = side_info.get("failed_votes")
        self.failed.update(failed.keys() if isinstance(failed, dict) else ())


def _ballot(vote: Any) -> Ballot | None:
    """Read a vote; what is none was said by another evaluator."""
    if not isinstance(vote, dict) or not isinstance(vote.get("score"), int | float):
        return None
    judge, better = vote.get("judge", ""), vote.get("better")
    if not (isinstance(better, list) and len(better) == len("ab") and _PLACES.issuperset(map(str, better))):
        better = ()
    return Ballot(str(judge), vote["score"], tuple(better))


@frozen
class ReadCell:
    """What the records of one cell come to."""

    scores: Scores
    measures: Measures
    side_info: SideInfoEntry
    kept: Sequence[Sequence[Any]] = ()
    votes: Heard | None = None  # of judges that compare, or of several


@frozen
class ReadCells(Remembers):
    """What the records of all cells come to; copies among a split's lines are joined to clusters."""

    layout: Layout
    splits: Mapping[str, Split]
    by_name: Mapping[CellName, ReadCell]

    @classmethod
    def read(cls, layout: Layout, records: RecordsByCell, keep: Keep | None = None) -> "ReadCells":
        splits = {split.name: with_copies_joined(split) for split in layout.splits}
        beside = sorted(layout.cells, key=lambda cell: (cell.split, cell.candidate, cell.task_model or ""))
        read = {cell[:4]: _read(layout, cell, records(cell), keep) for cell in beside}
        return cls(layout=layout, splits=splits, by_name={cell[:4]: read[cell[:4]] for cell in layout.cells})

    @property
    def side_info(self) -> tuple[SideInfoEntry, ...]:
        return tuple(read.side_info for read in self.by_name.values())

    @cached_property
    def scores(self) -> dict[tuple[CellFamily, str], Scores]:
        """Give the scores by what is compared, and by candidate."""
        return {
            (CellFamily(cell.evaluator, cell.task_model, cell.split), cell.candidate): read.scores
            for cell, read in zip(self.layout.cells, self.by_name.values(), strict=True)
        }

    def failures(self) -> Iterator[FailureGroup]:
        """Give what failed alike, cell by cell."""
        for read in self.by_name.values():
            yield from read.scores.failures

    def latency(self) -> Iterator[LatencyEntry]:
        """Say how long calls took, by evaluator and split."""
        timed: dict[tuple[str, str], list[Scores]] = {}
        for scores in (read.scores for read in self.by_name.values()):
            timed.setdefault((scores.cell.evaluator, scores.cell.split), []).append(scores)
        for where, theirs in timed.items():
            durations = [scores.durations for scores in theirs]
            if latency := latency_of(*where, durations, sum(scores.attempts for scores in theirs)):
                yield latency

    def measured(self) -> MeasuredCells:
        """Give what there is of each measure."""
        return of_cells(
            [
                (measured_in(cell), read.measures, self.splits[cell.split].clusters)
                for cell, read in zip(self.layout.cells, self.by_name.values(), strict=True)
            ]
        )


def _read(
    layout: Layout, cell: Cell, records: Iterable[tuple[int, JournalRecord]], keep: Keep | None
) -> ReadCell:
    lines, repeats = layout.split(cell.split).lines, layout.repeats
    score_range = layout.score_range(cell.evaluator)
    reading = CellReading(cell, lines, repeats, score_range)
    side_info, measures, heard = SideInfo(), Measures(len(lines), repeats, score_range), Heard()
    kept: list[list[Any]] = [[] for _ in lines] if keep else []
    for place, record in records:
        reading.take(place, record)
        if record["outcome"] == "scored":
            side_info.take(record, lines[place // repeats])
            measures.take(place // repeats, record)
            heard.take(place // repeats, record)
        if keep:
            kept[place // repeats].append(keep(record))
    return ReadCell(
        scores=reading.done(),
        measures=measures,
        side_info=side_info.entry(measured_in(cell)),
        kept=kept,
        votes=heard if heard.units else None,
    )


def measured_in(cell: Cell) -> MeasuredCell:
    return MeasuredCell(
        candidate=cell.candidate, evaluator=cell.evaluator, task_model=cell.task_model, split=cell.split
    )


def split_scores(scores: Scores, mean: Estimate, layout: Layout) -> SplitScores:
    return extend(
        SplitScores,
        mean,
        repeats=layout.repeats,
        scored=scores.scored,
        failed=scores.failed,
        skipped=scores.skipped,
        coverage=scores.coverage,
        bounds=_bounds(scores, mean, layout.score_range(scores.cell.evaluator)),
        within_sd=scores.within_sd,
        between_sd=spread_of([scores.means[place] for place in known(scores.means)]),
        failures=_by_kind(scores),
    )


def _by_kind(scores: Scores) -> dict[str, int]:
    counts: dict[str, int] = {}
    for failures in scores.failures:
        counts[failures.kind] = counts.get(failures.kind, 0) + failures.count
    return counts


def _bounds(
    scores: Scores, mean: Estimate, score_range: ScoreRange
) -> tuple[float | None, float | None] | None:
    """Give the means that the failures could have made of it, at worst and at best."""
    if score_range is not ScoreRange.UNIT:
        return None
    if scores.lows is None or scores.highs is None:
        return None if mean.mean is None else (mean.mean, mean.mean)
    return _plain_mean(scores.lows), _plain_mean(scores.highs)


def _plain_mean(values: Values) -> float | None:
    at = known(values)
    return math.fsum(values[place] for place in at) / len(at) if at else None
