"""The scorers of one evaluator, live: one for all splits, or one for each, whose samples it sees together."""

from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from functools import partial
from typing import Any

from optimize_eval.base.errors import EvaluationError, FailureKind
from optimize_eval.base.evaluator import Evaluator, EvaluatorSpec
from optimize_eval.base.protocol import Payload, Skip
from optimize_eval.models.judging.asking import Chat
from optimize_eval.models.model_kinds import connect_model, tasks_of
from optimize_eval.models.under_test import ModelUnderTest
from optimize_eval.prompts.prompt import fields_of
from optimize_eval.tasks.definitions.score.chats import chat_of
from optimize_eval.tasks.definitions.score.live import LiveScorer
from optimize_eval.tasks.definitions.score.scored import Scored
from optimize_eval.tasks.definitions.score.tools import Keys, Tools
from optimize_eval.tasks.definitions.snippets import close_snippets, open_snippets
from optimize_eval.tasks.definitions.solve.trace import Trace
from optimize_eval.tasks.definitions.target import DefinedScorer, Sample
from optimize_eval.tasks.lives import Lives

Connect = Callable[[EvaluatorSpec], Evaluator]

_ONE = ""  # the name of the scorer that does for all splits


class Scoring:
    """Scores samples with their traces; safe to call from several threads."""

    def __init__(self, target: DefinedScorer, lives: Lives, connect: Connect) -> None:
        self._target = target
        self._lives = lives
        self._connect = connect
        self._snippets = open_snippets(target.sandbox, target.task.path)
        self._scorers: dict[str, LiveScorer] = {}
        with ExitStack() as live:
            live.callback(close_snippets, self._snippets)
            for split in target.samples if target.looks_at_all else (_ONE,):
                self._scorers[split] = LiveScorer(target.scorer, self._tools(split))
                live.callback(self._scorers[split].close)
            self._live = live.pop_all()
        self._places = {split: _places(samples) for split, samples in target.samples.items()}

    def score(
        self, payload: Payload, sample: Mapping[str, Any], trace: Trace | None, deadline: float
    ) -> Scored | Skip:
        if not self._target.looks_at_all:
            return self._scorers[_ONE].score(sample, trace, deadline)
        place = self._places[payload.split][payload.line]
        return self._scorers[payload.split].score(sample, trace, deadline, place=place)

    def close(self) -> None:
        self._live.close()

    def _tools(self, split: str) -> Tools:
        return Tools(
            model=self._model,
            evaluator=self._evaluator,
            snippets=self._snippets,
            samples=partial(_samples, self._target.samples.get(split, ())),
        )

    def _model(self, key: str) -> Chat:
        return chat_of(self._lives.model(f"{key}, who scores", lambda _name: self._connected(key)))

    def _connected(self, key: str) -> ModelUnderTest:
        spec = self._target.keyed.get(key)
        if spec is None:
            raise EvaluationError(FailureKind.INTERNAL, f"no model is known for the key {key}")
        return connect_model(tasks_of(spec).model, spec)

    def _evaluator(self, _keys: Keys) -> Evaluator:
        program = self._target.program
        if program is None:
            raise EvaluationError(FailureKind.INTERNAL, "the scorer does not call an evaluator")
        return self._lives.scorer(self._target.scorer.key, lambda _key: self._connect(program))


def _places(samples: Sequence[Sample]) -> Mapping[int | None, int]:
    return {sample.line: place for place, sample in enumerate(samples)}


def _samples(samples: Sequence[Sample]) -> Sequence[Mapping[str, Any]]:
    return [fields_of(sample.raw) for sample in samples]
