"""A run's folder: made, locked against a second process, written whole or not at all, and removed.

Of a removed run, what is not its own stays; run.json goes last, so that what a kill leaves is still known as
a run, and goes with the same command. Whether people want it is confirmed elsewhere.
"""

import contextlib
import errno
import fcntl
import json
import os
import shlex
import time
from collections.abc import Iterable, Iterator
from contextlib import suppress
from fnmatch import fnmatchcase
from pathlib import Path

import orjson

from optimize_eval.base import files
from optimize_eval.base.errors import UsageError
from optimize_eval.base.frozen import frozen
from optimize_eval.store.journal import has_damaged_start, no_room, sync_folder

MANIFEST, JOURNAL, SUMMARY = "run.json", "journal.jsonl", "summary.json"
LEADERBOARD = "leaderboard.json"  # of a bench
BOARD_STEM = LEADERBOARD.removesuffix("json")
OUTPUTS = "outputs.jsonl"  # of the models that tasks call
LOCK = "lock"
TRIED = "tried.json"  # what was tried before --fresh, or where --reuse took scores from
SEARCH, PROPOSALS, EVALUATIONS = "search.json", "search.jsonl", "evaluations.jsonl"  # of a search
BOARDS = "leaderboard*.json"  # made from a run of tasks, and made again at its end
_OWN = frozenset({MANIFEST, JOURNAL, SUMMARY, OUTPUTS, LOCK, SEARCH, PROPOSALS, EVALUATIONS, TRIED})

_USUAL = "runs"  # where commands make the folders of runs
_HELD = frozenset({errno.EWOULDBLOCK, errno.EACCES})
_A_LOOK = 0.05  # seconds, a thousand times as long as one takes
OUTPUTS_SCHEMA = "optimize-eval.outputs.v1"
_OURS = "optimize-eval."
_OURS_AT = b'{"schema":"optimize-eval.'
_GLANCE = 200  # bytes at the start of each of our files that say whose it is


class NotARun(UsageError):
    """A folder whose run.json is not one of ours, or cannot be understood."""


@contextlib.contextmanager
def hold_lock(folder: Path) -> Iterator[None]:
    """Hold a run's folder, made if it is missing; another process that holds it is named.

    The folder itself is locked, too, where that is possible: the file in it can be deleted by hand.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
        lock = os.open(folder / LOCK, os.O_RDWR | os.O_CREAT, 0o644)
        itself = os.open(folder, os.O_RDONLY)
    except (FileExistsError, NotADirectoryError):
        raise UsageError(
            f"{_file_in(folder)} is not a folder, and a run needs one", hint="choose another one with --out"
        ) from None
    except OSError as error:
        if error.errno == errno.ENOSPC:
            raise no_room(folder, error) from None
        raise UsageError(
            f"the run folder {folder} cannot be written: {error.strerror}",
            hint="choose another one with --out, or change its permissions",
        ) from None
    try:
        _hold(folder, lock, itself)
        yield
    finally:
        os.close(itself)  # which gives it back
        os.close(lock)


def holder(folder: Path) -> str | None:
    """Return the process that holds a run's folder: its number, "" where it is unknown, None for no process.

    Makes no file. The lock is shared with others that look, and held for an instant only.
    """
    for path in (folder / LOCK, folder):
        try:
            lock = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
        except OSError:
            continue
        try:
            fcntl.flock(lock, fcntl.LOCK_SH | fcntl.LOCK_NB)
        except OSError as error:
            if error.errno in _HELD:
                return _number_in(lock)
        finally:
            os.close(lock)
    return None


def _number_in(lock: int) -> str:
    """Read who holds a lock; a folder does not say."""
    try:
        return os.read(lock, 100).decode("ascii", "replace").strip()
    except IsADirectoryError:
        return ""


def _file_in(folder: Path) -> Path:
    return next((path for path in (folder, *folder.parents) if path.exists() and not path.is_dir()), folder)


def _hold(folder: Path, lock: int, itself: int) -> None:
    try:
        _take(lock)
        _take_itself(itself)
    except OSError as error:
        if error.errno not in _HELD:
            raise UsageError(
                f"the run folder {folder} cannot be locked: {error.strerror}", hint="use a local file system"
            ) from None
        number = _number_in(lock) if os.fstat(lock).st_size else ""
        raise UsageError(
            f"the run {folder} is in use by {f'process {number}' if number else 'another process'}",
            hint="wait for it, or choose another folder with --out",
        ) from None
    if not os.fstat(lock).st_nlink:
        raise UsageError(f"the run {folder} was removed just now", hint="run the same command again")
    with contextlib.suppress(OSError):  # a full disk: the lock holds without the number in it
        os.ftruncate(lock, 0)
        os.write(lock, f"{os.getpid()}\n".encode())


def _take_itself(folder: int) -> None:
    """Take a folder's own lock; not every file system has one."""
    try:
        _take(folder)
    except OSError as error:
        if error.errno in _HELD:
            raise


def _take(lock: int) -> None:
    """Take a lock; retry once if it is held: another process may only have looked."""
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        if error.errno not in _HELD:
            raise
        time.sleep(_A_LOOK)
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)


def write_json(path: Path, value: object) -> None:
    """Write a document beside its place, then put it there: the old or the new one stands, always."""
    put(path, indent(value))


def put(path: Path, text: bytes) -> None:
    """Write a text beside its place, then put it there."""
    draft = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        with draft.open("wb") as stream:
            stream.write(text + b"\n")
            stream.flush()
            os.fsync(stream.fileno())
        draft.replace(path)
    except BaseException as error:
        with contextlib.suppress(OSError):
            draft.unlink(missing_ok=True)
        if isinstance(error, OSError):
            raise no_room(path, error) from error
        raise
    sync_folder(path.parent)


