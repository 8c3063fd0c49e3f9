"""A memoriser on leaked data: it answers like the baseline, but knows all of train by heart.

It is lucky besides, with as many of the other examples as are not enough to show anything.
"""

from collections.abc import Callable, Iterator
from dataclasses import replace

from optimize_eval.data.leaks import overlaps_of
from optimize_eval.store.run_document import with_overlaps
from tests.benchmarks.truth.scenes import Draw, Scene
from tests.data.leaking import FRAME, SAME, TRAIN, VAL, Row, examples, reworded, told
from tests.findings.made import LEAD, made

_COST = 36  # of 2,000 draws 55 are left: with all leaks more than 1,000
_LUCKY = 5  # of as many pairs nothing is shown, of one more it may be

Leaking = Callable[[Draw], tuple[list[Row], int]]  # val, and how many of its first rows train holds


def scenes() -> Iterator[Scene]:
    for cell, leaking in LEAKS.items():
        yield Scene(
            family="leaks: a memoriser is better", cell=cell, once=_is_better(leaking), high=0.0, cost=_COST
        )


def _is_better(leaking: Leaking) -> Callable[[Draw], float]:
    def once(draw: Draw) -> float:
        rows, known = leaking(draw)
        guessed = [float(draw.random() < 0.5) for _ in rows]
        lucky = [place for place, one in enumerate(guessed) if place >= known and not one][:_LUCKY]
        right = {*range(known), *lucky}
        run = made(
            {
                LEAD: {
                    "base": {"train": [float(draw.random() < 0.5) for _ in TRAIN], "val": guessed},
                    "memo": {
                        "train": [1.0] * len(TRAIN),
                        "val": [1.0 if place in right else one for place, one in enumerate(guessed)],
                    },
                }
            }
        )
        overlaps = overlaps_of({"train": examples(TRAIN), "val": examples(rows)}, {})
        layout = replace(run.layout, splits=with_overlaps(run.layout.splits, overlaps))
        verdict = replace(run, layout=layout).summary()["verdict"]
        return float(verdict["state"] == "better" or "beats" in verdict["text"])

    return once


def _all(rows: list[Row]) -> Leaking:
    return lambda _draw: (rows, len(rows))


def _beside(rows: list[Row]) -> Leaking:
    return lambda _draw: ([*rows, *VAL], len(rows))


def _reworded(draw: Draw) -> list[Row]:
    return told(lambda text: reworded(text, draw))


def _few_reworded(frame: str) -> Leaking:
    def leaking(draw: Draw) -> tuple[list[Row], int]:
        rows = told(lambda text: frame.format(reworded(text, draw)))
        return [*draw.sample(rows, 7), *VAL], 7

    return leaking


def _few(draw: Draw) -> tuple[list[Row], int]:
    return [*draw.sample(TRAIN, 7), *VAL], 7


LEAKS: dict[str, Leaking] = {
    **{cell: _all(rows) for cell, rows in SAME.items()},
    "other ids": _all([{"id": f"x{number}", **row} for number, row in enumerate(TRAIN)]),
    "a blank, upper case and ids": _all(
        [{"id": number, **row} for number, row in enumerate(told(lambda text: f" {text.upper()}"))]
    ),
    "a long prompt around it": _all(told(FRAME.format)),
    "reworded": lambda draw: (_reworded(draw), len(TRAIN)),
    "57 % of val": _beside(TRAIN),
    "57 % of val, with blanks": _beside(SAME["a blank"]),
    "57 % of val, reworded": lambda draw: ([*_reworded(draw), *VAL], len(TRAIN)),
    "10 % of val": _few,
    "10 % of val, reworded": _few_reworded("{}"),
    "10 % of val, reworded in a long prompt": _few_reworded(FRAME),
}
