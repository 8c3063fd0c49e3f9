"""A disk that fails once: one write, sync, cut or renaming of a file in a folder is half done, and raises."""

import errno
import os
import threading
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple, Self

import pytest

_OF_DESCRIPTORS = ("write", "fsync", "fdatasync", "ftruncate")


class Step(NamedTuple):
    """Something that is done to a file: which call of an operation, from 1."""

    operation: str
    file: str
    number: int


class FailingDisk:
    """Counts what is done to the files of a folder, and lets the step fail that is asked for."""

    def __init__(self, folder: Path, failing: Step | None = None, why: int = errno.ENOSPC) -> None:
        self._folder = str(folder)
        self._why = why
        self._failing = failing
        self._counts: Counter[tuple[str, str]] = Counter()
        self._lock = threading.Lock()
        self.steps: list[Step] = []

    def install(self, patch: pytest.MonkeyPatch) -> None:
        for name in _OF_DESCRIPTORS:
            patch.setattr(os, name, self._by_descriptor(name, getattr(os, name)))
        patch.setattr(os, "replace", self._renaming(os.replace))
        patch.setattr(Path, "open", self._opening(Path.open))

    def _fails(self, operation: str, path: str) -> bool:
        """Count a step; a draft counts as the file that it becomes."""
        if not path.startswith(self._folder):
            return False
        name = path.removeprefix(self._folder).lstrip("/").removesuffix(f".{os.getpid()}").lstrip(".")
        with self._lock:
            self._counts[operation, name] += 1
            step = Step(operation, name, self._counts[operation, name])
            self.steps.append(step)
        return step == self._failing

    def _fault(self) -> OSError:
        return OSError(self._why, os.strerror(self._why))

    def _by_descriptor(self, name: str, real: Callable[..., Any]) -> Callable[..., Any]:
        def run(descriptor: int, *given: Any) -> Any:
            if not self._fails(name, str(Path(f"/proc/self/fd/{descriptor}").readlink())):
                return None if "sync" in name else real(descriptor, *given)  # no power is cut here
            if name == "write":
                real(descriptor, given[0][: len(given[0]) // 2])
            raise self._fault()

        return run

    def _renaming(self, real: Callable[..., None]) -> Callable[..., None]:
        def run(old: Any, new: Any, **how: Any) -> None:
            if self._fails("rename", os.path.abspath(new)):  # noqa: PTH100  as it is written
                raise self._fault()
            real(old, new, **how)

        return run

    def _opening(self, real: Callable[..., Any]) -> Callable[..., Any]:
        def run(path: Path, mode: str = "r", *given: Any, **how: Any) -> Any:
            stream = real(path, mode, *given, **how)
            return _Stream(stream, self._fails, self._fault) if mode == "wb" else stream

        return run


class _Stream:
    """A file that is open for writing, of which a write may fail."""

    def __init__(self, stream: Any, fails: Callable[[str, str], bool], fault: Callable[[], OSError]) -> None:
        self._stream = stream
        self._fails = fails
        self._fault = fault

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._stream.close()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)

    def write(self, text: bytes) -> None:
        if self._fails("write", os.path.abspath(self._stream.name)):  # noqa: PTH100  as it is written
            self._stream.write(text[: len(text) // 2])
            raise self._fault()
        self._stream.write(text)
