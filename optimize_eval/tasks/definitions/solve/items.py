"""Items of a trace, and the messages of chat completions that say the same; what is neither is a fault."""

from collections.abc import Mapping, Sequence
from typing import Any

import orjson

from optimize_eval.base import strict_json
from optimize_eval.base.wrong_answers import describe
from optimize_eval.models.under_test import text_of_content
from optimize_eval.tasks.definitions.solve.trace import CALL, MESSAGE, RETURNED, Item

ASSISTANT, TOOL = "assistant", "tool"

_IGNORED = "reasoning"  # which some servers list among the items


class TraceFault(ValueError):
    """Why something is no conversation; its text is for people."""


def said(role: str, content: str) -> Item:
    return {"type": MESSAGE, "role": role, "content": content}


def reply_items(text: str, tool_calls: Sequence[Mapping[str, Any]], role: str = ASSISTANT) -> list[Item]:
    """Give what a model replied as items."""
    return [said(role, text), *map(_call, tool_calls)]


def messages_of(items: Sequence[Item]) -> list[dict[str, Any]]:
    """Write items as the messages that a provider takes."""
    messages: list[dict[str, Any]] = []
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
        recorded = _parsed(recorded)
    match recorded:
        case {"items": list(listed)} | {"messages": list(listed)}:
            pass
        case list(listed):
            pass
        case dict():
            raise TraceFault('an object needs "messages" or "items", a list')
        case _:
            raise TraceFault(f"a conversation is a list or an object, this is {describe(recorded)}")
    return [item for place, one in enumerate(listed) for item in _items(one, place)]


def _parsed(text: str) -> Any:
    try:
        return strict_json.loads(text, unique_keys=False)
    except strict_json.JsonFault as fault:
        raise TraceFault(f"it is no JSON: {fault.reason} at {fault.offset}") from None


def _items(one: Any, place: int) -> list[Item]:
    match one:
        case {"type": "function_call", "name": str(name)}:
            return [
                _with_id({"type": CALL, "name": name, "arguments": _arguments(one.get("arguments"))}, one)
            ]
        case {"type": "function_call_output"}:
            return [_with_id({"type": RETURNED, "output": _written(one.get("output"))}, one)]
        case {"type": "reasoning"}:
            return []
        case {"role": "tool"}:
            given = {"call_id": one.get("tool_call_id")}
            return [_with_id({"type": RETURNED, "output": _written(one.get("content"))}, given)]
        case {"role": str(role)} if one.get("type", MESSAGE) == MESSAGE:
            return [said(role, _content(one.get("content"), place)), *_calls(one.get("tool_calls"), place)]
        case {"type": kind}:
            listed = f"{MESSAGE} (with a role), {CALL} (with a name) or {RETURNED}"
            raise TraceFault(f"number {place + 1} has type {kind!r}: it has to be a {listed}")
    raise TraceFault(f"number {place + 1} is no message: it has no role")


def _content(content: object, place: int) -> str:
    if content is None or isinstance(content, str | list):
        return text_of_content(content)
    raise TraceFault(f"the content of number {place + 1} is {describe(content)}, not a text")


def _calls(listed: object, place: int) -> list[Item]:
    try:
        return [_call(one) for one in listed or ()]  # type: ignore[attr-defined]
    except (KeyError, TypeError, AttributeError):
        expected = 'they are a list of {"function": {"name": "…", "arguments": "…"}}'
        raise TraceFault(f"the tool_calls of number {place + 1} are none: {expected}") from None


def _call(call: Mapping[str, Any]) -> Item:
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


def _with_id(item: dict[str, Any], given: Mapping[str, Any]) -> Item:
    identity = given.get("call_id")
    return {**item, "call_id": str(identity)} if identity else item


def _written(value: object) -> str:
    if value is None or isinstance(value, str):
        return value or ""
    parts = isinstance(value, list) and all(isinstance(part, dict) and "text" in part for part in value)
    return text_of_content(value) if value and parts else strict_json.dumps(value).decode()


def _caller(messages: list[dict[str, Any]]) -> dict[str, Any]:
    """Find the message that calls are a part of: the assistant's last one, else one without text."""
    if not messages or messages[-1]["role"] != ASSISTANT:
        messages.append({"role": ASSISTANT, "content": None})
    messages[-1].setdefault("tool_calls", [])
    return messages[-1]


def _tool_call(item: Item) -> dict[str, Any]:
    given = item["arguments"]
    arguments = given if isinstance(given, str) else orjson.dumps(given).decode()
    called = {"type": "function", "function": {"name": item["name"], "arguments": arguments}}
    return {"id": item["call_id"], **called} if "call_id" in item else called
