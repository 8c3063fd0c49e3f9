"""What a search may claim where children keep their parents' words: what chose one flatters all after it.

Each word shifts each example at random. The dataset is split and searched, the final sweep summarised and
judged, by the product's own functions.
"""

from collections.abc import Callable, Iterator, Mapping
from functools import cache, partial
from typing import Any, NamedTuple, get_args
from unittest.mock import patch

from optimize_eval.base.outcome import Outcome
from optimize_eval.config.search import SearchOptions
from optimize_eval.data.example import Example
from optimize_eval.findings.summary_shape import Verdict
from optimize_eval.findings.verdict import after_search
from optimize_eval.run.splits import SplitSource
from optimize_eval.search.candidate_tree import SearchOutcome
from optimize_eval.search.optimizing import choose_finalists
from optimize_eval.search.search_plan import Selection, roles_of
from optimize_eval.store.run_document import SearchedRun
from tests.benchmarks.truth.scenes import Draw, Once, Scene
from tests.findings.made import LEAD, made
from tests.search.searches import CountingScorer, make_plan, run, scored

Score = Callable[[str, str, int], float]

TRAIN = VAL = 60
BUDGET = 3_000
_FALSE = 0.05
_COST = 5
_LIFT = 0.01  # of each word of a proposer that climbs
_SHIFT = 0.06  # standard deviation of what a word does to an example


class Searched(NamedTuple):
    """What a search came to: its verdict, and the true gain of what it delivers."""

    verdict: Verdict
    gain: float
    as_run: bool  # whether an ordinary run of the seed and what is delivered calls that better; not of equals


def scenes() -> Iterator[Scene]:
    for selection in get_args(Selection):
        for name, is_binary in (("graded", False), ("0 and 1", True)):
            cell = f"{selection}, {name}"
            yield Scene(
                family="search, equal: false claim",
                cell=cell,
                once=_valued(_is_better, selection, is_binary=is_binary),
                high=_FALSE,
                cost=_COST,
            )
            climbing = partial(_valued, selection=selection, is_binary=is_binary, lift=_LIFT)
            yield Scene(
                family="search, climbing: better",
                cell=cell,
                once=climbing(_is_better),
                beside={
                    "an ordinary run": climbing(lambda result: float(result.as_run)),
                    "gain": climbing(lambda result: result.gain),
                },
                cost=_COST,
            )


def searched(
    seed: int,
    selection: Selection = "pareto",
    *,
    is_binary: bool = False,
    lift: float = 0.0,
    budget: int = BUDGET,
    val_chooses: bool = False,
) -> Searched:
    """Search once, and judge as `optimize` does; each word of a candidate lifts the truth by so much."""
    words = 0

    def proposes(request: Mapping[str, Any]) -> str:
        nonlocal words
        words += 1
        return f"{request['candidate']} {words}"

    @cache
    def shift(word: str, split: str, line: int) -> float:
        return Draw(f"{seed} {word} {split} {line}").gauss(lift, _SHIFT)

    def score(text: str, split: str, line: int) -> float:
        own = Draw(f"{seed} {text} {split} {line}")
        level = 0.5 + sum(shift(word, split, line) for word in text.split()[1:])
        return float(own.random() < level) if is_binary else min(1, max(0, own.gauss(level, 0.15)))

    def evaluate(text: str, split: str, line: int | None) -> Outcome:
        return scored(score(text, split, line or 0))

    wanted = SearchOptions(seed=seed, val_chooses=val_chooses)
    roles = roles_of([_source("train", TRAIN), _source("val", VAL)], wanted)
    plan = make_plan(
        proposes,
        roles=roles,
        selection=selection,
        random_seed=seed,
    )
    found = run(plan, CountingScorer(evaluate), budget=budget)
    return _judged(found, score, plan.roles.steered_by, lift)


def _valued(
    value: Callable[[Searched], float], selection: Selection, *, is_binary: bool, lift: float = 0.0
) -> Once:
    return lambda draw: value(_search(draw.randrange(10**9), selection, is_binary, lift))


@cache
def _search(seed: int, selection: Selection, is_binary: bool, lift: float) -> Searched:  # noqa: FBT001
    """Search once for all that is asked of it, without GEPA's page of each new tree, which nobody reads."""
    with patch("gepa.visualization.candidate_tree_html", return_value=""):
        return searched(seed, selection, is_binary=is_binary, lift=lift)


def _is_better(one: Searched) -> float:
    return float(one.verdict.state == "better")


def _source(name: str, size: int) -> SplitSource:
    examples = (Example(line=n, raw=b"%d" % n, value={"id": n}) for n in range(1, size + 1))
    return SplitSource(name=name, file=f"{name}.jsonl", examples=tuple(examples))


def _judged(found: SearchOutcome, score: Score, steered_by: str | None, lift: float) -> Searched:
    texts = {node.name: node.text for node in (found.seed, *choose_finalists(found, 3))}
    verdict = _verdict(texts, score, steered_by)
    best = verdict.winner or max(texts, key=lambda name: _mean(texts[name], score))
    alone = {"seed": texts["seed"], best: texts[best]}
    as_run = lift > 0 and len(alone) > 1 and _verdict(alone, score, None).state == "better"
    return Searched(verdict, lift * len(texts[best].split()[1:]), as_run)


def _verdict(texts: Mapping[str, str], score: Score, steered_by: str | None) -> Verdict:
    """Judge the seed and the others over train and val as a run does."""
    cells = {
        name: {
            "train": [score(text, "train", line) for line in range(1, TRAIN + 1)],
            "val": [score(text, "val", line) for line in range(1, VAL + 1)],
        }
        for name, text in texts.items()
    }
    one = made({LEAD: cells})
    return after_search(one.findings(), SearchedRun(steered_by=steered_by), one.layout)


def _mean(text: str, score: Score) -> float:
    return sum(score(text, "val", line) for line in range(1, VAL + 1))
