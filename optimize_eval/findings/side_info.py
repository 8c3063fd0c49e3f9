"""What evaluators said beside their scores, by dotted key path; reasons, and how long calls took.

Numbers get their distribution, booleans their rate, short texts their counts; long texts are kept with the
lowest scores. Two levels of objects are followed, lists are counted by their items.
"""

import heapq
import math
import sys
import zlib
from array import array
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import chain, groupby
from operator import itemgetter
from typing import Any

from optimize_eval.base import strict_json
from optimize_eval.base.documents import JsonDict, JsonMapping
from optimize_eval.base.wrong_answers import own_words
from optimize_eval.findings.summary_parts import (
    Distribution,
    ErrorsBeside,
    LatencyEntry,
    LongTexts,
    MeasuredCell,
    ShortTexts,
    SideInfoEntry,
    TextBeside,
    TextCount,
    Truths,
    ValuesAtPath,
)
from optimize_eval.store.command_units import JournalRecord

LONGEST_SHORT = 80  # characters up to which a text is counted
MOST_PATHS = 100
WORST_KEPT = 5
LONGEST_KEPT = 500

_LONGEST_PATH = 120
_MOST_DISTINCT = 1000
_TOP = 5


def quantile(ordered: Sequence[float], share: float) -> float:
    """Interpolate between the two nearest of sorted values."""
    place = share * (len(ordered) - 1)
    low = math.floor(place)
    high = min(low + 1, len(ordered) - 1)
    return ordered[low] + (ordered[high] - ordered[low]) * (place - low)


def distribution(values: Sequence[float]) -> Distribution:
    """Describe numbers; what overflows is None."""
    ordered = sorted(values)
    n = len(ordered)
    mean = _finite(lambda: math.fsum(ordered) / n)
    return Distribution(
        n=n,
        mean=mean,
        sd=None
        if mean is None or n == 1
        else _finite(lambda: math.sqrt(math.fsum([(value - mean) ** 2 for value in ordered]) / (n - 1))),
        min=ordered[0],
        p50=_finite(lambda: quantile(ordered, 0.5)),
        p95=_finite(lambda: quantile(ordered, 0.95)),
        max=ordered[-1],
    )


def _finite(compute: Callable[[], float]) -> float | None:
    try:
        number = compute()
    except OverflowError:
        return None
    return number if math.isfinite(number) else None


# What was said beside a score, the score, the line, and its place among the answers, counted from 1; a plain
# tuple, as one is made of each record.
_Answer = tuple[JsonDict, float | None, int | None, int]


# A path, the values there, of which answers they are, and their types, exactly as JSON decodes to.
_Column = tuple[str, Sequence[Any], Sequence[_Answer], set[type]]


