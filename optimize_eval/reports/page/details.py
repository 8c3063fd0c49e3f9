"""Examples in full, with what every evaluator said of them, as blocks that a browser opens when needed.

A block holds whole examples; as JSON it is about as large as a browser opens without anybody noticing.
"""

import gzip
from array import array
from base64 import b64encode
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import groupby
from typing import Any

from optimize_eval.base import strict_json
from optimize_eval.reports.page.columns import AxisNames
from optimize_eval.reports.page.excerpt import excerpt_of
from optimize_eval.reports.page.priority import ExamplePlace
from optimize_eval.reports.page.source import Examples, PageSource, examples_of
from optimize_eval.store.manifest import Manifest, is_bench
from optimize_eval.tasks.prompt import sent_of

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
    for split, group in groupby(sorted(chosen), key=lambda example: example[0]):
        places = [place for _, place in group]
        for cell, unit, line, reply in source.lines_of(axes.splits[split], places):
            place, repeat = divmod(unit, axes.repeats)
            where = b"%d,%d,%d,%d" % (*axes.key(cell)[:3], repeat + 1)
            records[split, place].append(b"[%s,%s]" % (where, excerpt_of(line, reply)))
    blocks = []
    for (split, place), known in records.items():
        example = examples[axes.splits[split]].get(place)
        told = strict_json.dumps(example), _prompts(source.run, example), b",".join(known)
        blocks.append(b'"%d:%d":{"example":%s%s,"records":[%s]}' % (split, place, *told))
    return b"{%s}" % b",".join(blocks)


def _prompts(run: Manifest, example: Any) -> bytes:
    """Write the messages that models were sent, by candidate; nothing of runs that no model replied in."""
    if not run.get("models") or is_bench(run) or not isinstance(example, dict):
        return b""
    return b',"prompts":%s' % strict_json.dumps(
        [
            None if messages is None else [(one.role, one.content) for one in messages]
            for messages in (sent_of(one.get("text"), example) for one in run["candidates"])
        ]
    )
