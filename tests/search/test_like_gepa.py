"""The same search as GEPA's own with the two parts of the dataset as its two lists: the same proposals."""

from collections.abc import Mapping, Sequence
from itertools import count
from random import Random
from typing import Any, get_args

import pytest
from gepa.api import optimize
from gepa.core.adapter import EvaluationBatch

from optimize_eval.base.outcome import Outcome
from optimize_eval.config.search import SearchOptions
from optimize_eval.data.example import Example
from optimize_eval.run.splits import SplitSource
from optimize_eval.search.search_plan import Selection, roles_of
from tests.search.searches import CountingScorer, make_plan, run, scored

SEED, PROPOSALS = 7, 30
Request = tuple[str, tuple[int, ...]]


def worth(text: str, line: int) -> float:
    return round(Random(f"{text} {line}").random(), 3)


class Plain:
    """An adapter as GEPA's documentation has it: items are numbers."""

    propose_new_texts = None

    def evaluate(
        self,
        batch: list[int],
        candidate: dict[str, str],
        capture_traces: bool = False,  # noqa: FBT001, FBT002
    ) -> EvaluationBatch[int, float]:
        scores = [worth(candidate["candidate"], line) for line in batch]
        return EvaluationBatch(
            outputs=scores,
            scores=scores,
            trajectories=batch if capture_traces else None,
            objective_scores=[{"e0": score} for score in scores],
        )

    def batch_evaluate(
        self, items: list[tuple[dict[str, str], list[int]]], **_options: Any
    ) -> list[EvaluationBatch[int, float]]:
        return [self.evaluate(batch, candidate, capture_traces=True) for candidate, batch in items]

    def make_reflective_dataset(
        self, _candidate: dict[str, str], batch: EvaluationBatch[int, float], components: list[str]
    ) -> Mapping[str, Sequence[Mapping[str, Any]]]:
        return {name: [{"line": line} for line in batch.trajectories or ()] for name in components}


def of_gepa(learn: list[int], choose: list[int], selection: Selection) -> list[Request]:
    asked: list[Request] = []
    numbers = count(1)

    def proposes(
        candidate: dict[str, str], reflective_dataset: Any, components_to_update: list[str]
    ) -> dict[str, str]:
        (name,) = components_to_update
        asked.append((candidate[name], tuple(one["line"] for one in reflective_dataset[name])))
        return {name: str(next(numbers))}

    adapter: Any = Plain()
    optimize(
        seed_candidate={"candidate": "0"},
        trainset=learn,
        valset=choose,
        adapter=adapter,
        custom_candidate_proposer=proposes,
        candidate_selection_strategy=selection,
        reflection_minibatch_size=3,
        stop_callbacks=lambda _state: len(asked) >= PROPOSALS,
        seed=SEED,
    )
    return asked


@pytest.mark.parametrize("selection", get_args(Selection))
def test_the_proposals_are_those_of_gepa_with_the_two_parts_as_its_lists(selection: Selection) -> None:
    rows = tuple(Example(line=n, raw=b"%d" % n, value={"line": n}) for n in range(1, 31))
    roles = roles_of([SplitSource(name="train", file="t.jsonl", examples=rows)], SearchOptions(seed=SEED))
    asked: list[Request] = []
    numbers = count(1)

    def proposes(request: Mapping[str, Any]) -> str:
        lines = tuple(record["example"]["line"] for record in request["records"])
        asked.append((request["candidate"], lines))
        return str(next(numbers))

    def evaluate(text: str, _split: str, line: int | None) -> Outcome:
        return scored(worth(text, line or 0))

    plan = make_plan(proposes, roles=roles, selection=selection, random_seed=SEED)
    run(plan, CountingScorer(evaluate), budget=800)

    learn, choose = ([line or 0 for line, _ in part.examples] for part in (roles.learn, roles.choose))
    assert (len(learn), len(choose), {*learn} & {*choose}) == (15, 15, set())
    assert asked[:PROPOSALS] == of_gepa(learn, choose, selection)
    assert {line for _, lines in asked for line in lines} <= {*learn}
