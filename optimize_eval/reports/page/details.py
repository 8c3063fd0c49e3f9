"""Examples in full, as blocks that a browser opens when needed; which are told, and numbers of side info.

Failures first, then the largest losses and gains against the baseline and the lowest scores of each cell,
then a sample that the run's seed fixes.

Most lines are cut out as they stand, which takes a fifth of the time of reading and writing them.

A block holds whole examples; as JSON it is about as large as a browser opens without anybody noticing.

Made of what summary.json has of each key: counts, means, standard deviations, rates.

From where to where the steps go is what summary.json has of a key, over all splits and candidates drawn.
"""

import gzip
import hashlib
import heapq
import math
import re
from array import array
from base64 import b64encode
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import groupby
from operator import itemgetter
from typing import Any

from optimize_eval.base import strict_json
from optimize_eval.base.documents import JsonMapping
from optimize_eval.base.errors import OptimizeEvalError
from optimize_eval.base.frozen import frozen
from optimize_eval.findings.summary_parts import Distribution, SideInfoEntry, Truths, ValuesAtPath
from optimize_eval.findings.wording import reply_marks
from optimize_eval.reports.page.columns import FAILED, AxisNames, CellPlaces, RecordColumns
from optimize_eval.reports.source import Examples, PageRun, PageSource, PlacedRecords, examples_of
from optimize_eval.store import journal
from optimize_eval.store.run_document import BENCH
from optimize_eval.tasks.templates.template import sent_of

_KEPT = 300  # of each list

ExamplePlace = tuple[int, int]  # a split and the place in it


def in_order(columns: RecordColumns, *, against: Sequence[int], seed: int) -> list[ExamplePlace]:
    """List all examples, the most telling first."""
    ranks: dict[ExamplePlace, int] = {}
    for key in columns.cells:
        for places in _telling(columns, key, against[key[1]]):
            for rank, place in enumerate(places):
                example = key[3], place
                ranks[example] = min(rank, ranks.get(example, _KEPT))
    failed = set(_failed(columns))
    everything = (
        (split, index) for split, lines in enumerate(columns.axes.lines) for index in range(len(lines))
    )
    return sorted(everything, key=lambda one: (one not in failed, ranks.get(one, _KEPT), _chance(seed, *one)))


def _failed(columns: RecordColumns) -> Iterator[ExamplePlace]:
    repeats = columns.axes.repeats
    for key in columns.cells:
        outcomes = columns.outcomes(key)
        at = outcomes.find(FAILED)
        while at >= 0:
            yield key[3], at // repeats
            at = outcomes.find(FAILED, at + 1)


def _telling(columns: RecordColumns, key: CellPlaces, other: int) -> Iterator[list[int]]:
    """Give the places of the lowest scores of a cell, then of what it loses and gains most."""
    means = columns.means(key)
    yield _lowest(list(enumerate(means)))
    against = (key[0], other, key[2], key[3])
    if key == against or against not in columns.cells:
        return
    changes = [
        (index, mean - before)
        for index, (mean, before) in enumerate(zip(means, columns.means(against), strict=True))
    ]
    yield _lowest([change for change in changes if change[1] < 0])
    yield _lowest([(place, -change) for place, change in changes if change > 0])


def _lowest(values: list[tuple[int, float]]) -> list[int]:
    scored = (value for value in values if not math.isnan(value[1]))
    return [place for place, _ in heapq.nsmallest(_KEPT, scored, key=itemgetter(1, 0))]


def _chance(seed: int, split: int, place: int) -> bytes:
    return hashlib.sha256(f"{seed} {split} {place}".encode()).digest()


_REPLIES = 64  # whose extraction is kept
_KEPT_KEYS = ("kind", "message", "stderr", "side_info", "usage")

_SCORED = b',"outcome":"scored","score":'
_SIDE_INFO = b',"side_info":{'
_LONGEST_SCORE = 32
_END = re.compile(
    rb'\}(?:,"output":"[^"\\]*")?,"seconds":[^,"]+(?:,"waited":[^,"]+)?,"attempts":1'
    rb',"started_at":"[^"\\]*","crc":"[0-9a-f]{8}"\}\n\Z'
)
_LONGEST_END = 320


