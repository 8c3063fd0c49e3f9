"""A sandbox for Python programs that nobody trusts. It knows nothing of what they are for.

Threat model. The program is hostile: any code, with the rights of whoever starts it, as long as it may run.
It may want to read files (what is to be scored, keys, other people's work), to write them, to reach the
network, to signal or trace other processes, to use up the machine, to outlive its time, and to fool whoever
reads what it writes. The kernel, the interpreter and the tools named here are trusted; who reads a line
that the program wrote takes it for hostile data. Time that others can measure is not hidden.

Promise        kept by
files          bubblewrap (a new root, read-only, a small tmpfs to write), or Landlock with seccomp, where
               stat still tells names, sizes and times of files, because imports need it (`visible`).
               Where nobody can mount, the folder to write is one on disk, which is removed with the program
network        a network namespace (bubblewrap, unshare), or seccomp: no sockets but pairs
signals        a PID namespace (bubblewrap, unshare), or seccomp; ptrace and the like are always closed
memory         rlimits with seccomp: one process, no memory outside its address space; tmpfs has a size

Three levels: `strict` refuses to start without all four, `best-effort` says what is missing, `none` adds
nothing. What is available is tried once, in a child. The program starts in a bare interpreter (no site, no
environment), which closes itself in (`_enclosed`) before it reads a line of the program. What is done with
it then, and that nothing outlives it, is `_running`'s; it kills every child of this process that it does not
know, so nothing else here should start processes.
"""

from __future__ import annotations

import contextlib
import ctypes
import marshal
import os
import resource
import subprocess
import tempfile
from dataclasses import dataclass
from math import inf
from pathlib import Path
from typing import TYPE_CHECKING, Any

from _enclosed import BOOT, enclose
from _layers import EXECUTABLE, LINUX, environment, open_to_all, outside, readable, shown_to_all
from _running import Refused, Running
from _seccomp import filter_of

if TYPE_CHECKING:
    from collections.abc import Sequence
    from types import CodeType

    Program = Sequence[tuple[str, CodeType]]  # modules by their names; the last one has a `main`

LEVELS = ("best-effort", "strict", "none")
LAYERS = ("bubblewrap", "namespaces", "landlock", "seccomp", "rlimits", "uid")
PROMISES = {  # what is promised, the sets of layers that keep it, what it means where none does
    "files": ("bubblewrap", "landlock seccomp", "the files of this account can be read and written"),
    "network": ("bubblewrap", "namespaces", "seccomp", "other machines and local services can be reached"),
    "signals": ("bubblewrap", "namespaces", "seccomp", "processes of this account can be signalled and read"),
    "memory": ("rlimits seccomp", "memory and processes are not limited in total"),
}
_VISIBLE = "files: which names there are, with sizes and times, can be asked for (stat); contents cannot"
_UNBOUNDED = "disk: the files in its folder are limited one by one, and together by whoever looks at them"


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    seconds: float = 5  # inf: whoever started it ends it
    memory: int = 512 << 20
    output: int = 1 << 20
    scratch: int = 16 << 20
    threads: int = 64  # where its account has nothing else


@dataclass(frozen=True, slots=True, kw_only=True)
class Start:
    """How a program is started: the words, the environment, and what its stdin begins with.

    Where it `takes_folder`, TMPDIR and HOME are an empty folder of its own that whoever starts it makes.
    """

    argv: tuple[str, ...]
    environment: dict[str, str]
    first: bytes
    takes_folder: bool


