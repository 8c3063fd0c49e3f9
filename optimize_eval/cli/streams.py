"""Standard streams that are not there, from the start or any more: they lead nowhere instead."""

import os
import sys
from contextlib import suppress


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
