"""The host, as those who render and search see it; and what templates see of a conversation.

One process, started when it is needed, serves all of them, and lives as long as somebody holds it. It has a
second for each text; one that takes longer is ended with its process, and is a fault.

A conversation is plain JSON, {"items": […], "completion": {…}}, of which our own process and the host make
the same views. An item is a message, a function_call or a function_call_output; the completion is the last
reply as its server sent it.
"""

import sys
import threading
import time
from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property

from optimize_eval.base import strict_json
from optimize_eval.base.documents import JsonDict, JsonMapping
from optimize_eval.base.errors import EvaluationError, FailureKind
from optimize_eval.base.evaluator import EvaluatorSpec
from optimize_eval.base.frozen import frozen
from optimize_eval.base.protocol import NO_CAPABILITIES, Capabilities, decode_answer
from optimize_eval.programs.command import Command
from optimize_eval.programs.exchange import CommandLine, Contract
from optimize_eval.tasks.templates.fault import TemplateFault

MESSAGE, CALL = "message", "function_call"
ASSISTANT, USER = "assistant", "user"
NAMES = ("solver_output", "model_output", "model_outputs", "messages", "input_prompt", "trace")

Plain = JsonMapping


class Fields(JsonDict):
    """Fields of a template, some of which are views of a conversation."""

    conversation: Plain


class ModelOutput(str):
    """What a model replied: a text, with the fields of a chat completion."""

    __slots__ = ("completion",)
    completion: Plain


class Trace:
    """All that was said and called."""

    def __init__(self, conversation: Plain) -> None:
        self.items: Sequence[Plain] = conversation["items"]

    @cached_property
    def messages(self) -> list[JsonDict]:
        return [
            {"role": item["role"], "content": item["content"]}
            for item in self.items
            if item["type"] == MESSAGE
        ]

    @cached_property
    def function_calls(self) -> list[Plain]:
        return [item for item in self.items if item["type"] == CALL]

    def get_last_assistant_text(self) -> str | None:
        return self._last(ASSISTANT)

    def get_last_user_text(self) -> str | None:
        return self._last(USER)

    def _last(self, role: str) -> str | None:
        return next(
            (message["content"] for message in reversed(self.messages) if message["role"] == role), None
        )


class SolverOutput:
    """What a solver made of a sample."""

    def __init__(self, output: ModelOutput, messages: Sequence[Plain]) -> None:
        self.output = output
        self.messages = messages


def with_conversation(fields: JsonMapping, conversation: Plain) -> Fields:
    """Put the views of a conversation beside other fields."""
    trace = Trace(conversation)
    messages = trace.messages
    outputs = [_output(message["content"], {}) for message in messages if message["role"] == ASSISTANT]
    last = _output(outputs[-1] if outputs else "", conversation.get("completion") or {})
    outputs[-1:] = [last] * bool(outputs)
    views = Fields(
        fields,
        solver_output=SolverOutput(last, messages),
        model_output=last,
        model_outputs=outputs,
        messages=messages,
        input_prompt=str(last),
        trace=trace,
    )
    views.conversation = conversation
    return views


def written(view: object) -> str | Sequence[Plain] | None:
    """Give what a view is where it is written: a text, or the items; None for what is no view."""
    match view:
        case SolverOutput():
            return str(view.output)
        case Trace():
            return view.items
    return None


def completion_of(text: str, tool_calls: Sequence[Plain] = ()) -> JsonDict:
    """Give a reply the shape of a chat completion."""
    calls = {"tool_calls": list(tool_calls)} if tool_calls else {}
    return {"choices": [{"index": 0, "message": {"role": ASSISTANT, "content": text, **calls}}]}


def _output(text: str, completion: Plain) -> ModelOutput:
    output = ModelOutput(text)
    output.completion = completion or completion_of(text)
    return output


SECONDS = 1.0

_TO_START = 30.0  # seconds, which do not count as a text's
_ARGV = (sys.executable, "-P", "-m", "optimize_eval.tasks.templates.host_program")


@frozen
class _Question:
    asked: JsonMapping

    @property
    def task_model(self) -> None:
        """None: the host knows no model."""


