"""What a request to a model holds: how a reply in JSON is requested, and which fields a server takes.

Anthropic has its own way to be called: chat completions and tools are put into its form, and replies back.
Its path for chat completions ignores schemas. Here the answer is the input of a tool that it has to use.
"""

import re
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from enum import IntEnum
from http import HTTPStatus
from typing import Any

import orjson

from optimize_eval.base.documents import JsonDict, JsonMapping
from optimize_eval.models.chat import ChatSpec
from optimize_eval.programs.http_client import SUCCESS, Response

NEWER_LIMIT = "max_completion_tokens"  # as OpenAI's models that reason call max_tokens

_LIMIT = "max_tokens"
_REFUSALS = frozenset({400, 404, 415, 422})
_DISPENSABLE = ("temperature", "seed", "top_p", "reasoning_effort")
_UNSUPPORTED = re.compile(
    r"support|unknown|unrecogni[sz]ed|unexpected|extra|not (permitted|allowed|available)|deprecated|cannot be"
)


class Fields:
    """What is known of one model; safe to use from several threads."""

    def __init__(self) -> None:
        self._limit = _LIMIT
        self._left_out: dict[str, None] = {}

    def fitting(self, body: JsonMapping) -> JsonDict:
        """Give a body as far as the model takes it."""
        if self._limit == _LIMIT and not self._left_out:
            return dict(body)
        fields = ((self._limit if key == _LIMIT else key, value) for key, value in body.items())
        return {key: value for key, value in fields if key not in self._left_out}

    def learn(self, sent: JsonMapping, response: Response) -> bool:
        """Learn from a refusal; true where another request may be taken."""
        if response.status not in _REFUSALS:
            return False
        text = response.body.decode("utf-8", "replace")
        if _LIMIT in sent and NEWER_LIMIT in text:
            self._limit = NEWER_LIMIT
            return True
        refused = next((name for name in _DISPENSABLE if name in sent and _refuses(text, name)), None)
        if refused:
            self._left_out[refused] = None
        return refused is not None

    @property
    def note(self) -> str:
        names = " and ".join(self._left_out)
        return f"it does not take {names}, and was called without" if names else ""


def _refuses(text: str, name: str) -> bool:
    return bool(re.search(rf"\b{name}\b", text) and _UNSUPPORTED.search(text.lower()))


_ITS_WORDS = ("response_format", "json_schema", "json_object", "structured output", "response format")
_BOUNDS = ("minimum", "maximum")
_NAMES_BOUNDS = re.compile(  # as keywords of a schema: any text may hold "maximum context length"
    r"['\"`](minimum|maximum)['\"`]|propert(y|ies) (minimum|maximum)|(minimum|maximum) (is|are) not "
)
_OTHER_FIELDS = (
    "temperature",
    "seed",
    "max_tokens",
    "max_completion_tokens",
    "context_length",
    "context length",
    "context window",
    "context size",
    "too long",
)


class ReplyForm(IntEnum):
    """The forms in the order in which they are tried."""

    SCHEMA = 0
    UNBOUNDED = 1  # without the bounds of its numbers
    OBJECT = 2
    TEXT = 3


def after(form: ReplyForm, response: Response) -> ReplyForm:
    """Choose the form that is tried after a refusal of this one; bounds go alone where it names them."""
    if form is not ReplyForm.SCHEMA:
        return ReplyForm(form + 1)
    text = response.body.decode("utf-8", "replace").lower()
    return ReplyForm.UNBOUNDED if _NAMES_BOUNDS.search(text) else ReplyForm.OBJECT


def fields(form: ReplyForm, schema: JsonMapping | None) -> JsonDict:
    """Give what a request of this form has beyond a plain one."""
    if form is ReplyForm.TEXT:
        return {}
    if form is ReplyForm.OBJECT:
        return {"response_format": {"type": "json_object"}}
    schema = _without_bounds(schema) if form is ReplyForm.UNBOUNDED else schema
    described = {"name": "answer", "strict": True, "schema": schema}
    return {"response_format": {"type": "json_schema", "json_schema": described}}


