"""What a program in the sandbox beside this file runs first: it closes itself in, then it reads the program.

Both are sent to a bare interpreter, so each imports by itself what it needs.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

BOOT = """
import marshal, sys
stdin = open(0, "rb", 0, closefd=False)
size, said = int(stdin.readline()), b""
while len(said) < size:
    said += stdin.read(size - len(said))
modules, plan, arguments, enclose = marshal.loads(said)
enclosed = type(lambda: 0)(enclose, {})(plan)
for name, code in modules:
    module = sys.modules[name] = type(sys)(name)
    exec(code, vars(module))
module.main(enclosed, *arguments)
"""


def enclose(plan: dict[str, Any]) -> bytes:  # noqa: C901, PLR0915  it is sent as one piece
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
        allowed += [(os.fsencode(own), everything)] if own else []
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
        if not plan["leaves"]:
            raise OSError("there is no account to go to")
        account = 2_000_000_000 + int.from_bytes(os.urandom(8), "little") % 100_000_000  # it has nothing
        if own and not plan["scratch"]:
            os.chown(own, account, account)
        os.setgroups([])
        os.setresgid(*[account] * 3)
        os.setresuid(*[account] * 3)

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
    own = plan["scratch"] or os.environ["TMPDIR"].rstrip("/")  # which whoever starts it makes and removes
    if own:
        os.chdir(own)
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
