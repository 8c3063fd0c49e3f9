"""What there is to be had for code that tries to get out of a sandbox."""

import os
import socket
import subprocess
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from tests.processes import numbers

_SYSTEMS = "/usr/bin/python3"  # the tests' own may be where others cannot go
ORDINARY = ["setpriv", "--reuid", "65534", "--regid", "65534", "--clear-groups", "--", _SYSTEMS]


@dataclass(frozen=True, slots=True)
class World:
    """What there is to be had, and what shows afterwards whether somebody had it."""

    folder: Path
    had: Mapping[str, Any]
    listening: tuple[socket.socket, ...]
    victim: subprocess.Popen[bytes]
    spared: frozenset[str]  # processes that were there before

    def untouched(self) -> None:
        assert self.victim.poll() is None
        secret = self.folder / "secret"
        assert (secret.read_text(), secret.stat().st_mode & 0o777) == ("secret", 0o666)
        assert sorted(path.name for path in self.folder.iterdir()) == ["secret", "socket"]
        assert secret.stat().st_mtime > 1
        for one in self.listening:
            with pytest.raises(BlockingIOError):
                one.accept() if one.type == socket.SOCK_STREAM else one.recv(1)
        token = self.had["token"]
        assert token not in map(_name_of, numbers() - self.spared)


def _name_of(process: str) -> str:
    try:
        with open(f"/proc/{process}/comm") as file:  # noqa: PTH123  for each new process after each escape: no Paths
            return file.read().strip()
    except OSError:  # it has ended
        return ""


@contextmanager
def a_world(shared: Path, *, ordinary: bool) -> Iterator[World]:
    folder = shared / "world"
    folder.mkdir(mode=0o777)
    folder.chmod(0o777)
    (folder / "secret").write_text("secret")
    (folder / "secret").chmod(0o666)
    token = f"oe{os.getpid()}{folder.parent.name[-4:]}"[:15]
    with ExitStack() as ending:
        made = [
            ending.enter_context(socket.socket(kind, way)) for kind, way in ((2, 1), (1, 1), (1, 1), (1, 2))
        ]
        made[0].bind(("127.0.0.1", 0))
        made[1].bind(str(folder / "socket"))
        made[2].bind(f"\0{token}")
        made[3].bind(f"\0{token}d")
        (folder / "socket").chmod(0o777)
        for one in made:
            one.settimeout(0)
            if one.type == socket.SOCK_STREAM:
                one.listen()
        account = ORDINARY[:-1] if ordinary else []
        victim = subprocess.Popen([*account, "sleep", "1000"])
        ending.enter_context(victim)
        ending.callback(victim.kill)
        had = {
            "secret": str(folder / "secret"),
            "folder": str(folder),
            "harness": str(shared / "code_exec.py"),
            "port": made[0].getsockname()[1],
            "path": str(folder / "socket"),
            "abstract": token,
            "victim": victim.pid,
            "token": token,
        }
        yield World(folder, had, tuple(made), victim, numbers())
