"""Searches as a whole, over functions as evaluators and proposers."""

import re
from dataclasses import replace
from itertools import count
from math import nan
from typing import Any, get_args

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from optimize_eval.base.errors import UsageError
from optimize_eval.base.outcome import Outcome
from optimize_eval.base.protocol import ScoreRange
from optimize_eval.search.components import plain
from optimize_eval.search.goal import make_goal
from optimize_eval.search.search_plan import Selection
from optimize_eval.search.stopping import EarlyStop, Why
from tests.benchmarks.truth.searches import searched
from tests.search.searches import CountingScorer, climbs, failed, make_plan, run, scored, skipped, steps


def score_steps(text: str, _split: str, _line: int | None) -> Outcome:
    return scored(steps(text), why=f"{text} is below 10")


def test_without_examples_each_candidate_is_one_call_and_the_top_ends_the_search() -> None:
    scorer = CountingScorer(score_steps)

    found = run(make_plan(climbs, train=0), scorer)

    assert (found.why, found.best.texts, found.counts.calls) == (Why.PERFECT, plain("10"), 11)
    assert scorer.called == {"single": 11}


def test_a_climbing_proposer_takes_at_most_a_fifth_more_calls_than_a_plain_loop() -> None:
    scorer = CountingScorer(score_steps)
    train, val = 9, 5

    found = run(make_plan(climbs, train=train, val=val), scorer, budget=1000)

    plain_loop = val + 10 * (3 + 3 + val)
    assert found.best.texts == plain("10")
    assert found.counts.calls == sum(scorer.called.values()) <= 1.2 * plain_loop


def test_train_is_called_in_minibatches_and_val_for_the_seed_and_what_was_accepted() -> None:
    scorer = CountingScorer(score_steps)

    found = run(make_plan(lambda _: "0 ", train=9, val=5), scorer)

    assert found.why is Why.NO_NEW_TEXT, "equal to the seed: refused each time"
    assert scorer.called == {"val": 5, "train": 9}, "all of train as parents, and nothing twice"


def test_what_val_says_never_reaches_a_proposer() -> None:
    requests: list[dict[str, Any]] = []

    def evaluate(text: str, split: str, line: int | None) -> Outcome:
        if split == "val" and line == 3:
            return failed("SECRET of val")
        return scored(steps(text), hint=f"side info of {split} {line}")

    def propose(request: dict[str, Any]) -> str:
        requests.append(request)
        return climbs(request)

    run(make_plan(propose, train=6, val=4), CountingScorer(evaluate), budget=200)

    assert len(requests) > 5
    assert "side info of train" in str(requests)
    assert not re.search("val|SECRET", str(requests))


@settings(max_examples=40, deadline=None)
@given(
    st.integers(1, 7),
    st.integers(0, 6),
    st.integers(1, 3),
    st.integers(1, 4),
    st.integers(0, 40),
    st.integers(0, 5),
)
def test_a_budget_is_never_exceeded(
    train: int, val: int, evaluators: int, proposals: int, beyond: int, seed: int
) -> None:
    scorer = CountingScorer(*[score_steps] * evaluators)
    plan = make_plan(
        climbs, train=train, val=val, evaluators=evaluators, proposals=proposals, random_seed=seed
    )
    budget = plan.needs.floor + beyond

    found = run(plan, scorer, budget=budget)

    assert sum(scorer.called.values()) == found.counts.calls <= budget
    assert found.why in {Why.BUDGET, Why.PERFECT, Why.NO_NEW_TEXT, Why.PROPOSER, Why.NOTHING_TO_TEACH}


@pytest.mark.parametrize(
    ("train", "val", "evaluators"), [(0, 0, 1), (1, 0, 2), (6, 0, 1), (9, 5, 1), (9, 5, 2)]
)
def test_the_floor_is_enough_for_one_accepted_proposal(train: int, val: int, evaluators: int) -> None:
    scorer = CountingScorer(*[score_steps] * evaluators)
    plan = make_plan(climbs, train=train, val=val, evaluators=evaluators)

    found = run(plan, scorer, budget=plan.needs.floor)

    assert len(found.nodes) >= 2
    with pytest.raises(UsageError, match="too small"):
        plan.needs.choose(plan.needs.floor - 1)
    assert plan.needs.choose(None) >= 100


def test_a_failure_is_worse_than_all_where_scores_may_be_any_number() -> None:
    def evaluate(text: str, _split: str, line: int | None) -> Outcome:
        return failed("odd") if line == 1 and text == "1" else scored(100 + int(text) / 10)

    goal = make_goal(["e0"], [ScoreRange.ANY])
    found = run(make_plan(climbs, train=3, goal=goal), CountingScorer(evaluate), budget=12)

    assert [node.texts for node in found.nodes] == [plain("0")], "the failure of 1 counts as 99"