@frozen
class _Rendered:
    reply: JsonMapping
    capabilities: Capabilities = NO_CAPABILITIES
    stderr: str = ""


class _Host:
    """One process; one text at a time."""

    def __init__(self) -> None:
        spec = EvaluatorSpec(
            name="templates",
            text="templates",
            target=CommandLine(argv=_ARGV),
            timeout=SECONDS,
            persistent=True,
            workers=1,
        )
        self._command: Command[_Question, _Rendered] = Command(spec, _CONTRACT)
        self._rendering = threading.Lock()
        self._is_started = False

    def call(self, question: _Question) -> JsonMapping:
        with self._rendering:
            if not self._is_started:
                self._command.call(_NOTHING, time.monotonic() + _TO_START)
                self._is_started = True
            try:
                return self._command.call(question, time.monotonic() + SECONDS).reply
            except EvaluationError:
                self._is_started = False
                raise

    def close(self) -> None:
        self._command.close()


def render(template: str, fields: JsonMapping, names: Iterable[str], *, of_task: bool = False) -> str:
    """Render a text that may take any time, with the fields of these names; raises TemplateFault."""
    views = NAMES if isinstance(fields, Fields) else ()
    plain = {name: fields[name] for name in names if name in fields and name not in views}
    seen = {"conversation": fields.conversation} if isinstance(fields, Fields) else {}
    try:
        reply = _call({"template": template, "of_task": of_task, "fields": plain, **seen})
    except EvaluationError as error:
        raise TemplateFault(f"it {_words_of(error, 'rendered')}") from None
    if "text" in reply:
        return str(reply["text"])
    is_missing = bool(reply.get("is_missing"))
    raise TemplateFault(str(reply.get("fault")), name=str(reply.get("name") or ""), is_missing=is_missing)


def search(pattern: str, text: str) -> str:
    """Search for a pattern that may take any time; raises EvaluationError."""
    try:
        return str(_call({"pattern": pattern, "within": text})["text"])
    except EvaluationError as error:
        hint = (
            "a repeat within a repeat, as in (a+)+, takes for ever where it finds nothing: write it without"
        )
        raise EvaluationError(error.kind, _words_of(error, "searched for"), hint=hint) from None


def _words_of(error: EvaluationError, what: str) -> str:
    if error.kind is FailureKind.TIMEOUT:
        return f"takes longer than {SECONDS:g} s"
    return f"was not {what}: {error.message}"


def _call(asked: JsonMapping) -> JsonMapping:
    global _host  # noqa: PLW0603  one process for all, ended by `close`
    with _making:
        host = _host = _host or _Host()
    return host.call(_Question(asked=asked))


class Holder:
    """Keeps the host until it is closed; with the last of them it ends.

    Who renders is a plain function, far below whatever owns what is live: so holders are counted here.
    """

    count = 0

    def __init__(self) -> None:
        with _making:
            Holder.count += 1

    def close(self) -> None:
        with _making:
            Holder.count -= 1
            is_last = not Holder.count
        if is_last:
            close()


def close() -> None:
    """End the host; what is called later starts another."""
    global _host
    with _making:
        host, _host = _host, None
    if host:
        host.close()


def _encode(question: _Question, identity: str | None) -> bytes:
    return strict_json.dumps({**question.asked, "_id": identity}) + b"\n"


def _encode_batch(questions: Sequence[_Question], identity: str | None) -> bytes:
    return _encode(questions[0], identity)  # it takes no batches


def _judge(answer: JsonDict) -> _Rendered:
    return _Rendered(reply=answer)


def _singly(questions: Sequence[_Question], _size: int) -> Iterator[Sequence[_Question]]:
    return ([question] for question in questions)


_CONTRACT: Contract[_Question, _Rendered] = Contract(
    encode=_encode,
    encode_batch=_encode_batch,
    judge=_judge,
    parse=lambda raw: _judge(decode_answer(raw)),
    split=lambda _answer, _size: [],
    groups=_singly,
    fix=lambda _question, _stderr: "",
)
_NOTHING = _Question(asked={"template": "", "of_task": False, "fields": {}})
_making = threading.Lock()
_host: _Host | None = None