@dataclass(slots=True, eq=False, repr=False)
class _Path:
    """All values that stood at one path."""

    n: int = 0
    numbers: "array[float]" = field(default_factory=lambda: array("d"))
    truths: Counter[bool] = field(default_factory=Counter)
    texts: Counter[str] = field(default_factory=Counter)
    said: int = 0
    long_texts: int = 0
    worst: list[tuple[float, int, int | None, str]] = field(default_factory=list)  # a heap: the best on top
    items: "array[float]" = field(default_factory=lambda: array("d"))
    objects: int = 0
    nulls: int = 0

    def take(self, column: _Column) -> None:
        """Take in values, each of another answer, in their order; what is of one type, together."""
        _, values, answers, kinds = column
        if len(kinds) == 1:
            self._take_alike(next(iter(kinds)), values, answers)
            return
        pairs = zip(values, answers, strict=True)
        for kind, alike in groupby(pairs, lambda pair: type(pair[0])):
            self._take_alike(kind, *zip(*alike, strict=True))

    def _take_alike(self, kind: type, values: Sequence[Any], answers: Sequence[_Answer]) -> None:
        if kind is float:
            self.numbers.extend(values)
        elif kind is str:
            self._take_texts(values, answers)
        elif kind is int:
            self._take_integers(values)
        elif kind is bool:
            self.truths.update(values)
        elif kind is list:
            self._take_lists(values)
        elif kind is type(None):
            self.nulls += len(values)
        else:
            self.objects += len(values)

    def _take_integers(self, values: Sequence[int]) -> None:
        for value in values:
            try:
                self.numbers.append(value)
            except OverflowError:
                self.objects += 1

    def _take_lists(self, values: Sequence[list[Any]]) -> None:
        self.items.extend(map(len, values))
        items = chain.from_iterable(values)
        self._count([item for item in items if type(item) is str and len(item) <= LONGEST_SHORT])

    def _take_texts(self, texts: Sequence[str], answers: Sequence[_Answer]) -> None:
        short = [text for text in texts if len(text) <= LONGEST_SHORT]
        self._count(short)
        if len(short) == len(texts):
            return
        self.long_texts += len(texts) - len(short)
        for text, (_, score, line, order) in zip(texts, answers, strict=True):
            if len(text) > LONGEST_SHORT and score is not None:
                self._keep_if_low(-score, -order, line, text)

    def _keep_if_low(self, lost: float, order: int, line: int | None, text: str) -> None:
        worst = self.worst
        if len(worst) == WORST_KEPT and lost < worst[0][0]:
            return
        heapq.heappush(worst, (lost, order, line, text[:LONGEST_KEPT]))
        if len(worst) > WORST_KEPT:
            heapq.heappop(worst)

    def _count(self, texts: Sequence[str]) -> None:
        self.said += len(texts)
        if len(self.texts) + len(set(texts)) <= _MOST_DISTINCT:
            self.texts.update(texts)
            return
        for text in texts:
            if text in self.texts or len(self.texts) < _MOST_DISTINCT:
                self.texts[text] += 1

    def values(self, scored: int) -> ValuesAtPath:
        return ValuesAtPath(
            n=self.n,
            missing=scored - self.n,
            numbers=distribution(self.numbers) if self.numbers else None,
            booleans=self._booleans() if self.truths else None,
            texts=self._short_texts() if self.texts else None,
            long_texts=self._longest_texts() if self.long_texts else None,
            lists=distribution(self.items) if self.items else None,
            objects=self.objects,
            nulls=self.nulls,
        )

    def _booleans(self) -> Truths:
        return Truths(n=self.truths.total(), rate=self.truths[True] / self.truths.total())

    def _short_texts(self) -> ShortTexts:
        top = sorted(self.texts.items(), key=lambda pair: (-pair[1], pair[0]))[:_TOP]
        counts = tuple(TextCount(value=value, count=count) for value, count in top)
        return ShortTexts(n=self.said, distinct=len(self.texts), top=counts)

    def _longest_texts(self) -> LongTexts:
        worst = tuple(
            TextBeside(line=line, score=-score, text=text)
            for score, _, line, text in sorted(self.worst, reverse=True)
        )
        return LongTexts(n=self.long_texts, worst=worst)


def _columns(answers: Sequence[_Answer]) -> Iterator[_Column]:
    """Give the values of answers by their dotted paths, in the order in which these come; as `flat` does."""
    for key, values, theirs in _by_key([answer[0] for answer in answers], answers):
        kinds = set(map(type, values))
        if dict not in kinds:
            yield key[:_LONGEST_PATH], values, theirs, kinds
        else:
            yield from _columns_within(key, list(zip(values, theirs, strict=True)))


def _columns_within(key: str, pairs: Sequence[tuple[Any, _Answer]]) -> Iterator[_Column]:
    """Give the values at a key where some are objects, whose own keys are followed."""
    if plain := [pair for pair in pairs if type(pair[0]) is not dict or not pair[0]]:
        bare = [value for value, _ in plain]
        yield key[:_LONGEST_PATH], bare, [answer for _, answer in plain], set(map(type, bare))
    deep = [pair for pair in pairs if type(pair[0]) is dict and pair[0]]
    for inner, values, theirs in _by_key([value for value, _ in deep], [answer for _, answer in deep]):
        yield f"{key}.{inner}"[:_LONGEST_PATH], values, theirs, set(map(type, values))


def _by_key(
    objects: Sequence[JsonDict], answers: Sequence[_Answer]
) -> Iterator[tuple[str, Sequence[Any], Sequence[_Answer]]]:
    if len({tuple(item) for item in objects}) == 1:  # as evaluators answer; then no key is looked up
        columns = zip(*map(dict.values, objects), strict=True)
        yield from ((key, values, answers) for key, values in zip(objects[0], columns, strict=True))
        return
    for key in dict.fromkeys(chain.from_iterable(objects)):
        pairs = [(item[key], answer) for item, answer in zip(objects, answers, strict=True) if key in item]
        yield key, [value for value, _ in pairs], [answer for _, answer in pairs]


_AT_ONCE = 64  # answers that wait to be taken in together: a record of them may be as large as it likes


