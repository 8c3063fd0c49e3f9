"""Tools as in Anthropic's own way, made of those of chat completions, and its calls made theirs; pure."""

from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Any

import orjson

_CHOICES: Mapping[object, str] = {"auto": "auto", "none": "none", "required": "any"}


def tools_of(body: Mapping[str, Any]) -> dict[str, Any]:
    """Give the fields of a request that say which tools there are, and which one is to be used."""
    if not (tools := body.get("tools")):
        return {}
    fields = {"tools": [_tool(tool.get("function") or {}) for tool in tools if isinstance(tool, dict)]}
    match body.get("tool_choice"):
        case {"function": {"name": name}}:
            return {**fields, "tool_choice": {"type": "tool", "name": name}}
        case str(choice) if choice in _CHOICES:
            return {**fields, "tool_choice": {"type": _CHOICES[choice]}}
    return fields


def messages_of(messages: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Write calls, and what they gave back, as blocks; what tools gave back is said by the user, at once."""
    made: list[dict[str, Any]] = []
    for message in messages:
        if message["role"] == "tool":
            block = {
                "type": "tool_result",
                "tool_use_id": message.get("tool_call_id"),
                "content": message.get("content"),
            }
            if made and made[-1]["role"] == "user" and _are_results(made[-1]["content"]):
                made[-1]["content"].append(block)
            else:
                made.append({"role": "user", "content": [block]})
        elif message.get("tool_calls"):
            made.append({"role": "assistant", "content": _blocks(message)})
        else:
            made.append(dict(message))
    return made


def calls_of(blocks: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Give the calls in a reply as chat completions have them."""
    return [
        {
            "id": block.get("id"),
            "type": "function",
            "function": {
                "name": block.get("name"),
                "arguments": orjson.dumps(block.get("input") or {}).decode(),
            },
        }
        for block in blocks
        if block.get("type") == "tool_use"
    ]


def _tool(function: Mapping[str, Any]) -> dict[str, Any]:
    described = {"description": function["description"]} if function.get("description") else {}
    schema = function.get("parameters") or {"type": "object", "properties": {}}
    return {"name": function.get("name"), **described, "input_schema": schema}


def _blocks(message: Mapping[str, Any]) -> list[dict[str, Any]]:
    text = message.get("content")
    said: list[dict[str, Any]] = [{"type": "text", "text": text}] if text else []
    return [*said, *(_use(call) for call in message["tool_calls"])]


def _use(call: Mapping[str, Any]) -> dict[str, Any]:
    given: Any = {}
    with suppress(orjson.JSONDecodeError, TypeError):
        given = orjson.loads(call["function"]["arguments"])
    return {"type": "tool_use", "id": call.get("id"), "name": call["function"]["name"], "input": given}


def _are_results(content: object) -> bool:
    return isinstance(content, list) and all(block.get("type") == "tool_result" for block in content)
