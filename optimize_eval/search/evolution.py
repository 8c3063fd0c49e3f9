"""GEPA's loop, started from a plan and watched: what it calls, and the proposals of its iterations.

GEPA takes an exception for the end, NaN for a number, and 0 calls for no progress; so nothing here raises
but `Over`, failures become a penalty in one place, and each batch counts as many calls as it has
examples. The budget is ours.

GEPA swallows what a reflection model raises and goes on with the seed for ever; here failures are
counted, and enough of them end the search. A refused proposal is not a text update, which costs GEPA no
call.

Nothing is taken from GEPA's own result: what ends a search goes through it as an exception, and its state
with it.
"""

import hashlib
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from math import fsum, inf
from sys import intern
from typing import Any

from gepa.api import optimize
from gepa.core.adapter import EvaluationBatch
from gepa.proposer.base import CandidateProposal
from gepa.proposer.reflective_mutation.reflection_lm import ReflectionJob, ReflectionLM, ReflectionProposal
from gepa.strategies.proposal_sampling import IndependentSampling

from optimize_eval.base.documents import JsonDict, JsonMapping
from optimize_eval.base.errors import FailureKind
from optimize_eval.base.outcome import Failed, Skipped
from optimize_eval.run.runner import PROBES
from optimize_eval.search.candidate_tree import Node
from optimize_eval.search.components import Texts, as_value, components_as_text
from optimize_eval.search.goal import Goal, Outcomes, Scorer, Trial, Value, worth_of
from optimize_eval.search.panel import WORDS, Panel, Refusal, Screen
from optimize_eval.search.proposals import (
    Lesson,
    Proposal,
    ProposalRequest,
    ProposerReply,
    fit_records,
    has_side_info,
    teaching,
)
from optimize_eval.search.search_plan import SearchPlan, SearchSplit
from optimize_eval.search.state import Record, SearchState
from optimize_eval.search.stopping import Brakes, Over, OwnError, Purse, Why

Event = JsonMapping  # what GEPA says of a step
_TELLING = 2  # different scores
_MOST_LISTED = 50


class Label(str):
    """A text whose hash is the same in every process: GEPA iterates over sets of ids and of names."""

    __slots__ = ()

    def __hash__(self) -> int:
        return int.from_bytes(self.encode(errors="surrogatepass")[-7:], "big") ^ len(self)


@dataclass(frozen=True, slots=True)
class Item:
    """An example as GEPA has it: its part is in its id, so that no two parts share one."""

    part: str
    split: str
    line: int | None
    example: JsonMapping | None
    teaches: bool  # False for those that choose: their records are never made

    @property
    def id(self) -> Label:
        return Label(f"{self.part}:{self.line}")


Batch = EvaluationBatch[JsonDict, Value]


@dataclass(slots=True)
class Tally:
    """What was seen on the way, for the result."""

    failed: int = 0
    skipped: int = 0
    scores: set[float] = field(default_factory=set)  # two are enough to know that they are not all equal
    has_side_info: bool = False


