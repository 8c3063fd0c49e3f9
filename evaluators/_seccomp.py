"""Which system calls a program in the sandbox beside this file may make, as a seccomp filter.

A denied call fails with EPERM; one that is newer than the tables does not exist (ENOSYS), so that programs
fall back to older ones; one of another processor's kind kills. Who applies the filter, and when, is the
sandbox's business.
"""

from __future__ import annotations

import platform
import struct
import sys
from functools import cache

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
_SINCE = 424  # the first of the calls since Linux 5.1, which are denied but for those of _KNOWN
_KNOWN = (436, 437, 439, 441, 449)
_ALLOW, _EPERM, _ENOSYS, _KILL = 0x7FFF0000, 0x50001, 0x50026, 0x80000000
_LOAD, _EQUAL, _AT_LEAST, _ANY_BIT, _AND, _RETURN = 0x20, 0x15, 0x35, 0x45, 0x54, 0x06


@cache
def filter_of(mechanism: str) -> bytes:
    """Write the seccomp program: everything is allowed that is not denied here, or by the mechanism."""
    processor = {"x86_64": 0, "aarch64": 1}.get(platform.machine()) if sys.platform == "linux" else None
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
    # clone: threads, no processes
    ((56, 220), [_argument(0), (_ANY_BIT, 0, 1, 0x10000), _YES, _NO]),
    # socketpair: streams, other kinds can be led off
    ((53, 199), [_argument(1), (_AND, 0, 0, 0xF), (_EQUAL, 0, 1, 1), _YES, _NO]),
    # sendto: to nobody else
    ((44, 206), [_argument(4), (_EQUAL, 0, 3, 0), _argument(4, half=1), (_EQUAL, 0, 1, 0), _YES, _NO]),
    # prlimit64: of itself
    ((302, 261), [_argument(0), (_EQUAL, 0, 1, 0), _YES, _NO]),
    # ioctl: typing for others, who gets signals
    ((16, 29), _unless(1, 0x5412, 0x541C, 0x8901, 0x8902)),
    # fcntl: who gets signals, being told of others
    ((72, 25), _unless(1, 8, 10, 15, 1024, 1026)),
    # prctl: outliving its parent, adopting, being traced
    ((157, 167), _unless(0, 1, 36, 0x59616D61)),
)
