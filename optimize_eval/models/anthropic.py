"""Anthropic's own way to be called: chat completions and tools put into its form, and replies back; pure.

Its path for chat completions ignores schemas. Here the answer is the input of a tool that it has to use.
"""

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import Any
from urllib.parse import urlsplit, urlunsplit

import orjson

from optimize_eval.programs.http_client import SUCCESS, Response

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


PATH = "/messages"
VERSION = "2023-06-01"

_TOOL = "answer"
_USUAL_LIMIT = 4096  # tokens; a request has to name some
_SAME = ("model", "temperature", "top_p")
_REASONS: dict[object, str] = {
    "end_turn": "stop",
    "stop_sequence": "stop",
    "tool_use": "stop",
    "max_tokens": "length",
    "model_context_window_exceeded": "length",
    "refusal": "content_filter",
}


def messages_url(base: str) -> str:
    """Put the path behind a base, which people write with and without /v1."""
    parts = urlsplit(base)
    path = parts.path.rstrip("/").removesuffix(PATH)
    return urlunsplit(parts._replace(path=(path if path.endswith("/v1") else f"{path}/v1") + PATH))


def headers_with(key: str) -> dict[str, str]:
    return {"anthropic-version": VERSION, **({"x-api-key": key} if key else {})}


def request_of(body: Mapping[str, Any]) -> dict[str, Any]:
    """Make the request of a chat completion's; a seed has no counterpart."""
    system = [message["content"] for message in body["messages"] if message["role"] == "system"]
    limit = body.get("max_tokens") or body.get("max_completion_tokens") or _USUAL_LIMIT
    stop = body.get("stop")
    return {
        **{key: body[key] for key in _SAME if key in body},
        "max_tokens": limit,
        "messages": messages_of([message for message in body["messages"] if message["role"] != "system"]),
        **({"system": "\n\n".join(system)} if system else {}),
        **({"stop_sequences": [stop] if isinstance(stop, str) else stop} if stop else {}),
        **(_tool_of(body.get("response_format") or {}) or tools_of(body)),
    }


def response_of(response: Response) -> Response:
    """Make a chat completion of a reply; what is none stays as it came."""
    if response.status not in SUCCESS:
        return response
    with suppress(orjson.JSONDecodeError, AttributeError, KeyError, TypeError):
        reply = orjson.loads(response.body)
        if reply["type"] == "message":
            return replace(response, body=orjson.dumps(_completion(reply)))
    return response


def _tool_of(wanted: Mapping[str, Any]) -> dict[str, Any]:
    if wanted.get("type") != "json_schema":
        return {}
    tool = {
        "name": _TOOL,
        "description": "Gives the answer.",
        "input_schema": wanted["json_schema"]["schema"],
    }
    return {"tools": [tool], "tool_choice": {"type": "tool", "name": _TOOL}}


def _completion(reply: Mapping[str, Any]) -> dict[str, Any]:
    blocks: Sequence[Mapping[str, Any]] = reply["content"]
    given = [orjson.dumps(block["input"]).decode() for block in blocks if block.get("name") == _TOOL]
    texts = [block["text"] for block in blocks if block.get("type") == "text"]
    thoughts = [block["thinking"] for block in blocks if block.get("type") == "thinking"]
    calls = [] if given else calls_of(blocks)
    message = {
        "role": "assistant",
        "content": given[0] if given else "".join(texts),
        **({"tool_calls": calls} if calls else {}),
        **({"reasoning_content": "\n\n".join(thoughts)} if thoughts else {}),
    }
    reason = reply.get("stop_reason")
    choice = {"index": 0, "message": message, "finish_reason": _REASONS.get(reason, reason)}
    return {"model": reply.get("model"), "choices": [choice], **_usage(reply.get("usage"))}


def _usage(usage: Any) -> dict[str, Any]:
    """Add up the tokens of the prompt, which it tells apart by whether they come from its cache."""
    if not isinstance(usage, dict) or "input_tokens" not in usage or "output_tokens" not in usage:
        return {}
    cached = usage.get("cache_read_input_tokens") or 0
    prompt = usage["input_tokens"] + cached + (usage.get("cache_creation_input_tokens") or 0)
    details = {"prompt_tokens_details": {"cached_tokens": cached}} if cached else {}
    return {"usage": {"prompt_tokens": prompt, "completion_tokens": usage["output_tokens"], **details}}
