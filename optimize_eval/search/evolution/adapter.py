"""What GEPA calls: scores of pairs as finite numbers, and what its proposer may learn from.

GEPA takes an exception for the end, NaN for a number, and 0 calls for no progress; so nothing here raises
but `Over`, failures become a penalty in one place, and each batch counts as many calls as it has
examples. The budget is ours.
"""

import hashlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from math import fsum, inf
from typing import Any

from gepa.core.adapter import EvaluationBatch

from optimize_eval.base.errors import FailureKind
from optimize_eval.base.outcome import Failed, Skipped
from optimize_eval.run.runner import PROBES
from optimize_eval.search.budget import Purse
from optimize_eval.search.components import Texts, text_of
from optimize_eval.search.ending import Over, OwnError, Why
from optimize_eval.search.goal import Goal, Value, worth_of
from optimize_eval.search.proposing.records import has_side_info, teaching
from optimize_eval.search.scores.scorer import Outcomes, Scorer, Trial
from optimize_eval.search.state import SearchState

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
    example: Mapping[str, Any] | None
    teaches: bool  # False for those that choose: their records are never made

    @property
    def id(self) -> Label:
        return Label(f"{self.part}:{self.line}")


Batch = EvaluationBatch[dict[str, Any], Value]


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
        text: Callable[[Texts], str] = text_of,
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
    ) -> Mapping[str, Sequence[Mapping[str, Any]]]:
        return {name: batch.trajectories or [] for name in components}

    def _outcomes(self, distinct: Sequence[Trial], pairs: Sequence[Trial]) -> list[Outcomes]:
        """Score within the budget; what had failed in this step before has failed."""
        step = self._steps
        self._steps += 1
        digest = _digest(distinct)
        calls = self._state.calls(step, digest, partial(self._scorer.owed, distinct))
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
        recorded = self._state.failed(step)
        if recorded is None:
            failed = [
                {"pair": place, "evaluator": name, "kind": str(one.kind), "message": one.message}
                | {"stderr": one.stderr, "side_info": dict(one.side_info)}
                | ({"output": one.output} if one.output else {})
                for place, pair in enumerate(pairs)
                for name, one in enumerate(scored[pair])
                if isinstance(one, Failed)
            ]
            if failed:
                self._state.fail(step, failed)
            return
        for failure in recorded:
            pair, place = pairs[failure["pair"]], failure["evaluator"]
            outcomes = list(scored[pair])
            outcomes[place] = _failed(failure)
            scored[pair] = tuple(outcomes)

    def _refuse_broken(self, scored: Mapping[Trial, Outcomes]) -> None:
        """End where an evaluator has scored none of its first calls."""
        for place, name in enumerate(self._goal.names):
            outcomes = [outcomes[place] for outcomes in scored.values()]
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
            self._goal.names[place]: self._numbers(1 + place, [worth_of(one[place]) for one in outcomes])
            for place in self._goal.objectives
            if not all(isinstance(worth_of(one[place]), Skipped) for one in outcomes)
        }
        scores = self._numbers(0, values)
        teaches = capture and all(item.teaches for item in items)
        return EvaluationBatch(
            outputs=values,
            scores=scores,
            trajectories=self._teach(items, outcomes) if teaches else None,
            objective_scores=[
                {name: numbers[place] for name, numbers in objectives.items()} for place in range(len(items))
            ],
            num_metric_calls=len(items),  # 0, where all is recorded, would never end GEPA's own count
        )

    def _teach(self, items: Sequence[Item], outcomes: Sequence[Outcomes]) -> list[dict[str, Any]]:
        made = [
            teaching(one, self._goal, item.example, self._scorer.reply(one))
            for item, one in zip(items, outcomes, strict=True)
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


def _failed(record: Mapping[str, Any]) -> Failed:
    return Failed(
        kind=FailureKind(record["kind"]),
        message=record["message"],
        hint="",
        stderr=record["stderr"],
        side_info=record["side_info"],
        seconds=0.0,
        output=record.get("output", ""),
    )


def _about(pairs: Sequence[Trial]) -> dict[str, Any]:
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
