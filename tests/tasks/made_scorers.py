"""Scorers made live for tests, with real evaluators and real models; and traces to score."""

import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from typing import Any

from optimize_eval.base.errors import EvaluationError
from optimize_eval.base.evaluator import Evaluator, EvaluatorSpec, Opened
from optimize_eval.evaluators.kinds import connect, parse_evaluator
from optimize_eval.models.chat import Chat
from optimize_eval.models.model_kinds import ModelSpec, connect_model
from optimize_eval.tasks.code import Snippets
from optimize_eval.tasks.definition import How, Scorer
from optimize_eval.tasks.scorer_parts import Scored, Tools, chat_of
from optimize_eval.tasks.scorers import LiveScorer
from optimize_eval.tasks.templates import hosted
from optimize_eval.tasks.trace import CALL, MESSAGE, Trace

_DEFAULTS = EvaluatorSpec(timeout=10, workers=1)


class _NoCode:
    """Runs none."""

    def call(self, *_arguments: Any, **_others: Any) -> Any:
        raise AssertionError("no code was to run")

    def close(self) -> None:
        pass


@contextmanager
def tools(
    models: str = "", samples: Sequence[Mapping[str, Any]] = (), snippets: Snippets | None = None
) -> Iterator[Tools]:
    """Make tools; `models` is the base of the server that has all models but programs."""
    with Opened() as opened:

        def evaluator(keys: Mapping[str, Any]) -> Evaluator:
            spec = parse_evaluator(keys.get("use") or keys["command"], _DEFAULTS)
            return connect(spec, opened)

        def model(key: str) -> Chat:
            text = key if ":" in key else f"openai/{key}@{models}"
            return chat_of(opened.keep(lambda: connect_model(ModelSpec(text=text, how=_DEFAULTS))))

        code = snippets or _NoCode()
        yield Tools(model=model, evaluator=evaluator, snippets=code, samples=lambda: samples)


@contextmanager
def live(how: How, **given: Any) -> Iterator[LiveScorer]:
    with tools(**given) as made, closing(hosted.Holder()):
        yield LiveScorer(Scorer(key="s", type="any", how=how), made)


def trace(reply: str = "", *calls: Mapping[str, Any], question: str = "?") -> Trace:
    """Make a trace of a question, calls and a reply."""
    items = [
        {"type": MESSAGE, "role": "user", "content": question},
        *({"type": CALL, **call} for call in calls),
        {"type": MESSAGE, "role": "assistant", "content": reply},
    ]
    return Trace(items=items)


def scored(scorer: LiveScorer, sample: Mapping[str, Any], said: Trace | None, **given: Any) -> Scored:
    result = scorer.score(sample, said, time.monotonic() + 30, **given)
    assert isinstance(result, Scored)
    return result


def failure(scorer: LiveScorer, sample: Mapping[str, Any], said: Trace | None, **given: Any) -> str:
    """Give the words of a failure, which is the scorer's."""
    try:
        scorer.score(sample, said, time.monotonic() + 30, **given)
    except EvaluationError as error:
        assert error.stage == "scorer"
        return error.message
    raise AssertionError("it was scored")
