"""What a rule answers, as bytes on the wire; and how a connection ends where it misbehaves."""

import json
import re
from collections.abc import Mapping
from dataclasses import field
from enum import Enum
from http import HTTPStatus
from typing import Any

from optimize_eval.base.frozen import frozen
from optimize_eval.fakes.rules import ChatRequest, Rule

_PLACE = re.compile(r"\{(\w+)\}")


class Hangup(Enum):
    """What becomes of the connection after an answer."""

    KEPT = "kept"
    CLOSED = "closed"
    HANGING = "hanging"  # until the client leaves


@frozen
class CannedReply:
    """A status, a body and headers; without a status, nothing is sent."""

    status: int | None
    body: bytes = b""
    headers: Mapping[str, str] = field(default_factory=dict)
    ending: Hangup = Hangup.KEPT
    delay: float = 0.0  # seconds before it

    def on_the_wire(self) -> bytes:
        if self.status is None:
            return b""
        given = {name.lower() for name in self.headers}
        ours = {"content-type": "application/json", "content-length": str(len(self.body))}
        lines = [f"{name}: {value}" for name, value in ours.items() if name not in given]
        lines += [f"{name}: {value}" for name, value in self.headers.items()]
        head = "\r\n".join([f"HTTP/1.1 {self.status} {_phrase(self.status)}", *lines, "", ""])
        return head.encode("latin-1") + self.body


def of_rule(rule: Rule, request: ChatRequest, filling: Mapping[str, str]) -> CannedReply:
    """Say what a rule says."""
    if request.format in rule.refused_formats:
        return error(400, f"response_format of type {request.format!r} is not supported by this model")
    status = rule.status or 200
    match rule.says:
        case {"malformed": kind}:
            return _malformed(kind, rule, request)
        case {"body": body}:
            return CannedReply(status=status, body=filled(body, filling).encode(), headers=rule.headers)
        case {"json": value} if status >= HTTPStatus.BAD_REQUEST:
            return CannedReply(status=status, body=_encoded(filled(value, filling)), headers=rule.headers)
        case {"json": value}:
            text = json.dumps(filled(value, filling), ensure_ascii=False)
        case _:
            text = filled(rule.says.get("text", ""), filling)
    if not HTTPStatus.OK <= status < HTTPStatus.MULTIPLE_CHOICES:
        return error(status, text or _phrase(status), rule.headers)
    body = _completion(rule, request, {"role": "assistant", "content": text, **filled(rule.message, filling)})
    payload = _events(body) if rule.streamed else _encoded(body)
    return CannedReply(
        status=status, body=payload, headers={**(_STREAM if rule.streamed else {}), **rule.headers}
    )


def error(status: int, message: str, headers: Mapping[str, str] | None = None, code: str = "") -> CannedReply:
    problem = {"message": message, "type": code or "fake_error", "code": code or None}
    return CannedReply(status=status, body=_encoded({"error": problem}), headers=headers or {})


def listing(value: Any) -> CannedReply:
    return CannedReply(status=200, body=_encoded(value))


def filled(value: Any, filling: Mapping[str, str]) -> Any:
    """Put what was found in the place of {…}, in all texts of a value; other braces stay.

    >>> filled({"greeting": "Hi {1}, {other}"}, {"1": "Ada"})
    {'greeting': 'Hi Ada, {other}'}
    """
    if isinstance(value, str):
        return _PLACE.sub(lambda place: filling.get(place[1], place[0]), value)
    if isinstance(value, dict):
        return {key: filled(item, filling) for key, item in value.items()}
    return [filled(item, filling) for item in value] if isinstance(value, list) else value


def _completion(
    rule: Rule, request: ChatRequest, message: Mapping[str, Any], reason: str = ""
) -> dict[str, Any]:
    words = sum(len(text.split()) for _, text in request.messages)
    count = len(str(message.get("content") or "").split())
    usage = {"prompt_tokens": words, "completion_tokens": count, "total_tokens": words + count}
    choice = {"index": 0, "message": message, "finish_reason": reason or rule.finish_reason}
    return {
        "id": "chatcmpl-fake",
        "object": "chat.completion",
        "model": rule.answered_by or request.model,
        "choices": [choice],
        "usage": usage if rule.usage is None else rule.usage,
    }


