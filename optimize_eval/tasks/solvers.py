"""A solver solves a sample: single-turn, multi-turn, pass-through, or code of the task.

What goes wrong says whether it was a model's failure (stage "model") or the solver's own ("solver").
"""

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import lru_cache
from hashlib import sha256
from typing import Any, NamedTuple, Protocol

from optimize_eval.base import strict_json
from optimize_eval.base.documents import JsonDict, JsonMapping
from optimize_eval.base.errors import EvaluationError, FailureKind
from optimize_eval.base.frozen import frozen
from optimize_eval.base.retries_and_caps import GivenUp
from optimize_eval.base.spent import NOTHING, Spent
from optimize_eval.models.shared import SharedModel
from optimize_eval.models.under_test import Output, Prompt, prompt_of_messages, reply_facts
from optimize_eval.tasks.code import Snippets
from optimize_eval.tasks.definition import (
    CANDIDATE,
    MOST_TURNS,
    Builder,
    ChatCompletion,
    ChatMessage,
    Generate,
    GenerateMessage,
    Generic,
    Loop,
    MultiTurn,
    PassThrough,
    PythonSolver,
    Said,
    SingleTurn,
    Solver,
    Stop,
)
from optimize_eval.tasks.task_evaluator import failing_as_model
from optimize_eval.tasks.templates.fault import RULE, TemplateFault
from optimize_eval.tasks.templates.hosted import completion_of
from optimize_eval.tasks.templates.template import Template, task_template_of
from optimize_eval.tasks.trace import (
    ASSISTANT,
    MESSAGE,
    Item,
    Trace,
    TraceFault,
    items_of,
    messages_of,
    reply_items,
    said,
)

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
    completion: JsonMapping


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
        self.facts: JsonMapping = {}  # of the last reply of the model under test
        self._models = models
        self._deadline = deadline
        self._known_as = known_as
        self._repeat = repeat
        self._sent: dict[str | None, list[Any]] = {}  # what each model was sent

    def reply(self, key: str | None, items: Sequence[Item]) -> Reply:
        return self.reply_to(key, messages_of(items), {})

    def reply_to(self, key: str | None, messages: Sequence[JsonMapping], options: JsonMapping) -> Reply:
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

    def _prompt(self, key: str | None, messages: Sequence[JsonMapping], options: JsonMapping) -> Prompt:
        """Make what is sent; the same again is another prompt, or its reply would be the first one's."""
        prompt = prompt_of_messages(messages, options, known_as=self._known_as, repeat=self._repeat)
        before, essence = self._sent.setdefault(key, []), prompt.essence
        before.append(essence)
        if len(before) == 1:
            return prompt
        return replace(prompt, turn=len(before), again=before.count(essence) - 1)


def checked(options: JsonMapping) -> JsonMapping:
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


def _completion(output: Output) -> JsonMapping:
    if output.completion:
        return output.completion
    if isinstance(choices := output.side.get("choices"), list):  # of a program that says more than a text
        return {"choices": choices}
    return completion_of(output.text, output.tool_calls)


def rendered(text: str, fields: JsonMapping) -> str:
    """Render a text of a task; raises EvaluationError."""
    try:
        return parsed(text).render(fields)
    except TemplateFault as fault:
        raise failed(f"{RULE}: {fault.reason}") from None


@lru_cache(4096)
def parsed(text: str) -> Template:
    """Parse a text of a task, or raise TemplateFault."""
    return task_template_of(text)


def rendered_all(messages: Sequence[Said], fields: JsonMapping) -> list[dict[str, str]]:
    return [{"role": message.role, "content": rendered(message.content, fields)} for message in messages]


_MOST_STEPS = 10_000

_Step = ChatMessage | Generate | GenerateMessage


class _End(NamedTuple):
    """Which text ended what is built, and where the message with it begins."""

    stop: Stop
    begins: int


