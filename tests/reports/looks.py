"""What tests of reports share: widths, hostile texts, and a summary with something of everything."""

from collections.abc import Sequence
from functools import cache
from unicodedata import category, combining, east_asian_width

from tests.findings.made import (
    LEAD,
    Candidates,
    Example,
    Fails,
    Made,
    Says,
    made,
    moved,
    noisy,
)

TRAIN, VAL = noisy(60, seed=3), noisy(40)
WIDTHS = [40, 60, 80, 100, 120]


REASON = (
    "the answer names a support address that does not exist, and promises a refund that nobody may promise"
)


HOSTILE = {
    "escape": "\x1b[2J\x1b]0;owned\x07 red",
    "c1": "\x9b31m red",
    "right to left": "abc\u202egnp.exe\u2066",
    "lines": "first\nsecond\r\nthird\u2028fourth",
    "tabs": "one\ttwo\tthree",
    "command": "::error::owned ##[error]owned ::set-output name=x::y",
    "wide": "候補の指示文・第二版を評価する",
    "emoji": "🦊🚀 fast 🦊",
    "marks": "e\u0301le\u0300ve " * 8,
    "nothing": "",
    "megabyte": "word " * 200_000,
    "one word": "x" * 2**20,
    "nul": "a\0b\x08\x7f",
}


def measured(line: str) -> int:
    """Measure in a terminal's columns, written apart from the program's own way."""
    return sum(map(_width, line))


@cache
def _width(letter: str) -> int:
    if combining(letter) or category(letter) in {"Mn", "Me", "Cf"}:
        return 0
    return 1 + (east_asian_width(letter) in "WF")


def said(scores: Sequence[float]) -> list[Example]:
    return [
        Says(
            score, {"reasoning": REASON, "grounded": score > 0.5, "verdict": "good", "dims": {"tone": score}}
        )
        for score in scores
    ]


def candidates(*names: str) -> Candidates:
    """Make a baseline, one that is better, one that fails at times, one that overfits, and equal ones."""
    cells: list[tuple[Sequence[Example], Sequence[Example]]] = [
        (said(TRAIN), said(VAL)),
        (said(moved(TRAIN, 0.1, sd=0.05)), said(moved(VAL, 0.1, sd=0.05))),
        (TRAIN, [Fails("exit_code", "KeyError: 'dims'"), Fails(), Fails(), *moved(VAL, 0.02, sd=0.1)[3:]]),
        (moved(TRAIN, 0.2), moved(VAL, -0.01, sd=0.05)),
    ]
    return {
        name: dict(zip(("train", "val"), cells[place] if place < 4 else cells[0], strict=True))
        for place, name in enumerate(names)
    }


def rich(*names: str) -> Made:
    names = names or ("baseline", "v3-structured", "v4-verbose", "v2-fewshot")
    return made({LEAD: candidates(*names), "policy-check": candidates(*names)})
