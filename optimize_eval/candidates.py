"""Candidate files → texts: the bytes as they are, UTF-8, nothing stripped, empty allowed."""

import sys
from pathlib import Path

from optimize_eval.datasets import read_bytes
from optimize_eval.errors import DataError, Problem, UsageError

STDIN = "-"


def load_candidate(path: str) -> str:
    """Read one candidate from a path, or from stdin for `-`."""
    data = sys.stdin.buffer.read() if path == STDIN else _read(path)
    try:
        return data.decode()
    except UnicodeDecodeError as error:
        reason = (
            f"not UTF-8: byte 0x{data[error.start]:02X} at offset {error.start}{_surrogate_note(data, error)}"
        )
        name = "stdin" if path == STDIN else path
        raise DataError([Problem(path=name, rule="bad_utf8", reason=reason)]) from None


def _read(path: str) -> bytes:
    if not path:
        raise UsageError("the candidate's path is empty", hint="name a file, or write - for stdin")
    if any(char.isspace() for char in path) and not _exists(path):
        raise UsageError(
            f"there is no file {path!r}",
            hint="a candidate is named by its file; to score a text, pipe it in and write - for the file",
        )
    return read_bytes(path)


def _exists(path: str) -> bool:
    try:
        return Path(path).exists()
    except (OSError, ValueError):
        return False


def _surrogate_note(data: bytes, error: UnicodeDecodeError) -> str:
    is_surrogate = (
        data[error.start : error.start + 1] == b"\xed" and data[error.start + 1 : error.start + 2] >= b"\xa0"
    )
    return ", a lone surrogate" if is_surrogate else ""