class SideInfo:
    """Takes in the side information of one cell, in the order of its units."""

    def __init__(self) -> None:
        self._paths: dict[str, _Path] = {}
        self._waiting: list[_Answer] = []
        self._scored = 0
        self._left_out = 0
        self._errors = 0  # told beside a score
        self._first_error = ""

    def take(self, record: JournalRecord, line: int | None) -> None:
        side_info = record["side_info"]
        self._scored += 1
        if "error" in side_info and (words := own_words(side_info)):
            self._errors += 1
            self._first_error = self._first_error or words[:LONGEST_KEPT]
        self._waiting.append((side_info, record["score"], line, self._scored))
        if len(self._waiting) == _AT_ONCE:
            self._take_waiting()

    def _take_waiting(self) -> None:
        """Take in what waits by its paths; one by one where it matters which of several paths came first."""
        answers, self._waiting = self._waiting, []
        columns = list(_columns(answers))
        paths = {column[0] for column in columns}
        if len(paths) == len(columns) and len(self._paths.keys() | paths) <= MOST_PATHS:
            self._take_columns(columns)
            return
        for answer in answers:
            self._take_columns(_columns([answer]))

    def _take_columns(self, columns: Iterable[_Column]) -> None:
        seen = set[str]()
        for column in columns:
            path, values = column[:2]
            known = self._paths.get(path)
            if known is None:
                if len(self._paths) >= MOST_PATHS:
                    self._left_out += len(values)
                    continue
                known = self._paths[path] = _Path()
            known.n += 0 if path in seen else len(values)
            known.take(column)
            seen.add(path)

    def entry(self, where: MeasuredCell) -> SideInfoEntry:
        """Give what has come, of the cell that it came from."""
        self._take_waiting()
        return SideInfoEntry(
            where=where,
            keys={path: self._paths[path].values(self._scored) for path in sorted(self._paths)},
            values_left_out=self._left_out,
            errors=ErrorsBeside(n=self._errors, first=self._first_error) if self._errors else None,
        )


def flat(side_info: JsonMapping) -> Iterator[tuple[str, Any]]:
    """Give the values by their dotted paths, two levels deep."""
    for key, value in side_info.items():
        if type(value) is dict and value:
            for inner, deeper in value.items():
                yield f"{key}.{inner}"[:_LONGEST_PATH], deeper
        else:
            yield key if len(key) <= _LONGEST_PATH else key[:_LONGEST_PATH], value


_SPENT = "usage"  # among the metadata of a scorer that calls a model
_KEYS = ("reasoning", "reason", "explanation", "message", "feedback")


def reason_of(side_info: JsonMapping) -> str | None:
    """Find the reason beside a score, whatever its length: by its usual names, else the longest text.

    >>> reason_of({"label": "a rather long label", "reason": "off topic"})
    'off topic'
    """
    named = (text for key in _KEYS if (text := _text(side_info.get(key))))
    texts = (_text(value) for _, value in sorted(flat(side_info), key=itemgetter(0)))
    return next(named, None) or max(texts, key=len, default="") or None


def fields_said(side_info: JsonMapping) -> str:
    """List the fields that a scorer of a task in YAML gives, without what it spent; others have none."""
    scores, metadata = side_info.get("scores"), side_info.get("metadata") or {}
    if not isinstance(scores, dict):
        return ""
    fields = {**scores, **{key: one for key, one in metadata.items() if key != _SPENT}}
    texts = {
        key: one if isinstance(one, str) else strict_json.dumps(one).decode() for key, one in fields.items()
    }
    return " · ".join(f"{key}: {text}" for key, text in texts.items())


def reason_of_lowest(records: Sequence[JournalRecord]) -> str | None:
    """Find what was said of the lowest of an example's repeats that anything was said of."""
    scored = sorted(
        (record for record in records if record["outcome"] == "scored"),
        key=_number_of,
    )
    return next((reason for record in scored if (reason := reason_of(record["side_info"]))), None)


def _number_of(record: JournalRecord) -> float:
    """Give a record's score; what has no number comes last."""
    score: float | None = record["score"]
    return math.inf if score is None else score


def _text(value: object) -> str:
    return value[:LONGEST_KEPT] if isinstance(value, str) and value.strip() else ""


_UNKNOWN = (1 << 32) - 1  # microseconds
_LONGEST = 4294.0  # seconds
_HIGH = (1 << 16) - 1