class Adapter:
    """The evaluators of a search, for GEPA."""

    propose_new_texts = None  # without this attribute GEPA fails in every iteration, silently

    def __init__(
        self,
        scorer: Scorer,
        goal: Goal,
        purse: Purse,
        state: SearchState,
        text: Callable[[Texts], str] = components_as_text,
    ) -> None:
        """Take what scores; `text` writes a candidate as evaluators are given it."""
        self._scorer = scorer
        self._text = text
        self._goal = goal
        self._purse = purse
        self._state = state
        self._steps = 0
        self._lowest = [inf] * (1 + len(goal.names))  # seen: of what is climbed, then of each evaluator
        self._failed: set[Trial] = set()
        self.tally = Tally()

    def evaluate(
        self,
        batch: list[Item],
        candidate: dict[str, str],
        capture_traces: bool = False,  # noqa: FBT001, FBT002
    ) -> Batch:
        return self.batch_evaluate([(candidate, batch)], capture_traces=capture_traces)[0]

    def batch_evaluate(
        self, items: list[tuple[dict[str, str], list[Item]]], *, capture_traces: bool = True
    ) -> list[Batch]:
        """Score all pairs of several candidates in one step."""
        pairs = [
            Trial(self._text({str(name): text for name, text in candidate.items()}), item.split, item.line)
            for candidate, batch in items
            for item in batch
        ]
        try:
            outcomes = iter(self._outcomes(list(dict.fromkeys(pairs)), pairs))
        except Exception as error:
            raise OwnError(error) from error
        return [self._batch(batch, [next(outcomes) for _ in batch], capture_traces) for _, batch in items]

    def make_reflective_dataset(
        self, _candidate: dict[str, str], batch: Batch, components: list[str]
    ) -> Mapping[str, Sequence[Lesson]]:
        return {name: batch.trajectories or [] for name in components}

    def _outcomes(self, distinct: Sequence[Trial], pairs: Sequence[Trial]) -> list[Outcomes]:
        """Score within the budget; what had failed in this step before has failed."""
        step = self._steps
        self._steps += 1
        digest = _digest(distinct)
        calls = self._state.calls(step, digest, partial(self._scorer.count_owed, distinct))
        self._purse.take(calls)
        self._state.enter(step, digest, calls, _about(distinct))
        if not step:  # the seed on all examples that choose: who scores none of the first ones is broken
            first = distinct[:PROBES]
            self._refuse_broken(dict(zip(first, self._scorer.score(first), strict=True)))
        outcomes = dict(zip(distinct, self._scorer.score(distinct), strict=True))
        self._keep_failures(step, outcomes)
        if not step:
            self._refuse_skipped(outcomes)
        self._count(outcomes)
        return [outcomes[pair] for pair in pairs]

    def _keep_failures(self, step: int, scored: dict[Trial, Outcomes]) -> None:
        pairs = list(scored)
        recorded = self._state.failures_of(step)
        if recorded is None:
            failed = [
                {"pair": index, "evaluator": name, "kind": str(outcome.kind), "message": outcome.message}
                | {"stderr": outcome.stderr, "side_info": dict(outcome.side_info)}
                | ({"output": outcome.output} if outcome.output else {})
                for index, pair in enumerate(pairs)
                for name, outcome in enumerate(scored[pair])
                if isinstance(outcome, Failed)
            ]
            if failed:
                self._state.fail(step, failed)
            return
        for failure in recorded:
            pair, index = pairs[failure["pair"]], failure["evaluator"]
            outcomes = list(scored[pair])
            outcomes[index] = _failure_of(failure)
            scored[pair] = tuple(outcomes)

    def _refuse_broken(self, scored: Mapping[Trial, Outcomes]) -> None:
        """End where an evaluator has scored none of its first calls."""
        for index, name in enumerate(self._goal.names):
            outcomes = [outcomes[index] for outcomes in scored.values()]
            failed = [outcome for outcome in outcomes if isinstance(outcome, Failed)]
            if failed and len(failed) == len(outcomes):
                calls = f"its first {len(failed)} calls" if len(failed) > 1 else "its first call"
                reason = f"{failed[0].kind}: {failed[0].message}"
                raise Over(Why.EVALUATOR, f"{name} scored none of {calls}; the first: {reason}")

    def _refuse_skipped(self, scored: Mapping[Trial, Outcomes]) -> None:
        """End where there is nothing to improve."""
        values = [self._goal.value(outcomes) for outcomes in scored.values()]
        skipped = [value for value in values if isinstance(value, Skipped)]
        if skipped and len(skipped) == len(values):
            why = f"{skipped[0].message}; there is nothing to improve"
            raise Over(Why.EVALUATOR, f"{self._goal.name} skipped all examples, the first: {why}")

    def _batch(self, items: Sequence[Item], outcomes: Sequence[Outcomes], capture: bool) -> Batch:  # noqa: FBT001
        values = [self._goal.value(outcome) for outcome in outcomes]
        objectives = {
            self._goal.names[index]: self._numbers(1 + index, worths)
            for index in self._goal.objectives
            for worths in [[worth_of(of_pair[index]) for of_pair in outcomes]]
            if not all(isinstance(worth, Skipped) for worth in worths)
        }
        scores = self._numbers(0, values)
        teaches = capture and all(item.teaches for item in items)
        return EvaluationBatch(
            outputs=values,
            scores=scores,
            trajectories=self._teach(items, outcomes) if teaches else None,
            objective_scores=[
                {name: numbers[index] for name, numbers in objectives.items()} for index in range(len(items))
            ],
            num_metric_calls=len(items),  # 0, where all is recorded, would never end GEPA's own count
        )

    def _teach(self, items: Sequence[Item], outcomes: Sequence[Outcomes]) -> list[JsonDict]:
        made = [
            teaching(outcome, self._goal, item.example, self._scorer.reply(outcome))
            for item, outcome in zip(items, outcomes, strict=True)
        ]
        self.tally.has_side_info |= any(map(has_side_info, made))
        return made

    def _numbers(self, which: int, values: Sequence[Value]) -> list[float]:
        """Make numbers of what may be none: the one place where a failure becomes one; it is counted."""
        scored = [value for value in values if isinstance(value, float)]
        self._lowest[which] = min([self._lowest[which], *scored])
        is_unit = self._goal.is_unit if not which else self._goal.ranges[which - 1] == "unit"
        lowest = self._lowest[which]
        penalty = 0.0 if is_unit else (lowest if lowest < inf else 0.0) - 1
        mean = fsum(scored) / len(scored) if scored else penalty
        worth = partial(_worth, penalty=penalty, mean=mean)
        return [worth(value) for value in values]

    def _count(self, scored: Mapping[Trial, Outcomes]) -> None:
        for pair, outcomes in scored.items():
            value = self._goal.value(outcomes)
            if isinstance(value, Failed) and pair not in self._failed:
                self._failed.add(pair)
                self.tally.failed += 1
            self.tally.skipped += isinstance(value, Skipped)
            if isinstance(value, float) and len(self.tally.scores) < _TELLING:
                self.tally.scores.add(value)