class Conversation:
    """What was said so far."""

    def __init__(self, fields: JsonMapping, calls: Calls) -> None:
        self.items: list[Item] = []
        self._completions: list[tuple[int, JsonMapping]] = []  # with where their message begins
        self._fields = fields
        self._calls = calls
        self._steps = 0

    @property
    def completion(self) -> JsonMapping:
        """Give the last reply that stands."""
        return self._completions[-1][1] if self._completions else {}

    def hold(self, solver: MultiTurn) -> None:
        """Build all of it."""
        end = self._run(solver.builders, None)
        if end and not end.stop.keep_iteration:
            self._drop(end.begins)

    def _run(self, builders: Sequence[Builder], loop_index: int | None) -> _End | None:
        for builder in builders:
            self._count()
            if isinstance(builder, Loop):
                self._loop(builder)
                continue
            begins = len(self.items)
            text = self._add(builder, loop_index)
            if builder.stop and builder.stop.includes in text:
                return _End(builder.stop, begins)
        return None

    def _loop(self, loop: Loop) -> None:
        for number in range(loop.most):
            self._count()
            begins = len(self.items)
            if end := self._run(loop.builders, number):
                if not end.stop.keep_iteration:
                    self._drop(begins)
                return
        stops = [
            builder.stop.includes
            for builder in loop.builders
            if not isinstance(builder, Loop) and builder.stop
        ]
        if stops and loop.fails_at_most:
            listed = " or ".join(map(repr, stops))
            hint = "raise max_iterations, or let on_max_iterations be continue"
            raise failed(f"after {loop.most} rounds of a loop no message included {listed}", hint=hint)

    def _add(self, builder: _Step, loop_index: int | None) -> str:
        """Add what one step says; give its text."""
        if isinstance(builder, ChatMessage):
            text = rendered(builder.said.content, self._now(loop_index))
            self.items.append(said(builder.said.role, text))
            return text
        return self._generate() if isinstance(builder, Generate) else self._generate_as(builder, loop_index)

    def _generate(self) -> str:
        if not self.items:
            raise failed("generate has no message to reply to", hint="put a chat_message before it")
        reply = self._calls.reply(None, self.items)
        self._completions.append((len(self.items), reply.completion))
        self.items.extend(reply.items)
        return reply.text

    def _generate_as(self, builder: GenerateMessage, loop_index: int | None) -> str:
        """Let another model reply, as whom it is meant to speak."""
        before = messages_of(self.items) if builder.has_conversation else []
        sent = [*before, *rendered_all(builder.messages, self._now(loop_index))]
        reply = self._calls.reply_to(builder.model_key, sent, {})
        if builder.role == "assistant":
            self._completions.append((len(self.items), reply.completion))
            self.items.extend(reply.items)
        else:
            self.items.append(said(builder.role, reply.text))
        return reply.text

    def _now(self, loop_index: int | None) -> JsonDict:
        """Give what templates see at this moment."""
        index = {} if loop_index is None else {"loop_index": loop_index}
        messages = [
            {"role": item["role"], "content": item["content"]}
            for item in self.items
            if item["type"] == MESSAGE
        ]
        return {**self._fields, "messages": messages, **index}

    def _drop(self, begins: int) -> None:
        del self.items[begins:]
        self._completions = [completion for completion in self._completions if completion[0] < begins]

    def _count(self) -> None:
        self._steps += 1
        if self._steps > _MOST_STEPS:
            raise failed(
                f"the conversation takes more than {_MOST_STEPS:,} steps", hint="lower max_iterations"
            )


STAGE = "solver"

_NO_OPTIONS: JsonMapping = {}

_RUN = "run_solver"
_HINT = "write values as JSON: {{ sample.question | tojson }}, without quotes around it"


class _Made(NamedTuple):
    items: Sequence[Item]
    completion: JsonMapping


def solve(
    solver: Solver,
    sample: JsonMapping,
    *,
    models: Models,
    snippets: Snippets,
    deadline: float,
    candidate: str | None = None,
    known_as: str = "",
    repeat: int = 1,
    most_turns: int | None = None,
) -> Trace:
    """Make the trace of a sample, or raise EvaluationError; either says what was spent on models.

    `known_as` is the sample's id, which recorded outputs are found by; `repeat` another reply to the same.
    `most_turns` bounds the calls of models; without it, loops are bounded by what they say, code by a number.
    """
    most = MOST_TURNS if most_turns is None and isinstance(solver, PythonSolver) else most_turns
    calls = Calls(models, deadline, known_as=known_as, repeat=repeat, most=most)
    fields = {"sample": sample} if candidate is None else {"sample": sample, CANDIDATE: candidate}
    try:
        with _at_stage(), _hold_limit(calls):
            made = _made(solver, fields, calls, snippets, deadline)
            if not isinstance(solver, PassThrough):
                _check_reply(made.items)
    except (EvaluationError, GivenUp) as error:
        error.spent = calls.spent + error.spent
        raise
    return Trace(
        items=made.items,
        completion=made.completion,
        replies=tuple(calls.replies),
        spent=calls.spent,
        facts=calls.facts,
    )


