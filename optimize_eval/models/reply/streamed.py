"""A reply that came as a stream of events, though none was requested, as one chat completion; pure."""

import re
from collections.abc import Iterable, Mapping
from typing import Any

import orjson

_END = "[DONE]"


def is_stream(body: bytes) -> bool:
    """Return True if a body is events of a stream, of which the first may be a comment."""
    return body.lstrip()[:6].startswith((b"data:", b"event:", b": ", b":\n"))


def put_together(body: bytes) -> dict[str, Any] | None:
    """Make one completion of the events; None where they break off, or one of them is not a JSON object."""
    events = list(_events(body.decode("utf-8", "replace")))
    is_whole = _END in events
    try:
        chunks = [orjson.loads(event) for event in events if event != _END]
    except orjson.JSONDecodeError:
        return None
    if not all(isinstance(chunk, dict) for chunk in chunks):
        return None
    if error := next((chunk["error"] for chunk in chunks if chunk.get("error")), None):
        return {"error": error}
    choice = _choice([first for chunk in chunks if (first := _first_of(chunk))])
    if not is_whole and choice["finish_reason"] is None:
        return None
    fields = {key: chunk[key] for chunk in chunks for key in chunk if chunk[key] is not None}
    return {**fields, "choices": [choice]}


def _events(text: str) -> Iterable[str]:
    for line in re.split(r"\r\n|\n|\r", text):  # splitlines knows more ends of lines, which JSON may hold
        name, colon, value = line.partition(":")
        if colon and name.strip() == "data" and value.strip():
            yield value.strip()


def _first_of(chunk: Mapping[str, Any]) -> Mapping[str, Any] | None:
    match chunk.get("choices"):
        case [dict(choice), *_]:
            return choice
    return None


def _choice(choices: Iterable[Mapping[str, Any]]) -> dict[str, Any]:
    """Join what the first choice said piece by piece: texts add up, of all else the last counts."""
    message: dict[str, Any] = {}
    reason = None
    for choice in choices:
        reason = choice.get("finish_reason") or reason
        delta = choice.get("delta") or choice.get("message")
        for key, text in delta.items() if isinstance(delta, dict) else ():
            is_more = isinstance(text, str) and isinstance(message.get(key), str) and key != "role"
            message[key] = message[key] + text if is_more else message.get(key) if text is None else text
    return {"message": message, "finish_reason": reason}