def _worth(value: Value, *, penalty: float, mean: float) -> float:
    return value if isinstance(value, float) else penalty if isinstance(value, Failed) else mean


def _failure_of(record: Record) -> Failed:
    return Failed(
        kind=FailureKind(record["kind"]),
        message=record["message"],
        hint="",
        stderr=record["stderr"],
        side_info=record["side_info"],
        seconds=0.0,
        output=record.get("output", ""),
    )


def _about(pairs: Sequence[Trial]) -> JsonDict:
    """Say of a minibatch which examples it has: by them a proposal was kept, or not."""
    texts = {pair.text for pair in pairs}
    if len(texts) > 1 or len(pairs) > _MOST_LISTED:
        return {}
    text = hashlib.sha256(pairs[0].text.encode()).hexdigest()[:8]
    return {"of": text, "split": pairs[0].split, "lines": [pair.line for pair in pairs]}


def _digest(pairs: Sequence[Trial]) -> str:
    digest, last = hashlib.sha256(), None
    for pair in pairs:
        digest.update(f"{pair.split}:{pair.line}\0".encode())
        if pair.text != last:
            digest.update(pair.text.encode())
            last = pair.text
    return digest.hexdigest()[:16]


MOST_REFUSED = 10  # in a row
ORIGIN = "optimize-eval:origin"  # the key under which GEPA hands our words on with a proposal


