"""What a split has in common with earlier ones, and what becomes of it."""

from collections.abc import Mapping

from optimize_eval.base.frozen import frozen
from optimize_eval.findings.wording import count

RECORDED, PART, KEPT, LEAKED = "recorded", "part", "kept", "leaked"

_MOST_LINES = 10


@frozen
class Like:
    """An example of an earlier split."""

    split: str
    line: int | None


@frozen
class LeakedExample:
    """An example that is there, too."""

    line: int | None
    id: str | None
    like: Like
    how: str  # bytes, normalised, near, contradiction
    similarity: float


@frozen
class Leakage:
    """Those of one split.

    `state` says what follows: they were found and `recorded` only, by a version that knew no more; `part` of
    the split is left out; all are `kept`; or the split is `leaked`, and nothing is said about it.
    """

    state: str
    share: float
    examples: int
    left_out: int
    rows: tuple[LeakedExample, ...]

    @property
    def where(self) -> str:
        """Name the splits that hold them."""
        return " or ".join(dict.fromkeys(row.like.split for row in self.rows))

    @property
    def is_held_out(self) -> bool:
        return self.state in {RECORDED, PART}

    @property
    def lines(self) -> str:
        shown = ", ".join(str(row.line) for row in self.rows[:_MOST_LINES])
        return f"{shown}{', …' * (len(self.rows) > _MOST_LINES)}"

    def not_held_out(self, split: str) -> str:
        """Say that a split confirms nothing, and why."""
        told = f"{split} is not held out: {self._of_them} in {self.where}, too"
        if self.state == KEPT:
            return f"{told}, and kept (--leaks keep): the numbers are of all of them, and confirm nothing"
        return f"{told}; nothing is said about it"

    def in_short(self) -> str:
        """Say beside a number of a split what it is not made of."""
        are = "is" if self.left_out == 1 else "are"
        clean = count(self.examples - self.left_out, "example")
        return f"({clean}; {self.left_out:,} more {are} in {self.where}, left out)"

    def point(self, split: str) -> str:
        """Say which they are, and what becomes of them."""
        outcome = {
            PART: f": left out of every mean, comparison and gate of {split}",
            LEAKED: f": nothing is said about {split}",
            KEPT: ": they count, as --leaks keep says",
        }[self.state]
        return f"{self._beside(split)} ({self._places}){self._contradictions()}{outcome}"

    def beside(self, split: str) -> str:
        """Say in a plan that some will be left out."""
        return f"{self._beside(split)}, left out"

    def beside_gate(self, split: str) -> str:
        """Say beside a gate that it saw them, too."""
        return f"; {self._beside(split)}, and count here"

    def _beside(self, split: str) -> str:
        many = count(self.examples, f"{split} example")
        are = "is" if len(self.rows) == self.examples == 1 else "are"
        return f"{len(self.rows):,} of {many} {are} in {self.where}, too"

    @property
    def _of_them(self) -> str:
        are = "is" if len(self.rows) == self.examples == 1 else "are"
        return f"{len(self.rows):,} of {count(self.examples, 'example')} {are}"

    @property
    def _places(self) -> str:
        near = sum(row.how == "near" for row in self.rows)
        lines = "line" if len(self.rows) == 1 else "lines"
        return f"{lines} {self.lines}{f'; {near:,} nearly the same' if near else ''}"

    def _contradictions(self) -> str:
        many = sum(row.how == "contradiction" for row in self.rows)
        return f", {many:,} of them with another answer there" if many else ""


Leakages = Mapping[str, Leakage]


def sentence_of(leakages: Leakages, *splits: str) -> str:
    """Say of the first of these splits that is not held out that it is not; empty where all are."""
    told = (
        leakages[split].not_held_out(split)
        for split in splits
        if split in leakages and not leakages[split].is_held_out
    )
    return next(told, "")