class Sandbox:
    """What programs are started in; made once, which tries what is there."""

    def __init__(
        self, level: str, limits: Limits, layers: Sequence[str] = LAYERS, shown: tuple[Path, ...] = ()
    ) -> None:
        """Try the layers; `shown` is what programs may read besides the interpreter's files."""
        self.limits, self._shown, self._running = limits, shown, set[int]()
        self._mechanism, self.layers = ("", ()) if level == "none" else self._probed(layers)
        self.missing = [
            f"{promise}: {means}"
            for promise, (*ways, means) in PROMISES.items()
            if not any(set(way.split()) <= {*self.layers} for way in ways)
        ]
        is_open = any(promise.startswith("files") for promise in self.missing)
        self.visible = [] if is_open or "bubblewrap" in self.layers else [_VISIBLE]
        self.visible += [_UNBOUNDED] if self.visible and not self._mechanism else []
        if level == "strict" and self.missing:
            raise Refused(
                f"the sandbox would not be strict; missing: {'; '.join(self.missing)}. There is "
                f"{', '.join(self.layers) or 'no layer'}. Install bubblewrap (apt-get install bubblewrap), "
                "in a container allow user namespaces, Landlock or seccomp; or say --sandbox best-effort"
            )
        if LINUX:  # nobody with this account may look into this process, and orphans come back to it
            ctypes.CDLL(None).prctl(4, 0, 0, 0, 0)
            ctypes.CDLL(None).prctl(36, 1, 0, 0, 0)

    def start(self, program: Program, *arguments: str) -> Running:
        """Start a program; its `main` is called enclosed, with the line to write when it is ready first."""
        return self._start(self.described(program, *arguments))

    def described(self, program: Program, *arguments: str) -> Start:
        """Say how the same is started by somebody else, who has to wait for it and to end it.

        It ends with the thread that starts it.
        """
        return self._described(self._mechanism, self.layers, program, arguments, probing=False)

    def _probed(self, wanted: Sequence[str]) -> tuple[str, tuple[str, ...]]:
        for mechanism in ("bubblewrap", "namespaces", ""):
            if mechanism and mechanism not in wanted:
                continue
            with contextlib.suppress(Refused, OSError):
                outer = {"bubblewrap", "namespaces", *(["landlock"] if mechanism == "bubblewrap" else [])}
                inner = [layer for layer in wanted if layer not in outer]
                nothing = [("probe", compile(_NOTHING, "probe", "exec"))]
                running = self._start(self._described(mechanism, inner, nothing, (), probing=True))
                try:
                    return mechanism, tuple(filter(None, (mechanism, *running.ready())))
                finally:
                    running.close()
        raise Refused(f"{EXECUTABLE} does not start, in whatever way")

    def _described(
        self, mechanism: str, layers: Sequence[str], program: Program, arguments: Any, *, probing: bool
    ) -> Start:
        scratch = {"bubblewrap": "/scratch", "namespaces": "/mnt"}.get(mechanism, "")
        plan = _plan(layers, mechanism, scratch, self.limits, self._shown) | {"probing": probing}
        said = marshal.dumps(([*program], plan, arguments, enclose.__code__))
        python = (str(EXECUTABLE), "-P", "-s", "-S", "-B", "-X", "utf8", "-c", BOOT)
        return Start(
            argv=(*outside(mechanism, self._shown), *python),
            environment=environment(scratch),
            first=b"%d\n%b" % (len(said), said),
            takes_folder=not mechanism,
        )

    def _start(self, how: Start) -> Running:
        pipe, folder = subprocess.PIPE, tempfile.mkdtemp(prefix="scratch-") if how.takes_folder else ""
        process = subprocess.Popen(
            how.argv,
            stdin=pipe,
            stdout=pipe,
            stderr=pipe,
            env=how.environment | ({"TMPDIR": folder, "HOME": folder} if folder else {}),
            cwd="/",
            start_new_session=True,
        )
        self._running.add(process.pid)
        return Running(process, self.limits, self._running, how.first, folder)


_NOTHING = "def main(enclosed):\n import os\n os.write(1, enclosed)"


def _plan(
    layers: Sequence[str], mechanism: str, scratch: str, limits: Limits, shown: tuple[Path, ...]
) -> dict[str, Any]:
    """Say in plain data what the child does to itself."""
    is_root = LINUX and os.geteuid() == 0
    folders = () if mechanism else (Path(tempfile.gettempdir()),)
    can_read = shown_to_all(shown) if mechanism == "bubblewrap" else open_to_all((*shown, *folders))
    leaves = "uid" in layers and is_root and can_read
    numbers = {
        **({} if limits.seconds == inf else {resource.RLIMIT_CPU: int(limits.seconds) + 2}),
        resource.RLIMIT_AS: limits.memory,
        resource.RLIMIT_FSIZE: limits.scratch,
        resource.RLIMIT_NOFILE: 256,
        resource.RLIMIT_CORE: 0,
        **({resource.RLIMIT_NPROC: limits.threads} if leaves else {}),  # else it counts what others have
    }
    return {
        "scratch": scratch,
        "size": limits.scratch,
        "layers": tuple(layers),
        "read": readable(shown) if "landlock" in layers else (),
        "filter": filter_of(mechanism) if "seccomp" in layers else b"",
        "limits": tuple(numbers.items()) if "rlimits" in layers else (),
        "leaves": leaves,
    }
