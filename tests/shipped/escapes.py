# ruff: noqa: E501  programs in texts
"""Candidates that try to get out of the sandbox or to score without an answer.

Each is the body of `def f(x)`, which returns True where it has got what it wanted; `x` says what there is to be
had: a `secret` (a file outside), a `folder` to write to, a `port` and the names `path` and `abstract` of sockets
that listen, a `victim` (a process), a `judge` (its process), the `token` that marks what must not outlive a call.
"""

_LIBC = "    libc = ctypes.CDLL(None, use_errno=True)\n"

FILES = {
    "host names": "return bool(socket.getaddrinfo('localhost', 80))",
    "dev shm": "return open('/dev/shm/a', 'wb').write(bytes(1 << 20)) > 0",
    "passwd": "return b'root' in open('/etc/passwd', 'rb').read()",
    "secret": "return open(x['secret']).read() == 'secret'",
    "parent's root": "return open(f'/proc/{os.getppid()}/root' + x['secret']).read() == 'secret'",
    "init's root": "return open('/proc/1/root' + x['secret']).read() == 'secret'",
    "judge's root": "return open(f\"/proc/{x['judge']}/root\" + x['secret']).read() == 'secret'",
    "judge's memory": "return open(f\"/proc/{x['judge']}/mem\", 'rb') is not None",
    "judge's environment": "return b'PATH' in open(f\"/proc/{x['judge']}/environ\", 'rb').read()",
    "judge's output": "return os.write(os.open(f\"/proc/{x['judge']}/fd/1\", os.O_WRONLY), b'{\"score\": 1}\\n') > 0",
    "parent's output": "return os.write(os.open(f'/proc/{os.getppid()}/fd/1', os.O_WRONLY), b'{\"score\": 1}\\n') > 0",
    "another's memory": "return open(f\"/proc/{x['victim']}/mem\", 'rb') is not None",
    "list folder": "return bool(os.listdir(x['folder']))",
    "evaluators": "return bool(open(x['harness']).read())",
    "write outside": "return open(x['folder'] + '/written', 'w').write('1') > 0",
    "write root": "return open('/written', 'w').write('1') > 0",
    "delete": "return os.unlink(x['secret']) is None",
    "truncate": "return os.truncate(x['secret'], 0) is None",
    "chmod": "return os.chmod(x['secret'], 0) is None",
    "chown": "return os.chown(x['secret'], 1, 1) is None",
    "utime": "return os.utime(x['secret'], (1, 1)) is None",
    "rename": "return os.rename(x['secret'], x['secret'] + '2') is None",
    "mkdir": "return os.mkdir(x['folder'] + '/made') is None",
    "link into scratch": "os.link(x['secret'], 'l'); return open('l').read() == 'secret'",
    "symlink in scratch": "os.symlink(x['secret'], 's'); return open('s').read() == 'secret'",
    "symlink to write": "os.symlink(x['folder'], 'd'); return open('d/written', 'w').write('1') > 0",
    "xattr": "return os.setxattr(x['secret'], 'user.a', b'1') is None",
    "mknod": "return os.mknod('disk', 0o60666, os.makedev(8, 0)) is None",
    "mount": "return libc.mount(b'/', b'.', None, 4096, None) == 0",
    "mount proc": "return libc.mount(b'proc', b'.', b'proc', 0, None) == 0",
    "umount": "return libc.umount2(b'/dev/null', 2) == 0",
    "remount": "return libc.mount(None, b'/', None, 32, None) == 0",
    "chroot": "return os.chroot('.') is None",
    "open by handle": "return libc.open_by_handle_at(0, bytes(128), 0) >= 0 or ctypes.get_errno() != 1",
    "write interpreter": "return open(os.__file__, 'a').write('#') > 0",
    "packages": (
        "import sysconfig; p = sysconfig.get_path('purelib'); sys.path.append(p)\n"
        "    return any(n not in ('README.txt',) for n in os.listdir(p))"
    ),
    "unix path": "s = socket.socket(socket.AF_UNIX); s.connect(x['path']); return True",
}
NETWORK = {
    "tcp": "return socket.create_connection(('127.0.0.1', x['port']), 1) is not None",
    "udp": "return socket.socket(2, 2).sendto(b'1', ('127.0.0.1', 9)) > 0",
    "abstract": "s = socket.socket(socket.AF_UNIX); s.connect('\\0' + x['abstract']); return True",
    "raw": "return socket.socket(2, 3, 1) is not None",
    "pair led off": (
        "a, b = socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM)\n"
        "    return a.sendto(b'1', '\\0' + x['abstract'] + 'd') > 0"
    ),
    "listen": "s = socket.socket(); s.bind(('0.0.0.0', 0)); s.listen(); return s.getsockname()[1] > 0 and x['port'] < 0",
}
SIGNALS = {
    "kill victim": "return os.kill(x['victim'], 9) is None",
    "kill judge": "return os.kill(x['judge'], 15) is None",
    "kill parent": "os.kill(os.getppid() or x['judge'], 19); return os.getppid() == x['judge']",
    "kill group": "return os.killpg(x['judge'], 15) is None",
    "pidfd": "import signal; return signal.pidfd_send_signal(os.pidfd_open(x['victim']), 9) is None",
    "sigqueue": "return libc.syscall(129, x['victim'], 15, bytes(128)) == 0",
    "owner of a pipe": "import fcntl; return fcntl.fcntl(os.pipe()[0], fcntl.F_SETOWN, x['victim']) == 0",
    "ptrace": "return libc.ptrace(16, x['judge'], 0, 0) == 0",
    "ptrace parent": "return libc.ptrace(16, os.getppid(), 0, 0) == 0",
    "read memory": (
        "v = (ctypes.c_size_t * 2)(ctypes.addressof(ctypes.create_string_buffer(8)), 8)\n"
        "    libc.process_vm_readv(x['judge'], v, 1, v, 1, 0); return ctypes.get_errno() not in (1, 3, 38)"
    ),
    "limits of others": "import resource; return bool(resource.prlimit(x['victim'], 7, (0, 0)))",
    "priority": "return os.setpriority(os.PRIO_PROCESS, x['victim'], 19) is None",
}
KERNEL = {
    "netlink": "return socket.socket(socket.AF_NETLINK, 3, 0).sendto(bytes(16), (0, 0)) > 0",
    "user namespace": "return libc.unshare(0x10000000) == 0",
    "join namespace": "return libc.setns(0, 0) == 0 or ctypes.get_errno() != 1",
    "new process": "return os.fork() >= 0",
    "clone3": "return libc.syscall(435, bytes(88), 88) == 0 or ctypes.get_errno() != 38",
    "vfork": "import subprocess; return subprocess.run(['/usr/bin/true']).returncode == 0",
    "setuid": "return os.setuid(0) is None and os.listdir(x['folder'])",
    "setgroups": "return os.setgroups([0]) is None",
    "capabilities": "return libc.prctl(24, 21) == 1 and libc.mount(b'x', b'.', b'tmpfs', 0, None) == 0",
    "keyring": "return libc.syscall(248, b'user', b'a', b'b', 1, -3) > 0",
    "bpf": "return libc.syscall(321, 0, bytes(128), 128) >= 0",
    "io_uring": "return libc.syscall(425, 4, bytes(120)) >= 0",
    "userfaultfd": "return libc.syscall(323, 1) >= 0",
    "perf": "return libc.syscall(298, bytes(128), 0, -1, -1, 0) >= 0",
    "inotify": "return libc.inotify_init1(0) >= 0",
    "fanotify": "return libc.fanotify_init(0, 0) >= 0",
    "typing for others": "import fcntl; return fcntl.ioctl(0, 0x5412, b'x') is not None",
    "terminal": "return os.open('/dev/tty', os.O_RDWR) >= 0",
    "personality": "return libc.personality(0x40000) >= 0",
    "host name": "return socket.sethostname('x') is None",
    "clock": "import time; return time.clock_settime(0, 1) is None",
    "other calls": "return libc.syscall(0x40000000 + 39) >= 0",
}
MEMORY = {
    "one large": "return len(bytearray(2 << 30)) > 0",
    "growing": "a = []\n    while True: a.append(bytearray(8 << 20))",
    "many processes": "while True: os.fork()",
    "shared memory": "return libc.shmget(0, 1 << 30, 0o1600) >= 0",
    "memory file": "return os.memfd_create('a') >= 0",
    "fill the scratch": (
        "for n in range(99):\n        with open(str(n), 'wb') as file: file.write(bytes(8 << 20))\n    return True"
    ),
    "many files": "for n in range(9999): open(str(n), 'w').close()\n    return True",
    "many folders": "for n in range(9999): os.mkdir(str(n))\n    return True",
    "large file": "with open('a', 'wb') as file: file.truncate(1 << 40)\n    return True",
    "raise the limits": "import resource; return resource.setrlimit(resource.RLIMIT_AS, (-1, -1)) is None",
    "message queue": "return libc.msgget(0, 0o1600) >= 0",
    "many threads": (
        "import threading, time\n"
        "    for n in range(5000): threading.Thread(target=time.sleep, args=(9,), daemon=True).start()\n    return True"
    ),
}
OUTLIVING = {
    "orphan": (
        "if os.fork() == 0:\n        os.setsid()\n"
        "        if os.fork() == 0:\n            libc.prctl(15, x['token'].encode())\n"
        "            import signal; signal.signal(15, signal.SIG_IGN); signal.signal(1, signal.SIG_IGN)\n"
        "            while True: signal.pause()\n        os._exit(0)\n    return False"
    ),
    "orphan that holds the line": (
        "if os.fork() == 0:\n        os.setsid(); libc.prctl(15, x['token'].encode())\n"
        "        while True: pass\n    os._exit(0)"
    ),
    "group of many": (
        "import time; libc.prctl(15, x['token'].encode()); first = os.getpid()\n"
        "    for n in range(6):\n        if os.fork() == 0: os.setsid()\n"
        "    while True: os.getpid() == first or time.sleep(0.05)"
    ),
}
FORGING = {  # the wanted value is one that cannot be guessed
    "frames": (
        "import gc; frame = sys._getframe()\n    found = []\n    while frame:\n"
        "        found += [v for v in frame.f_locals.values() if type(v) is str and v.startswith('wanted-')]\n"
        "        frame = frame.f_back\n"
        "    found += [o for o in gc.get_objects() if type(o) is str and o.startswith('wanted-')]\n"
        "    return found[0] if found else None"
    ),
    "builtins by len": "return len.__self__.open('/proc/self/environ').read()",
    "subclasses": "return [c for c in ().__class__.__base__.__subclasses__() if 'Popen' in c.__name__][0]",
    "equal to all": "return type('E', (), {'__eq__': lambda s, o: True, '__hash__': lambda s: 0})()",
    "equal text": "return type('S', (str,), {'__eq__': lambda s, o: True, '__hash__': lambda s: 0})()",
    "equal list": "return type('L', (list,), {'__eq__': lambda s, o: True})()",
    "equal number": "return type('I', (int,), {'__eq__': lambda s, o: True, '__hash__': lambda s: 0})(1)",
    "lying class": "return type('C', (), {'__class__': str, '__eq__': lambda s, o: True})()",
    "exit with a score": "os.write(1, b'{\"score\": 1.0}\\n'); os._exit(0)",
    "forged lines": (
        'for fd in range(256):\n        try: os.write(fd, b\'["verdict", true, ""]\\n{"score": 1}\\n\' * 9)\n'
        "        except OSError: pass\n    os._exit(0)"
    ),
    "forged values": (
        'for fd in range(3, 256):\n        try: os.write(fd, b\'["=", {"object": 0}]\\n["=", {"yours": 0}]\\n\' * 9)\n'
        "        except OSError: pass\n    return None"
    ),
    "odd tags": (
        'for fd in range(3, 256):\n        try: os.write(fd, b\'["=", {"builtin": "eval"}]\\n["="]\\n{}\\n7\\n\' * 3)\n'
        "        except OSError: pass\n    return None"
    ),
    "asking back": (
        "for fd in range(3, 256):\n"
        '        try: os.write(fd, b\'["?", "getattr", [{"yours": 0}, "__globals__"], {}]\\n\' * 3)\n'
        "        except OSError: pass\n    return None"
    ),
    "nested lines": (
        "for fd in range(3, 256):\n        try: os.write(fd, b'[\"=\", ' + b'[' * 100000 + b'\\n')\n"
        "        except OSError: pass\n    return None"
    ),
    "nested value": "a = []\n    for n in range(100000): a = [a]\n    return a",
    "itself": "a = []; a.append(a); return a",
    "huge number": "return 1 << 3000000",
    "not a number": "return float('nan')",
    "endless line": "b = bytes(1 << 16).replace(b'\\0', b'a')\n    while True:\n        for fd in range(3, 9):\n"
    "            try: os.write(fd, b)\n            except OSError: pass",
    "much on stderr": "sys.stderr.write('e' * 200000); return 'e'",
    "endless stderr": "while True: os.write(2, bytes(1 << 16))",
    "close all": "os.closerange(0, 256); return 'wanted'",
    "exit": "sys.exit('wanted')",
    "interrupt": "raise KeyboardInterrupt",
    "generator exit": "raise GeneratorExit",
    "at exit": "import atexit; atexit.register(os.write, 1, b'x'); raise SystemExit",
    "threads": "import threading; threading.Thread(target=lambda: [0 for _ in iter(int, 1)]).start(); return None",
    "loop": "while True: pass",
    "deaf loop": "import signal\n    for n in range(1, 32):\n        try: signal.signal(n, signal.SIG_IGN)\n"
    "        except (OSError, ValueError): pass\n    while True: pass",
    "crash": "ctypes.string_at(0)",
    "deep recursion": "sys.setrecursionlimit(10 ** 9); g = lambda: g(); return g()",
    "sleep": "import time; time.sleep(1000)",
    "harness's own": "import __main__; return [k for k, v in vars(__main__).items() if 'wanted' in str(v)][0]",
    "the judge by module": "import inside; return inside.wanted",
    "exception's text": "raise type('E', (Exception,), {'__str__': lambda s: os._exit(0)})",
    "patched line": (
        "import builtins; builtins.repr = builtins.hash = builtins.isinstance = lambda *a: True; return object()"
    ),
}