def digest_of(solver: Solver) -> str:
    """Digest all that a solver is."""
    return sha256(repr(solver).encode()).hexdigest()


def _made(solver: Solver, fields: JsonMapping, calls: Calls, snippets: Snippets, deadline: float) -> _Made:
    match solver:
        case SingleTurn(builder=builder):
            return _single(builder, fields, calls)
        case MultiTurn():
            talk = Conversation(fields, calls)
            talk.hold(solver)
            return _Made(talk.items, talk.completion)
        case PassThrough(column=column):
            return _Made(_conversation_in(column, fields["sample"]), {})
        case PythonSolver(snippet=snippet):
            return _run(snippet, fields["sample"], calls, snippets, deadline)


def _single(builder: Generic | ChatCompletion, fields: JsonMapping, calls: Calls) -> _Made:
    if isinstance(builder, ChatCompletion):
        messages, options = rendered_all(builder.messages, fields), _NO_OPTIONS
        items = [said(message["role"], message["content"]) for message in messages]
    else:
        messages, options = _input(rendered(builder.template, fields))
        items = _read(messages, "what the input builder makes")
    reply = calls.reply_to(None, messages, options)
    return _Made([*items, *reply.items], reply.completion)


def _input(text: str) -> tuple[list[JsonDict], JsonMapping]:
    """Read what a template of a model's input made."""
    try:
        made: Any = strict_json.loads(text, unique_keys=True)
    except strict_json.JsonFault as fault:
        near = text[max(0, fault.offset - 20) : fault.offset + 20]
        message = f"the input builder makes no JSON: {fault.reason} at {fault.offset}, near {near!r}"
        raise failed(message, hint=_HINT) from None
    match made:
        case {"messages": [_, *_] as messages}:
            return messages, checked({key: value for key, value in made.items() if key != "messages"})
    raise failed('the input builder makes no object with a list of "messages"', hint=_HINT)


def _conversation_in(column: str, sample: JsonMapping) -> list[Item]:
    if column not in sample:
        raise failed(f"the sample has no {column!r}", hint=f"it has {', '.join(map(repr, sample))}")
    return _read(sample[column], f"the conversation in {column!r}")


def _read(value: object, what: str) -> list[Item]:
    try:
        return items_of(value)
    except TraceFault as fault:
        raise failed(f"{what} cannot be read: {fault}") from None


def _run(snippet: str, sample: JsonMapping, calls: Calls, snippets: Snippets, deadline: float) -> _Made:
    last: list[Reply] = []

    def ask(wanted: JsonMapping) -> JsonMapping:
        options = dict(wanted)
        given = options.pop("items", None)
        messages = options.pop("messages", None)
        sent = messages_of(_read(messages if given is None else given, "what is sent to the model"))
        reply = calls.reply_to(None, sent, checked(options))
        last[:] = [reply]
        return {"text": reply.text, "items": reply.items, "raw_output": reply.completion}

    arguments = {"sample": sample, "model": {}, "trace": {"items": []}}
    returned = snippets.call(snippet, _RUN, arguments, deadline, ask=ask)
    if returned is None:
        raise failed(f"{_RUN} returned nothing", hint="end it with: return trace")
    completion = returned.get("completion") if isinstance(returned, dict) else None
    return _Made(_read(returned, f"what {_RUN} returned"), completion or (last[0].completion if last else {}))


def _check_reply(items: Sequence[Item]) -> None:
    if not any(item["type"] == MESSAGE and item["role"] == ASSISTANT for item in items):
        raise failed("the conversation has no message of the assistant", hint="let the model reply: generate")


@contextmanager
def _hold_limit(calls: Calls) -> Iterator[None]:
    """Let a limit be what ends a solver, also one that catches every failure."""
    try:
        yield
    except GivenUp:
        if calls.limit:
            raise calls.limit from None
        raise


@contextmanager
def _at_stage() -> Iterator[None]:
    """Let a failure be the solver's where it is no model's."""
    try:
        yield
    except EvaluationError as error:
        if not error.stage:
            error.stage = STAGE
            error.message = f"{STAGE}: {error.message}"
        raise
