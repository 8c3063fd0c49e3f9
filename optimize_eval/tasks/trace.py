"""What was said about a sample, in order: messages, calls of functions; each trace is made once.

Only so many are kept, and so much of them; what is forgotten before is made again of the replies that are
written down.
"""

import threading
from collections.abc import Callable, Hashable, Sequence
from dataclasses import field, replace
from typing import Any

import orjson

from optimize_eval.base import strict_json
from optimize_eval.base.documents import JsonDict, JsonMapping
from optimize_eval.base.frozen import frozen
from optimize_eval.base.spent import NOTHING, Spent
from optimize_eval.base.wrong_answers import describe
from optimize_eval.models.shared import Flight, stays
from optimize_eval.models.under_test import text_of_content

MESSAGE, CALL, RETURNED = "message", "function_call", "function_call_output"

Item = JsonMapping  # its "type" is one of the three


@frozen
class Trace:
    """A conversation.

    A message has role and content, a call name and arguments (an object), what it gave back has output;
    the last two have the call_id that joins them, where one is known.
    """

    items: Sequence[Item]
    completion: JsonMapping = field(default_factory=dict)  # the last reply, in the shape of a chat completion
    replies: Sequence[str] = ()  # the keys of models' replies in outputs.jsonl
    spent: Spent = NOTHING  # on models, for this trace and not before
    facts: JsonMapping = field(default_factory=dict)  # of the last reply of the model under test

    @property
    def messages(self) -> list[JsonDict]:
        """Give role and content of each message."""
        return [
            {"role": item["role"], "content": item["content"]}
            for item in self.items
            if item["type"] == MESSAGE
        ]

    @property
    def function_calls(self) -> list[Item]:
        return [item for item in self.items if item["type"] == CALL]

    def last_text(self, role: str) -> str | None:
        """Give the text of the last message of a role; None where there is none."""
        return next(
            (message["content"] for message in reversed(self.messages) if message["role"] == role), None
        )


ASSISTANT, TOOL = "assistant", "tool"


class TraceFault(ValueError):
    """Why something is no conversation; its text is for people."""


def said(role: str, content: str) -> Item:
    return {"type": MESSAGE, "role": role, "content": content}


def reply_items(text: str, tool_calls: Sequence[JsonMapping], role: str = ASSISTANT) -> list[Item]:
    """Give what a model replied as items."""
    return [said(role, text), *map(_call, tool_calls)]


def messages_of(items: Sequence[Item]) -> list[JsonDict]:
    """Write items as the messages that a provider takes."""
    messages: list[JsonDict] = []
    for item in items:
        match item["type"]:
            case "message":
                messages.append({"role": item["role"], "content": item["content"]})
            case "function_call":
                _caller(messages)["tool_calls"].append(_tool_call(item))
            case _:
                messages.append(
                    {"role": TOOL, "tool_call_id": item.get("call_id", ""), "content": item["output"]}
                )
    return messages


def items_of(recorded: object) -> list[Item]:
    """Read a conversation in any of the shapes that it is recorded in; raises TraceFault."""
    if isinstance(recorded, str):
        recorded = _parse(recorded)
    match recorded:
        case {"items": list(listed)} | {"messages": list(listed)}:
            pass
        case list(listed):
            pass
        case dict():
            raise TraceFault('an object needs "messages" or "items", a list')
        case _:
            raise TraceFault(f"a conversation is a list or an object, this is {describe(recorded)}")
    return [item for index, entry in enumerate(listed) for item in _items(entry, index)]


def _parse(text: str) -> Any:
    try:
        return strict_json.loads(text, unique_keys=False)
    except strict_json.JsonFault as fault:
        raise TraceFault(f"it is not JSON: {fault.reason} at {fault.offset}") from None


def _items(one: Any, place: int) -> list[Item]:
    match one:
        case {"type": "function_call", "name": str(name)}:
            return [
                _with_id({"type": CALL, "name": name, "arguments": _arguments(one.get("arguments"))}, one)
            ]
        case {"type": "function_call_output"}:
            return [_with_id({"type": RETURNED, "output": _write(one.get("output"))}, one)]
        case {"type": "reasoning"}:  # which some servers list among the items
            return []
        case {"role": "tool"}:
            given = {"call_id": one.get("tool_call_id")}
            return [_with_id({"type": RETURNED, "output": _write(one.get("content"))}, given)]
        case {"role": str(role)} if one.get("type", MESSAGE) == MESSAGE:
            return [said(role, _content(one.get("content"), place)), *_calls(one.get("tool_calls"), place)]
        case {"type": kind}:
            listed = f"{MESSAGE} (with a role), {CALL} (with a name) or {RETURNED}"
            raise TraceFault(f"number {place + 1} has type {kind!r}: it has to be a {listed}")
    raise TraceFault(f"number {place + 1} is not a message: it has no role")


