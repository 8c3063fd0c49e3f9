"""Build a bare world and run a command in it, which is the tests if none is said.

    python -m tests.bare [COMMAND…]

A new root holds this interpreter, its libraries and packages, a copy of this checkout, and the tools below:
no more of /bin and /usr/bin than `sh` and `env`. There is the loopback network alone, TMPDIR has a blank, and
the account 65534 has no right to make namespaces. bubblewrap makes the root
and takes all of it away in the end.
"""

import os
import shutil
import subprocess
import sys
import sysconfig
import tempfile
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
ACCOUNT = 65534
TOOLS = (
    "awk basename bash cat chgrp chmod chown cksum clear cmp comm cp cut date dd df diff dirname du "
    "echo egrep env expand expr false fgrep find fmt fold git grep groups gunzip gzip head hostname id "
    "install join kill link ln ls md5sum mkdir mkfifo mktemp mv nice nl nohup nproc od paste pathchk pr "
    "printenv printf pwd readlink realpath rm rmdir sed seq sh sha256sum shuf sleep sort split stat "
    "stty sum sync tac tail tar tee test timeout touch tr true truncate tty uname uniq wc whoami xargs "
    "yes"
)
_TESTS = ["-m", "pytest", "-q"]
_PROFILE = {  # what an account finds at its start; locales and zones are the host's
    "passwd": f"root:x:0:0:root:/root:/bin/sh\nnobody:x:{ACCOUNT}:{ACCOUNT}:nobody:/home:/bin/sh\n",
    "group": f"root:x:0:\nnogroup:x:{ACCOUNT}:\n",
    "hosts": "127.0.0.1 localhost\n::1 localhost\n",
    "nsswitch.conf": "passwd: files\ngroup: files\nhosts: files\n",
}


def _furnish(folder: Path) -> None:
    """Write what the world has of its own: tools, accounts, a copy of the checkout."""
    (folder / "tools").mkdir()
    for name in TOOLS.split():
        if at := shutil.which(name):
            shutil.copy(Path(at).resolve(), folder / "tools" / name)
    (folder / "etc").mkdir()
    for name, text in _PROFILE.items():
        (folder / "etc" / name).write_text(text)
    (folder / "home" / "a folder").mkdir(parents=True)
    listed = ["git", "-C", str(ROOT), "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    for name in filter(None, subprocess.check_output(listed, text=True).split("\0")):
        target = folder / "checkout" / name
        target.parent.mkdir(parents=True, exist_ok=True)
        if (ROOT / name).exists():
            shutil.copy(ROOT / name, target, follow_symlinks=False)
    if os.geteuid() == 0:
        subprocess.run(["chown", "-R", f"{ACCOUNT}:{ACCOUNT}", *map(str, folder.glob("[ch]*"))], check=True)


def _bound() -> Iterator[Path]:
    """List what is shown of the host: the interpreter, its libraries and packages."""
    python = Path(sys.executable)
    while python.is_symlink():
        python = python.parent / python.readlink()
        yield python
    yield Path(sysconfig.get_path("stdlib")).parent
    yield from map(Path, ("/usr/lib", "/usr/lib64", "/lib", "/lib64", "/etc/ld.so.cache"))
    yield from map(
        Path, ("/etc/ssl/certs", "/usr/share/ca-certificates", "/usr/share/zoneinfo", "/usr/share/git-core")
    )
    yield from Path(sys.base_prefix, "lib").glob("libpython*")


def _root(folder: Path) -> list[str]:
    def shown(way: str, source: Path, target: Path | str) -> list[str]:
        return [f"--{way}", str(source), str(target)]

    words = ["bwrap", "--unshare-pid", "--unshare-net", "--unshare-ipc", "--unshare-uts", "--die-with-parent"]
    words += ["--cap-add", "CAP_SETUID", "--cap-add", "CAP_SETGID"] if os.geteuid() == 0 else []
    words += [] if os.geteuid() == 0 else ["--unshare-user", "--uid", str(ACCOUNT), "--gid", str(ACCOUNT)]
    within = [*dict.fromkeys(path for path in _bound() if not path.is_relative_to(sys.prefix)), ROOT]
    parents = {parent for path in [*within, Path(sys.prefix)] for parent in path.parents} - {
        Path("/"),
        *within,
    }
    parents |= {Path("/bin"), Path("/usr/bin")}
    words += ["--proc", "/proc", "--dev", "/dev", "--tmpfs", "/tmp"]  # noqa: S108  its own
    words += [part for path in ("/tmp", "/dev/shm") for part in ("--chmod", "1777", path)]  # noqa: S108
    words += [part for path in sorted(parents - {Path("/tmp")}) for part in ("--dir", str(path))]  # noqa: S108
    for path in within[:-1]:
        if path.is_symlink() and path.parent == Path("/"):
            words += ["--symlink", str(path.readlink()), str(path)]
        elif path.exists():
            words += shown("ro-bind", path, path)
    words += shown("ro-bind", folder / "tools", "/tools") + shown("bind", folder / "home", "/home")
    words += [part for name in _PROFILE for part in shown("ro-bind", folder / "etc" / name, f"/etc/{name}")]
    words += ["--symlink", "/tools/sh", "/bin/sh", "--symlink", "/tools/env", "/usr/bin/env"]
    words += shown("bind", folder / "checkout", ROOT) + shown("ro-bind", Path(sys.prefix), sys.prefix)
    return [*words, "--chmod", "0755", "/", "--remount-ro", "/", "--chdir", str(ROOT), "--clearenv"]


def run(command: list[str]) -> int:
    """Run a command in a bare world, and say how it ended."""
    environment = {"PATH": "/tools", "HOME": "/home", "TMPDIR": "/home/a folder", "LANG": "C.UTF-8"}
    with tempfile.TemporaryDirectory(prefix="bare-") as name:
        folder = Path(name)
        folder.chmod(0o755)
        _furnish(folder)
        words = _root(folder)
        words += [part for pair in environment.items() for part in ("--setenv", *pair)]
        inside = [sys.executable, str(ROOT / "tests" / "no_namespaces.py"), "--account", str(ACCOUNT)]
        return subprocess.run([*words, "--", *inside, *command], check=False).returncode


if __name__ == "__main__":
    sys.exit(run(sys.argv[1:] or [sys.executable, *_TESTS]))
