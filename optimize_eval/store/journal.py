"""The journal: JSON lines, each with its checksum, appended with one write and never changed.

Reading tolerates one thing only: a last line without its end, which a power cut or a kill leaves. A line
whose checksum is wrong was edited or damaged, and is refused by its number. What records mean is not known
here: a run's journal and a task's outputs are written alike. Where the newest one of each unit stands is
ledger's.
"""

import errno
import itertools
import json
import os
import threading
from collections.abc import Iterator
from contextlib import suppress
from functools import partial
from pathlib import Path
from shutil import copyfileobj
from typing import BinaryIO, NamedTuple, Never
from zlib import crc32

import orjson

from optimize_eval.base import files, strict_json
from optimize_eval.base.documents import JsonDict, JsonMapping
from optimize_eval.base.errors import CannotGoOn

SCHEMA = "optimize-eval.journal.v1"
_LONGEST_FOOTER = 1 << 16
_LONGEST_NAME = 60
_LONGEST_LINE = 1 << 26  # bytes: an answer at its cap, with every letter escaped, is shorter
AGAIN = "run the command of this run again: it makes this line again"
SYNC_EVERY = 0.05  # seconds that a power cut may cost

_GONE = frozenset({errno.ENOENT, errno.ENOTDIR, errno.ESTALE})
_FULL = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EFBIG})
_DELETE = "restore it, or delete it: its call is then made again"
_CRC = b',"crc":"'
_TAIL = len(_CRC) + len('01234567"}')


class Damaged(CannotGoOn):
    """A line of a journal is not what was written."""


class UnknownSchema(CannotGoOn):
    """A file was written by another version, and may mean something else."""


class JournalLine(NamedTuple):
    """One line as it stands in the file."""

    number: int  # from 1
    offset: int
    length: int  # with its line end
    line: bytes


def seal(record: JsonMapping) -> bytes:
    """Write a record as a line that ends with its checksum."""
    body = strict_json.dumps_own(record)[:-1]
    return b'%s%s%08x"}\n' % (body, _CRC, crc32(body))


def entries(path: Path, first: str = _DELETE) -> Iterator[JournalLine]:
    """Read the lines of a journal that are whole; raises Damaged at the first that is not as written.

    `first` says what to do where that is the first one.
    """
    return itertools.starmap(JournalLine, lines(path, first))


def lines(path: Path, first: str = _DELETE) -> Iterator[tuple[int, int, int, bytes]]:
    """Read the same as plain tuples, in less time."""
    offset = 0
    with _open(path) as stream:
        for number, line in enumerate(iter(partial(stream.readline, _LONGEST_LINE), b""), 1):
            if not line.endswith(b"\n") and len(line) < _LONGEST_LINE:
                return  # torn: it never counted
            if not is_sound(line):
                raise Damaged(
                    f"{path}:{number}: the line is not as it was written",
                    hint=f"{_DELETE if offset else first}; --fresh starts over",
                )
            yield number, offset, len(line), line
            offset += len(line)


def header(run: str, started_at: str) -> JsonDict:
    """Begin a session: the first line of a journal says whose it is."""
    return {"schema": SCHEMA, "plan": run, "started_at": started_at}


def remake_header(path: Path, made: JsonMapping) -> bool:
    """Write the first line of a file, if it is there, again where it is damaged, and say whether it was so.

    It becomes as long as what is damaged, for run.json tells by offsets where evaluators changed. Where that
    is shorter than any header, all moves on by less than a record, and no record over such an offset.
    """
    if not path.exists():
        return False
    with _open(path) as stream:
        damaged = stream.readline(_LONGEST_LINE)
        if not damaged.endswith(b"\n") or is_sound(damaged):
            return False
        new = seal(made)
        while (line := stream.readline(_LONGEST_LINE)) and len(damaged) < len(new) and not is_sound(line):
            damaged += line
        if not _is_of_ours(damaged, line, stream):
            return False
    new = _pad(new, len(damaged))
    if len(new) == len(damaged):
        _overwrite(path, new)
    else:
        _replace(path, len(damaged), new)
    return True