def test_a_skip_takes_the_mean_of_its_batch_and_a_proposal_without_any_score_is_rejected() -> None:
    def evaluate(text: str, _split: str, line: int | None) -> Outcome:
        return skipped() if text == "1" or line == 2 else scored(steps(text))

    found = run(make_plan(climbs, train=3, accepts_equal=True), CountingScorer(evaluate), budget=20)

    assert found.nodes[0].mean == 0.0
    assert found.counts.skipped
    assert [node.texts for node in found.nodes] == [plain("0")]


def test_proposals_of_no_use_are_counted_and_end_a_search_that_has_no_other() -> None:
    replies = iter(["", "  0  ", "x" * 100_001, "9\x1b[2J", "\ud800", *["0"] * 9])

    found = run(make_plan(lambda _: next(replies)), CountingScorer(score_steps))

    assert found.why is Why.PROPOSER
    assert found.counts.refused == {"empty": 1, "repeated": 6, "too_long": 1, "hostile": 2}
    assert found.counts.calls <= 6


def test_a_search_stops_early_where_nothing_gets_better() -> None:
    numbers = count(1)

    def worse(_request: dict[str, Any]) -> str:
        return f"-{next(numbers)}"

    early = EarlyStop(window=4)

    found = run(
        make_plan(worse, goal=make_goal(["e0"], [ScoreRange.ANY])), CountingScorer(score_steps), early=early
    )

    assert (found.why, found.counts.rejected) == (Why.PLATEAU, 4)


def test_the_climbed_evaluator_decides_and_the_others_are_reported() -> None:
    def falls(text: str, _split: str, _line: int | None) -> Outcome:
        return scored(1 - steps(text))

    plan = make_plan(
        climbs, train=4, evaluators=2, goal=make_goal(["e0", "e1"], [ScoreRange.UNIT] * 2, climb="e1")
    )

    found = run(plan, CountingScorer(falls, score_steps), budget=300)

    assert found.best.texts == plain("10")


def test_an_answer_without_a_number_takes_the_mean_of_its_batch_and_labels_keep_nobody_in_the_race() -> None:
    def label(_text: str, _split: str, _line: int | None) -> Outcome:
        return replace(scored(nan), is_unranked=True)

    def for_some(text: str, split: str, line: int | None) -> Outcome:
        return score_steps(text, split, line) if line and line % 2 else label(text, split, line)

    goal = make_goal(["e0", "e1"], [ScoreRange.UNIT] * 2, unranked=["e0"])
    found = run(
        make_plan(climbs, train=4, evaluators=2, goal=goal), CountingScorer(label, for_some), budget=300
    )

    assert (goal.name, goal.objectives) == ("e1", (1,))
    assert (found.best.texts, found.best.mean) == (plain("10"), 1.0)


def test_weights_climb_a_mean_of_several() -> None:
    def falls(text: str, _split: str, _line: int | None) -> Outcome:
        return scored(1 - steps(text))

    goal = make_goal(["e0", "e1"], [ScoreRange.UNIT] * 2, weights={"e0": 1, "e1": 3})
    found = run(
        make_plan(climbs, train=4, evaluators=2, goal=goal), CountingScorer(falls, score_steps), budget=90
    )

    assert found.nodes[0].mean == pytest.approx(0.25)
    assert found.nodes[1].mean == pytest.approx(0.25 * 0.9 + 0.75 * 0.1)


def test_components_are_changed_one_at_a_time_and_scored_as_one_json_text() -> None:
    seen: set[str] = set()
    asked: list[list[str]] = []

    def evaluate(text: str, _split: str, _line: int | None) -> Outcome:
        seen.add(text)
        return scored(min(1.0, text.count("!") / 4))

    def propose(request: dict[str, Any]) -> dict[str, str]:
        asked.append(request["components"])
        name = request["components"][0]
        return {name: request["candidate"][name] + "!"}

    plan = make_plan(propose, train=3, seed={"system": "a", "user": "b"})
    found = run(plan, CountingScorer(evaluate))

    assert asked[:2] == [["system"], ["user"]]
    assert '{"system":"a!","user":"b"}' in seen
    assert found.best.texts == {"system": "a!!", "user": "b!!"}


@pytest.mark.parametrize("selection", get_args(Selection))
def test_children_that_inherit_what_flattered_their_parents_are_not_called_better(
    selection: Selection,
) -> None:
    """Some of the searches of `python -m tests.benchmarks.truth search`, where at most 5 % may."""
    one = searched(1, selection, is_binary=True, budget=600)
    other = searched(2, selection, budget=600)
    steered = searched(2, selection, budget=600, val_chooses=True)

    assert {one.verdict.state, other.verdict.state} == {"not_shown"}
    assert steered.verdict.state in {"steered", "not_shown"}
    assert steered.verdict.winner is None
