"""A run removed from the disk: its own files, one by one, then its folder where nothing else stands in it.

What is not of the run stays. The manifest goes last, so that what a kill leaves is still known as a run, and
goes with the same command. Whether people want it is confirmed elsewhere.
"""

from collections.abc import Iterable, Iterator
from contextlib import suppress
from pathlib import Path

from optimize_eval.base.errors import UsageError
from optimize_eval.base.frozen import frozen
from optimize_eval.store.folder import (
    BOARDS,
    EVALUATIONS,
    JOURNAL,
    LOCK,
    MANIFEST,
    OUTPUTS,
    PROPOSALS,
    SEARCH,
    SUMMARY,
    TRIED,
    hint_for_missing,
    holder,
    is_of_ours,
    locked,
)

_NAMES = (  # in the order in which they go
    *(SUMMARY, "report.html", "some.html", "diff.html", OUTPUTS, SEARCH, EVALUATIONS, PROPOSALS),
    *(TRIED, JOURNAL, f"{MANIFEST}.v1", MANIFEST, LOCK),
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
    planned = [(_planned(Path(run)), Path(run).resolve()) for run in runs if _is_named(run)]
    return list({place: removal for removal, place in planned}.values())


def remove(folder: Path) -> Removal:
    """Remove a run; raises UsageError where it cannot be."""
    with locked(folder):
        removal = _planned(folder, is_held=True)
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


def _planned(folder: Path, *, is_held: bool = False) -> Removal:
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
