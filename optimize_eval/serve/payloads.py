"""The body of a request → the payload in it, or what is wrong with it and where; pure.

The example's bytes are cut out of the body, never decoded and encoded again.
"""

import json
import re
from collections.abc import Iterator
from typing import Any, NamedTuple

from optimize_eval.base import strict_json
from optimize_eval.base.errors import UsageError
from optimize_eval.base.protocol import PROTOCOL_VERSION, Payload, check_task_model

_BLANKS = re.compile(r"[ \t\r\n]*")
_LINE_ENDS = re.compile(r"[\r\n]")  # may only stand between tokens, where a blank does as well
_DECODER = json.JSONDecoder()


class BadPayload(ValueError):
    """Why a body is not a payload; the text says where."""


class _Member(NamedTuple):
    """The value of a key: decoded, as it is written, and the offset where it begins."""

    value: Any
    text: str
    offset: int


def parse_payload(body: bytes) -> Payload:
    r"""Read a payload or raise BadPayload.

    >>> parse_payload(b'{"candidate": "Hi", "example": {"n":  1e2}}').example
    b'{"n":  1e2}'
    """
    text = _decoded(body)
    members = _members(text)
    _check_version(text, members)
    candidate = members.get("candidate")
    if candidate is None:
        raise BadPayload('the payload has no "candidate", the text to score')
    if not isinstance(candidate.value, str):
        raise _wrong(text, candidate, '"candidate" is not a text')
    return Payload(
        candidate=candidate.value,
        example=_example(text, members.get("example")),
        task_model=_task_model(text, members.get("task_model")),
    )


def _decoded(body: bytes) -> str:
    if not body.strip():
        raise BadPayload("the body is empty: send the payload, one JSON object, in it")
    try:
        return body.decode()
    except UnicodeDecodeError as error:
        raise BadPayload(
            f"the body is not UTF-8: byte 0x{body[error.start]:02X} at offset {error.start}"
        ) from None


def _members(text: str) -> dict[str, _Member]:
    try:
        value = strict_json.loads(text, unique_keys=True)
    except strict_json.JsonFault as fault:
        raise BadPayload(f"{_place(text, fault.offset)}: {fault.reason}") from None
    if not isinstance(value, dict):
        raise BadPayload("the body is JSON, but not an object")
    return dict(_walk(text))


def _walk(text: str) -> Iterator[tuple[str, _Member]]:
    """Find where the values of an object stand, whose text is known to be right."""
    at = _after_blanks(text, _after_blanks(text, 0) + 1)
    while text[at] != "}":
        key, at = _DECODER.raw_decode(text, at)
        start = _after_blanks(text, _after_blanks(text, at) + 1)
        value, end = _DECODER.raw_decode(text, start)
        yield key, _Member(value, text[start:end], start)
        at = _after_blanks(text, end)
        if text[at] == ",":
            at = _after_blanks(text, at + 1)


def _after_blanks(text: str, at: int) -> int:
    match = _BLANKS.match(text, at)
    return match.end() if match else at


def _check_version(text: str, members: dict[str, _Member]) -> None:
    version = members.get("_protocol_version")
    if version and (isinstance(version.value, bool) or version.value != PROTOCOL_VERSION):
        raise _wrong(text, version, f'"_protocol_version" is not {PROTOCOL_VERSION}')
    if batch := members.get("examples"):
        raise _wrong(text, batch, '"examples" is a batch, which is not taken here: send one "example" each')


def _example(text: str, example: _Member | None) -> bytes | None:
    if example is None:
        return None
    if not isinstance(example.value, dict):
        raise _wrong(text, example, '"example" is not an object; leave it out where there is none')
    return _LINE_ENDS.sub(" ", example.text).encode()


def _task_model(text: str, named: _Member | None) -> str | None:
    if named is None:
        return None
    if not isinstance(named.value, str):
        raise _wrong(text, named, '"task_model" is not a text; leave it out where there is none')
    try:
        return check_task_model(named.value)
    except UsageError as error:
        raise _wrong(text, named, error.message) from None


def _wrong(text: str, member: _Member, reason: str) -> BadPayload:
    return BadPayload(f"{_place(text, member.offset)}: {reason}")


def _place(text: str, offset: int) -> str:
    return f"line {text.count(chr(10), 0, offset) + 1} column {offset - text.rfind(chr(10), 0, offset)}"
