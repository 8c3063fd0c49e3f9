"""The files that a task file names: relative to where they are named, never outside of the task's folder.

Of a task in a folder that was named, this is that folder.
"""

import os
from pathlib import Path

from optimize_eval.base import files
from optimize_eval.base.frozen import frozen

MOST = 1 << 20  # bytes

_CAP = files.Cap("a file of a task", MOST, "a task is made of short texts")


class BadPath(ValueError):
    """Why a file cannot be taken."""


@frozen
class Folder:
    """The folder tree that a task may read."""

    root: Path  # resolved

    @classmethod
    def of(cls, path: str, named: str = "") -> "Folder":
        """Give the folder of a file, or the one that was named, which has the file in it."""
        return cls(root=(Path(named) if named else Path(path).parent).resolve())

    def find(self, named: str, beside: str) -> str:
        """Find the file that another names, as a path like the other's, or raise BadPath."""
        if "://" in named:
            raise BadPath("files are named by their paths, and nothing is fetched")
        if not named.strip() or "\0" in named:
            raise BadPath("a path must not be empty, or hold a NUL")
        if os.path.isabs(named) or named.startswith("~"):  # noqa: PTH117  as it is written
            raise BadPath("a path is relative to the file it stands in, not absolute")
        path = os.path.normpath(os.path.join(os.path.dirname(beside), named))  # noqa: PTH118, PTH120  it stays as named
        self._check(path, named)
        return path

    def _check(self, path: str, named: str) -> None:
        outside = f"{named} is outside of the task's folder, {self.root.name or self.root}"
        if not Path(os.path.abspath(path)).is_relative_to(_unresolved(self.root, path)):  # noqa: PTH100  links stay
            raise BadPath(outside)
        try:
            target = Path(path).resolve(strict=True)
        except (OSError, RuntimeError):
            return  # reading it says why
        if not target.is_relative_to(self.root):
            raise BadPath(f"{outside}: it is a link to there" if Path(path).is_symlink() else outside)


def _unresolved(root: Path, path: str) -> Path:
    """Give the folder as it is written where the path is not written with its real name."""
    whole = Path(os.path.abspath(path))  # noqa: PTH100  links stay
    if whole.is_relative_to(root):
        return root
    return next((one for one in whole.parents if one.resolve() == root), root)


def read_text(path: str) -> str:
    """Read a file of UTF-8, or raise BadPath."""
    try:
        data = files.load(path, _CAP)
    except files.Refused as error:
        raise BadPath(error.reason) from None
    except FileNotFoundError:
        raise BadPath(f"there is no file {path}{files.nearest(Path(path))}") from None
    except OSError as error:
        raise BadPath(f"{path} cannot be read: {error.strerror}") from None
    return decoded(data)


def decoded(data: bytes) -> str:
    try:
        return data.decode("utf-8-sig").replace("\r\n", "\n")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise BadPath(f"not UTF-8: byte 0x{data[error.start]:02X} in line {line}") from None
