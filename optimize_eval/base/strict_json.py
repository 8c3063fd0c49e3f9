"""JSON read without loss or mercy, one value or one a line; what other readers would reject is a fault.

A fault is anything that another language's parser could read differently: a syntax error, NaN, a number
that overflows, a lone surrogate, nesting beyond MAX_DEPTH levels and (on request) a key given twice.
Both data files and answers are read by these rules; what a fault *means* is decided by their modules. TOML is
read here, too, with a reason and a place for every error.
"""

import json
import re
from codecs import BOM_UTF8
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import takewhile
from math import isinf
from typing import Any, Never

import orjson

from optimize_eval.base.documents import JsonDict
from optimize_eval.base.frozen import frozen

MAX_DEPTH = 200
MAX_DIGITS = 4300  # Python's own limit for text to integer, unless somebody changed it

_LONG_INTEGER = b"0" * 19  # from so many digits on it may not fit 64 bits, and orjson makes it a float
_DIGITS_TO_ZERO = bytes.maketrans(b"123456789", b"0" * 9)
_SHOWN_DIGITS = 30
_SHOWN_TEXT = 80
_PIECE = re.compile(r'"(?:[^"\\]|\\.)*+"?|[\[\]{}:,]|[^\s\[\]{}:,"]+')
_SURROGATE_ESCAPE = re.compile(r"\\u[dD][89a-fA-F]")
_TOO_MANY_DIGITS = re.compile(rf"\d{{{MAX_DIGITS + 1}}}")
_INTEGER = re.compile(r"-?\d+")


class JsonFault(ValueError):
    """Why a text is not acceptable JSON, and at which offset (in characters) that shows."""

    def __init__(self, offset: int, reason: str) -> None:
        super().__init__(reason)
        self.offset = offset
        self.reason = reason


class _Suspect(ValueError):
    """A decoder hook saw a fault; only a scan of the text can say where."""


def _refuse_constant(_name: str) -> Never:
    raise _Suspect


def _finite(number: str) -> float:
    value = float(number)
    if isinf(value):
        raise _Suspect
    return value


def _unique(pairs: list[tuple[str, Any]]) -> JsonDict:
    decoded = dict(pairs)
    if len(decoded) != len(pairs):
        raise _Suspect
    return decoded


_LAST_KEY_WINS = json.JSONDecoder(parse_constant=_refuse_constant, parse_float=_finite)
_UNIQUE_KEYS = json.JSONDecoder(
    parse_constant=_refuse_constant, parse_float=_finite, object_pairs_hook=_unique
)


def loads(text: str, *, unique_keys: bool) -> Any:
    """Decode one JSON text or raise JsonFault."""
    try:
        value = (_UNIQUE_KEYS if unique_keys else _LAST_KEY_WINS).decode(text)
    except json.JSONDecodeError as error:
        raise _nested_before(text, error.pos) or JsonFault(error.pos, _plain(error.msg)) from None
    except (_Suspect, ValueError, RecursionError):
        raise _first_fault(text, unique_keys=unique_keys) from None
    if len(text) > MAX_DIGITS and _TOO_MANY_DIGITS.search(text):  # where Python's own limit was lifted
        _refuse_long_integers(text)
    if _SURROGATE_ESCAPE.search(text) and (fault := _lone_surrogate(text)):
        raise fault
    if is_too_deep(text.count("[") + text.count("{"), value):
        raise _first_fault(text, unique_keys=unique_keys)
    return value


def _refuse_long_integers(text: str) -> None:
    for match in _PIECE.finditer(text):
        if reason := _bad_scalar(match.group()):
            raise JsonFault(match.start(), reason)


def dumps(value: object) -> bytes:
    """Encode a decoded value as one line, integers of any size included."""
    try:
        return orjson.dumps(value)
    except TypeError:
        return json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":")).encode()


def dumps_own(value: object) -> bytes:
    """Encode a document of ours as one line, in which names of files may be no UTF-8."""
    try:
        return dumps(value)
    except UnicodeEncodeError:  # the escape of a surrogate in JSON is that in Python
        return json.dumps(value, ensure_ascii=False).encode(errors="backslashreplace")


def loads_own(raw: bytes) -> Any:
    """Decode a document of ours, in which names of files may be no UTF-8; raises ValueError for no JSON."""
    try:
        return orjson.loads(raw)
    except orjson.JSONDecodeError:
        if not _SURROGATE_ESCAPE.search(raw.decode(errors="replace")):
            raise
        return json.loads(raw)


def may_hold_long_integer(raw: bytes) -> bool:
    """Return True where JSON has so many digits in a row that orjson may not read them exactly."""
    return _LONG_INTEGER in raw.translate(_DIGITS_TO_ZERO)


def gives_twice(key: str, raw: bytes) -> bool:
    """Return True where an object in JSON, which can be decoded, has a key twice."""

    def check(pairs: list[tuple[str, Any]]) -> None:
        if sum(name == key for name, _ in pairs) > 1:
            raise _Suspect

    try:
        json.loads(raw.decode("utf-8-sig"), object_pairs_hook=check)
    except _Suspect:
        return True
    return False


def is_too_deep(brackets: int, value: object) -> bool:
    """Return True if a decoded value nests beyond MAX_DEPTH; few `brackets` in its text answer it cheaply."""
    if brackets <= MAX_DEPTH:
        return False
    level = [value]
    for _ in range(MAX_DEPTH):
        level = [child for node in level for child in _children(node)]
        if not level:
            return False
    return any(isinstance(node, dict | list) for node in level)


def _children(node: object) -> Iterator[Any]:
    items = node.values() if isinstance(node, dict) else node if isinstance(node, list) else ()
    return (item for item in items if isinstance(item, dict | list))


