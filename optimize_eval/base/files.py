"""Files that people name, opened safely: a regular file or a descriptor that a shell hands over, up to a cap.

Anything else (a FIFO, a device, a socket, a folder) is refused before it is opened, for it may never begin or
never end. A file that is too large is refused before it is read; of a pipe no more is read than the cap. What
the bytes mean is not known here.
"""

import errno
import os
import re
import stat
import sys
from difflib import get_close_matches
from pathlib import Path
from typing import BinaryIO, NamedTuple

from optimize_eval.base.errors import DataError, Problem

_MIB = 1 << 20
_GIB = 1 << 30
_PIECE = _MIB
_BUFFER = 1 << 17  # of files that are read line by line: with 8 KiB, most of the time goes into asking
_HANDED_OVER = r"/dev/stdin|/dev/fd/\d+|/proc/[^/]+/fd/\d+"  # as <(…) is written in a shell
_KINDS = {
    stat.S_IFDIR: ("a folder", "name a file in it"),
    stat.S_IFIFO: ("a pipe", "save its output to a file, or name /dev/stdin and pipe it in"),
    stat.S_IFSOCK: ("a socket", "save its output to a file"),
    stat.S_IFCHR: ("a device", "check the path"),
    stat.S_IFBLK: ("a device", "check the path"),
}


STDIN = "-"  # as options name it


class Cap(NamedTuple):
    """The most that a kind of file may hold."""

    what: str
    most: int  # bytes
    advice: str


DATASET = Cap("a dataset", 2 * _GIB, "split it into several files")
CANDIDATE = Cap("a candidate", 64 * _MIB, "check the path; candidates in one JSONL file go to --candidates")
SETTINGS = Cap("a sweep file or a rubric", 16 * _MIB, "check the path")
OF_A_RUN = Cap("a file of a run", _GIB, "check the path")


TABLES = frozenset({".csv", ".tsv", ".json", ".parquet"})  # all else has a record a line


def counted_unit(path: str | Path) -> str:
    """Say what the numbers of a dataset's examples count."""
    return "record" if Path(path).suffix.lower() in TABLES else "line"


class Refused(OSError):
    """This is not a file that can be read to its end; `reason` says why, and what to do."""

    def __init__(self, reason: str) -> None:
        super().__init__(errno.EINVAL, reason)
        self.reason = reason


def read(path: str | Path, cap: Cap) -> bytes:
    """Read a file; one that cannot be read is a DataError with the nearest name there is."""
    try:
        return load(path, cap)
    except FileNotFoundError:
        reason = f"no such file{nearest(Path(path))}"
    except Refused as error:
        reason = error.reason
    except ValueError:
        reason = "this cannot be a path"
    except OSError as error:
        reason = f"cannot be read: {error.strerror}"
    raise DataError([Problem(path=str(path), rule="unreadable", reason=reason)]) from None


def read_stdin(cap: Cap) -> bytes:
    """Read what is piped in; too much of it is a DataError."""
    try:
        return read_capped(sys.stdin.buffer, cap)
    except Refused as error:
        raise DataError([Problem(path="stdin", rule="unreadable", reason=error.reason)]) from None


def load(path: str | Path, cap: Cap) -> bytes:
    """Read a file or raise OSError."""
    with open_file(path) as stream:
        size = os.fstat(stream.fileno()).st_size
        if size > cap.most:
            raise _too_large(cap)
        return read_capped(stream, cap, size)


def read_capped(stream: BinaryIO, cap: Cap, expected: int = 0) -> bytes:
    """Read a stream to its end; more than the cap is Refused."""
    pieces: list[bytes] = []
    room = cap.most + 1
    while room and (piece := stream.read(min(room, max(_PIECE, expected + 1)))):
        pieces.append(piece)
        room -= len(piece)
    if not room:
        raise _too_large(cap)
    return b"".join(pieces)


def open_file(path: str | Path) -> BinaryIO:
    """Open a file for reading or raise OSError, which is Refused for anything but a file."""
    _check(Path(path).stat(), path)  # before: opening a device or a pipe is felt at its other end
    stream = open(path, "rb", _BUFFER, opener=_open_at_once)  # noqa: SIM115  Path.open takes no opener
    try:
        _check(os.fstat(stream.fileno()), path)
        os.set_blocking(stream.fileno(), True)
    except BaseException:
        stream.close()
        raise
    return stream


def _open_at_once(path: str, flags: int) -> int:
    return os.open(path, flags | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC)


def _check(status: os.stat_result, path: str | Path) -> None:
    kind = stat.S_IFMT(status.st_mode)
    if kind == stat.S_IFREG or (kind != stat.S_IFDIR and re.fullmatch(_HANDED_OVER, str(path))):
        return
    what, advice = _KINDS.get(kind, ("no file", "check the path"))
    raise Refused(f"this is {what}, and a file is needed: {advice}")


def _too_large(cap: Cap) -> Refused:
    most = f"{cap.most // _GIB} GiB" if cap.most >= _GIB else f"{cap.most // _MIB} MiB"
    return Refused(f"this is larger than {most}, the most for {cap.what}: {cap.advice}")


def nearest(path: Path) -> str:
    """Ask for the name beside it that is most like one that is not there."""
    try:
        names = [entry.name for entry in path.parent.iterdir() if entry.name != path.name]
    except OSError:
        return f", nor a folder {path.parent}"
    close = get_close_matches(path.name, names, n=1)
    return f"; did you mean {path.with_name(close[0])}?" if close else ""
