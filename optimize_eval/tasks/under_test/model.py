"""What a model under test is to those who call it: prompts in, outputs out; blocking, for many threads."""

from collections.abc import Mapping, Sequence
from dataclasses import field
from typing import Any, Protocol

from optimize_eval.errors import EvaluationError
from optimize_eval.evaluator import Capacity
from optimize_eval.frozen import frozen
from optimize_eval.prompts.messages import USER, Messages, as_dicts
from optimize_eval.protocol import NO_CAPABILITIES, Capabilities
from optimize_eval.spent import NOTHING, Spent


@frozen
class Prompt:
    """What a model is sent: messages, and which task's they are, which only recorded outputs look at.

    A text alone is one message of the user; beside several messages it is their texts, one after the other.
    """

    text: str
    id: str = ""
    repeat: int = 1
    several: Messages = ()

    @property
    def messages(self) -> list[dict[str, str]]:
        """Give all messages, as providers take them."""
        return as_dicts(self.several) if self.several else [{"role": USER, "content": self.text}]

    @property
    def essence(self) -> str | list[dict[str, str]]:
        """Give what is digested: the text of one message of the user, else all messages."""
        return as_dicts(self.several) if self.several else self.text

    @property
    def task_model(self) -> None:
        """None: a model is not told of another model."""


@frozen
class Output:
    """What a model replied, and what else is known of it: tokens, or whatever a program reports."""

    text: str
    side: Mapping[str, Any] = field(default_factory=dict)
    capabilities: Capabilities = NO_CAPABILITIES
    stderr: str = ""
    reasoning: str = ""  # a model's thoughts, apart from the text
    spent: Spent = NOTHING  # nothing where it was written down before
    seconds: float | None = None  # that its call took, where that is known
    usage: Sequence[Mapping[str, Any]] = ()  # of its call, also where it was written down before


class ModelUnderTest(Protocol):
    """A model that is called."""

    def generate(self, prompt: Prompt, deadline: float) -> Output:
        """Answer before `deadline` (an instant of time.monotonic) or raise EvaluationError."""
        ...

    def generate_many(self, prompts: Sequence[Prompt], timeout: float) -> list[Output | EvaluationError]:
        """Answer several, in their order, each within `timeout` seconds; a failure stands for itself."""
        ...

    @property
    def capacity(self) -> Capacity:
        """What it can take at the moment; more calls than that only wait."""
        ...

    @property
    def note(self) -> str:
        """What people should be told once about how it was called; mostly nothing."""
        ...

    def close(self) -> None:
        """End what was started for it; it is not called again."""
        ...
