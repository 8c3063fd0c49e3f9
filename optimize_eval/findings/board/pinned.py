"""The task files of a leaderboard, held against the sha256 that it has of them."""

from collections.abc import Iterator
from hashlib import file_digest
from pathlib import Path

from optimize_eval.base.errors import UsageError
from optimize_eval.base.frozen import frozen
from optimize_eval.findings.board.shapes import Board


@frozen
class PinnedFile:
    """A task file that a board is about: whether it is what it was."""

    path: str
    state: str  # "ok", "changed" or "gone"
    place: str  # where it is; empty if it is gone

    def to_dict(self) -> dict[str, str | None]:
        return {"path": self.path, "state": self.state, "found": self.place or None}


def check_files(board: Board, beside: str) -> list[PinnedFile]:
    """Look at each task file of a board, in the current folder, then in the board's own.

    A board that pins no file raises UsageError: that nothing was checked is not that all is well.
    """
    folder = Path(beside) if Path(beside).is_dir() else Path(beside).parent
    pinned = _pinned(board)
    if not pinned:
        raise UsageError(
            f"{beside} has no sha256 of a task file, so there is nothing to verify",
            hint="`optimize-eval bench` writes boards that have them",
        )
    return [_check(path, digests, folder) for path, digests in pinned.items()]


def _pinned(board: Board) -> dict[str, set[str]]:
    """Collect which digests a board has of each file: one, unless it was edited."""
    pinned = [(file.path, file.sha256) for file in board.files]
    pinned += [(task.path, task.sha256) for model in board.models for task in model.tasks]
    digests: dict[str, set[str]] = {}
    for path, sha256 in pinned:
        if path is not None and sha256 is not None:
            digests.setdefault(path, set()).add(sha256)
    return digests


def _check(path: str, digests: set[str], folder: Path) -> PinnedFile:
    for place in _places(path, folder):
        if place.is_file():
            with place.open("rb") as stream:
                same = {file_digest(stream, "sha256").hexdigest()} == digests
            return PinnedFile(path=path, state="ok" if same else "changed", place=str(place))
    return PinnedFile(path=path, state="gone", place="")


def _places(path: str, folder: Path) -> Iterator[Path]:
    yield Path(path)
    yield folder / path