def has_damaged_start(path: Path) -> bool:
    """Return True if the first line of a file is not as it was written, and others show that it is ours."""
    with _open(path) as stream:
        lines = iter(partial(stream.readline, _LONGEST_LINE), b"")
        return not is_sound(next(lines, b"")) and any(map(is_sound, lines))


def _is_of_ours(damaged: bytes, line: bytes, stream: BinaryIO) -> bool:
    """Return True if a file is a journal: what is not as it was written may be all somebody else's."""
    rest = iter(partial(stream.readline, _LONGEST_LINE), b"")
    return SCHEMA.encode() in damaged or is_sound(line) or any(map(is_sound, rest))


def _pad(line: bytes, length: int) -> bytes:
    """Make a sealed line longer by blanks before its checksum."""
    body = line[: -_TAIL - 1].ljust(length - _TAIL - 1)
    return b'%s%s%08x"}\n' % (body, _CRC, crc32(body))


def _overwrite(path: Path, line: bytes) -> None:
    try:
        with path.open("r+b") as stream:
            stream.write(line)
            stream.flush()
            os.fsync(stream.fileno())
    except OSError as error:
        raise no_room(path, error) from error


def _replace(path: Path, end: int, line: bytes) -> None:
    draft = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        with path.open("rb") as old, draft.open("wb") as stream:
            old.seek(end)
            stream.write(line)
            copyfileobj(old, stream)
            stream.flush()
            os.fsync(stream.fileno())
        draft.replace(path)
    except OSError as error:
        with suppress(OSError):
            draft.unlink(missing_ok=True)
        raise no_room(path, error) from error
    sync_folder(path.parent)


def last_line(path: Path) -> bytes | None:
    """Read the last whole line from the file's end; None where it is longer than any footer."""
    with _open(path) as stream:
        start = max(0, stream.seek(0, os.SEEK_END) - _LONGEST_FOOTER)
        stream.seek(start)
        before, _, _torn = stream.read().rpartition(b"\n")
    cut_at = before.rfind(b"\n") + 1
    if not before or (start and not cut_at):
        return None
    line = before[cut_at:] + b"\n"
    if not is_sound(line):
        raise Damaged(
            f"{path}: its last line is not as it was written", hint="restore it, or delete the line"
        )
    return line


def _open(path: Path) -> BinaryIO:
    try:
        return files.open_file(path)
    except files.Refused as error:
        hint = "restore the file, or start over with --fresh"
        raise Damaged(f"{path}: {error.strerror}", hint=hint) from None


def decode(line: bytes) -> JsonDict:
    """Read a sound line, integers of any size exactly; raises ValueError for anything but JSON."""
    return _decode_exactly(line) if strict_json.may_hold_long_integer(line) else glance(line)


def glance(line: bytes) -> JsonDict:
    """Read a sound line in half the time, for its place and outcome: larger integers may come as floats."""
    try:
        record: JsonDict = orjson.loads(line)
    except orjson.JSONDecodeError:  # an integer beyond all floats
        record = _decode_exactly(line)
    return record


def _decode_exactly(line: bytes) -> JsonDict:
    record: JsonDict = json.loads(line, parse_constant=_refuse)
    return record


def _refuse(constant: str) -> Never:
    raise ValueError(f"{constant} is not a number")


def check_schema(record: JsonMapping, known: str, place: str) -> None:
    """Refuse a header or footer of a schema that this version does not know, by that schema's name."""
    schema = record.get("schema", known)
    if schema != known:
        raise UnknownSchema(
            f"{place}: its schema is {str(schema)[:_LONGEST_NAME]!r}, and this version knows {known} only",
            hint="use the version of optimize-eval that wrote it; nothing was changed",
        )


def state_of(status: os.stat_result) -> tuple[int, ...]:
    """Give what is another once a file is another, or holds other bytes."""
    return status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns


