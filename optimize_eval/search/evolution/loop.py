"""GEPA's loop, started from a search's plan and watched: what its examples chose among is the tree.

Nothing is taken from GEPA's own result: what ends a search goes through it as an exception, and its state
with it.
"""

from collections.abc import Mapping, Sequence
from sys import intern
from typing import Any

from gepa.api import optimize
from gepa.proposer.base import CandidateProposal
from gepa.strategies.proposal_sampling import IndependentSampling

from optimize_eval.base.outcome import Failed
from optimize_eval.search.budget import Purse
from optimize_eval.search.ending import Over, OwnError, Why
from optimize_eval.search.evolution.adapter import Adapter, Item, Label, Tally
from optimize_eval.search.evolution.reflector import ORIGIN, Reflector
from optimize_eval.search.plan import SearchPlan
from optimize_eval.search.result.tree import Node
from optimize_eval.search.roles import SearchSplit
from optimize_eval.search.state import SearchState
from optimize_eval.search.stopping import Brakes

_MOST_ERRORS = 10  # of GEPA's own


class _Loader:
    """Examples by their ids."""

    def __init__(self, items: Sequence[Item]) -> None:
        self._items = {item.id: item for item in items}

    def all_ids(self) -> list[Label]:
        return list(self._items)

    def fetch(self, ids: Sequence[Label]) -> list[Item]:
        return [self._items[identity] for identity in ids]

    def __len__(self) -> int:
        return len(self._items)


def _items(split: SearchSplit, *, teaches: bool) -> list[Item]:
    return [
        Item(split.name, split.split, line, example if teaches else None, teaches=teaches)
        for line, example in split.examples
    ]


class _Silent:
    """What GEPA has to say of itself; stdout belongs to the result."""

    def log(self, _message: str) -> None:
        """Nobody reads it."""


class Watcher:
    """Sees what GEPA does: its callbacks, its question whether to stop, and which proposals it may accept."""

    def __init__(
        self, plan: SearchPlan, purse: Purse, brakes: Brakes, tally: Tally, state: SearchState
    ) -> None:
        self._accepts_equal = plan.accepts_equal
        self._purse = purse
        self._brakes = brakes
        self._tally = tally
        self._state = state
        self.nodes: list[Node] = []
        self.rejected = 0
        self.iterations = 0
        self.errors: list[Exception] = []
        self._origins: dict[tuple[str, ...], tuple[str, str]] = {}  # of accepted proposals, by their texts
        self._train: dict[tuple[str, ...], float] = {}

    def __call__(self, gepa_state: Any) -> bool:  # noqa: ARG002  so it is called
        """Decide before every iteration whether to stop."""
        self._brakes.check()
        self._brakes.turned()
        return False

    def should_accept(self, proposal: CandidateProposal[Any], _state: Any) -> bool:
        """Accept what is better on its minibatch; what has no score there is refused."""
        before, after = (
            sum(proposal.subsample_scores_before or ()),
            sum(proposal.subsample_scores_after or ()),
        )
        outputs = proposal.eval_after.outputs if proposal.eval_after else []
        is_scored = any(isinstance(value, float) for value in outputs)
        key = tuple(proposal.candidate.values())
        self._origins[key] = proposal.metadata.get(ORIGIN, ("", ""))
        self._train[key] = after / max(1, len(proposal.subsample_scores_after or ()))
        is_better = is_scored and (after > before or (self._accepts_equal and after == before))
        if not is_better:
            self.rejected += 1
            self._brakes.proposed(self._best())
        return is_better

    def on_valset_evaluated(self, event: Mapping[str, Any]) -> None:
        candidate, parents = event["candidate"], tuple(event["parent_ids"])
        key = tuple(candidate.values())
        proposer, note = self._origins.get(key, ("merge" if len(parents) > 1 else "", ""))
        values = {intern(str(one)): float(score) for one, score in event["scores_by_val_id"].items()}
        outputs = event.get("outputs_by_val_id") or {}  # GEPA keeps none of the seed, which is the first step
        node = Node(
            number=event["candidate_idx"],
            texts={str(name): text for name, text in candidate.items()},
            parents=parents,
            proposer=proposer,
            note=note,
            calls=self._purse.spent,
            values=values,
            failed=sum(isinstance(value, Failed) for value in outputs.values())
            if outputs
            else self._tally.failed,
            train=self._train.get(key),
        )
        self.nodes.append(node)
        self._state.add_found({"found": node.number, **node.to_dict()})
        if node.number:
            self._brakes.proposed(self._best())
        else:
            self._brakes.begin(node.mean)

    def on_iteration_start(self, _event: Mapping[str, Any]) -> None:
        self.iterations += 1
        self._origins.clear()
        self._train.clear()

    def on_error(self, event: Mapping[str, Any]) -> None:
        self.errors.append(event["exception"])
        if len(self.errors) > _MOST_ERRORS:
            raise OwnError(event["exception"])

    def _best(self) -> float:
        return max(node.mean for node in self.nodes)


def evolve(plan: SearchPlan, adapter: Adapter, reflector: Reflector, watcher: Watcher) -> Over:
    """Run GEPA until the search is over; returns why it is."""
    learn = _items(plan.roles.learn, teaches=True)
    choose = _items(plan.roles.choose, teaches=False) if plan.roles.is_apart else learn
    is_unit = plan.goal.is_unit
    answers: Any = adapter  # what it lacks of their protocols, GEPA does not need
    watchers: list[Any] = [watcher]
    try:
        optimize(
            seed_candidate={Label(name): text for name, text in plan.seed.items()},
            trainset=_Loader(learn),
            valset=_Loader(choose),
            adapter=answers,
            reflection_strategy=reflector,
            candidate_selection_strategy=plan.selection,
            frontier_type="hybrid" if len(plan.goal.objectives) > 1 else "instance",
            skip_perfect_score=is_unit,
            perfect_score=1.0,
            reflection_minibatch_size=plan.minibatch,
            use_merge=plan.merge,
            stop_callbacks=watcher,
            logger=_Silent(),
            callbacks=watchers,
            track_best_outputs=False,
            seed=plan.random_seed,
            raise_on_exception=False,  # ours go through as Broken; its own end an iteration, and are counted
            acceptance_criterion=watcher,
            sampling_strategy=IndependentSampling(plan.proposals) if plan.proposals > 1 else None,
        )
    except Over as over:
        return over
    except OwnError as broken:
        raise broken.error from broken
    return Over(Why.INTERRUPTED, "GEPA ended by itself")  # it has no other reason to
