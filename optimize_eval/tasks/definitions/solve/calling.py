"""Models as solvers call them, and what one solving of a sample has called and spent so far."""

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any, Protocol

from optimize_eval.base.errors import EvaluationError, FailureKind
from optimize_eval.base.frozen import frozen
from optimize_eval.base.manners import GivenUp
from optimize_eval.base.spent import NOTHING, Spent
from optimize_eval.models.shared import SharedModel
from optimize_eval.models.under_test import Output, Prompt, prompt_of_messages, reply_facts
from optimize_eval.tasks.definitions.solve.items import messages_of, reply_items
from optimize_eval.tasks.definitions.solve.trace import Item
from optimize_eval.tasks.lives import failing_as_model
from optimize_eval.templates.conversation import completion_of

OPTIONS = ("temperature", "max_tokens", "seed", "tools", "tool_choice", "response_format", "stop")


@frozen
class Replied:
    """What a model replied, and its key in outputs.jsonl."""

    output: Output
    key: str = ""


class Models(Protocol):
    """The models that a task knows."""

    def call(self, key: str | None, prompt: Prompt, deadline: float) -> Replied:
        """Call the model under test (None), or another by its key; raises EvaluationError of stage model."""
        ...


class SharedModels:
    """Calls models whose replies are shared and written down."""

    def __init__(self, model: Callable[[str | None], SharedModel]) -> None:
        self._model = model

    def call(self, key: str | None, prompt: Prompt, deadline: float) -> Replied:
        with failing_as_model("model" if key is None else f"model {key}"):
            model = self._model(key)
            output = model.generate(prompt, deadline)
        return Replied(output=output, key=model.key(prompt).hex())


@frozen
class Reply:
    """What a model replied, as items and in the shape of a chat completion."""

    text: str
    items: Sequence[Item]
    completion: Mapping[str, Any]


class Calls:
    """The calls of one solving, one after the other."""

    def __init__(
        self,
        models: Models,
        deadline: float,
        *,
        known_as: str = "",
        repeat: int = 1,
        most: int | None = None,
    ) -> None:
        """Make calls until the deadline, which waiting for servers puts off, and at most so many."""
        self.spent: Spent = NOTHING
        self.limit: EvaluationError | None = None  # why no call may follow, whatever a solver makes of it
        self._most = most
        self._turns = 0
        self.replies: list[str] = []
        self.facts: Mapping[str, Any] = {}  # of the last reply of the model under test
        self._models = models
        self._deadline = deadline
        self._known_as = known_as
        self._repeat = repeat
        self._sent: dict[str | None, list[Any]] = {}  # what each model was sent

    def reply(self, key: str | None, items: Sequence[Item]) -> Reply:
        return self.reply_to(key, messages_of(items), {})

    def reply_to(
        self, key: str | None, messages: Sequence[Mapping[str, Any]], options: Mapping[str, Any]
    ) -> Reply:
        """Call a model; what it took counts, also where it fails."""
        self._begin()
        prompt = self._prompt(key, messages, options)
        try:
            replied = self._models.call(key, prompt, self._deadline)
        except (EvaluationError, GivenUp) as error:
            self.spent += error.spent
            error.spent = NOTHING  # it is told once, with all else
            raise
        output = replied.output
        if output.spent.usages or output.spent.waited:
            usages = tuple(replace(usage, output=replied.key) for usage in output.spent.usages)
            self.spent += replace(output.spent, usages=usages)
        self.replies.append(replied.key)
        self.facts = reply_facts(output) if key is None else self.facts
        items = reply_items(output.text, output.tool_calls)
        return Reply(text=output.text, items=items, completion=_completion(output))

    def _begin(self) -> None:
        """Raise GivenUp where the sample may have no further call."""
        if self._most is not None and self._turns >= self._most:
            self.limit = failed(
                f"it wants to call models more than {self._most:,} times for one sample",
                hint="allow more with --max-turns, or let the solver end",
            )
        elif self._turns and time.monotonic() >= self._deadline + self.spent.waited:
            self.limit = EvaluationError(
                FailureKind.TIMEOUT,
                f"no time is left for another call of a model after {self._turns:,} (--timeout)",
                hint="allow more with --timeout, or fewer calls with --max-turns; replies so far are kept",
            )
        if self.limit:
            raise GivenUp
        self._turns += 1

    def _prompt(
        self, key: str | None, messages: Sequence[Mapping[str, Any]], options: Mapping[str, Any]
    ) -> Prompt:
        """Make what is sent; the same again is another prompt, or its reply would be the first one's."""
        prompt = prompt_of_messages(messages, options, known_as=self._known_as, repeat=self._repeat)
        before, essence = self._sent.setdefault(key, []), prompt.essence
        before.append(essence)
        if len(before) == 1:
            return prompt
        return replace(prompt, turn=len(before), again=before.count(essence) - 1)


def checked(options: Mapping[str, Any]) -> Mapping[str, Any]:
    """Refuse what is not passed on to models."""
    if unknown := [name for name in options if name not in OPTIONS]:
        listed = ", ".join(OPTIONS)
        raise failed(
            f"{unknown[0]!r} is not passed on to models", hint=f"beside messages it may have {listed}"
        )
    return options


def failed(message: str, *, hint: str = "") -> EvaluationError:
    """Make a failure of the solver itself."""
    return EvaluationError(FailureKind.REPORTED, message, hint=hint)


def _completion(output: Output) -> Mapping[str, Any]:
    if output.completion:
        return output.completion
    if isinstance(choices := output.side.get("choices"), list):  # of a program that says more than a text
        return {"choices": choices}
    return completion_of(output.text, output.tool_calls)
