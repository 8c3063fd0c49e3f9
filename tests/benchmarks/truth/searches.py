"""What a search may claim: 20 proposals at random, none better than the seed, 60 examples held out."""

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from optimize_eval.run.outcome import Outcome
from optimize_eval.search.ending import Over, Why
from optimize_eval.search.result.honest import Judged, Measured, judged
from optimize_eval.search.result.tree import Node, SearchOutcome
from tests.benchmarks.truth.scenes import Draw, Scene
from tests.search.searches import CountingScorer, make_plan, run, scored

_PROPOSALS, _TRAIN, _VAL = 20, 60, 60
_FALSE = 0.05
_COST = 5


def scenes() -> Iterator[Scene]:
    for cell, is_binary in (("graded scores", False), ("scores of 0 and 1", True)):
        yield Scene(
            family="search, equal: false claim",
            cell=cell,
            once=_told(lambda one: one.is_better, is_binary=is_binary),
            high=_FALSE,
            cost=_COST,
        )
        yield Scene(
            family="search, equal: best mean on val above the seed's",
            cell=cell,
            once=_told(lambda one: (one.difference.diff or 0.0) > 0, is_binary=is_binary),
            cost=_COST,
        )
        yield Scene(
            family="search, equal: uncorrected interval above 0",
            cell=cell,
            once=_told(lambda one: bool(one.difference.ci and one.difference.ci[0] > 0), is_binary=is_binary),
            cost=_COST,
        )


def searched(seed: int, *, is_binary: bool) -> Judged | None:
    """Search once, and judge the best as `optimize` does; None where nothing was accepted."""
    made = 0

    def proposes(_request: Mapping[str, Any]) -> str:
        nonlocal made
        made += 1
        if made > _PROPOSALS:
            raise Over(Why.BUDGET, "enough proposals")
        return str(made)

    def evaluate(text: str, split: str, line: int | None) -> Outcome:
        level = 0.6 + Draw(f"{seed} {split} {line}").gauss(0, 0.15)
        own = Draw(f"{seed} {text} {split} {line}")
        return scored(float(own.random() < level) if is_binary else min(1, max(0, own.gauss(level, 0.15))))

    plan = make_plan(proposes, train=_TRAIN, val=_VAL, random_seed=seed)
    return _judged(run(plan, CountingScorer(evaluate), budget=10**6), seed)


def _told(claim: Callable[[Judged], bool], *, is_binary: bool) -> Callable[[Draw], float | None]:
    def once(draw: Draw) -> float | None:
        found = searched(draw.randrange(10**9), is_binary=is_binary)
        return None if found is None else float(claim(found))

    return once


def _judged(found: SearchOutcome, seed: int) -> Judged | None:
    others = found.nodes[1:]
    if not others:
        return None
    best = max(others, key=lambda node: node.mean)
    before = _values(found.seed)
    return judged(
        _measured(best),
        _measured(found.seed),
        among=len(others),
        gains={node.name: [b - a for a, b in zip(before, _values(node), strict=True)] for node in others},
        chosen=best.name,
        goal=make_plan(lambda _: "").goal,
        clusters=None,
        random_seed=seed,
    )


def _values(node: Node) -> list[float]:
    return list(node.values.values())


def _measured(node: Node) -> Measured:
    return Measured(values=_values(node), lows=[], highs=[], failed=0)