def excerpt_of(line: bytes, reply: str | None, rule: str = "") -> bytes:
    """Give a record as JSON: what was said, or why it failed, and what a model replied, if one did.

    `rule` is that of --extract, for what of the reply was scored.
    """
    shown = _cut_out(line) or _written_anew(line)
    if reply is None:
        return shown
    extracted = _extracted(rule, reply) if rule else None
    told = {"reply": reply} if extracted is None else {"reply": reply, "extracted": extracted}
    return b"%s%s%s}" % (shown[:-1], b"," * (len(shown) > len(b"{}")), strict_json.dumps(told)[1:-1])


@lru_cache(_REPLIES)
def _extracted(rule: str, reply: str) -> str | None:
    """Take out of a reply what was scored, once for all who score it; None where the rule gives up on it."""
    try:
        from optimize_eval.tasks.of_replies import extraction_of  # noqa: PLC0415  few runs extract

        return extraction_of(rule)(reply)
    except OptimizeEvalError:
        return None


def _cut_out(line: bytes) -> bytes | None:
    """Cut the side information out of a line that is as we write those of most calls; None of any other."""
    scored = line.find(_SCORED)
    start = line.find(_SIDE_INFO, scored, scored + len(_SCORED) + _LONGEST_SCORE + len(_SIDE_INFO))
    if scored < 0 or start < 0 or line.find(b"{", 1, start) >= 0:
        return None
    end = _END.search(line, max(start, len(line) - _LONGEST_END))
    return b"{%s}" % line[start + 1 : end.start() + 1] if end else None


def _written_anew(line: bytes) -> bytes:
    record = journal.decode(line)
    kept = {name: record[name] for name in _KEPT_KEYS if record.get(name) not in (None, "", {})}
    if record.get("attempts", 1) > 1:
        kept["attempts"] = record["attempts"]
    replied = record.get("replied")
    if marks := [*reply_marks(replied)] if isinstance(replied, dict) else ():
        kept["marks"] = ", ".join(marks)
    return strict_json.dumps(kept)


BLOCK = 192_000  # bytes of JSON
NO_BLOCK = 0xFFFF_FFFF

_LEVEL = 3  # of gzip: half the time of 4, and a twentieth larger
_FIRST = 16  # examples that are read before it is known how large they are


@dataclass(slots=True)
class BlockIndex:
    """In which block each example is, over all splits."""

    starts: Sequence[int]
    blocks: "array[int]"
    count: int = 0
    examples: int = 0
    size: int = 0
    _here: list[ExamplePlace] = field(default_factory=list)

    @classmethod
    def of(cls, axes: AxisNames) -> "BlockIndex":
        starts = [0]
        for lines in axes.lines:
            starts.append(starts[-1] + len(lines))
        return cls(starts, array("I", [NO_BLOCK]) * starts[-1])

    def note(self, examples: Sequence[ExamplePlace]) -> None:
        for split, place in examples:
            self.blocks[self.starts[split] + place] = self.count
        self.count += 1
        self.examples += len(examples)


