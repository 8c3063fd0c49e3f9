"""Models and solvers for tests of solving."""

import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from optimize_eval.base.evaluator import EvaluatorSpec, Opened
from optimize_eval.models.model_kinds import ModelSpec
from optimize_eval.models.shared import shared_model
from optimize_eval.models.under_test import Output, Prompt
from optimize_eval.tasks.code import HostedSnippets, Snippets
from optimize_eval.tasks.definition import ChatMessage, Said, Solver, Stop
from optimize_eval.tasks.solvers import Models, Replied, SharedModels, solve
from optimize_eval.tasks.trace import Trace


class Spoken:
    """Models whose replies are made here; they keep what they were sent."""

    def __init__(self, reply: Callable[[str | None, int], str]) -> None:
        self._reply = reply
        self.sent: list[tuple[str | None, Prompt]] = []

    def call(self, key: str | None, prompt: Prompt, _deadline: float) -> Replied:
        self.sent.append((key, prompt))
        return Replied(output=Output(text=self._reply(key, len(self.sent))), key=str(len(self.sent)))

    @property
    def messages(self) -> list[Any]:
        return [prompt.messages for _, prompt in self.sent]


@contextmanager
def shared_models(texts: Mapping[str | None, str], outputs: object, **task: Any) -> Iterator[SharedModels]:
    """Make models live whose replies are written down."""
    specs = {
        key: ModelSpec(text=text, how=EvaluatorSpec(timeout=30), outputs=str(outputs), **task)
        for key, text in texts.items()
    }
    with Opened() as opened:
        live = {key: shared_model(spec, opened) for key, spec in specs.items()}
        yield SharedModels(live.__getitem__)


def solved(
    solver: Solver, sample: Mapping[str, Any], models: Models, snippets: Snippets | None = None, **more: Any
) -> Trace:
    hosted = snippets or HostedSnippets()
    try:
        return solve(solver, sample, models=models, snippets=hosted, deadline=time.monotonic() + 30, **more)
    finally:
        if not snippets:
            hosted.close()


def says(role: str, content: str, stop: str = "", *, keeps: bool = True) -> ChatMessage:
    end = Stop(includes=stop, keep_iteration=keeps) if stop else None
    return ChatMessage(said=Said(role=role, content=content), stop=end)


def texts(trace: Trace) -> list[str]:
    return [f"{message['role'][0]}:{message['content']}" for message in trace.messages]
