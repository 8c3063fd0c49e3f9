"""What tests of searches share: a scorer in memory that counts, plans of numbered examples, who climbs."""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from optimize_eval.base.errors import FailureKind
from optimize_eval.base.outcome import Failed, Outcome, Scored, Skipped
from optimize_eval.base.protocol import ScoreRange
from optimize_eval.run.host import Stop
from optimize_eval.search.candidate_tree import SearchOutcome
from optimize_eval.search.components import plain
from optimize_eval.search.goal import Outcomes, Trial, make_goal
from optimize_eval.search.proposers import PlainProposer, plain_proposer
from optimize_eval.search.search_plan import WITHOUT_EXAMPLES, Roles, SearchPlan, SearchSplit
from optimize_eval.search.searching import search
from optimize_eval.search.state import SearchState
from optimize_eval.search.stopping import SearchLimits

Evaluate = Callable[[str, str, int | None], Outcome]


class CountingScorer:
    """Scores by functions, remembers every outcome, and counts what was called of which split."""

    def __init__(self, *evaluate: Evaluate) -> None:
        self._evaluate = evaluate
        self.known: dict[tuple[int, Trial], Outcome] = {}
        self.called: Counter[str] = Counter()

    @property
    def made(self) -> int:
        return self.called.total()

    def count_owed(self, pairs: Sequence[Trial]) -> int:
        return sum(key not in self.known for key in self._keys(pairs))

    def score(self, pairs: Sequence[Trial]) -> list[Outcomes]:
        for place, pair in self._keys(pairs):
            if (place, pair) not in self.known:
                self.known[place, pair] = self._evaluate[place](*pair)
                self.called[pair.split] += 1
        return [tuple(self.known[place, pair] for place in range(len(self._evaluate))) for pair in pairs]

    def reply(self, outcomes: Outcomes) -> None:
        """None: no model is called."""

    def _keys(self, pairs: Sequence[Trial]) -> list[tuple[int, Trial]]:
        return [(place, pair) for pair in pairs for place in range(len(self._evaluate))]


def scored(score: float, **side_info: Any) -> Scored:
    return Scored(score=score, side_info=side_info, seconds=0.0)


def failed(message: str) -> Failed:
    return Failed(kind=FailureKind.REPORTED, message=message, hint="", stderr="", seconds=0.0)


def skipped() -> Skipped:
    return Skipped(message="not for this one")


def examples(name: str, split: str, count: int) -> SearchSplit:
    told = tuple((line, {"text": f"{split}-example-{line}"}) for line in range(1, count + 1))
    return SearchSplit(name=name, split=split, examples=told, sha256=f"{split} {count}")


def make_plan(
    propose: PlainProposer, *, train: int = 6, val: int = 0, evaluators: int = 1, **changes: Any
) -> SearchPlan:
    """Plan a search from the text "0" over so many examples; without any of train there are none at all."""
    names = [f"e{place}" for place in range(evaluators)]
    taught = examples("learn", "train", train) if train else WITHOUT_EXAMPLES
    plan = SearchPlan(
        seed=plain("0"),
        goal=make_goal(names, [ScoreRange.UNIT] * evaluators),
        roles=Roles(learn=taught, choose=examples("choose", "val", val) if val else taught),
        proposers=(plain_proposer(propose),),
        evaluators=tuple(names),
        minibatch=min(3, len(taught)),
    )
    return replace(plan, **changes)


def run(plan: SearchPlan, scorer: CountingScorer, budget: int = 100, **changes: Any) -> SearchOutcome:
    """Search with a state in memory, unless there is one."""
    state = changes.pop("state", None) or SearchState(None, plan.settings())
    return search(plan, scorer, state, SearchLimits(budget=budget, **changes), Stop())


def steps(text: str) -> float:
    """Score the number that a text is, up to 10."""
    return min(int(text), 10) / 10


def climbs(request: Mapping[str, Any]) -> str:
    """Propose the next number."""
    return str(int(request["candidate"]) + 1)
