"""A search that was killed goes on: nothing recorded is called again, and it ends alike."""

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from optimize_eval.base.errors import UsageError
from optimize_eval.base.outcome import Outcome
from optimize_eval.search.candidate_tree import SearchOutcome
from optimize_eval.search.components import plain
from optimize_eval.search.state import SearchState
from optimize_eval.search.stopping import Why
from tests.search.searches import CountingScorer, climbs, failed, make_plan, run, scored, steps


class Killed(BaseException):
    pass


def score_steps(text: str, _split: str, line: int | None) -> Outcome:
    return failed("odd") if line == 2 and text == "1" else scored(steps(text))


class Dies:
    """Climbs, and dies when it is called for the nth time."""

    def __init__(self, nth: int) -> None:
        self.__name__ = "climbs"
        self._nth = nth
        self.calls = 0

    def __call__(self, request: dict[str, Any]) -> str:
        self.calls += 1
        if self.calls == self._nth:
            raise Killed
        return climbs(request)


def searched(
    path: Path, propose: Any, scorer: CountingScorer, budget: int = 300, **changes: Any
) -> SearchOutcome:
    plan = make_plan(propose, train=7, val=3, **changes)
    state = SearchState(path, plan.settings())
    try:
        return run(plan, scorer, budget=budget, state=state)
    finally:
        state.close()


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory: pytest.TempPathFactory) -> SearchOutcome:
    return searched(tmp_path_factory.mktemp("whole") / "search.jsonl", climbs, CountingScorer(score_steps))


@pytest.mark.parametrize("nth", range(1, 11))
def test_a_search_that_was_killed_at_a_proposal_ends_as_an_undisturbed_one(
    tmp_path: Path, undisturbed: SearchOutcome, nth: int
) -> None:
    path, scorer, dies = tmp_path / "search.jsonl", CountingScorer(score_steps), Dies(nth)
    with pytest.raises(Killed):
        searched(path, dies, scorer)

    goes_on = Dies(0)
    found = searched(path, goes_on, scorer)

    assert found == undisturbed
    assert sum(scorer.called.values()) == found.counts.calls, "no example was scored twice"
    assert goes_on.calls + dies.calls - 1 == found.counts.proposer_calls, "no proposal was asked for twice"


@pytest.mark.parametrize("nth", range(1, 40, 3))
def test_a_search_that_was_killed_among_calls_keeps_its_budget(
    tmp_path: Path, undisturbed: SearchOutcome, nth: int
) -> None:
    path, left = tmp_path / "search.jsonl", nth

    def dies(text: str, split: str, line: int | None) -> Outcome:
        nonlocal left
        left -= 1
        if not left:
            raise Killed
        return score_steps(text, split, line)

    scorer = CountingScorer(dies)
    with pytest.raises(Killed):
        searched(path, climbs, scorer)

    assert searched(path, climbs, scorer) == undisturbed


def test_what_had_failed_in_the_search_has_failed_when_it_is_replayed(
    tmp_path: Path, undisturbed: SearchOutcome
) -> None:
    path, scorer = tmp_path / "search.jsonl", CountingScorer(score_steps)
    searched(path, climbs, scorer)
    for key, outcome in scorer.known.items():  # as the final sweep does, which retries failures
        if outcome == failed("odd"):
            scorer.known[key] = scored(0.9)

    assert searched(path, climbs, scorer) == undisturbed
    assert undisturbed.counts.failed


def test_another_seed_dataset_or_proposer_is_another_search(tmp_path: Path) -> None:
    path, scorer = tmp_path / "search.jsonl", CountingScorer(score_steps)
    searched(path, climbs, scorer)

    for change in ({"random_seed": 1}, {"seed": plain("1")}, {"minibatch": 2}, {"objective": "more"}):
        with pytest.raises(UsageError, match="had another"):
            searched(path, climbs, scorer, **change)
    with pytest.raises(UsageError, match="other proposers"):
        searched(path, lambda _: "1", scorer)


def test_a_search_that_recorded_nothing_binds_no_later_one(tmp_path: Path) -> None:
    path, plan = tmp_path / "search.jsonl", make_plan(climbs, train=7, val=3, random_seed=1)
    SearchState(path, plan.settings()).close()

    searched(path, climbs, CountingScorer(score_steps))

    with pytest.raises(UsageError, match="another --seed"):
        SearchState(path, plan.settings())


def test_failures_of_a_proposer_at_the_end_are_called_again(
    tmp_path: Path, undisturbed: SearchOutcome
) -> None:
    path, scorer = tmp_path / "search.jsonl", CountingScorer(score_steps)
    propose = Dies(0)

    def fails(request: dict[str, Any]) -> str:
        if propose.calls > 3:
            raise ValueError("the key is wrong")
        return propose(request)

    fails.__name__ = "climbs"
    assert searched(path, fails, scorer).why is Why.PROPOSER

    found = searched(path, climbs, scorer)

    assert [node.texts for node in found.nodes] == [node.texts for node in undisturbed.nodes]
    assert found.counts.calls == sum(scorer.called.values()), "what was called in vain counts, too"
    assert searched(path, climbs, scorer) == found


def test_a_torn_last_line_never_counted(tmp_path: Path, undisturbed: SearchOutcome) -> None:
    path, scorer = tmp_path / "search.jsonl", CountingScorer(score_steps)
    searched(path, climbs, scorer)
    path.write_bytes(path.read_bytes() + b'{"step":1,"pai')

    assert searched(path, climbs, scorer) == undisturbed


_SCRIPT = """
import sys
from hashlib import sha256
from json import loads

sys.path.insert(0, sys.argv[1])
from tests.search.searches import CountingScorer
from tests.search.searches import make_plan
from tests.search.searches import run
from tests.search.searches import scored

def noise(text):
    return int(sha256(text.encode()).hexdigest(), 16)

def evaluate(text, split, line):
    grown = min(1, loads(text)[["one", "two", "three"][line % 3]].count("b") / 9)
    return scored(0.6 * grown + 0.4 * (noise(f"{text}{line}") % 256) / 255)

def propose(request):
    name = request["components"][0]
    return {name: request["candidate"][name] + "abbb"[noise(str(request)) % 4]}

seed = {"one": "a", "two": "b", "three": "c"}
plan = make_plan(propose, train=9, val=9, seed=seed, merge=True, proposals=2)
found = run(plan, CountingScorer(evaluate), budget=180)
assert any(node.proposer == "merge" for node in found.nodes)
print(found)
"""


def test_a_search_is_the_same_in_every_process(tmp_path: Path) -> None:
    """GEPA iterates over sets of texts, whose order is another in each process unless hashes are ours."""
    script = tmp_path / "search.py"
    script.write_text(_SCRIPT)
    root = Path(__file__).parents[2]

    said = {
        subprocess.run(
            [sys.executable, script, root],
            env={"PYTHONHASHSEED": str(seed)},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for seed in (1, 2)
    }

    assert len(said) == 1
