"""Where `-o` points: a file that is written whole or not at all, a device or pipe in its place, or stdout."""

import contextlib
import os
import stat
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from optimize_eval.base.errors import UsageError
from optimize_eval.cli import output
from optimize_eval.store.folder import is_of_ours, is_own_name

_STDOUT = frozenset({"-", "/dev/stdout", "/dev/fd/1", "/proc/self/fd/1"})


@dataclass(frozen=True, slots=True)
class Destination:
    """What somebody named to be written to."""

    text: str

    @property
    def is_stdout(self) -> bool:
        return self.text in _STDOUT

    @property
    def is_file(self) -> bool:
        """Return True if a file is made there: what is there already is one, or nothing."""
        try:
            return stat.S_ISREG(Path(self.text).stat().st_mode)
        except OSError:
            return not self.is_stdout

    def check(self, run: Path | None = None) -> None:
        """Refuse what must not be written to; `run` is a folder that this command makes a run in."""
        if self.is_stdout:
            return
        path = Path(os.path.realpath(self.text))
        if path.is_dir():
            raise UsageError(f"{self.text} cannot be written: it is a folder", hint="name a file with -o")
        is_run = run is not None and path.parent == Path(os.path.realpath(run))
        if is_own_name(path.name) and (is_run or is_of_ours(path.parent)):
            raise UsageError(
                f"{self.text} cannot be written: the run keeps its own {path.name} there",
                hint="name another file with -o",
            )

    def write(self, pieces: Iterable[bytes]) -> None:
        """Write there, or raise OSError; where a file is, the old or the new one stands, always."""
        if self.is_stdout:
            output.emit_bytes(pieces)
        elif self.is_file:
            _put(Path(os.path.realpath(self.text)), pieces)
        else:
            _pour(Path(self.text), pieces)


def _pour(path: Path, pieces: Iterable[bytes]) -> None:
    with path.open("wb") as stream:
        stream.writelines(pieces)


def _put(path: Path, pieces: Iterable[bytes]) -> None:
    draft = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        with draft.open("wb") as stream:
            stream.writelines(pieces)
            with contextlib.suppress(FileNotFoundError):
                os.fchmod(stream.fileno(), stat.S_IMODE(path.stat().st_mode))
        draft.replace(path)
    finally:
        with contextlib.suppress(OSError):
            draft.unlink(missing_ok=True)
