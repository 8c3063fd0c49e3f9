"""A sandbox for Python programs that nobody trusts. It knows nothing of what they are for.

Threat model. The program is hostile: any code, with the rights of whoever starts it, as long as it may run.
It may want to read files (what is to be scored, keys, other people's work), to write them, to reach the
network, to signal or trace other processes, to use up the machine, to outlive its time, and to fool whoever
reads what it writes. The kernel, the interpreter and the tools named here are trusted; who reads a line
that the program wrote takes it for hostile data. Time that others can measure is not hidden.

Promise        kept by
files          bubblewrap (a new root, read-only, a small tmpfs to write), or Landlock with seccomp, where
               stat still tells names, sizes and times of files, because imports need it (`visible`)
network        a network namespace (bubblewrap, unshare), or seccomp: no sockets but pairs
signals        a PID namespace (bubblewrap, unshare), or seccomp; ptrace and the like are always closed
memory         rlimits with seccomp: one process, no memory outside its address space; tmpfs has a size

Three levels: `strict` refuses to start without all four, `best-effort` says what is missing, `none` adds
nothing. What is available is tried once, in a child. The program starts in a bare interpreter (no site, no
environment), which closes itself in (`_enclose`) before it reads a line of the program. Nothing outlives
`close`: a killed PID namespace takes all with it; elsewhere orphans come back to this process, which kills
every child that it does not know, so nothing else here should start processes.
"""

from __future__ import annotations

import contextlib
import ctypes
import marshal
import os
import resource
import secrets
import select
import signal
import subprocess
import sys
import sysconfig
import time
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, cast

from _seccomp import filter_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from types import CodeType

LEVELS = ("best-effort", "strict", "none")
LAYERS = ("bubblewrap", "namespaces", "landlock", "seccomp", "rlimits", "uid")
PROMISES = {  # what is promised, the sets of layers that keep it, what it means where none does
    "files": ("bubblewrap", "landlock seccomp", "the files of this account can be read and written"),
    "network": ("bubblewrap", "namespaces", "seccomp", "other machines and local services can be reached"),
    "signals": ("bubblewrap", "namespaces", "seccomp", "processes of this account can be signalled and read"),
    "memory": ("rlimits seccomp", "memory and processes are not limited in total"),
}
_VISIBLE = "files: which names there are, with sizes and times, can be asked for (stat); contents cannot"
_TAIL, _SHARED = 2048, 64 << 20
_LINUX = sys.platform == "linux"
_EXECUTABLE = Path(sys.executable).resolve()
_DEVICES = ("/dev/null", "/dev/urandom")
_CAPABILITIES = ("CAP_SYS_ADMIN", "CAP_SETUID", "CAP_SETGID")  # until it has closed itself in
_BOOT = """
import marshal
stdin = open(0, "rb", 0, closefd=False)
size, said = int(stdin.readline()), b""
while len(said) < size:
    said += stdin.read(size - len(said))
program, plan, arguments, enclose = marshal.loads(said)
enclosed, inside = type(lambda: 0)(enclose, {})(plan), {"__name__": "inside"}
exec(program, inside)
inside["main"](enclosed, *arguments)
"""


class Refused(Exception):
    """Why nothing is started."""


