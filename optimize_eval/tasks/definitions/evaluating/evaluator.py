"""A scorer of a task as an evaluator: sample → trace → score. Scorers of a sample share its trace."""

import math
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from typing import TYPE_CHECKING, Any

from optimize_eval.base.errors import EvaluationError
from optimize_eval.base.evaluator import Capacity, Evaluator, EvaluatorSpec
from optimize_eval.base.manners import Caps, GivenUp
from optimize_eval.base.protocol import Answer, Answered, Payload, Skip
from optimize_eval.programs.codec import call_singly
from optimize_eval.prompts.prompt import fields_of
from optimize_eval.tasks.definitions.evaluating.scoring import Scoring
from optimize_eval.tasks.definitions.evaluating.solving import Solving
from optimize_eval.tasks.definitions.score.scored import Scored
from optimize_eval.tasks.definitions.solve.trace import Trace
from optimize_eval.tasks.definitions.target import DefinedScorer
from optimize_eval.tasks.lives import Lives
from optimize_eval.tasks.prompted import with_facts

if TYPE_CHECKING:  # programs as models need no HTTP client
    from optimize_eval.base.manners import Queue

Connect = Callable[[EvaluatorSpec], Evaluator]


class DefinedEvaluator:
    """Calls models about a sample, as its task says, and scores what came of it."""

    def __init__(self, spec: EvaluatorSpec, target: DefinedScorer, connect: Connect) -> None:
        self._timeout = spec.timeout
        self._lives = Lives()
        solver = target.task.solver
        with ExitStack() as live:
            live.callback(self._lives.close)
            self._solving = Solving(target, solver, self._lives) if solver else None
            if self._solving:
                live.callback(self._solving.close)
            self._scoring = Scoring(target, self._lives, connect)
            live.callback(self._scoring.close)
            self._live = live.pop_all()

    @property
    def note(self) -> str:
        return self._lives.note

    @property
    def capacity(self) -> Capacity:
        return self._lives.capacity._replace(batch=1)

    def capacity_of(self, task_model: str) -> Capacity:
        return self._solving.capacity_of(task_model) if self._solving else self.capacity

    def call(self, payload: Payload, deadline: float) -> Answered:
        sample = fields_of(payload.example)
        if self._solving is None:
            return _answer(self._scoring.score(payload, sample, None, deadline), None)
        began = time.monotonic()
        trace = self._solving.trace(payload, sample, deadline)
        before = time.monotonic() - began - trace.spent.waited
        try:
            scored = self._scoring.score(payload, sample, trace, time.monotonic() + self._timeout)
        except EvaluationError as error:
            error.output, error.spent, error.before = _key(trace), trace.spent + error.spent, before
            self._solving.take_back(payload, error)
            raise
        except GivenUp as given_up:
            given_up.output, given_up.spent = _key(trace), trace.spent + given_up.spent
            raise
        return _answer(scored, trace)

    def call_many(self, payloads: Sequence[Payload], timeout: float) -> list[Answered | EvaluationError]:
        return call_singly(payloads, timeout, self.call)

    def stop_waiting(self) -> None:
        self._lives.stop_waiting()

    @property
    def queues(self) -> "list[Queue]":
        return self._lives.queues

    def meter(self, caps: Caps) -> None:
        self._lives.meter(caps)

    def close(self) -> None:
        """End what it holds, once: a run that is stopped closes its evaluators more than once."""
        self._live.close()


def _answer(scored: Scored | Skip, trace: Trace | None) -> Answered:
    known: Mapping[str, Any] = {"output": _key(trace), "spent": trace.spent + scored.spent} if trace else {}
    if isinstance(scored, Skip):
        return Skip(why=scored.why, side_info=scored.side_info, **{"spent": scored.spent, **known})
    score = math.nan if scored.primary is None else scored.primary
    answer = Answer(
        score=score,
        side_info=scored.side_info,
        is_unranked=scored.primary is None,
        **{"spent": scored.spent, **known},
    )
    return with_facts(answer, trace.facts) if trace else answer


def _key(trace: Trace) -> str:
    """Give the key of the last reply, by which reports find it."""
    return trace.replies[-1] if trace.replies else ""