def _events(body: Mapping[str, Any]) -> bytes:
    """Write a completion as a stream: text and thoughts letter by letter, then the reason, then the usage."""
    message, reason = body["choices"][0]["message"], body["choices"][0]["finish_reason"]
    texts = {key: text for key, text in message.items() if key != "role" and isinstance(text, str)}
    deltas = [{"role": "assistant"}, *({key: letter} for key in texts for letter in texts[key])]
    chunks = [{"index": 0, "delta": delta, "finish_reason": None} for delta in deltas]
    ended = {"index": 0, "delta": {}, "finish_reason": reason}
    shared = {"object": "chat.completion.chunk", "model": body["model"]}
    pieces = [{**shared, "choices": [chunk]} for chunk in (*chunks, ended)]
    events = [*map(json.dumps, [*pieces, {**shared, "choices": [], "usage": body["usage"]}]), "[DONE]"]
    return "".join(f"data: {event}\n\n" for event in events).encode()


def _malformed(kind: str, rule: Rule, request: ChatRequest) -> CannedReply:
    if kind in _ENDINGS:
        return _ENDINGS[kind]
    whole = _completion(rule, request, {"role": "assistant", "content": "fine"})
    if kind in _BODIES:
        return CannedReply(status=rule.status or 200, body=_BODIES[kind], headers=rule.headers)
    if kind == "stream_cut":
        events = _events(whole)
        return CannedReply(status=200, body=events[: len(events) // 2], headers=_STREAM)
    if kind in {"truncated", "close_mid_body"}:
        half = _encoded(whole)[: len(_encoded(whole)) // 2]
        if kind == "truncated":
            return CannedReply(status=200, body=half)
        return CannedReply(status=200, body=half, headers={"content-length": "100000"}, ending=Hangup.CLOSED)
    message, reason = _MESSAGES[kind]
    body = _completion(rule, request, {"role": "assistant", **message}, reason)
    return CannedReply(status=rule.status or 200, body=_encoded(body), headers=rule.headers)


def _encoded(value: Any) -> bytes:
    return json.dumps(value).encode()


def _phrase(status: int) -> str:
    try:
        return HTTPStatus(status).phrase
    except ValueError:
        return "Odd"


_STREAM = {"content-type": "text/event-stream"}
_CALL = {"id": "call_1", "type": "function", "function": {"name": "score", "arguments": "{}"}}
_ENDINGS = {
    "close": CannedReply(status=None, ending=Hangup.CLOSED),
    "hang": CannedReply(status=None, ending=Hangup.HANGING),
}
_BODIES = {
    "not_json": b"<html>a proxy was here</html>",
    "empty_body": b"",
    "broken_json": b'{"choices": [{"message": {"content": "fine"},, }]}',
    "not_an_object": b"[1, 2]",
    "no_choices": b'{"object": "chat.completion"}',
    "empty_choices": b'{"object": "chat.completion", "choices": []}',
    "error_in_200": b'{"error": {"message": "the upstream model is busy", "code": 503}}',
}
_MESSAGES: dict[str, tuple[dict[str, Any], str]] = {
    "null_content": ({"content": None}, "stop"),
    "lone_surrogate": ({"content": "\ud800"}, "stop"),
    "refusal": ({"content": None, "refusal": "I cannot help with that."}, "stop"),
    "content_filter": ({"content": ""}, "content_filter"),
    "tool_calls": ({"content": None, "tool_calls": [_CALL]}, "tool_calls"),
    "length": ({"content": ""}, "length"),
    "thoughts_only": ({"content": "", "reasoning_content": "I think so."}, "stop"),
    "parts": ({"content": [{"type": "text", "text": "in "}, {"type": "text", "text": "parts"}]}, "stop"),
}
MALFORMED = ("truncated", "stream_cut", "close_mid_body", *_ENDINGS, *_BODIES, *_MESSAGES)