def _without_bounds(schema: object) -> Any:
    if isinstance(schema, Mapping):
        return {key: _without_bounds(value) for key, value in schema.items() if key not in _BOUNDS}
    return schema


def is_refused(response: Response) -> bool:
    """Return True if an answer to a request with a response_format may be a refusal of just that.

    Some servers say no more than 400; one that names another field refuses that.
    """
    if response.status not in _REFUSALS:
        return False
    text = response.body.decode("utf-8", "replace").lower()
    if any(word in text for word in _ITS_WORDS) or _NAMES_BOUNDS.search(text):
        return True
    return response.status == HTTPStatus.BAD_REQUEST and not any(word in text for word in _OTHER_FIELDS)


def given(spec: ChatSpec) -> frozenset[str]:
    """Name the options of a model that a server may refuse."""
    names = {"temperature": spec.temperature, "seed": spec.seed, "max_tokens": spec.max_tokens}
    options = {name for name, value in names.items() if value is not None}
    return frozenset(options | {NEWER_LIMIT} if "max_tokens" in options else options)


_CHOICES: Mapping[object, str] = {"auto": "auto", "none": "none", "required": "any"}


def tools_of(body: JsonMapping) -> JsonDict:
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


def messages_of(messages: Sequence[JsonMapping]) -> list[JsonDict]:
    """Write calls, and what they gave back, as blocks; what tools gave back is said by the user, at once."""
    made: list[JsonDict] = []
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


def calls_of(blocks: Sequence[JsonMapping]) -> list[JsonDict]:
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


def _tool(function: JsonMapping) -> JsonDict:
    described = {"description": function["description"]} if function.get("description") else {}
    schema = function.get("parameters") or {"type": "object", "properties": {}}
    return {"name": function.get("name"), **described, "input_schema": schema}


def _blocks(message: JsonMapping) -> list[JsonDict]:
    text = message.get("content")
    said: list[JsonDict] = [{"type": "text", "text": text}] if text else []
    return [*said, *(_use(call) for call in message["tool_calls"])]


def _use(call: JsonMapping) -> JsonDict:
    given: object = {}
    with suppress(orjson.JSONDecodeError, TypeError):
        given = orjson.loads(call["function"]["arguments"])
    return {"type": "tool_use", "id": call.get("id"), "name": call["function"]["name"], "input": given}


def _are_results(content: object) -> bool:
    return isinstance(content, list) and all(block.get("type") == "tool_result" for block in content)


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


def headers_with(key: str) -> dict[str, str]:
    return {"anthropic-version": VERSION, **({"x-api-key": key} if key else {})}


def request_of(body: JsonMapping) -> JsonDict:
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


def _tool_of(wanted: JsonMapping) -> JsonDict:
    if wanted.get("type") != "json_schema":
        return {}
    tool = {
        "name": _TOOL,
        "description": "Gives the answer.",
        "input_schema": wanted["json_schema"]["schema"],
    }
    return {"tools": [tool], "tool_choice": {"type": "tool", "name": _TOOL}}


def _completion(reply: JsonMapping) -> JsonDict:
    blocks: Sequence[JsonMapping] = reply["content"]
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


def _usage(usage: object) -> JsonDict:
    """Add up the tokens of the prompt, which it tells apart by whether they come from its cache."""
    if not isinstance(usage, dict) or "input_tokens" not in usage or "output_tokens" not in usage:
        return {}
    cached = usage.get("cache_read_input_tokens") or 0
    prompt = usage["input_tokens"] + cached + (usage.get("cache_creation_input_tokens") or 0)
    details = {"prompt_tokens_details": {"cached_tokens": cached}} if cached else {}
    return {"usage": {"prompt_tokens": prompt, "completion_tokens": usage["output_tokens"], **details}}
