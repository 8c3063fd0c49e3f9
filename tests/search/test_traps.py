"""Traps of GEPA 0.1.4, each seen by running it; what happened is what each test says, turned around."""

import threading
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from optimize_eval.base.errors import CannotGoOn, UsageError
from optimize_eval.base.outcome import Outcome
from optimize_eval.base.protocol import ScoreRange
from optimize_eval.search.goal import Outcomes, Trial, make_goal
from optimize_eval.search.state import SearchState
from optimize_eval.search.stopping import Why
from tests.search.searches import CountingScorer, climbs, make_plan, run, scored, steps


def by_split(text: str, split: str, line: int | None) -> Outcome:
    """Score train and val otherwise, line by line."""
    return scored(steps(text) * (0.9 if split == "val" else 0.5) + (line or 0) / 1000)


def test_train_scores_are_never_taken_for_val_scores_though_both_have_the_same_lines() -> None:
    found = run(make_plan(climbs, train=6, val=6), CountingScorer(by_split), budget=120)

    assert len(found.nodes) > 3
    for node in found.nodes:
        number = node.texts["candidate"]
        expected = {f"choose:{line}": by_split(number, "val", line).score for line in range(1, 7)}  # type: ignore[union-attr]
        assert node.values == expected


def test_an_error_of_ours_comes_through_as_it_was() -> None:
    class FullDisk(CountingScorer):
        def score(self, pairs: Sequence[Trial]) -> list[Outcomes]:
            if self.called.total() > 20:
                raise CannotGoOn("the disk is full")
            return super().score(pairs)

    with pytest.raises(CannotGoOn, match="the disk is full"):
        run(make_plan(climbs, train=6, val=6), FullDisk(by_split), budget=120)


def test_an_error_while_a_proposal_is_recorded_comes_through_and_the_proposer_is_not_called_again() -> None:
    calls: list[str] = []

    def proposes(request: dict[str, Any]) -> str:
        calls.append(request["candidate"])
        return climbs(request)

    class Full(SearchState):
        def add_reply(self, *_: Any) -> None:
            raise CannotGoOn("the disk is full")

    plan = make_plan(proposes, train=6, val=6)
    with pytest.raises(CannotGoOn, match="the disk is full"):
        run(plan, CountingScorer(by_split), state=Full(None, plan.settings()))

    assert calls == ["0"], "GEPA tries each task once more where a batch of proposals fails"


def test_a_search_ends_though_everything_is_recorded_already() -> None:
    scorer = CountingScorer(by_split)
    first = run(make_plan(climbs, train=6, val=6), scorer, budget=400)
    calls = scorer.called.total()

    again = run(make_plan(climbs, train=6, val=6), scorer, budget=400)

    assert (again.best.texts, scorer.called.total()) == (first.best.texts, calls)
    assert again.counts.calls == 0


def test_nothing_is_printed_and_nothing_pickled(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    plan = make_plan(climbs, train=6, val=6)
    state = SearchState(tmp_path / "search.jsonl", plan.settings())
    run(plan, CountingScorer(by_split), state=state)
    state.close()

    assert capfd.readouterr() == ("", "")
    assert [path.name for path in tmp_path.iterdir()] == ["search.jsonl"]


def test_several_proposals_are_made_and_scored_at_once() -> None:
    together = threading.Barrier(3, timeout=30)
    lock, number = threading.Lock(), [0]

    def proposes(_request: dict[str, Any]) -> str:
        together.wait()
        with lock:
            number[0] += 1
            return str(number[0])

    batches: list[int] = []

    class Batches(CountingScorer):
        def score(self, pairs: Sequence[Trial]) -> list[Outcomes]:
            batches.append(len(pairs))
            return super().score(pairs)

    found = run(make_plan(proposes, train=9, val=2, proposals=3), Batches(by_split), budget=120)

    assert found.counts.proposer_calls % 3 == 0
    assert 9 in batches, "three children on three examples each in one step"


def test_scores_below_0_cannot_be_merged_and_one_text_has_nothing_to_merge() -> None:
    goal = make_goal(["e0"], [ScoreRange.ANY])
    parts = {"one": "a", "two": "b"}

    for plan, words in (
        (make_plan(climbs, merge=True, goal=goal, seed=parts), "scores from 0 to 1"),
        (make_plan(climbs, merge=True), "--merge joins components"),
    ):
        with pytest.raises(UsageError, match=words):
            run(plan, CountingScorer(by_split))


def test_merged_candidates_are_named_by_both_parents() -> None:
    def evaluate(text: str, _split: str, line: int | None) -> Outcome:
        return scored(min(1.0, 0.1 + text.count("ab"[(line or 0) % 2] * 3) / 2))

    def proposes(request: dict[str, Any]) -> dict[str, str]:
        name = request["components"][0]
        return {name: request["candidate"][name] + {"one": "aaa", "two": "bbb"}[name]}

    seed = {"one": "", "two": ""}
    plan = make_plan(proposes, train=6, val=6, seed=seed, merge=True, random_seed=3, proposals=2)
    found = run(plan, CountingScorer(evaluate), budget=400)

    assert found.why is Why.PERFECT
    assert {len(node.parents) for node in found.nodes if node.proposer == "merge"} == {2}
