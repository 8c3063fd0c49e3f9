"""A reply that came as a stream of events, though none was requested, as one chat completion; pure."""

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import orjson

_END = "[DONE]"
_NAMES = frozenset({"role", "id", "type", "name"})


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
    """Join what the first choice said piece by piece."""
    message: dict[str, Any] = {}
    reason = None
    for choice in choices:
        reason = choice.get("finish_reason") or reason
        delta = choice.get("delta") or choice.get("message")
        if isinstance(delta, dict):
            message = _joined(message, delta)
    return {"message": message, "finish_reason": reason}


def _joined(said: Mapping[str, Any], more: Mapping[str, Any]) -> dict[str, Any]:
    """Add a piece: texts but names add up, calls by their number; of all else the last counts."""
    both = dict(said)
    for key, value in more.items():
        match both.get(key), value:
            case str(text), str() if key not in _NAMES:
                both[key] = text + value
            case dict(part), dict():
                both[key] = _joined(part, value)
            case calls, list() if key == "tool_calls":
                both[key] = _joined_calls(calls if isinstance(calls, list) else [], value)
            case _, None:
                both.setdefault(key, None)
            case _:
                both[key] = value
    return both


def _joined_calls(calls: Sequence[Any], pieces: Sequence[Any]) -> list[Any]:
    """Add pieces of calls of tools; one that does not say which call it belongs to is one more."""
    by_number = dict(enumerate(calls))
    for piece in pieces:
        number = piece.get("index") if isinstance(piece, dict) else None
        number = number if isinstance(number, int) else len(by_number)
        before = by_number.get(number, {})
        is_more = isinstance(before, dict) and isinstance(piece, dict)
        by_number[number] = _joined(before, piece) if is_more else piece
    return [by_number[number] for number in sorted(by_number)]
