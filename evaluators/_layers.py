"""What this machine has to close a program in, and what of its files an interpreter needs.

`shown` are further files and folders that a program may read. Which layers are used, and what they promise,
is the sandbox's business.
"""

from __future__ import annotations

import os
import sys
import sysconfig
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

LINUX = sys.platform == "linux"
EXECUTABLE = Path(sys.executable).resolve()

_DEVICES = ("/dev/null", "/dev/urandom")
_CAPABILITIES = ("CAP_SYS_ADMIN", "CAP_SETUID", "CAP_SETGID")  # until it has closed itself in


@cache
def outside(mechanism: str, shown: tuple[Path, ...]) -> list[str]:
    """Write the command before the interpreter: the tool that makes the namespaces."""
    unmapped = not LINUX or os.geteuid() == 0  # root needs none, and leaves its account by itself
    if mechanism == "bubblewrap":
        user = ["--unshare-user-try"] if not unmapped else []
        command = ["bwrap", *user, "--unshare-pid", "--unshare-net", "--unshare-ipc", "--unshare-uts"]
        command += ["--unshare-cgroup-try", "--die-with-parent", "--new-session", "--clearenv"]
        command += [
            part for name, value in environment("/scratch").items() for part in ("--setenv", name, value)
        ]
        command += [part for parent in _parents(shown) for part in ("--dir", str(parent))]
        command += [part for path in _visible(shown) for part in _bound(path)]
        hidden = _packages(shown)
        command += [part for path in hidden for part in ("--tmpfs", str(path), "--remount-ro", str(path))]
        command += ["--dir", "/scratch", "--dir", "/dev"]
        command += [part for name in _DEVICES for part in ("--dev-bind", name, name)]
        command += ["--remount-ro", "/", "--cap-drop", "ALL"]
        return [*command, *(part for name in _CAPABILITIES for part in ("--cap-add", name)), "--"]
    if mechanism == "namespaces":
        user = [] if unmapped else ["--map-root-user"]
        command = ["setpriv", "--pdeathsig", "KILL", "unshare", *user, "--net", "--pid", "--mount", "--ipc"]
        return [*command, "--uts", "--fork", "--kill-child"]
    return []


def _bound(path: Path) -> list[str]:
    """Show a path inside, read-only; a link such as /lib stays one."""
    is_link = path.is_symlink() and path.parent == Path("/")
    return ["--symlink", str(path.readlink()), str(path)] if is_link else ["--ro-bind", str(path), str(path)]


def environment(scratch: str) -> dict[str, str]:
    folder = scratch or "/"
    return {
        "PATH": "/usr/bin:/bin",
        "LANG": "C.UTF-8",
        "PYTHONHASHSEED": "0",
        "HOME": folder,
        "TMPDIR": folder,
    }


def _visible(shown: tuple[Path, ...]) -> list[Path]:
    """List what an interpreter needs of the file system, and what else is shown."""
    own = [EXECUTABLE, Path(sys.base_prefix) / "lib", Path(sys.base_exec_prefix) / "lib"]
    shared = [Path(name) for name in ("/usr/lib", "/usr/lib64", "/lib", "/lib64")]
    data = [Path("/etc/ld.so.cache"), Path("/usr/share/zoneinfo")]
    return list(dict.fromkeys(path for path in [*shared, *own, *data, *shown] if path.exists()))


def _parents(shown: tuple[Path, ...]) -> list[Path]:
    """List the folders above the visible, outermost first; bubblewrap would close some to others."""
    visible = _visible(shown)
    found = {parent for path in visible for parent in path.parents} - {Path("/"), *visible}
    return sorted(one for one in found if not any(one.is_relative_to(path) for path in visible))


def _packages(shown: tuple[Path, ...]) -> list[Path]:
    """List what stands within the visible but is not the interpreter's: there may be somebody's data."""
    found = [Path(sysconfig.get_path(name)) for name in ("purelib", "platlib")]
    library = Path(sysconfig.get_path("stdlib"))
    found += [library / "site-packages", library / "dist-packages"]
    within = [path for path in found if path.is_dir() and path.is_relative_to(library.parent)]
    return [path for path in dict.fromkeys(within) if path not in shown]


@cache
def readable(shown: tuple[Path, ...]) -> tuple[bytes, ...]:
    """List the same without the packages; Landlock knows no exceptions, so what is beside them is listed."""
    hidden = _packages(shown)

    def within(path: Path) -> Iterator[Path]:
        if path in hidden:
            return
        if any(one.is_relative_to(path) for one in hidden):
            for inner in path.iterdir():
                yield from within(inner)
        elif path.exists():
            yield path

    return tuple(os.fsencode(path) for one in _visible(shown) for path in within(one.resolve()))


def shown_to_all(shown: tuple[Path, ...]) -> bool:
    """Return True if an account that has nothing may read what is shown, once it is there."""
    return all(path.stat().st_mode & 0o004 for path in shown)


@cache
def open_to_all(shown: tuple[Path, ...]) -> bool:
    """Return True if an account that has nothing can reach the interpreter and what is shown."""
    needed = [Path(os.__file__), *shown]
    folders = [*needed, *EXECUTABLE.parents, *(parent for path in needed for parent in path.parents)]
    return all(path.stat().st_mode & (0o001 if path.is_dir() else 0o004) for path in dict.fromkeys(folders))
