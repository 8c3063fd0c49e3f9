"""What comparisons are called, and how often that is false."""

import random
from collections.abc import Callable

import pytest

from tests.findings.made import (
    LEAD,
    Entry,
    Example,
    Fails,
    Made,
    No,
    Says,
    made,
    moved,
    noisy,
    on_val,
    row_of,
)

DRAWS = 60  # that it is 5 % and no more is shown by python -m tests.benchmarks.truth
ALLOWED = 9  # scipy.stats.binom.ppf(0.999, 60, 0.05): a rate of 5 % stays below in 999 of 1,000 suites


def mark(run: Made, candidate: str = "b") -> str:
    return str(row_of(run.summary(), candidate)["vs_baseline"]["val"]["mark"])


BASE = noisy(40)


@pytest.mark.parametrize(
    ("after", "expected"),
    [
        (moved(BASE, 0.1, sd=0.05), "better"),
        (moved(BASE, -0.1, sd=0.05), "worse"),
        (moved(BASE, 0.005, sd=0.1), "no_difference"),
        (BASE, "no_difference"),
    ],
    ids=["better", "worse", "none", "the same"],
)
def test_a_difference_has_a_mark(after: list[float], expected: str) -> None:
    assert mark(on_val(a=BASE, b=after)) == expected


@pytest.mark.parametrize(("pairs", "expected"), [(5, "too_few"), (6, "better")])
def test_what_no_test_could_confirm_is_too_few(pairs: int, expected: str) -> None:
    assert mark(on_val(a=BASE[:pairs], b=moved(BASE[:pairs], 0.3))) == expected


def test_a_difference_that_does_not_survive_the_correction_is_a_hint() -> None:
    others = {f"c{n}": moved(BASE, 0.0, sd=0.1, seed=n) for n in range(9)}
    alone = on_val(a=BASE, b=moved(BASE, 0.04, sd=0.1))
    among = on_val(a=BASE, b=moved(BASE, 0.04, sd=0.1), **others)
    assert (mark(alone), mark(among)) == ("better", "hint_better")
    worse = on_val(a=BASE, b=moved(BASE, -0.04, sd=0.1), **others)
    assert mark(worse) == "hint_worse"


def test_failures_are_held_against_a_lead_wherever_there_are_some() -> None:
    after: list[Entry] = [*moved(BASE, 0.1)]
    equal = row_of(on_val(a=BASE, b=after).summary(), "b")["vs_baseline"]["val"]
    assert "despite_failures" not in equal
    after[0] = Fails()
    ahead = row_of(on_val(a=BASE, b=after).summary(), "b")["vs_baseline"]["val"]
    assert ahead["despite_failures"] == "surely"
    behind = row_of(on_val(a=BASE, b=[*after[:20], *[Fails()] * 20]).summary(), "b")["vs_baseline"]["val"]
    assert behind["despite_failures"] == "no"
    shared: list[Entry] = [Fails(), Fails(), Fails(), *moved(BASE, 0.03, sd=0.01)[3:]]
    both = row_of(on_val(a=[*BASE[:37], Fails(), Fails(), Fails()], b=shared).summary(), "b")
    assert both["vs_baseline"]["val"]["despite_failures"] != "surely"  # though coverage is equal


def _normal(draw: random.Random) -> float:
    return draw.gauss(0.5, 0.15)


def _share(draw: random.Random) -> float:
    return float(draw.random() < 0.7)


def _skewed(draw: random.Random) -> float:
    return draw.betavariate(5, 1)


@pytest.mark.parametrize("score", [_normal, _share, _skewed])
def test_of_20_equal_candidates_one_is_called_better_in_at_most_5_of_100_draws(
    score: Callable[[random.Random], float],
) -> None:
    draw = random.Random(20_261_118)
    false = sum(_has_a_false_winner(draw, score) for _ in range(DRAWS))
    assert false <= ALLOWED


def _has_a_false_winner(draw: random.Random, score: Callable[[random.Random], float]) -> bool:
    run = on_val(**{f"c{n}": [score(draw) for _ in range(20)] for n in range(20)})
    compared = [row.against_baseline("val") for row in run.findings().rows]
    return any(one is not None and one.mark == "better" for one in compared)


def _examples(n: int) -> list[Example]:
    return [(0.1, Fails(), 0.7), (No.SKIPPED, Says(0.5, {}), 0.5)] * n


def test_a_pair_is_what_both_candidates_have_a_score_for() -> None:
    lost: list[Example] = [(Fails(), Fails(), Fails()), *_examples(2)]
    run = made({LEAD: {"a": {"val": [*_examples(2), (0.1, 0.2, 0.3)]}, "b": {"val": lost}}})
    found = row_of(run.summary(), "b")["vs_baseline"]["val"]
    assert (found["n_pairs"], found["dropped"]) == (4, 1)
