"""A sandbox for Python programs that nobody trusts. It knows nothing of what they are for.

Threat model. The program is hostile: any code, with the rights of whoever starts it, as long as it may run.
It may want to read files (what is to be scored, keys, other people's work), to write them, to reach the
network, to signal or trace other processes, to use up the machine, to outlive its time, and to fool whoever
reads what it writes. The kernel, the interpreter and the tools named here are trusted; who reads a line
that the program wrote takes it for hostile data. Time that others can measure is not hidden.

Promise        kept by
files          bubblewrap (a new root, read-only, a small tmpfs to write), or Landlock with seccomp
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
import platform
import resource
import secrets
import select
import signal
import struct
import subprocess
import sys
import sysconfig
import time
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, cast

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
_TAIL, _SHARED = 2048, 64 << 20
_LINUX = sys.platform == "linux"
_EXECUTABLE = Path(sys.executable).resolve()
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
        "read": tuple(map(os.fsencode, _readable())) if "landlock" in layers else (),
        "filter": _filter(mechanism) if "seccomp" in layers else b"",
        "limits": tuple(numbers.items()) if "rlimits" in layers else (),
        "uid": uid,
    }


def _enclose(plan: dict[str, Any]) -> bytes:  # noqa: C901, PLR0915  it is sent as one piece
    """Close this process in; as it is sent to the child, it imports here what it needs."""
    import ctypes  # noqa: PLC0415
    import os  # noqa: PLC0415
    import resource  # noqa: PLC0415
    import stat  # noqa: PLC0415

    libc = ctypes.CDLL(None, use_errno=True)
    call = libc.syscall

    def must(result: int) -> int:
        if result < 0:
            raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
        return result

    def landlock() -> None:
        abi = must(call(444, None, 0, 1))  # the newest that the kernel has
        nets, scopes = (abi >= least for least in (4, 6))
        everything = (1 << 13) - 1 | sum(
            bit for least, bit in ((2, 1 << 13), (3, 1 << 14), (5, 1 << 15)) if abi >= least
        )
        wanted = (ctypes.c_uint64 * 3)(everything, 3 * nets, 3 * scopes)
        ruleset = must(call(444, wanted, 8 * (1 + nets + scopes), 0))
        allowed = [(path, 1 | 4 | 8) for path in plan["read"]]
        allowed += [(os.fsencode(plan["scratch"]), everything)] if plan["scratch"] else []
        for path, rights in [*allowed, (b"/dev/null", 2 | 4)]:
            place = os.open(path, os.O_PATH)
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
        program = ctypes.create_string_buffer(plan["filter"])
        head = (ctypes.c_uint64 * 2)(len(plan["filter"]) // 8, ctypes.addressof(program))
        if not plan["filter"]:
            raise OSError("there is no filter for this processor")
        must(libc.prctl(22, 2, head, 0, 0))

    if plan["scratch"]:  # a file without content costs memory too: their number is limited
        options = b"mode=1777,nr_inodes=4096,size=%d" % plan["size"]
        must(libc.mount(b"tmpfs", os.fsencode(plan["scratch"]), b"tmpfs", 2 | 4, options))
        os.chdir(plan["scratch"])
    if plan["layers"]:
        must(libc.prctl(38, 1, 0, 0, 0))  # no new privileges, by whatever program
    done = []
    for name, layer in {"landlock": landlock, "uid": uid, "rlimits": rlimits, "seccomp": seccomp}.items():
        if name == "rlimits" and plan["layers"]:  # between the last use of privileges and the filter
            call(126 if os.uname().machine == "x86_64" else 91, b"\x22\x05\x08\x20\0\0\0\0", bytes(24))
            libc.prctl(1, 9, 0, 0, 0)  # it dies with its parent
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
        for path in _visible():
            kept = path.is_symlink() and path.parent == Path("/")
            command += (
                ["--symlink", str(path.readlink()), str(path)]
                if kept
                else ["--ro-bind", str(path), str(path)]
            )
        command += [
            part for path in _packages() for part in ("--tmpfs", str(path), "--remount-ro", str(path))
        ]
        command += [
            "--dir",
            "/scratch",
            "--dir",
            "/dev",
            "--dev-bind",
            "/dev/null",
            "/dev/null",
            "--dev-bind",
            "/dev/urandom",
        ]
        command += ["/dev/urandom", "--remount-ro", "/", "--cap-drop", "ALL", "--cap-add", "CAP_SYS_ADMIN"]
        return [*command, "--cap-add", "CAP_SETUID", "--cap-add", "CAP_SETGID", "--"]
    if mechanism == "namespaces":
        user = [] if unmapped else ["--map-root-user"]
        command = ["setpriv", "--pdeathsig", "KILL", "unshare", *user, "--net", "--pid", "--mount", "--ipc"]
        return [*command, "--uts", "--fork", "--kill-child"]
    return []


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


def _readable() -> Iterator[Path]:
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

    for path in _visible():
        yield from within(path.resolve())


def _open_to_all() -> bool:
    """Tell whether the interpreter can be reached by an account that has nothing."""
    folders = [Path(os.__file__), *Path(os.__file__).parents, *_EXECUTABLE.parents]
    return all(path.stat().st_mode & (0o001 if path.is_dir() else 0o004) for path in folders)


# Numbers of system calls on x86_64 and aarch64; -1 where there is none.
_DENIED = """
fork 57 -1 vfork 58 -1 unshare 272 97 setns 308 268 socket 41 198 connect 42 203 bind 49 200
listen 50 201 accept 43 202 accept4 288 242 sendmsg 46 211 sendmmsg 307 269 ptrace 101 117
process_vm_readv 310 270 process_vm_writev 311 271 kcmp 312 272 perf_event_open 298 241
userfaultfd 323 282 bpf 321 280 add_key 248 217 request_key 249 218 keyctl 250 219 mount 165 40
umount2 166 39 pivot_root 155 41 chroot 161 51 swapon 167 224 swapoff 168 225 reboot 169 142
kexec_load 246 104 kexec_file_load 320 294 init_module 175 105 delete_module 176 106 finit_module 313 273
acct 163 89 settimeofday 164 170 clock_settime 227 112 adjtimex 159 171 clock_adjtime 305 266
sethostname 170 161 setdomainname 171 162 quotactl 179 60 syslog 103 116 name_to_handle_at 303 264
open_by_handle_at 304 265 iopl 172 -1 ioperm 173 -1 modify_ldt 154 -1 personality 135 92
lookup_dcookie 212 18 vhangup 153 58 mknod 133 -1 mknodat 259 33 memfd_create 319 279 shmget 29 194
shmat 30 196 shmctl 31 195 shmdt 67 197 semget 64 190 semop 65 193 semctl 66 191 semtimedop 220 192
msgget 68 186 msgsnd 69 189 msgrcv 70 188 msgctl 71 187 mq_open 240 180 mq_unlink 241 181
inotify_init 253 -1 inotify_init1 294 26 inotify_add_watch 254 27 fanotify_init 300 262
fanotify_mark 301 263 setpriority 141 140 ioprio_set 251 30 sched_setparam 142 118
sched_setscheduler 144 119 sched_setattr 314 274 sched_setaffinity 203 122 migrate_pages 256 238
move_pages 279 239 io_setup 206 0 io_submit 209 2 landlock_create_ruleset 444 444
"""
_SIGNALLING = "kill 62 129 tkill 200 130 tgkill 234 131 rt_sigqueueinfo 129 138 rt_tgsigqueueinfo 297 240"
_LABELLING = """
chmod 90 -1 fchmod 91 52 fchmodat 268 53 chown 92 -1 fchown 93 55 lchown 94 -1 fchownat 260 54 utime 132 -1
utimes 235 -1 futimesat 261 -1 utimensat 280 88 setxattr 188 5 lsetxattr 189 6 fsetxattr 190 7
removexattr 197 14 lremovexattr 198 15 fremovexattr 199 16
"""  # which Landlock does not know
_SINCE, _KNOWN = (
    424,
    (436, 437, 439, 441, 449),
)  # of the calls since Linux 5.1, those that nothing speaks against
_ALLOW, _EPERM, _ENOSYS, _KILL = 0x7FFF0000, 0x50001, 0x50026, 0x80000000
_LOAD, _EQUAL, _AT_LEAST, _ANY_BIT, _AND, _RETURN = 0x20, 0x15, 0x35, 0x45, 0x54, 0x06


def _filter(mechanism: str) -> bytes:
    """Write the seccomp program: everything is allowed that is not denied here, or by the mechanism."""
    processor = {"x86_64": 0, "aarch64": 1}.get(platform.machine()) if _LINUX else None
    if processor is None:
        return b""
    steps = [(_LOAD, 0, 0, 4), (_EQUAL, 1, 0, (0xC000003E, 0xC00000B7)[processor]), (_RETURN, 0, 0, _KILL)]
    steps += [(_LOAD, 0, 0, 0), (_AT_LEAST, 0, 1, 0x40000000), (_RETURN, 0, 0, _ENOSYS)]
    words = (_DENIED + _SIGNALLING * (not mechanism) + _LABELLING * (mechanism != "bubblewrap")).split()
    for number in map(int, words[1 + processor :: 3]):
        steps += [(_EQUAL, 0, 1, number), (_RETURN, 0, 0, _EPERM)] if number >= 0 else []
    for numbers, test in _BY_ARGUMENT:
        steps += [(_EQUAL, 0, len(test), numbers[processor]), *test]
    for number in _KNOWN:
        steps += [(_EQUAL, 0, 1, number), (_RETURN, 0, 0, _ALLOW)]
    steps += [(_AT_LEAST, 0, 1, _SINCE), (_RETURN, 0, 0, _ENOSYS), (_RETURN, 0, 0, _ALLOW)]
    return b"".join(struct.pack("<HBBI", *step) for step in steps)


def _argument(index: int, *, half: int = 0) -> tuple[int, int, int, int]:
    return (_LOAD, 0, 0, 16 + 8 * index + 4 * half)


def _unless(index: int, *denied: int) -> list[tuple[int, int, int, int]]:
    """Deny a call of which an argument is one of these."""
    tests = [(_EQUAL, len(denied) - at, 0, value) for at, value in enumerate(denied)]
    return [_argument(index), *tests, (_RETURN, 0, 0, _ALLOW), (_RETURN, 0, 0, _EPERM)]


_NO, _YES = (_RETURN, 0, 0, _EPERM), (_RETURN, 0, 0, _ALLOW)
_BY_ARGUMENT = (
    ((56, 220), [_argument(0), (_ANY_BIT, 0, 1, 0x10000), _YES, _NO]),  # clone: threads, no processes
    (
        (53, 199),
        [_argument(1), (_AND, 0, 0, 0xF), (_EQUAL, 0, 1, 1), _YES, _NO],
    ),  # socketpair: others can be led off
    (
        (44, 206),
        [_argument(4), (_EQUAL, 0, 3, 0), _argument(4, half=1), (_EQUAL, 0, 1, 0), _YES, _NO],
    ),  # sendto
    ((302, 261), [_argument(0), (_EQUAL, 0, 1, 0), _YES, _NO]),  # prlimit64 of itself
    ((16, 29), _unless(1, 0x5412, 0x541C, 0x8901, 0x8902)),  # ioctl: typing for others, who gets signals
    ((72, 25), _unless(1, 8, 10, 15, 1024, 1026)),  # fcntl: who gets signals, being told of others
    ((157, 167), _unless(0, 1, 36, 0x59616D61)),  # prctl: outliving its parent, adopting, being traced
)


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
