"""Anthropic's own way to be called, /v1/messages: chat completions put into its form, and its replies back.

Its path for chat completions ignores schemas. Here the answer is the input of a tool that it has to use.
"""

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import Any
from urllib.parse import urlsplit, urlunsplit

import orjson

from optimize_eval.models.anthropic_tools import calls_of, messages_of, tools_of
from optimize_eval.programs.http_client import SUCCESS, Response

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
