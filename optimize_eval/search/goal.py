"""What a search climbs: one evaluator or several, who scores pairs by them, and what that is worth.

A search never knows how a run is stored, nor how calls are made.

The other evaluators are called too: they keep candidates in the race that are best by them, and are reported.
Those that rank nobody, labels and quality checks of tasks in YAML, are only reported.
"""

from collections.abc import Collection, Mapping, Sequence
from math import fsum, isfinite
from typing import NamedTuple, Protocol

from optimize_eval.base.errors import UsageError
from optimize_eval.base.frozen import frozen
from optimize_eval.base.outcome import Failed, Outcome, Scored, Skipped
from optimize_eval.base.protocol import ScoreRange


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

    def count_owed(self, pairs: Sequence[Trial]) -> int:
        """Count the calls that scoring these pairs would take now."""
        ...

    def reply(self, outcomes: Outcomes) -> str | None:
        """Give what the model replied that was scored, where candidates are prompts."""
        ...

    def score(self, pairs: Sequence[Trial]) -> list[Outcomes]:
        """Make the calls that are owed; raises Over where the search was stopped before they were made."""
        ...


Value = float | Failed | Skipped  # what a pair is worth: a failure is not a number here


@frozen
class Goal:
    """The evaluators of a search and their weights; those of weight 0 are not climbed."""

    names: tuple[str, ...]
    ranges: tuple[ScoreRange, ...]
    weights: tuple[float, ...]
    unranked: frozenset[str] = frozenset()  # names of those that rank nobody

    @property
    def is_unit(self) -> bool:
        """Return True if what is climbed lies between 0 and 1."""
        return all(self.ranges[index] is ScoreRange.UNIT for index in self.climbed)

    @property
    def climbed(self) -> tuple[int, ...]:
        return tuple(index for index, weight in enumerate(self.weights) if weight)

    @property
    def objectives(self) -> tuple[int, ...]:
        """Give those by which a candidate may stay in the race."""
        return tuple(index for index, name in enumerate(self.names) if name not in self.unranked)

    @property
    def name(self) -> str:
        """Name what is climbed, for people."""
        return " + ".join(
            self.names[index] if len(self.climbed) == 1 else f"{self.weights[index]:g} × {self.names[index]}"
            for index in self.climbed
        )

    def value(self, outcomes: Outcomes) -> Value:
        """Put the outcomes of a pair together; one that skips leaves its weight to the others."""
        chosen = [(worth_of(outcomes[index]), self.weights[index]) for index in self.climbed]
        if failed := next((value for value, _ in chosen if isinstance(value, Failed)), None):
            return failed
        scored = [(value, weight) for value, weight in chosen if not isinstance(value, Failed | Skipped)]
        if not scored:
            return next(value for value, _ in chosen if isinstance(value, Skipped))
        return fsum(score * weight for score, weight in scored) / fsum(weight for _, weight in scored)


def worth_of(outcome: Outcome) -> Value:
    """Give what one evaluator says of a pair; an answer without a number is as one that skips."""
    if not isinstance(outcome, Scored):
        return outcome
    return Skipped(message="it gave no number") if outcome.is_unranked else outcome.score


def make_goal(
    names: Sequence[str],
    ranges: Sequence[ScoreRange],
    *,
    climb: str | None = None,
    weights: Mapping[str, float] | None = None,
    unranked: Collection[str] = (),
) -> Goal:
    """Decide what is climbed: the evaluator that `climb` names, the `weights`, else the first that ranks."""
    if climb is not None and weights:
        raise UsageError("--climb and --goal both say what is climbed", hint="give one of them")
    for name in (*(weights or ()), *([climb] if climb is not None else [])):
        if name not in names:
            raise UsageError(f"no evaluator is named {name!r}", hint=f"name one of {', '.join(names)}")
        if name in unranked:
            raise UsageError(
                f"{name} ranks nobody: it gives labels, or its purpose is qa",
                hint="climb a scorer with numbers and the purpose score",
            )
    if weights:
        _check_weights(weights, dict(zip(names, ranges, strict=True)))
    chosen = weights or {climb or _first(names, unranked): 1.0}
    return Goal(
        names=tuple(names),
        ranges=tuple(ranges),
        weights=tuple(float(chosen.get(name, 0.0)) for name in names),
        unranked=frozenset(unranked),
    )


def _first(names: Sequence[str], unranked: Collection[str]) -> str:
    if first := next((name for name in names if name not in unranked), ""):
        return first
    raise UsageError(
        f"nothing says which candidate is better: {', '.join(names)} only check or label",
        hint="add a scorer with numbers and the purpose score",
    )


def _check_weights(weights: Mapping[str, float], ranges: Mapping[str, ScoreRange]) -> None:
    for name, weight in weights.items():
        if not isfinite(weight) or weight <= 0:
            raise UsageError(
                f"--goal {name}={weight:g}: the weight is not above 0", hint="omit the evaluator"
            )
        if ranges[name] is not ScoreRange.UNIT:
            raise UsageError(
                f"--goal {name}: weights need scores from 0 to 1, and {name} may give any number",
                hint=f"climb it alone with --climb {name}, or let it score from 0 to 1",
            )