def _content(content: object, place: int) -> str:
    if content is None or isinstance(content, str | list):
        return text_of_content(content)
    raise TraceFault(f"the content of number {place + 1} is {describe(content)}, not a text")


def _calls(listed: object, place: int) -> list[Item]:
    try:
        return [_call(entry) for entry in listed or ()]  # type: ignore[attr-defined]
    except (KeyError, TypeError, AttributeError):
        expected = 'they are a list of {"function": {"name": "…", "arguments": "…"}}'
        raise TraceFault(f"the tool_calls of number {place + 1} are none: {expected}") from None


def _call(call: JsonMapping) -> Item:
    """Make an item of a call as chat completions have it."""
    function = call["function"]
    item = {"type": CALL, "name": str(function["name"]), "arguments": _arguments(function.get("arguments"))}
    return _with_id(item, {"call_id": call.get("id")})


def _arguments(given: object) -> Any:
    """Read arguments, which are mostly JSON in a text; what is none stays as it is."""
    if not isinstance(given, str):
        return {} if given is None else given
    try:
        return strict_json.loads(given, unique_keys=False) if given.strip() else {}
    except strict_json.JsonFault:
        return given


def _with_id(item: JsonDict, given: JsonMapping) -> Item:
    identity = given.get("call_id")
    return {**item, "call_id": str(identity)} if identity else item


def _write(value: object) -> str:
    if value is None or isinstance(value, str):
        return value or ""
    parts = isinstance(value, list) and all(isinstance(part, dict) and "text" in part for part in value)
    return text_of_content(value) if value and parts else strict_json.dumps(value).decode()


def _caller(messages: list[JsonDict]) -> JsonDict:
    """Find the message that calls are a part of: the assistant's last one, else one without text."""
    if not messages or messages[-1]["role"] != ASSISTANT:
        messages.append({"role": ASSISTANT, "content": None})
    messages[-1].setdefault("tool_calls", [])
    return messages[-1]


def _tool_call(item: Item) -> JsonDict:
    given = item["arguments"]
    arguments = given if isinstance(given, str) else orjson.dumps(given).decode()
    called = {"type": "function", "function": {"name": item["name"], "arguments": arguments}}
    return {"id": item["call_id"], **called} if "call_id" in item else called


_MOST = 1 << 14
_MOST_LETTERS = 1 << 25  # in messages
_BESIDE = 1000  # letters that a trace has beside its messages, or so


class _Kept:
    """A trace that is made or was, by how many more it is wanted, and its letters."""

    __slots__ = ("flight", "size", "wanted")

    def __init__(self, wanted: int) -> None:
        self.flight = Flight[Trace]()
        self.wanted = wanted
        self.size = 0


class Traces:
    """The traces of one task; thread-safe."""

    def __init__(self, scorers: int, most: int = _MOST) -> None:
        self._scorers = scorers
        self._most = most
        self._lock = threading.Lock()
        self._kept: dict[Hashable, _Kept] = {}
        self._owed: dict[Hashable, Spent] = {}  # what no record has said yet
        self._size = 0  # of all that are kept

    def __len__(self) -> int:
        return len(self._kept)

    def close(self) -> None:
        """Nothing was started."""

    def of(self, key: Hashable, make: Callable[[], Trace]) -> Trace:
        """Give a trace, made by whoever wants it first; a failure is shared, too."""
        with self._lock:
            kept = self._kept.get(key)
            if is_mine := kept is None:
                kept = self._kept[key] = _Kept(self._scorers)
            kept.wanted -= 1
            if not kept.wanted:
                self._forget(key, kept)
        trace = self._made(key, kept, make) if is_mine else kept.flight.result()
        owed = self._owed.pop(key, None)
        return replace(trace, spent=owed + trace.spent) if owed else trace

    def owe(self, key: Hashable, spent: Spent) -> None:
        """Take back what was spent on a trace, as no record will say it; who is given it next will."""
        with self._lock:
            self._owed[key] = self._owed.get(key, NOTHING) + spent

    def _made(self, key: Hashable, kept: _Kept, make: Callable[[], Trace]) -> Trace:
        try:
            trace = make()
        except BaseException as error:
            if not stays(error):
                with self._lock:
                    self._forget(key, kept)
            kept.flight.land(error)
            raise
        if kept.wanted:
            self._weigh(key, kept, trace)
        kept.flight.land(trace)
        return trace

    def _weigh(self, key: Hashable, kept: _Kept, trace: Trace) -> None:
        """Count what is kept, and forget the oldest where that is too much."""
        size = _BESIDE + sum(len(message["content"]) for message in trace.messages)
        with self._lock:
            if self._kept.get(key) is kept:
                kept.size = size
                self._size += size
            while len(self._kept) > self._most or self._size > _MOST_LETTERS:
                oldest = next(iter(self._kept))
                self._forget(oldest, self._kept[oldest])

    def _forget(self, key: Hashable, kept: _Kept) -> None:
        if self._kept.get(key) is kept:
            del self._kept[key]
            self._size -= kept.size