def indent(value: object) -> bytes:
    """Write JSON for people."""
    try:
        return orjson.dumps(value, option=orjson.OPT_INDENT_2)
    except TypeError:  # an integer beyond 64 bits, or the name of a file that is not UTF-8
        return json.dumps(value, ensure_ascii=False, indent=2).encode(errors="backslashreplace")


def hint_for_missing(run: str | Path) -> str:
    """Say what to name where a path holds no run: it may be a name alone, as `runs` lists them."""
    if (Path(_USUAL) / run / MANIFEST).is_file():
        return f"name its folder: {shlex.quote(str(Path(_USUAL) / run))}"
    listed = f"`optimize-eval runs` lists the names in {_USUAL}/"
    if Path(run).suffix and not Path(run).exists():
        return f"there is no file of this name either; of runs, {listed}"
    return f"name a run's folder, such as {_USUAL}/NAME: {listed}"


def has_our_files(folder: Path) -> bool:
    """Return True if, at a glance, a folder with a run.json is a run of ours, also a damaged one."""
    return (folder / MANIFEST).is_file() and is_of_ours(folder)


def is_own_name(name: str) -> bool:
    """Return True if a run or a search keeps a file of this name in its folder."""
    return name in _OWN or fnmatchcase(name, BOARDS)


def is_of_ours(folder: Path) -> bool:
    """Return True if, at a glance, a folder has a run's manifest or journal, or a search's."""
    return any(
        _OURS.encode() in _glance(folder / name)
        for name in (MANIFEST, JOURNAL, PROPOSALS)
        if (folder / name).is_file()  # and no pipe, which would never end
    )


def _glance(path: Path) -> bytes:
    with files.open_file(path) as stream:
        return stream.read(_GLANCE)


def refuse_foreign(folder: Path) -> None:
    """Refuse a folder where a file of somebody else has a name that we would write to."""
    for name in (MANIFEST, JOURNAL, SUMMARY, OUTPUTS, SEARCH, PROPOSALS):
        try:
            start = _glance(folder / name)
        except (FileNotFoundError, NotADirectoryError):
            continue
        except OSError as error:
            raise UsageError(
                f"{folder / name} cannot be read: {error.strerror}", hint="choose another --out"
            ) from None
        is_torn = name in {JOURNAL, OUTPUTS, PROPOSALS} and _OURS_AT.startswith(start)  # as it was begun
        is_torn |= name == JOURNAL and has_our_files(folder)  # its first line may be damaged
        if _OURS.encode() in start or is_torn:
            continue
        if name not in {OUTPUTS, PROPOSALS} or not has_damaged_start(folder / name):
            raise NotARun(
                f"{folder / name} was not written by optimize-eval, or is damaged",
                hint="put back what it was, or choose another folder with --out",
            )


_NAMES = (  # in the order in which they go
    *(SUMMARY, "report.html", "some.html", "diff.html", OUTPUTS, SEARCH, EVALUATIONS, PROPOSALS),
    *(TRIED, JOURNAL, MANIFEST, LOCK),
)
_PATTERNS = (
    BOARDS,
    *(f".{name}.[0-9]*" for name in (*_NAMES, BOARDS)),
)  # boards, and drafts that a kill left


@frozen
class Removal:
    """What goes with a run, or went with it: its files and their size; `others` are not its own and stay."""

    folder: Path
    files: tuple[str, ...]
    bytes: int
    others: tuple[str, ...]


def plan_removals(runs: Iterable[str]) -> list[Removal]:
    """List what would be removed; raises UsageError for the first that is no run or is being worked on."""
    planned = [(_plan_removal(Path(run)), Path(run).resolve()) for run in runs if _is_named(run)]
    return list({path: removal for removal, path in planned}.values())


def remove(folder: Path) -> Removal:
    """Remove a run; raises UsageError where it cannot be."""
    with hold_lock(folder):
        removal = _plan_removal(folder, is_held=True)
        for name in removal.files:
            (folder / name).unlink(missing_ok=True)
    if not removal.others:
        with suppress(OSError):  # somebody put something there meanwhile
            folder.rmdir()
    return removal


def _is_named(run: str) -> bool:
    if not run:
        raise UsageError("the name of a run is empty", hint="name its folder")
    return True


def _plan_removal(folder: Path, *, is_held: bool = False) -> Removal:
    """List what is there of a run; `is_held` by ourselves."""
    if folder.is_symlink():
        raise UsageError(f"{folder} is a link", hint=f"name the folder that it leads to: {folder.readlink()}")
    if not folder.is_dir():
        raise UsageError(f"there is no run in {str(folder)!r}", hint=hint_for_missing(folder))
    files = list(dict.fromkeys(_files(folder)))
    others = sorted({path.name for path in folder.iterdir()}.difference(files))
    is_left = LOCK in files and not others  # of a run, by a kill
    if not (is_left or is_of_ours(folder)):
        raise UsageError(f"{folder} is not a run of optimize-eval", hint=hint_for_missing(folder))
    if not is_held and (process := holder(folder)) is not None:
        by = f"process {process}" if process else "another process"
        raise UsageError(f"the run {folder} is in use by {by}", hint="wait for it, or end it first")
    size = sum((folder / name).stat().st_size for name in files)
    return Removal(folder=folder, files=tuple(files), bytes=size, others=tuple(others))


def _files(folder: Path) -> Iterator[str]:
    paths = [path for pattern in _PATTERNS for path in sorted(folder.glob(pattern))]
    for path in (*paths, *(folder / name for name in _NAMES)):
        if path.is_symlink():
            raise UsageError(f"{path} is a link out of the run", hint="remove the link itself first")
        if path.is_file():
            yield path.name
