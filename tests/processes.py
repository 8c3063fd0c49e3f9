"""What a test leaves behind: living processes, open descriptors."""

import os
import sys
from pathlib import Path

MARK = "OPTIMIZE_EVAL_TEST"


def numbers() -> frozenset[str]:
    """List the processes that there are; none on systems without a table to read."""
    names = os.listdir("/proc") if sys.platform == "linux" else []  # noqa: PTH208  twice a test: no Paths
    return frozenset(filter(str.isdigit, names))


def processes_with(entry: bytes, spared: frozenset[str] = frozenset()) -> list[str]:
    """List the command lines of living processes whose environment has an entry, but for those spared."""
    others = numbers() - spared - {str(os.getpid())}
    found = [
        _command_line(path) for path in map(Path("/proc").joinpath, others) if _environment_has(path, entry)
    ]
    return [line for line in found if line]


def _command_line(folder: Path) -> str:
    try:
        return (folder / "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
    except OSError:  # it ended meanwhile
        return ""


def _environment_has(folder: Path, entry: bytes) -> bool:
    try:
        return entry in (folder / "environ").read_bytes().split(b"\0")
    except OSError:
        return False


def descriptors() -> int:
    """Count what this process has open."""
    folder = "/proc/self/fd" if sys.platform == "linux" else "/dev/fd"
    return len(os.listdir(folder))  # noqa: PTH208  as above
