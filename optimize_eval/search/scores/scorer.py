"""What a search needs of whoever scores: pairs of a candidate and an example in, outcomes out.

A search never knows how a run is stored, nor how calls are made. What is recorded is not called again, a
recorded failure neither: inside a search it is final.
"""

from collections.abc import Sequence
from typing import NamedTuple, Protocol

from optimize_eval.base.outcome import Outcome


class Trial(NamedTuple):
    """A candidate, as evaluators are given it, and where its example stands; None: there are no examples."""

    text: str
    split: str
    line: int | None


Outcomes = tuple[Outcome, ...]  # of a pair, one for each evaluator, in their order


class Scorer(Protocol):
    """Scores pairs by every evaluator of a search."""

    @property
    def made(self) -> int:
        """Count the calls that were made for the search, in earlier sessions, too."""
        ...

    def owed(self, pairs: Sequence[Trial]) -> int:
        """Count the calls that scoring these pairs would take now."""
        ...

    def reply(self, outcomes: Outcomes) -> str | None:
        """Give what the model replied that was scored, where candidates are prompts."""
        ...

    def score(self, pairs: Sequence[Trial]) -> list[Outcomes]:
        """Make the calls that are owed; raises Over where the search was stopped before they were made."""
        ...