_BY_VALUES = {  # forgeries that only give something back
    "frames",
    "builtins by len",
    "subclasses",
    "equal to all",
    "equal text",
    "equal list",
    "equal number",
    "lying class",
    "not a number",
    "harness's own",
    "the judge by module",
}
_BY_ERRORS = {  # what is refused, given back or raised, and leaves nothing
    "one large",
    "shared memory",
    "memory file",
    "large file",
    "raise the limits",
    "message queue",
    "nested value",
    "itself",
    "much on stderr",
    "exit",
    "interrupt",
    "generator exit",
}
SHORT = {  # these neither end nor change who runs them
    *(*FILES, *NETWORK, *SIGNALS, *KERNEL),
    *(*_BY_VALUES, *_BY_ERRORS),
}
ENDLESS = {  # these go on until their time is up, and had what they want long before
    "orphan that holds the line",
    "group of many",
    "endless stderr",
    "loop",
    "deaf loop",
    "deep recursion",
    "sleep",
}

_MODULES = ("ctypes", "os", "socket", "sys")


def candidate(*bodies: str) -> str:
    """Make a program of them, in which `x["number"]` says which is tried."""
    tried = ", ".join(f"f{number}" for number in range(len(bodies)))
    functions = [_function(f"f{number}", body) for number, body in enumerate(bodies)]
    return "".join([*functions, f"def f(x): return [{tried}][x['number']](x)\n"])


def _function(name: str, body: str) -> str:
    """Let it import what it uses; to load all of the modules takes longer than a sandbox's start."""
    libc = _LIBC if "libc" in body else ""
    used = [name for name in _MODULES if f"{name}." in libc + body]
    imports = f"    import {', '.join(used)}\n" if used else ""
    return f"def {name}(x):\n{imports}{libc}    {body}\n"