def blocks_of(
    source: PageSource, axes: AxisNames, order: Sequence[ExamplePlace], index: BlockIndex, room: int | None
) -> Iterator[bytes]:
    """Write blocks until there is no more room (None: for all), and note in the index what is where."""
    examples = examples_of(source.run)
    at, step = 0, _FIRST
    while at < len(order):
        chosen = order[at : at + step]
        text = block_of(source, axes, chosen, examples)
        packed = packed_text(text)
        if room is not None and index.size + len(packed) > room:
            return
        index.size += len(packed)
        index.note(chosen)
        at += len(chosen)
        step = max(1, min(len(chosen) * 4, len(chosen) * BLOCK // max(1, len(text))))
        yield packed


def packed_text(data: bytes) -> bytes:
    """Compress bytes for a page, the same for the same bytes."""
    return b64encode(gzip.compress(data, _LEVEL, mtime=0))


def block_of(
    source: PageSource, axes: AxisNames, chosen: Sequence[ExamplePlace], examples: Mapping[str, Examples]
) -> bytes:
    """Write down examples in full, with every record of theirs, by `split:place`."""
    records: dict[ExamplePlace, list[bytes]] = {example: [] for example in chosen}
    rule = str((source.run.get("settings") or {}).get("extract") or "")
    for split, group in groupby(sorted(chosen), key=lambda example: example[0]):
        places = [place for _, place in group]
        for cell, unit, line, reply in source.lines_of(axes.splits[split], places):
            place, repeat = divmod(unit, axes.repeats)
            where = b"%d,%d,%d,%d" % (*axes.key(cell)[:3], repeat + 1)
            records[split, place].append(b"[%s,%s]" % (where, excerpt_of(line, reply, rule)))
    blocks = []
    for (split, place), known in records.items():
        example = examples[axes.splits[split]].get(place)
        told = strict_json.dumps(example), _prompts(source.run, example), b",".join(known)
        blocks.append(b'"%d:%d":{"example":%s%s,"records":[%s]}' % (split, place, *told))
    return b"{%s}" % b",".join(blocks)


def _prompts(run: PageRun, example: object) -> bytes:
    """Write the messages that models were sent, by candidate; nothing of runs that no model replied in."""
    if not run.get("models") or run.get("kind") == BENCH or not isinstance(example, dict):
        return b""
    return b',"prompts":%s' % strict_json.dumps(
        [
            None if messages is None else [(message.role, message.content) for message in messages]
            for messages in (sent_of(candidate.get("text"), example) for candidate in run["candidates"])
        ]
    )


_BEYOND = 3.0  # standard errors
_FEWEST = 10  # values on each side

Keys = Mapping[str, ValuesAtPath]


@frozen
class Drift:
    """A key of a cell that shifts from train to val, in standard deviations or percentage points."""

    evaluator: str
    candidate: str
    task_model: str | None
    key: str
    unit: str
    shift: float


def drifts(entries: Iterable[SideInfoEntry]) -> Iterator[Drift]:
    """List the shifts from train to val, each with the cell and the key that it is of."""
    cells: dict[tuple[str, str, str | None], dict[str, Keys]] = {}
    for entry in entries:
        where = entry.where.evaluator, entry.where.candidate, entry.where.task_model
        cells.setdefault(where, {})[entry.where.split] = entry.keys
    for (evaluator, candidate, task_model), splits in cells.items():
        for key, unit, shift in _shifts(splits.get("train", {}), splits.get("val", {})):
            yield Drift(
                evaluator=evaluator,
                candidate=candidate,
                task_model=task_model,
                key=key,
                unit=unit,
                shift=shift,
            )


def _shifts(train: Keys, val: Keys) -> Iterator[tuple[str, str, float]]:
    for key in sorted(train.keys() & val.keys()):
        numbers = _shift_of_numbers(train[key].numbers, val[key].numbers)
        rates = _shift_of_rates(train[key].booleans, val[key].booleans)
        for unit, shift in (("sd", numbers), ("points", rates)):
            if shift is not None:
                yield key, unit, shift


def _shift_of_numbers(train: Distribution | None, val: Distribution | None) -> float | None:
    """Give the shift in standard deviations of train, where it is one."""
    if train is None or val is None or train.mean is None or val.mean is None:
        return None
    if train.sd is None or val.sd is None:
        return None
    error = math.hypot(train.sd / math.sqrt(train.n), val.sd / math.sqrt(val.n))
    change = val.mean - train.mean
    return change / train.sd if train.sd and _is_beyond(change, error, min(train.n, val.n)) else None


def _shift_of_rates(train: Truths | None, val: Truths | None) -> float | None:
    """Give the shift in percentage points, where it is one."""
    if train is None or val is None:
        return None
    error = math.sqrt(sum(one.rate * (1 - one.rate) / one.n for one in (train, val)))
    change = val.rate - train.rate
    return 100 * change if _is_beyond(change, error, min(train.n, val.n)) else None


def _is_beyond(change: float, error: float, fewest: int) -> bool:
    return fewest >= _FEWEST and abs(change) > _BEYOND * error > 0


STEPS = 24
_MOST_CANDIDATES = 40

_Key = tuple[int, int, str]  # an evaluator and a task model by their places, and a dotted path


class Histograms:
    """Counts what passes through."""

    def __init__(self, axes: AxisNames, side_info: Iterable[JsonMapping]) -> None:
        self._axes = axes
        self._ends: dict[_Key, tuple[float, float]] = {}
        self._counts: dict[CellPlaces, dict[str, list[int]]] = {}
        for place, path, numbers in self._drawn(side_info):
            low, high = self._ends.get((place[0], place[2], path), (numbers["min"], numbers["max"]))
            self._ends[place[0], place[2], path] = min(low, numbers["min"]), max(high, numbers["max"])
            self._counts.setdefault(place, {})[path] = [0] * STEPS

    def through(self, place: CellPlaces, records: PlacedRecords) -> PlacedRecords:
        """Hand the records of a cell on, and count their numbers."""
        counts = self._counts.get(place)
        return records if counts is None else self._counted(place, counts, records)

    def _counted(
        self, place: CellPlaces, counts: dict[str, list[int]], records: PlacedRecords
    ) -> PlacedRecords:
        numbers = _Numbers(counts)
        for placed in records:
            record = placed[1]
            if record["outcome"] == "scored":
                numbers.take(record["side_info"])
            yield placed
        for path, values in numbers.values.items():
            counts[path] = _steps(values, *self._ends[place[0], place[2], path])

    def to_dict(self) -> list[dict[str, object]]:
        """Give each key's ends, and its counts by cell."""
        return [
            {
                "evaluator": evaluator,
                "task_model": model,
                "key": path,
                "ends": ends,
                "cells": [
                    [place[1], place[3], counts[path]]
                    for place, counts in self._counts.items()
                    if place[0] == evaluator and place[2] == model and path in counts
                ],
            }
            for (evaluator, model, path), ends in self._ends.items()
        ]

    def _drawn(self, side_info: Iterable[JsonMapping]) -> Iterator[tuple[CellPlaces, str, Any]]:
        shown = set(self._axes.candidates[:_MOST_CANDIDATES])
        for entry in side_info:
            if entry["candidate"] in shown:
                place = self._axes.places(
                    entry["evaluator"], entry["candidate"], entry["task_model"], entry["split"]
                )
                yield from (
                    (place, path, values["numbers"])
                    for path, values in entry["keys"].items()
                    if values.get("numbers")
                )


class _Numbers:
    """The numbers of a cell by dotted path: a key's own, or that of one in an object."""

    def __init__(self, paths: Iterable[str]) -> None:
        self.values: dict[str, list[float]] = {path: [] for path in paths}
        self._own = [(path, values.append) for path, values in self.values.items()]
        self._inner = [
            (path[:dot], path[dot + 1 :], values.append)
            for path, values in self.values.items()
            for dot in (at for at, letter in enumerate(path) if letter == ".")
        ]

    def take(self, side_info: JsonMapping) -> None:
        for key, add in self._own:
            value = side_info.get(key)
            if type(value) is float or type(value) is int:
                add(value)
        for key, deeper, add in self._inner:
            inner = side_info.get(key)
            if type(inner) is dict:
                value = inner.get(deeper)
                if type(value) is float or type(value) is int:
                    add(value)


def _steps(values: list[float], low: float, high: float) -> list[int]:
    """Count the values in each step; sorted, so that a step is found and not each value's."""
    width = high - low

    def step(value: float) -> int:
        share = (value - low) / width if 0 < width < math.inf else 0.0
        return min(STEPS - 1, int(share * STEPS))

    values.sort()
    first, end = bisect_left(values, low), bisect_right(values, high)
    starts = [bisect_left(values, number, first, end, key=step) for number in range(1, STEPS)]
    return [after - before for before, after in zip([first, *starts], [*starts, end], strict=True)]
