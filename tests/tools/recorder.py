"""Plays sessions of the product as users have them, and stores every byte that is no time.

    python -m tests.tools.recorder record DIR     play all sessions, and store them in DIR
    python -m tests.tools.recorder compare DIR    play them again from this tree: what differs?

For changes that are to change nothing: record before the first, compare after each.
"""

import argparse
import signal
import subprocess
import sys
import time
from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from itertools import zip_longest
from pathlib import Path

from tests.paths import ROOT
from tests.tools.sessions import SESSIONS
from tests.tools.stage import Recording, staged

_AROUND, _SHOWN = 60, 160  # letters of a line: before what differs, and in all
_MOST = 5  # files of a session that are shown


def main(arguments: Sequence[str] | None = None) -> int:
    given = _parsed(arguments)
    _refuse_other_package()
    if (
        signal.getsignal(signal.SIGINT) is signal.SIG_IGN
    ):  # by a shell's &: what we end by it would inherit that
        signal.signal(signal.SIGINT, signal.default_int_handler)
    begun = time.monotonic()
    names = _chosen(given.only, given.dir if given.what == "compare" else None)
    with ThreadPoolExecutor(given.jobs) as pool:
        played = zip(names, pool.map(play, names), strict=True)
        status = _record(given.dir, played) if given.what == "record" else _compare(given, played)
    _say(f"{len(names)} sessions in {time.monotonic() - begun:.0f} s")
    return status


def _parsed(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m tests.tools.recorder",
        description=(__doc__ or "").partition("\n")[0],
        epilog="compare exits with 1 where anything differs.",
    )
    parser.add_argument("what", choices=("record", "compare"))
    parser.add_argument("dir", metavar="DIR", type=Path, help="where the recording is")
    parser.add_argument("--only", metavar="NAME", nargs="+", default=[], help="sessions; else all")
    parser.add_argument("-j", "--jobs", metavar="N", type=int, default=2, help="sessions at once (2)")
    parser.add_argument("--keep", metavar="NEW", type=Path, help="compare: store what was played there")
    return parser.parse_args(arguments)


def _chosen(only: Sequence[str], folder: Path | None) -> list[str]:
    """Name the sessions to play; those of a recording, where there is one."""
    if unknown := [name for name in only if name not in SESSIONS]:
        raise SystemExit(f"no session is named {', '.join(unknown)}; there are {', '.join(SESSIONS)}")
    if folder and not folder.is_dir():
        raise SystemExit(f"there is no recording in {folder}: record one first")
    return [name for name in SESSIONS if not only or name in only]


def _refuse_other_package() -> None:
    """End where commands would play what is installed from elsewhere, or nothing."""
    asked = [sys.executable, "-c", "import optimize_eval; print(optimize_eval.__file__)"]
    told = subprocess.run(asked, capture_output=True, text=True, cwd="/", check=False).stdout.strip()
    if told != str(ROOT / "optimize_eval" / "__init__.py"):
        raise SystemExit(f"{sys.executable} has {told or 'no optimize_eval'}, not that of {ROOT}")


def play(name: str) -> Recording:
    """Play a session in a folder of its own."""
    with staged(list(SESSIONS).index(name)) as stage:
        SESSIONS[name](stage)
        return stage.recording


def _record(folder: Path, played: Iterable[tuple[str, Recording]]) -> int:
    for name, recording in played:
        store(folder / name, recording)
        _say(f"{name}: {len(recording)} files")
    return 0


def _compare(given: argparse.Namespace, played: Iterable[tuple[str, Recording]]) -> int:
    differ = 0
    for name, recording in played:
        if given.keep:
            store(given.keep / name, recording)
        if lines := differences(stored(given.dir / name), recording):
            differ += 1
            _say("\n".join([f"{name}: {_counted(len(lines), 'file')}", *lines[:_MOST]]))
            _say(*([f"  … and {len(lines) - _MOST} further files"] if len(lines) > _MOST else []))
    _say(_counted(differ, "session") if differ else "all are as recorded")
    return min(differ, 1)


def _counted(count: int, noun: str) -> str:
    return f"1 {noun} differs" if count == 1 else f"{count} {noun}s differ"


def store(folder: Path, recording: Mapping[str, bytes]) -> None:
    """Write a recording in the place of a former one of ours."""
    for path in sorted(folder.rglob("*"), reverse=True):
        path.rmdir() if path.is_dir() else path.unlink()
    for name, content in recording.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)


def stored(folder: Path) -> Recording:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def differences(before: Mapping[str, bytes], after: Mapping[str, bytes]) -> list[str]:
    """Say of each file that is not the same where it first differs."""
    return [
        _difference(name, before.get(name), after.get(name))
        for name in sorted({*before, *after})
        if before.get(name) != after.get(name)
    ]


def _difference(name: str, before: bytes | None, after: bytes | None) -> str:
    if before is None or after is None:
        return f"  {name}: {'is new' if before is None else 'is gone'}"
    pairs = zip_longest(_lines(before), _lines(after))
    number, old, new = next((number, *pair) for number, pair in enumerate(pairs, 1) if pair[0] != pair[1])
    shown = partial(_excerpt, begin=_common(old or "", new or "") - _AROUND)
    return f"  {name}:{number}\n    - {shown(old)}\n    + {shown(new)}"


def _lines(content: bytes) -> list[str]:
    return content.decode(errors="backslashreplace").split("\n")


def _common(old: str, new: str) -> int:
    return next((place for place, pair in enumerate(zip(old, new, strict=False)) if pair[0] != pair[1]), 0)


def _excerpt(line: str | None, begin: int) -> str:
    if line is None:
        return "(the end)"
    first = max(0, begin)
    return f"{'…' if first else ''}{line[first : first + _SHOWN]}{'…' if line[first + _SHOWN :] else ''}"


def _say(*lines: str) -> None:
    sys.stdout.writelines(f"{line}\n" for line in lines)
    sys.stdout.flush()


if __name__ == "__main__":
    sys.exit(main())
