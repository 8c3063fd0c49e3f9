"""Programs that tests write, need, or put behind HTTP."""

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cache, partial
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from importlib.util import find_spec
from pathlib import Path
from threading import Lock

import pytest
from _pytest.mark import ParameterSet

from tests.paths import ROOT
from tests.serving import serving


def need(*programs: str) -> pytest.MarkDecorator:
    """Skip where a program is missing, but not under CI: there it has to be."""
    missing = [program for program in programs if shutil.which(program) is None]
    return pytest.mark.skipif(
        bool(missing) and not os.environ.get("CI"), reason=f"needs the tool {', '.join(missing)}"
    )


def cases(table: Mapping[str, tuple[str, ...]]) -> list[ParameterSet]:
    """Make parameters of rows by their ids; a program of tests/faults that is named first may need a tool."""
    return [pytest.param(*row, id=name, marks=need(*_needed_by(row[0]))) for name, row in table.items()]


def _needed_by(program: str) -> list[str]:
    parts = {".pl": "perl", "setsid": "setsid", "in_own_session": "setsid"}
    return [tool for part, tool in parts.items() if part in program]


def need_module(name: str) -> pytest.MarkDecorator:
    """Skip where a library that is large and used by few tests is missing; .ci/run has a step with them."""
    return pytest.mark.skipif(find_spec(name) is None, reason=f"needs the library {name}")


def need_kernel(what: str) -> pytest.MarkDecorator:
    """Skip where the kernel lets nobody do something, whatever is installed; not under CI."""
    is_missing = not os.environ.get("CI") and not _OFFERED[what]()
    return pytest.mark.skipif(is_missing, reason=f"needs {what}, which this process is not allowed")


@cache
def _is_done(*command: str) -> bool:
    try:
        return subprocess.run(command, capture_output=True, check=False).returncode == 0
    except OSError:
        return False


_OFFERED = {
    "namespaces": partial(
        _is_done, "unshare", *(["--map-root-user"] if os.geteuid() else []), "--pid", "--net"
    ),
    "bubblewrap": partial(_is_done, "bwrap", "--unshare-pid", "--unshare-net", "--ro-bind", "/", "/", "true"),
}


starts_in_any_locale = pytest.mark.skipif(
    sys.version_info < (3, 13) and not str(ROOT).isascii(),
    reason="before 3.13 Python does not start in the locale C where a .pth names a folder that is not ASCII",
)


def write_program(path: Path, lines: Sequence[str]) -> Path:
    path.write_text("\n".join(lines) + "\n")
    path.chmod(0o755)
    return path


@contextmanager
def behind_http(argv: tuple[str, ...]) -> Iterator[str]:
    """Put a program that stays alive behind HTTP: each body is a line for it, each answer its next line."""
    one_at_a_time = Lock()

    class Bridge(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            with one_at_a_time:
                answer = _answer_of(program, body)
            self.send_response(200)
            self.send_header("Content-Length", str(len(answer)))
            self.end_headers()
            self.wfile.write(answer)

        def log_message(self, *_: object) -> None:
            pass

    program = subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    try:
        with serving(ThreadingHTTPServer(("127.0.0.1", 0), Bridge)) as server:
            yield f"http://127.0.0.1:{server.server_port}/"
    finally:
        program.communicate()
    assert program.returncode == 0


def _answer_of(program: subprocess.Popen[bytes], line: bytes) -> bytes:
    assert program.stdin
    assert program.stdout
    program.stdin.write(line.rstrip(b"\n") + b"\n")
    program.stdin.flush()
    return program.stdout.readline()