class Reflector:
    """Proposes new texts for GEPA."""

    def __init__(self, plan: SearchPlan, panel: Panel, screen: Screen, brakes: Brakes) -> None:
        self._panel = panel
        self._brakes = brakes
        self._screen = screen
        self._plan = plan
        self._given = deque(plan.others)
        self._refused_in_a_row = 0
        self._fault = ""  # of the last proposal
        self.proposed = 0
        self.admitted = 0

    def reflect(
        self,
        candidate: dict[str, str],
        reflective_dataset: Mapping[str, Sequence[Lesson]],
        components_to_update: list[str],
    ) -> tuple[ReflectionProposal, ReflectionLM]:
        return self.reflect_many([(candidate, reflective_dataset, components_to_update)])[0]

    def reflect_many(self, jobs: list[ReflectionJob]) -> list[tuple[ReflectionProposal, ReflectionLM]]:
        """Put all requests of an iteration to the panel at once."""
        given = [self._given.popleft() for _ in jobs[: len(self._given)]]
        replies = [
            ProposerReply(proposer="given", proposal=Proposal(candidate=as_value(text))) for text in given
        ]
        try:
            if pending := jobs[len(given) :]:
                replies += self._panel.propose([self._request(*job) for job in pending])
        except Exception as error:
            raise OwnError(error) from error
        return [(self._screen_reply(reply, job[0]), self) for reply, job in zip(replies, jobs, strict=True)]

    def _request(
        self, candidate: dict[str, str], records: Mapping[str, Sequence[Lesson]], names: list[str]
    ) -> ProposalRequest:
        return ProposalRequest(
            texts={str(name): text for name, text in candidate.items()},
            components=tuple(map(str, names)) if len(candidate) > 1 else (),
            objective=self._plan.objective,
            background=self._plan.background,
            records=fit_records(records[names[0]]),
            refused=self._fault,
        )

    def _screen_reply(self, reply: ProposerReply, parent: Mapping[str, str]) -> ReflectionProposal:
        if reply.proposal is None:
            return ReflectionProposal(new_texts={})
        self.proposed += 1
        self._brakes.count_request()
        before = {str(name): text for name, text in parent.items()}
        texts = self._screen.admit(reply.proposal, before)
        self._fault = self._screen.fault if texts is Refusal.BAD_TEMPLATE else ""
        if isinstance(texts, Refusal):
            self._refuse(texts)
            return ReflectionProposal(new_texts={})
        self._refused_in_a_row = 0
        self.admitted += 1
        changed: dict[str, str] = {Label(name): text for name, text in texts.items() if text != before[name]}
        return ReflectionProposal(new_texts=changed, metadata={ORIGIN: (reply.proposer, reply.proposal.note)})

    def _refuse(self, refusal: Refusal) -> None:
        self._refused_in_a_row += 1
        if self._refused_in_a_row >= MOST_REFUSED:
            raise Over(
                Why.NO_NEW_TEXT,
                f"{MOST_REFUSED} proposals in a row were unusable; the last was {WORDS[refusal]}",
            )


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

    def __call__(self, gepa_state: object) -> bool:  # noqa: ARG002  so it is called
        """Decide before every iteration whether to stop."""
        self._brakes.check()
        self._brakes.note_iteration()
        return False

    def should_accept(self, proposal: CandidateProposal[Any], _state: object) -> bool:
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
            self._brakes.note_proposal(self._best())
        return is_better

    def on_valset_evaluated(self, event: Event) -> None:
        candidate, parents = event["candidate"], tuple(event["parent_ids"])
        key = tuple(candidate.values())
        proposer, note = self._origins.get(key, ("merge" if len(parents) > 1 else "", ""))
        values = {intern(str(name)): float(score) for name, score in event["scores_by_val_id"].items()}
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
            self._brakes.note_proposal(self._best())
        else:
            self._brakes.begin(node.mean)

    def on_iteration_start(self, _event: Event) -> None:
        self.iterations += 1
        self._origins.clear()
        self._train.clear()

    def on_error(self, event: Event) -> None:
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