class Durations:
    """How long calls took, in the whole microseconds that records tell: about two bytes for each call.

    What is no whole number of them, or more than an hour, stands beside; of a call that was not timed, NaN.
    """

    def __init__(self, seconds: Sequence[float]) -> None:
        try:
            micros = array("I", [round(taken * 1e6) for taken in seconds])
        except (ValueError, OverflowError):
            micros = array("I", map(_in_micros, seconds))
        whole = [taken / 1e6 for taken in micros]
        rows = enumerate(zip(seconds, whole, strict=True)) if whole != [*seconds] else ()
        self.exact = {at: taken for at, (taken, known) in rows if taken != known and not math.isnan(taken)}
        raw = micros.tobytes()
        self._packed = zlib.compress(b"".join(raw[at::4] for at in range(4)), 1)  # like bytes side by side

    @property
    def micros(self) -> "array[int]":
        alike = zlib.decompress(self._packed)
        size, raw = len(alike) // 4, bytearray(len(alike))
        for at in range(4):
            raw[at::4] = alike[at * size : (at + 1) * size]
        return array("I", bytes(raw))

    def at(self, units: slice) -> list[float]:
        micros = self.micros
        return [self._second(at, micros[at]) for at in range(len(micros))[units]]

    def like(self, micros: int) -> list[float]:
        """List those that are so many microseconds, to the last digit."""
        return [self._second(at, known) for at, known in enumerate(self.micros) if known == micros]

    def _second(self, unit: int, micros: int) -> float:
        return math.nan if micros == _UNKNOWN else self.exact.get(unit, micros / 1e6)


def _in_micros(seconds: float) -> int:
    return _UNKNOWN if math.isnan(seconds) else round(min(max(seconds, 0.0), _LONGEST) * 1e6)


class _InOrder(Sequence[float]):
    """Many durations by their ranks: each is looked up by its upper bytes, then by its lower ones.

    To sort ten million takes more room than all else that is known of them.
    """

    def __init__(self, several: Sequence[Durations]) -> None:
        self._several = several
        self._uppers = Counter[int]()
        for some in several:
            self._uppers.update(_halves(some)[1])
        self._uppers[_HIGH] -= sum(some.micros.count(_UNKNOWN) for some in several)
        self._lowers: dict[int, Counter[int]] = {}  # by the upper bytes, when they are asked for
        self._many = self._uppers.total()

    def __len__(self) -> int:
        return self._many

    def __getitem__(self, rank: Any) -> Any:
        upper, rank = _at_rank(self._uppers, rank % self._many)
        if upper not in self._lowers:
            pairs = chain.from_iterable(zip(*_halves(some), strict=True) for some in self._several)
            self._lowers[upper] = Counter(lower for lower, of in pairs if of == upper)
        lower, rank = _at_rank(self._lowers[upper], rank)
        micros = upper << 16 | lower
        if any(some.exact for some in self._several):
            return sorted(taken for some in self._several for taken in some.like(micros))[rank]
        return micros / 1e6

    @property
    def total(self) -> float:
        total, rests = 0, list[float]()
        for some in self._several:
            micros = some.micros
            total += sum(micros) - _UNKNOWN * micros.count(_UNKNOWN)
            rests += [part for at, taken in some.exact.items() for part in (taken, -micros[at] / 1e6)]
        return math.fsum([total / 1e6, *rests])


def _halves(durations: Durations) -> tuple[Sequence[int], Sequence[int]]:
    """Take the microseconds apart into their lower and their upper two bytes."""
    halves = memoryview(durations.micros).cast("B").cast("H")
    is_little = sys.byteorder == "little"
    return halves[1 - is_little :: 2], halves[is_little::2]


def _at_rank(counts: Counter[int], rank: int) -> tuple[int, int]:
    """Find the value at a rank, and the rank among those that have it."""
    for value in sorted(counts):
        if rank < counts[value]:
            return value, rank
        rank -= counts[value]
    raise IndexError(rank)


def latency_of(
    evaluator: str, split: str, durations: Sequence[Durations], attempts: int
) -> LatencyEntry | None:
    """Describe how long some calls took; None where that is known of none."""
    ordered = _InOrder(durations)
    if not ordered:
        return None
    return LatencyEntry(
        evaluator=evaluator,
        split=split,
        n=len(ordered),
        p50=quantile(ordered, 0.5),
        p95=quantile(ordered, 0.95),
        max=ordered[-1],
        attempts=attempts,
        total=round(ordered.total, 6),
    )