def is_sound(line: bytes) -> bool:
    """Return True if a line is as it was written."""
    return line.endswith(b'%s%08x"}\n' % (_CRC, crc32(line[: -_TAIL - 1])))


class Journal:
    """A journal that is being written; `append` may be called from several threads."""

    def __init__(self, path: Path, end: int) -> None:
        """Open for appending at `end`, where the last whole line ends; what is torn after it goes."""
        self._path = path
        self._end = end
        self._lock = threading.Lock()
        self._is_dirty = threading.Event()
        self._is_closed = False
        self._error: CannotGoOn | None = None
        try:
            self._file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o644)
        except OSError as error:
            raise no_room(path, error) from error
        try:
            self._begin_at(end)
        except CannotGoOn:
            os.close(self._file)
            raise
        self._flusher = threading.Thread(target=self._flush, name="journal", daemon=True)
        self._flusher.start()

    def _begin_at(self, end: int) -> None:
        try:
            os.ftruncate(self._file, end)
        except OSError as error:
            raise no_room(self._path, error) from error
        sync_folder(self._path.parent)

    def append(self, lines: bytes) -> int:
        """Write whole lines and return where they start; of what does not fit, no part of a line stays."""
        with self._lock:
            if self._error or self._is_closed:
                raise self._error or CannotGoOn(f"{self._path} is closed")
            start, written = self._end, 0
            try:
                while written < len(lines):  # a full disk takes a part, and then says why
                    written += os.write(self._file, lines[written:])
            except OSError as error:
                self._error = no_room(self._path, error)
                self._take_back(start + lines.rfind(b"\n", 0, written) + 1)
                raise self._error from error
            self._end += written
        if not self._is_dirty.is_set():
            self._is_dirty.set()
        return start

    @property
    def end(self) -> int:
        """Tell where the last whole line ends."""
        return self._end

    def sync(self) -> None:
        """Let what was written so far survive a power cut."""
        try:
            os.fsync(self._file)
        except OSError as error:
            raise no_room(self._path, error) from error

    def check_place(self) -> None:
        """Raise CannotGoOn where the file is not at its path any more: what is written would be lost."""
        try:
            is_there = os.path.samestat(self._path.stat(), os.fstat(self._file))
        except OSError as error:  # a folder that cannot be looked into is still there
            is_there = error.errno not in _GONE
        if is_there:
            return
        raise CannotGoOn(
            f"{self._path} was removed or moved while the run went on",
            hint="put the folder back, then run the same command again; without it, that starts over",
        )

    def close(self) -> None:
        with self._lock:
            self._is_closed = True
        self._is_dirty.set()
        self._flusher.join()
        try:
            if self._error:
                raise self._error
            self.sync()
            self.check_place()
        finally:
            os.close(self._file)

    def _take_back(self, start: int) -> None:
        with suppress(OSError):
            os.ftruncate(self._file, start)

    def _flush(self) -> None:
        pause = threading.Event()
        while not self._is_closed:
            self._is_dirty.wait()
            self._is_dirty.clear()
            try:
                os.fdatasync(self._file) if hasattr(os, "fdatasync") else os.fsync(self._file)
                self.check_place()
            except OSError as error:
                self._error = no_room(self._path, error)
            except CannotGoOn as error:
                self._error = error
            if self._error:
                return
            if not self._is_closed:
                pause.wait(SYNC_EVERY)


def sync_folder(folder: Path) -> None:
    """See to it that names made in a folder survive a power cut."""
    try:
        descriptor = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
    except OSError as error:
        raise no_room(folder, error) from error


def no_room(path: Path, error: OSError) -> CannotGoOn:
    what_to_do = "make room" if error.errno in _FULL else "see to the disk"
    return CannotGoOn(
        f"{path} could not be written: {error.strerror}",
        hint=f"{what_to_do}, then run the same command again: what is in the journal is not called again",
    )
