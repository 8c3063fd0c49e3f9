"""Writing: results to stdout, everything else to stderr, foreign text made inert.

Standard streams that are not there, from the start or any more: they lead nowhere instead.
"""

import contextlib
import os
import shutil
import sys
from collections.abc import Callable, Iterable
from contextlib import suppress
from functools import cache

from optimize_eval.base.errors import DataError, OptimizeEvalError
from optimize_eval.reports.inert import inert, inert_json
from optimize_eval.reports.text import Paint, Screen, marked, painted, plain, unmarked

QUOTE = "quote what has blanks or stars, such as 'python3 judge.py' and 'prompts/*.txt'"

_WIDEST = 120
_RUNNERS = ("CI", "TF_BUILD", "TEAMCITY_VERSION")  # set by GitHub, GitLab and most; by Azure; by TeamCity
_ASCII = str.maketrans(
    {
        "…": "~",  # one for one: tables stay tables
        "─": "-",
        "·": "-",
        "✕": "x",
        "✓": "+",
        "▲": "^",
        "▼": "v",
        "△": "?",
        "▽": "?",
        "×": "x",
        "±": "~",
        "Δ": "d",
        **dict(zip("▁▂▃▄▅▆▇█", "_.-:=+*#", strict=True)),  # of a curve
        "→": ">",
        "\N{MINUS SIGN}": "-",
        "\N{EN DASH}": "-",
    }
)


def emit(text: str) -> None:
    """Write a result line for people; foreign text in it is made inert."""
    encoding = sys.stdout.encoding
    shown = painted(text, _inert) if has_colour() else _inert(text)
    _write(shown.encode(encoding, "backslashreplace"))


def _inert(text: str) -> str:
    return encodable(inert(text, ci=under_ci()), sys.stdout.encoding)


def has_colour() -> bool:
    """Return True if stdout shows colour; NO_COLOR wins over FORCE_COLOR, which wins over what stdout is."""
    if os.environ.get("NO_COLOR"):
        return False
    return bool(os.environ.get("FORCE_COLOR")) or (sys.stdout.isatty() and os.environ.get("TERM") != "dumb")


def paint() -> Paint:
    """Choose how renderers mark what is painted."""
    return marked if has_colour() else plain


def emit_document(text: str) -> None:
    """Write a document, already inert, as UTF-8 even where the terminal has another encoding."""
    _write(text.encode(errors="backslashreplace"))


def emit_bytes(pieces: Iterable[bytes]) -> None:
    """Write a file as it is; stop when the reader has gone."""
    for piece in pieces:
        if not _write(piece, end=b""):
            return


def emit_pieces(pieces: Iterable[str]) -> None:
    """Write pieces of whole lines as they are made; stop when the reader has gone."""
    emit_bytes(piece.encode(errors="backslashreplace") for piece in pieces)


def emit_json(value: object) -> None:
    """Write one JSON value, in UTF-8 even where the terminal has another encoding."""
    _write(inert_json(value).encode())


def screen() -> Screen:
    """Say what texts are laid out for."""
    return Screen(width(), _fits(), paint())


def _fits() -> Callable[[str], str]:
    """Give what makes a text what it will be on stdout; most come again and again."""
    ci, encoding, has_marks = under_ci(), sys.stdout.encoding, has_colour()

    @cache
    def shown(text: str) -> str:
        safe = encodable(inert(text, ci=ci), encoding)
        safe = unmarked(safe) if has_marks else safe
        return safe.encode(encoding, "backslashreplace").decode(encoding)

    return shown


def width() -> int:
    """Return how many columns a result may have."""
    return max(40, min(shutil.get_terminal_size().columns, _WIDEST))


def say(text: str) -> None:
    """Write a note for people to stderr; foreign text in it is made inert."""
    shown = encodable(inert(text, ci=under_ci()), sys.stderr.encoding)
    with contextlib.suppress(OSError):  # nobody reads it; the exit code still tells
        print(shown, file=sys.stderr, flush=True)  # noqa: T201  this is where printing is done


def annotate(lines: Iterable[str]) -> None:
    """Write commands of a workflow to stderr, where its runner obeys them; their renderer escaped them."""
    with contextlib.suppress(OSError):
        for line in lines:
            print(encodable(line), file=sys.stderr, flush=True)  # noqa: T201  see say


def say_error(error: OptimizeEvalError) -> None:
    """Print what happened and what to do next."""
    if isinstance(error, DataError):
        count = len(error.problems)
        say(error.message)
        say(f"error: {count:,} problem{'s' * (count != 1)} found. Nothing was run.")
        return
    say(f"error: {error.message}")
    if error.hint:
        say(f"  try: {error.hint}")


def _write(line: bytes, end: bytes = b"\n") -> bool:
    """Write a line; return False if the reader has gone, which is not an error. A full disk is one."""
    try:
        sys.stdout.buffer.write(line + end)
        sys.stdout.buffer.flush()
    except OSError as error:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # or the flush at exit fails once more
        if isinstance(error, BrokenPipeError):
            return False
        raise OptimizeEvalError(
            f"the result could not be written: {error.strerror}", hint="make room, then run the command again"
        ) from error
    return True


def under_ci() -> bool:
    """Return True if stdout may be a log whose runner obeys commands in it."""
    return any(map(os.environ.get, _RUNNERS))


def encodable(text: str, encoding: str | None = None) -> str:
    """Put plain letters in the place of signs that an encoding (by default stderr's) does not have."""
    encoding = encoding or sys.stderr.encoding
    try:
        text.encode(encoding)
    except UnicodeEncodeError:
        return text.translate(_ASCII)
    return text


def complete() -> None:
    """Give a process that was started with closed standard streams ones that lead nowhere."""
    for number, name in enumerate(("stdin", "stdout", "stderr")):
        if getattr(sys, name) is None:
            with suppress(OSError):
                _open(number, name)


def release() -> None:
    """Write what is left; where nobody reads it any more, that is not how a command ended."""
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except OSError:
            os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())  # or the flush at exit fails once more


def _open(number: int, name: str) -> None:
    fd = os.open(os.devnull, os.O_RDWR)
    if fd != number:
        os.dup2(fd, number)
        os.close(fd)
    setattr(sys, name, os.fdopen(number, "r" if name == "stdin" else "w", encoding="utf-8"))
