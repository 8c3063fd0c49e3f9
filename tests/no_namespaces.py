"""Start a command as in a container: no new namespaces, no mounts, as Docker's default profile has it.

    python tests/no_namespaces.py [--account NUMBER] COMMAND…

Where it is root, `--account` makes it one that has nothing first. It imports nothing of ours.
"""

import ctypes
import errno
import os
import platform
import struct
import sys

_NEW = 0x7E020080  # CLONE_NEWNS, -CGROUP, -UTS, -IPC, -USER, -PID, -NET, -TIME
_CLONE, _CLONE3 = {"x86_64": (56, 435), "aarch64": (220, 435)}[platform.machine()]
_UNSHARE = {"x86_64": 272, "aarch64": 97}[platform.machine()]
_DENIED = {"x86_64": (308, 165, 166, 155), "aarch64": (268, 40, 39, 41)}[
    platform.machine()
]  # setns, mount, …
_LOAD, _EQUAL, _ANY_BIT, _RETURN = 0x20, 0x15, 0x45, 0x06
_ALLOW, _ERROR = 0x7FFF0000, 0x50000
_NO_NEW_PRIVILEGES, _SECCOMP, _FILTER = 38, 22, 2


def _filter() -> bytes:
    steps = [(_LOAD, 0, 0, 0)]
    for number in _DENIED:
        steps += [(_EQUAL, 0, 1, number), (_RETURN, 0, 0, _ERROR | errno.EPERM)]
    steps += [(_EQUAL, 0, 1, _CLONE3), (_RETURN, 0, 0, _ERROR | errno.ENOSYS)]  # its flags are out of reach
    steps += [(_EQUAL, 2, 0, _CLONE), (_EQUAL, 1, 0, _UNSHARE), (_RETURN, 0, 0, _ALLOW)]
    steps += [(_LOAD, 0, 0, 16), (_ANY_BIT, 0, 1, _NEW)]
    steps += [(_RETURN, 0, 0, _ERROR | errno.EPERM), (_RETURN, 0, 0, _ALLOW)]
    return b"".join(struct.pack("<HBBI", *step) for step in steps)


def _deny() -> None:
    text = _filter()
    steps = ctypes.create_string_buffer(text, len(text))
    program = struct.pack("@HP", len(text) // 8, ctypes.addressof(steps))
    prctl = ctypes.CDLL(None, use_errno=True).prctl
    for arguments in ((_NO_NEW_PRIVILEGES, 1, 0, 0, 0), (_SECCOMP, _FILTER, program, 0, 0)):
        if prctl(*arguments):
            raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))


def _leave(account: int) -> None:
    if os.geteuid() == 0:
        os.setgroups([])
        os.setresgid(account, account, account)
        os.setresuid(account, account, account)


if __name__ == "__main__":
    command = sys.argv[1:]
    if command[:1] == ["--account"]:
        _leave(int(command[1]))
        del command[:2]
    _deny()
    os.execvp(command[0], command)  # noqa: S606  it becomes the command
