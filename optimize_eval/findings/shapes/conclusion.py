"""What a comparison amounts to in words: a sentence, and points below it."""

from optimize_eval.base.frozen import frozen
from optimize_eval.findings.shapes.summary import Point


@frozen
class Conclusion:
    """The verdict of a leaderboard, or of a comparison of two documents."""

    text: str
    points: tuple[Point, ...]
