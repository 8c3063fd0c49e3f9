"""Standard streams that are not there: opened on nothing, so that no other file takes their number."""

import os
import sys
from contextlib import suppress


def complete() -> None:
    """Give a process that was started with closed standard streams ones that lead nowhere."""
    for number, name in enumerate(("stdin", "stdout", "stderr")):
        if getattr(sys, name) is None:
            with suppress(OSError):
                _open(number, name)


def _open(number: int, name: str) -> None:
    fd = os.open(os.devnull, os.O_RDWR)
    if fd != number:
        os.dup2(fd, number)
        os.close(fd)
    setattr(sys, name, os.fdopen(number, "r" if name == "stdin" else "w", encoding="utf-8"))
