"""What solvers are made of, as tasks write it: plain data. Texts are templates, unless said otherwise."""

from collections.abc import Sequence
from typing import ClassVar

from optimize_eval.base.frozen import frozen


@frozen
class Said:
    """A message."""

    role: str  # system, user, assistant
    content: str


@frozen
class Stop:
    """A text that ends a loop, or outside of one the conversation."""

    includes: str  # no template
    keep_iteration: bool = True  # False: what this round of the loop said is dropped


@frozen
class Generic:
    """A template that makes JSON: what is sent to the model."""

    template: str


@frozen
class ChatCompletion:
    """Messages that are sent to the model."""

    messages: Sequence[Said]


@frozen
class SingleTurn:
    """One question, one reply."""

    calls_model: ClassVar[bool] = True
    builder: Generic | ChatCompletion


@frozen
class ChatMessage:
    """Adds a message."""

    said: Said
    stop: Stop | None = None


@frozen
class Generate:
    """Adds what the model under test replies."""

    stop: Stop | None = None


@frozen
class GenerateMessage:
    """Adds what another model replies, who is sent the conversation and these messages."""

    model_key: str
    messages: Sequence[Said]
    role: str = "assistant"
    has_conversation: bool = True  # include_conversation; False: it is sent these messages alone
    stop: Stop | None = None


@frozen
class Loop:
    """Does what is in it again and again."""

    builders: "Sequence[Builder]"
    most: int = 10
    fails_at_most: bool = True  # on_max_iterations: error; False: continue


Builder = ChatMessage | Generate | GenerateMessage | Loop


@frozen
class MultiTurn:
    """A conversation, built message by message."""

    calls_model: ClassVar[bool] = True
    builders: Sequence[Builder]


@frozen
class PassThrough:
    """A conversation that the sample holds already."""

    calls_model: ClassVar[bool] = False
    column: str


@frozen
class PythonSolver:
    """Code that calls the model: `async def run_solver(sample, model, trace)`."""

    calls_model: ClassVar[bool] = True
    snippet: str


MOST_TURNS = 200  # calls of models for one sample, of code that says no number

Solver = SingleTurn | MultiTurn | PassThrough | PythonSolver


def most_calls(solver: Solver, most: int | None = None) -> int:
    """Say how many calls of models a sample takes at most, of which `most` may bound the number."""
    if isinstance(solver, PythonSolver):
        return MOST_TURNS if most is None else most
    calls = _calls_of(solver.builders) if isinstance(solver, MultiTurn) else int(solver.calls_model)
    return calls if most is None else min(calls, most)


def _calls_of(builders: Sequence[Builder]) -> int:
    return sum(
        one.most * _calls_of(one.builders) if isinstance(one, Loop) else not isinstance(one, ChatMessage)
        for one in builders
    )