class Stopped(Exception):
    """Why the program has nothing more to say."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    seconds: float = 5
    memory: int = 512 << 20
    output: int = 1 << 20
    scratch: int = 16 << 20


class Sandbox:
    """What programs are started in; made once, which tries what is there."""

    def __init__(self, level: str, limits: Limits, layers: Sequence[str] = LAYERS) -> None:
        self.limits, self._running = limits, set[int]()
        self._mechanism, self.layers = ("", ()) if level == "none" else self._probed(layers)
        self.missing = [
            f"{promise}: {means}"
            for promise, (*ways, means) in PROMISES.items()
            if not any(set(way.split()) <= {*self.layers} for way in ways)
        ]
        is_open = any(promise.startswith("files") for promise in self.missing)
        self.visible = [] if is_open or "bubblewrap" in self.layers else [_VISIBLE]
        if level == "strict" and self.missing:
            raise Refused(
                f"the sandbox would not be strict; missing: {'; '.join(self.missing)}. There is "
                f"{', '.join(self.layers) or 'no layer'}. Install bubblewrap (apt-get install bubblewrap), "
                "in a container allow user namespaces, Landlock or seccomp; or say --sandbox best-effort"
            )
        if _LINUX:  # nobody with this account may look into this process, and orphans come back to it
            ctypes.CDLL(None).prctl(4, 0, 0, 0, 0)
            ctypes.CDLL(None).prctl(36, 1, 0, 0, 0)

    def start(self, program: CodeType, *arguments: str) -> Running:
        """Start a module; its `main` is called enclosed, with the line to write when it is ready first."""
        return self._start(self._mechanism, self.layers, program, arguments, probing=False)

    def _probed(self, wanted: Sequence[str]) -> tuple[str, tuple[str, ...]]:
        for mechanism in ("bubblewrap", "namespaces", ""):
            if mechanism and mechanism not in wanted:
                continue
            with contextlib.suppress(Refused, OSError):
                outer = {"bubblewrap", "namespaces", *(["landlock"] if mechanism == "bubblewrap" else [])}
                inner = [layer for layer in wanted if layer not in outer]
                nothing = compile(_NOTHING, "probe", "exec")
                running = self._start(mechanism, inner, nothing, (), probing=True)
                try:
                    return mechanism, tuple(filter(None, (mechanism, *running.ready())))
                finally:
                    running.close()
        raise Refused(f"{_EXECUTABLE} does not start, in whatever way")

    def _start(
        self, mechanism: str, layers: Sequence[str], program: CodeType, arguments: Any, *, probing: bool
    ) -> Running:
        scratch = {"bubblewrap": "/scratch", "namespaces": "/mnt"}.get(mechanism, "")
        plan = _plan(layers, mechanism, scratch, self.limits) | {"probing": probing}
        said = marshal.dumps((program, plan, arguments, _enclose.__code__))
        process = subprocess.Popen(
            [*_outside(mechanism), str(_EXECUTABLE), *("-P", "-s", "-S", "-B", "-X", "utf8"), "-c", _BOOT],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env=_environment(scratch),
            cwd="/",
            start_new_session=True,
        )
        self._running.add(process.pid)
        return Running(process, self, b"%d\n%b" % (len(said), said))


class Running:
    """A program in its sandbox: lines to its stdin, lines from its stdout, the end of its stderr."""

    def __init__(self, process: subprocess.Popen[bytes], sandbox: Sandbox, first: bytes) -> None:
        self._process, self._sandbox, self._unsent = process, sandbox, first
        self._unread, self._read, self._ended, self.tail = bytearray(), 0, False, b""
        self._deadline, self._most = time.monotonic() + 20, sandbox.limits.output
        self._in, self._out, self._err = (
            cast("IO[bytes]", stream) for stream in (process.stdin, process.stdout, process.stderr)
        )
        os.set_blocking(self._in.fileno(), False)
        self._poll = select.poll()
        self._poll.register(1, 0)  # tells when nobody reads this process's own answers any more
        for stream in (self._out, self._err):
            self._poll.register(stream, select.POLLIN)

    def ready(self) -> list[str]:
        """Wait until it has closed itself in, and tell by which layers; from here its time runs."""
        try:
            line = self.line().decode()
        except Stopped as stopped:
            line = f"it {stopped}"
        self._deadline = time.monotonic() + self._sandbox.limits.seconds
        word, *layers = line.split()
        if word != "enclosed":
            raise Refused(f"the sandbox did not start: {line} {self.tail.decode(errors='replace').strip()}")
        return layers

    def share(self, deadline: float) -> None:
        """Let it end when another one does; what it writes is for that one, whatever the size."""
        self._deadline, self._most = deadline, max(self._most, _SHARED)

    @property
    def deadline(self) -> float:
        return self._deadline

    def send(self, line: bytes) -> None:
        self._unsent += line + b"\n"

    def line(self) -> bytes:
        """Wait for its next line."""
        while (end := self._unread.find(b"\n")) < 0:
            if self._ended:
                raise Stopped(self._end())
            self._exchange()
        line = bytes(self._unread[:end])
        del self._unread[: end + 1]
        return line

    def rest(self) -> tuple[bytes, int]:
        """Wait for its end: what it wrote, and its exit status."""
        while not self._ended:
            self._exchange()
        return bytes(self._unread), self._status()

    def close(self) -> None:
        """End it and everything that it started."""
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(self._process.pid, signal.SIGKILL)
        self._process.kill()
        self._process.wait()
        self._drain_tail()
        for stream in (self._in, self._out, self._err):
            with contextlib.suppress(OSError):
                stream.close()
        self._sandbox._running.discard(self._process.pid)  # noqa: SLF001  the two are one thing
        if _LINUX:
            _sweep(self._sandbox._running)  # noqa: SLF001

    def _exchange(self) -> None:
        """Write and read what can be written and read, and wait for it until the deadline."""
        self._write()
        left = self._deadline - time.monotonic()
        ready = dict(self._poll.poll(max(0, left) * 1000))
        if left <= 0:
            raise Stopped(f"ran out of time ({self._sandbox.limits.seconds:g} s)")
        if 1 in ready:
            raise SystemExit(1)
        if self._err.fileno() in ready and not self._drain_tail():
            self._poll.unregister(self._err)
        if self._out.fileno() in ready:
            came = os.read(self._out.fileno(), 1 << 16)
            self._unread += came
            self._read += len(came)
            self._ended = not came
        if self._read > self._most:
            raise Stopped(f"wrote more than {self._most >> 10} KiB")

    def _write(self) -> None:
        try:
            while self._unsent:
                self._unsent = self._unsent[os.write(self._in.fileno(), self._unsent[: 1 << 16]) :]
        except BlockingIOError:
            pass
        except OSError:  # it reads no more
            self._unsent = b""
        if self._unsent:
            self._poll.register(self._in, select.POLLOUT)
        else:
            with contextlib.suppress(KeyError):
                self._poll.unregister(self._in)

    def _drain_tail(self) -> bool:
        if not select.select([self._err], [], [], 0)[0]:
            return True
        came = os.read(self._err.fileno(), 1 << 16)
        self.tail = (self.tail + came)[-_TAIL:]
        return bool(came)

    def _status(self) -> int:
        with contextlib.suppress(subprocess.TimeoutExpired):
            return self._process.wait(max(0.0, self._deadline - time.monotonic()))
        raise Stopped(f"ran out of time ({self._sandbox.limits.seconds:g} s)")

    def _end(self) -> str:
        while self._deadline > time.monotonic() and select.select([self._err], [], [], 0.05)[0]:
            if not self._drain_tail():
                break
        return f"ended with status {self._status()}"


_NOTHING = "def main(enclosed):\n import os\n os.write(1, enclosed)"


def _plan(layers: Sequence[str], mechanism: str, scratch: str, limits: Limits) -> dict[str, Any]:
    """Say in plain data what the child does to itself."""
    uid = 0
    if "uid" in layers and _LINUX and os.geteuid() == 0 and (mechanism == "bubblewrap" or _open_to_all()):
        uid = 2_000_000_000 + secrets.randbelow(100_000_000)  # an account that has nothing
    seconds = int(limits.seconds) + 2
    numbers = {
        resource.RLIMIT_CPU: seconds,
        resource.RLIMIT_AS: limits.memory,
        resource.RLIMIT_FSIZE: limits.scratch,
        resource.RLIMIT_NOFILE: 256,
        resource.RLIMIT_CORE: 0,
        **({resource.RLIMIT_NPROC: 64} if uid else {}),  # else it would count what others have
    }
    return {
        "scratch": scratch,
        "size": limits.scratch,
        "layers": tuple(layers),
        "read": _readable() if "landlock" in layers else (),
        "filter": filter_of(mechanism) if "seccomp" in layers else b"",
        "limits": tuple(numbers.items()) if "rlimits" in layers else (),
        "uid": uid,
    }


def _enclose(plan: dict[str, Any]) -> bytes:  # noqa: C901, PLR0915  it is sent as one piece
    """Close this process in; as it is sent to the child, it imports here what it needs."""
    import _ctypes  # noqa: PLC0415  what ctypes is made of, which by itself takes a sixth of a start
    import os  # noqa: PLC0415
    import resource  # noqa: PLC0415
    import stat  # noqa: PLC0415

    number_of = type("Number", (_ctypes._SimpleCData,), {"_type_": "i"})  # noqa: SLF001  as above
    letter_of = type("Letter", (_ctypes._SimpleCData,), {"_type_": "c"})  # noqa: SLF001
    flags = {"_flags_": _ctypes.FUNCFLAG_CDECL | _ctypes.FUNCFLAG_USE_ERRNO, "_restype_": number_of}
    function = type("Function", (_ctypes.CFuncPtr,), flags)
    here = _ctypes.dlopen(None, 2)  # type: ignore[arg-type]  # None is this process, as ctypes.CDLL has it
    call, prctl, mount = (function(_ctypes.dlsym(here, name)) for name in ("syscall", "prctl", "mount"))

    def must(result: int) -> int:
        if result < 0:
            raise OSError(_ctypes.get_errno(), os.strerror(_ctypes.get_errno()))
        return result

    def words(*numbers: int) -> bytes:
        return b"".join(number.to_bytes(8, "little") for number in numbers)

    def landlock() -> None:
        abi = must(call(444, None, 0, 1))  # the newest that the kernel has
        nets, scopes = (abi >= least for least in (4, 6))
        everything = (1 << 13) - 1 | sum(
            bit for least, bit in ((2, 1 << 13), (3, 1 << 14), (5, 1 << 15)) if abi >= least
        )
        ruleset = must(call(444, words(everything, 3 * nets, 3 * scopes), 8 * (1 + nets + scopes), 0))
        allowed = [(path, 1 | 4 | 8) for path in plan["read"]]
        allowed += [(os.fsencode(plan["scratch"]), everything)] if plan["scratch"] else []
        for path, rights in [*allowed, (b"/dev/null", 2 | 4)]:
            try:
                place = os.open(path, os.O_PATH)
            except FileNotFoundError:  # since they were listed
                continue
            folder = stat.S_ISDIR(os.fstat(place).st_mode)
            rule = (rights if folder else rights & ~8).to_bytes(8, "little") + place.to_bytes(4, "little")
            must(call(445, ruleset, 1, rule, 0))
            os.close(place)
        must(call(446, ruleset, 0))
        os.close(ruleset)

    def uid() -> None:
        if not plan["uid"]:
            raise OSError("there is no account to go to")
        os.setgroups([])
        os.setresgid(*[plan["uid"]] * 3)
        os.setresuid(*[plan["uid"]] * 3)

    def rlimits() -> None:
        for number, most in plan["limits"]:
            hard = resource.getrlimit(number)[1]
            now = most if hard < 0 else min(most, hard)
            resource.setrlimit(number, (now, now))

    def seccomp() -> None:
        if not plan["filter"]:
            raise OSError("there is no filter for this processor")
        size = len(plan["filter"])
        program = type("Program", (_ctypes.Array,), {"_type_": letter_of, "_length_": size})()
        program.raw = plan["filter"]
        must(prctl(22, 2, words(size // 8, _ctypes.addressof(program)), 0, 0))

    if plan["scratch"]:  # a file without content costs memory too: their number is limited
        options = b"mode=1777,nr_inodes=4096,size=%d" % plan["size"]
        must(mount(b"tmpfs", os.fsencode(plan["scratch"]), b"tmpfs", 2 | 4, options))
        os.chdir(plan["scratch"])
    if plan["layers"]:
        must(prctl(38, 1, 0, 0, 0))  # no new privileges, by whatever program
    done = []
    for name, layer in {"landlock": landlock, "uid": uid, "rlimits": rlimits, "seccomp": seccomp}.items():
        if name == "rlimits" and plan["layers"]:  # between the last use of privileges and the filter
            call(126 if os.uname().machine == "x86_64" else 91, b"\x22\x05\x08\x20\0\0\0\0", bytes(24))
            prctl(1, 9, 0, 0, 0)  # it dies with its parent
        if name in plan["layers"]:
            try:
                layer()
                done.append(name)
            except (OSError, ValueError) as error:
                if not plan["probing"]:
                    os.write(1, f"{name}: {error}\n".encode())
                    os._exit(1)
    return f"enclosed {' '.join(done)}\n".encode()


@cache
def _outside(mechanism: str) -> list[str]:
    """Write the command before the interpreter: the tool that makes the namespaces."""
    unmapped = not _LINUX or os.geteuid() == 0  # root needs none, and leaves its account by itself
    if mechanism == "bubblewrap":
        user = ["--unshare-user-try"] if not unmapped else []
        command = ["bwrap", *user, "--unshare-pid", "--unshare-net", "--unshare-ipc", "--unshare-uts"]
        command += ["--unshare-cgroup-try", "--die-with-parent", "--new-session", "--clearenv"]
        command += [
            part for name, value in _environment("/scratch").items() for part in ("--setenv", name, value)
        ]
        command += [part for parent in _parents() for part in ("--dir", str(parent))]
        command += [part for path in _visible() for part in _bound(path)]
        command += [
            part for path in _packages() for part in ("--tmpfs", str(path), "--remount-ro", str(path))
        ]
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


def _environment(scratch: str) -> dict[str, str]:
    folder = scratch or "/"
    return {
        "PATH": "/usr/bin:/bin",
        "LANG": "C.UTF-8",
        "PYTHONHASHSEED": "0",
        "HOME": folder,
        "TMPDIR": folder,
    }


def _visible() -> list[Path]:
    """List what an interpreter needs of the file system."""
    own = [_EXECUTABLE, Path(sys.base_prefix) / "lib", Path(sys.base_exec_prefix) / "lib"]
    shared = [Path(name) for name in ("/usr/lib", "/usr/lib64", "/lib", "/lib64")]
    data = [Path("/etc/ld.so.cache"), Path("/usr/share/zoneinfo")]
    return list(dict.fromkeys(path for path in [*shared, *own, *data] if path.exists()))


def _parents() -> list[Path]:
    """List the folders above the visible, outermost first; bubblewrap would close some to others."""
    found = {parent for path in _visible() for parent in path.parents} - {Path("/"), *_visible()}
    return sorted(one for one in found if not any(one.is_relative_to(path) for path in _visible()))


def _packages() -> list[Path]:
    """List what stands within the visible but is not the interpreter's: there may be somebody's data."""
    found = [Path(sysconfig.get_path(name)) for name in ("purelib", "platlib")]
    library = Path(sysconfig.get_path("stdlib"))
    found += [library / "site-packages", library / "dist-packages"]
    return list(
        dict.fromkeys(path for path in found if path.is_dir() and path.is_relative_to(library.parent))
    )


@cache
def _readable() -> tuple[bytes, ...]:
    """List the same without the packages; Landlock knows no exceptions, so what is beside them is listed."""
    hidden = _packages()

    def within(path: Path) -> Iterator[Path]:
        if path in hidden:
            return
        if any(one.is_relative_to(path) for one in hidden):
            for inner in path.iterdir():
                yield from within(inner)
        elif path.exists():
            yield path

    return tuple(os.fsencode(path) for one in _visible() for path in within(one.resolve()))


@cache
def _open_to_all() -> bool:
    """Tell whether the interpreter can be reached by an account that has nothing."""
    folders = [Path(os.__file__), *Path(os.__file__).parents, *_EXECUTABLE.parents]
    return all(path.stat().st_mode & (0o001 if path.is_dir() else 0o004) for path in folders)


def _sweep(spared: set[int]) -> None:
    """Kill what has come back to this process; all is stopped before, so that nothing is born."""
    stopped: set[int] = set()
    while found := _below(os.getpid(), spared) - stopped:
        for pid in found:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.kill(pid, signal.SIGSTOP)
        stopped |= found
    for pid in stopped:
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.kill(pid, signal.SIGKILL)
    while left := _children(os.getpid()) - spared:
        for pid in left:
            with contextlib.suppress(ChildProcessError):
                os.waitpid(pid, 0)


def _below(pid: int, spared: set[int]) -> set[int]:
    return {one for child in _children(pid) - spared for one in (child, *_below(child, spared))}


def _children(pid: int) -> set[int]:
    with contextlib.suppress(OSError):
        tasks = Path(f"/proc/{pid}/task").iterdir()
        return {int(child) for task in tasks for child in (task / "children").read_text().split()}
    return set()
