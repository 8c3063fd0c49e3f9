"""What a model under test is to those who call it: prompts in, outputs out; blocking, for many threads."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from optimize_eval.errors import EvaluationError
from optimize_eval.evaluator import Capacity
from optimize_eval.protocol import NO_CAPABILITIES, Capabilities
from optimize_eval.spent import NOTHING, Spent


@dataclass(frozen=True, slots=True, kw_only=True)
class Prompt:
    """What a model is sent: a text, and which task's it is, which only recorded outputs look at."""

    text: str
    id: str = ""
    repeat: int = 1

    @property
    def task_model(self) -> None:
        """None: a model is not told of another model."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Output:
    """What a model replied, and what else is known of it: tokens, or whatever a program reports."""

    text: str
    side: Mapping[str, Any] = field(default_factory=dict)
    capabilities: Capabilities = NO_CAPABILITIES
    stderr: str = ""
    reasoning: str = ""  # a model's thoughts, apart from the text
    spent: Spent = NOTHING  # nothing where it was written down before


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
