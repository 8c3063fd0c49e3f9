"""Leaks: what it costs to hold two splits against each other, once and when run.json knows the answer."""

import json
import random
from functools import cache

from optimize_eval.data.example import Example
from optimize_eval.data.leaks import overlaps_of
from tests.benchmarks.measure import Row, median_of, own_cpu

_FRAME = [*"etaoinshrdlu"]  # everyday words


@cache
def _splits(rows: int, words: int) -> dict[str, list[Example]]:
    """Draw texts, half of whose words are everyday ones."""
    draw = random.Random(1)
    rare = ["".join(draw.choices("abcdefghijklmnop", k=draw.randint(3, 9))) for _ in range(20_000)]
    return {split: [_row(split, n, words, rare, draw) for n in range(rows)] for split in ("train", "val")}


def _row(split: str, number: int, words: int, rare: list[str], draw: random.Random) -> Example:
    text = [*draw.choices(rare, k=words // 2), *draw.choices(_FRAME, k=words // 2)]
    draw.shuffle(text)
    value = {"id": f"{split}-{number}", "question": " ".join(text), "target": "yes"}
    return Example(raw=json.dumps(value).encode(), line=number + 1, value=value)


def many_rows_cpu() -> Row:
    splits = _splits(50_000, 210)
    seconds = own_cpu(lambda: overlaps_of(splits, {}))
    return Row(what="leaks among 100,000 rows of 1 KB: CPU", value=seconds, bar=7, unit=" s")


def first_start_cpu() -> Row:
    splits = _splits(500, 40)
    seconds = median_of(lambda: own_cpu(lambda: overlaps_of(splits, {})))
    return Row(what="leaks among 1,000 rows, the first time: CPU", value=seconds * 1000, bar=80, unit=" ms")


def later_start_cpu() -> Row:
    splits = _splits(500, 40)
    known = overlaps_of(splits, {})
    seconds = median_of(lambda: own_cpu(lambda: overlaps_of(splits, known)))
    return Row(what="the same where run.json has it: CPU", value=seconds * 1000, bar=5, unit=" ms")
