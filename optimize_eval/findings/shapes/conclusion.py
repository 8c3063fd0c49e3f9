"""What a comparison amounts to in words: a sentence, and points below it."""

from dataclasses import dataclass

from optimize_eval.findings.shapes.summary import Point


@dataclass(frozen=True, slots=True, kw_only=True)
class Conclusion:
    """The verdict of a leaderboard, or of a comparison of two documents."""

    text: str
    points: tuple[Point, ...]