@dataclass(slots=True, eq=False, repr=False)
class _Open:
    """An object or array that the scan is inside of."""

    is_object: bool
    expects_key: bool
    keys: set[str] = field(default_factory=set)


def _first_fault(text: str, *, unique_keys: bool) -> JsonFault:
    """Scan a text that a hook, the depth or a number's length made suspect."""
    stack: list[_Open] = []
    for match in _PIECE.finditer(text):
        reason = _enter_or_leave(stack, piece := match.group()) or _bad_scalar(piece)
        if not reason and unique_keys:
            reason = _repeated_key(stack, piece)
        if reason:
            return JsonFault(match.start(), reason)
    return JsonFault(0, "not decodable as JSON")


def _nested_before(text: str, end: int) -> JsonFault | None:
    """Find nesting too deep before where decoding ended, which depends on the version of Python."""
    if text.count("[", 0, end) + text.count("{", 0, end) <= MAX_DEPTH:
        return None
    stack: list[_Open] = []
    pieces = takewhile(lambda match: match.start() < end, _PIECE.finditer(text))
    faults = ((match.start(), _enter_or_leave(stack, match.group())) for match in pieces)
    return next((JsonFault(offset, reason) for offset, reason in faults if reason), None)


def _enter_or_leave(stack: list[_Open], piece: str) -> str:
    if piece in "[{":
        stack.append(_Open(is_object=piece == "{", expects_key=piece == "{"))
        if len(stack) > MAX_DEPTH:
            return f"nested deeper than {MAX_DEPTH} levels"
    elif piece in "]}" and stack:
        stack.pop()
    elif piece == "," and stack:
        stack[-1].expects_key = stack[-1].is_object
    return ""


def _bad_scalar(piece: str) -> str:
    if piece in {"NaN", "Infinity", "-Infinity"}:
        return f"{piece} is not a JSON number"
    if _INTEGER.fullmatch(piece) and len(piece.lstrip("-")) > MAX_DIGITS:
        return f"an integer of {len(piece.lstrip('-')):,} digits (at most {MAX_DIGITS:,})"
    if piece[0] in "-0123456789" and not _INTEGER.fullmatch(piece) and _overflows(piece):
        return f"the number {piece[:_SHOWN_DIGITS]} is too large"
    return ""


def _overflows(piece: str) -> bool:
    try:
        return isinf(float(piece))
    except ValueError:
        return False


def _repeated_key(stack: list[_Open], piece: str) -> str:
    if not stack or not stack[-1].expects_key or piece[0] != '"':
        return ""
    inside = stack[-1]
    inside.expects_key = False
    key = json.loads(piece)
    if key in inside.keys:
        return f"the key {json.dumps(key[:_SHOWN_TEXT], ensure_ascii=False)} is given twice"
    inside.keys.add(key)
    return ""


def _lone_surrogate(text: str) -> JsonFault | None:
    for match in _PIECE.finditer(text):
        piece = match.group()
        if piece[0] == '"' and _SURROGATE_ESCAPE.search(piece):
            try:
                json.loads(piece).encode()
            except UnicodeEncodeError:
                return JsonFault(
                    match.start(), "a lone surrogate (half of a \\ud83d\\ude00 pair) in a string"
                )
    return None


def _plain(message: str) -> str:
    return message[:1].lower() + message[1:].removesuffix(" at").removesuffix(" starting")


@frozen
class Line:
    """A line that is not blank: its physical number, its bytes, and its value or why it has none."""

    number: int
    raw: bytes
    value: Any = None
    unreadable: str = ""


def read_lines(data: bytes) -> Iterator[Line]:
    """Decode all lines but blank ones, which count all the same."""
    for number, line in enumerate(data.removeprefix(BOM_UTF8).split(b"\n"), 1):
        if body := line.strip():
            yield from _read_line(number, body)


def _read_line(number: int, body: bytes) -> Iterator[Line]:
    # A bare carriage return can only stand between tokens; as a blank it cannot end a line anywhere.
    raw = body.replace(b"\r", b" ")
    try:
        text = body.decode()
        if not text.isspace():
            yield Line(number=number, raw=raw, value=loads(text, unique_keys=True))
    except UnicodeDecodeError as error:
        reason = f"not UTF-8: byte 0x{body[error.start]:02X} at offset {error.start}"
        yield Line(number=number, raw=raw, unreadable=reason)
    except JsonFault as fault:
        reason = f"{fault.reason} at character {fault.offset + 1}"
        yield Line(number=number, raw=raw, unreadable=reason)


_PLACE = r"(?s)(.*) \(at line (\d+), column (\d+)\)"
_MOST_DIGITS = 4300  # Python's own limit for text to integer


class TomlFault(ValueError):
    """Why a text is not TOML, and where; line and column count from 1, None where that is not known."""

    def __init__(self, reason: str, line: int | None = None, column: int | None = None) -> None:
        super().__init__(reason if line is None else f"{reason} (at line {line}, column {column})")
        self.reason = reason
        self.line = line
        self.column = column


def loads_toml(text: str) -> JsonDict:
    """Decode a document or raise TomlFault."""
    import tomllib  # noqa: PLC0415  most commands read none, and it costs 2 ms

    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        match = re.fullmatch(_PLACE, str(error))
        raise (
            TomlFault(match[1], int(match[2]), int(match[3])) if match else TomlFault(str(error))
        ) from None
    except RecursionError:
        raise TomlFault("nested too deeply") from None
    except ValueError:  # what tomllib leaves to int()
        raise TomlFault(f"an integer of more than {_MOST_DIGITS:,} digits") from None
