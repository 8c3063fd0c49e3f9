"""Files of other tools, read with care: whole or line by line, with caps, and digested as they are read.

JSON may have the bare words NaN and Infinity here, which Python's own writers give; what is nested beyond
200 levels is refused.
"""

import hashlib
import json
import re
from collections.abc import Iterator
from functools import partial
from io import SEEK_END, BufferedReader
from pathlib import Path
from typing import Any, BinaryIO

import orjson

from optimize_eval.base import files, strict_json
from optimize_eval.base.documents import JsonDict, JsonMapping
from optimize_eval.base.errors import DataError, Problem
from optimize_eval.foreign.rows import refusal

HEAD = 1 << 16  # bytes, in which all say what they are
_MIB = 1 << 20
MOST_JSON = 128 * _MIB  # bytes of one JSON value; orjson takes six times as much
_LONGEST_LINE = 64 * _MIB
_BRACKETS = bytes(set(range(256)) - set(b"{}[]"))
_WORDS = re.compile(rb"NaN|Infinity|[eE]\+?\d{3}")  # and numbers that may be beyond all


class ForeignFile:
    """A file as somebody named it; `sha256` and `size` are of what was read of it."""

    def __init__(self, path: str) -> None:
        self.path = path
        self.name = Path(path).name
        self.stem = self.name.split(".")[0] or self.name
        self.sha256 = ""
        self.size = 0
        with self.open_stream() as stream:
            self.head = stream.read(HEAD)

    @property
    def tail(self) -> bytes:
        """Read the end of a file that has one."""
        with self.open_stream() as stream:
            stream.seek(max(0, stream.seek(0, SEEK_END) - HEAD))
            return stream.read(HEAD)

    def open_stream(self) -> BinaryIO:
        try:
            return BufferedReader(files.open_file(self.path).detach(), _MIB)  # type: ignore[attr-defined]
        except FileNotFoundError:
            reason = f"no such file{files.nearest(Path(self.path))}"
        except files.Refused as error:
            reason = error.reason
        except (OSError, ValueError) as error:
            reason = f"cannot be read: {error}"
        raise DataError([Problem(path=self.path, rule="unreadable", reason=reason)])

    def whole(self, most: int, advice: str) -> bytes:
        """Read all of it; `advice` says what to do with a larger one."""
        with self.open_stream() as stream:
            data = stream.read(most + 1)
        if len(data) > most:
            raise refusal(
                self.path, f"it is larger than {most // _MIB} MiB, the most for this form: {advice}"
            )
        self.sha256, self.size = hashlib.sha256(data).hexdigest(), len(data)
        return data

    def digest(self, most: int) -> None:
        """Digest all of it without keeping any."""
        digest, self.size = hashlib.sha256(), 0
        with self.open_stream() as stream:
            while piece := stream.read(_MIB):
                digest.update(piece)
                self.size += len(piece)
                if self.size > most:
                    raise refusal(self.path, f"it is larger than {most // _MIB} MiB")
        self.sha256 = digest.hexdigest()

    def value(self, advice: str) -> Any:
        """Read it as one JSON value."""
        return decode(self.whole(MOST_JSON, advice), self.path)

    def lines(self) -> Iterator[tuple[int, JsonDict]]:
        """Read it as JSON lines, each an object, with their numbers."""
        digest, self.size = hashlib.sha256(), 0
        with self.open_stream() as stream:
            for number, line in enumerate(iter(partial(stream.readline, _LONGEST_LINE), b""), 1):
                digest.update(line)
                self.size += len(line)
                if not line.isspace():
                    yield number, self._object(line, number)
        self.sha256 = digest.hexdigest()

    def _object(self, line: bytes, number: int) -> JsonDict:
        if len(line) == _LONGEST_LINE:
            raise refusal(self.path, f"the line is longer than {_LONGEST_LINE // _MIB} MiB", number)
        value = decode(line, self.path, number)
        if not isinstance(value, dict):
            raise refusal(self.path, "the line is not a JSON object", number)
        return value


def decode(raw: bytes, path: str, line: int | None = None) -> Any:
    """Decode one JSON value."""
    try:
        value = orjson.loads(raw.strip())
    except orjson.JSONDecodeError as error:
        value = _decode_leniently(raw, path, line, str(error))
    if _is_deep(raw) and strict_json.is_too_deep(strict_json.MAX_DEPTH + 1, value):
        raise refusal(path, f"it is nested deeper than {strict_json.MAX_DEPTH} levels", line)
    return value


def _decode_leniently(raw: bytes, path: str, line: int | None, why: str) -> Any:
    """Take NaN and Infinity, too."""
    if not _WORDS.search(raw) or _is_deep(raw):
        raise refusal(path, f"it is not JSON: {why}{_cut_off(raw)}", line)
    try:
        return json.loads(raw)
    except (ValueError, RecursionError) as error:
        raise refusal(path, f"it is not JSON: {error}{_cut_off(raw)}", line) from None


def _cut_off(raw: bytes) -> str:
    """Say that a file was written or copied in part: its object has no end."""
    return "; it looks cut off: write or copy it again" if not raw.rstrip().endswith((b"}", b"]")) else ""


def _is_deep(raw: bytes) -> bool:
    """Return True if a text may be nested too deep: what is in strings is taken for brackets, too."""
    shape = raw.translate(None, _BRACKETS)
    for level in range(strict_json.MAX_DEPTH):
        if level + len(shape) // 2 <= strict_json.MAX_DEPTH:
            return False
        smaller = shape.replace(b"{}", b"").replace(b"[]", b"")
        if len(smaller) == len(shape):
            return True
        shape = smaller
    return bool(shape)


class Fields:
    """An object of a file, whose values are read by their types; what has another one is refused by name."""

    def __init__(self, value: JsonMapping, path: str, line: int | None = None, where: str = "") -> None:
        self.value = value
        self.path = path
        self._line = line
        self.where = where

    def refuse(self, key: str, reason: str) -> DataError:
        return refusal(self.path, f"{self.where}{key} {reason}", self._line)

    def integer(self, key: str, most: int) -> int:
        value = self.value.get(key)
        if type(value) is not int or not 0 <= value <= most:
            raise self.refuse(key, f"is not an integer from 0 to {most:,}")
        return value

    def text(self, key: str, default: str | None = None) -> str:
        value = self.value.get(key)
        if value is None and default is not None:
            return default
        if not isinstance(value, str):
            raise self.refuse(key, "is not a text")
        return value

    def truth(self, key: str) -> bool:
        value = self.value.get(key)
        if not isinstance(value, bool):
            raise self.refuse(key, "is neither true nor false")
        return value

    def number(self, key: str) -> float | None:
        """Read a number; null is None."""
        value = self.value.get(key)
        if value is not None and (isinstance(value, bool) or not isinstance(value, int | float)):
            raise self.refuse(key, "is not a number")
        return value

    def table(self, key: str) -> JsonDict:
        """Read an object; null is an empty one."""
        value = self.value.get(key)
        if value is not None and not isinstance(value, dict):
            raise self.refuse(key, "is not an object")
        return value or {}

    def fields(self, key: str) -> "Fields":
        return Fields(self.table(key), self.path, self._line, f"{self.where}{key}.")

    def items(self, key: str) -> list[Any]:
        """Read a list; null is an empty one."""
        value = self.value.get(key)
        if value is not None and not isinstance(value, list):
            raise self.refuse(key, "is not a list")
        return value or []
