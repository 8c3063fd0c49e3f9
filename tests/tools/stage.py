"""Where a session of the recorder is played: a folder of its own, commands in it, and what each left behind.

All is taken as bytes from outside: nothing of the package is imported here but the fake model server's name.
"""

import contextlib
import fcntl
import http.client
import os
import shlex
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import IO, Any
from urllib.parse import urlsplit

from tests.paths import ROOT
from tests.tools.masks import Masks

PRODUCT = (sys.executable, "-m", "optimize_eval")
FAKE_MODEL = (sys.executable, "-m", "optimize_eval.fakes.model")
_LENT = ("datasets", "evaluators")  # folders of the repository that sessions see
_LONGEST = 120  # seconds
_FIRST_PORT = 17100  # below those that kernels hand out

Recording = dict[str, bytes]  # the files of a session's recording


class Stage:
    """A folder in which commands are played; `recording` is what they did."""

    def __init__(self, folder: Path, port: int) -> None:
        self.folder, self.port = folder, port
        self.recording: Recording = {}
        self._masks = Masks(folder.parent)
        self._seen: dict[str, bytes] = {}
        self._step = ""
        self._keys: Mapping[str, str] = {}  # of models, while one is served

    def write(self, **texts: str) -> None:
        """Write files: `train_jsonl` is train.jsonl, and a text that begins with #! a program."""
        for name, text in texts.items():
            stem, _, suffix = name.rpartition("_")
            path = self.folder / f"{stem}.{suffix}"
            path.write_text(text)
            path.chmod(0o755 if text.startswith("#!") else 0o644)

    def play(self, line: str, *, stdin: bytes = b"", **env: str) -> None:
        """Run a command of the product, given as in a shell, and record what it says and leaves."""
        self._begin(f"optimize-eval {line}")
        self._run([*PRODUCT, *shlex.split(line)], stdin, env)

    def play_each(self, text: str) -> None:
        for line in filter(None, map(str.strip, text.splitlines())):
            self.play(line)

    def python(self, code: str) -> None:
        """Run a program in Python, and record the same of it."""
        self._begin("python")
        self._run([sys.executable, "-c", code], b"", {})

    @contextlib.contextmanager
    def model(self, rules: str) -> Iterator[str]:
        """Serve rules of the fake model server at the session's port; gives the base URL."""
        rules_file = self.folder.parent / "rules.toml"
        rules_file.write_text(rules)
        with self._background([*FAKE_MODEL, str(rules_file), "--port", str(self.port)]) as (_, base):
            self._keys = {"OPENAI_API_KEY": "none"}
            yield base
        self._keys = {}

    @contextlib.contextmanager
    def server(self, line: str) -> Iterator[Callable[..., None]]:
        """Start a command that serves; gives what asks it. Its streams are recorded when it has ended."""
        words = [word.replace("{port}", str(self.port)) for word in shlex.split(line)]
        with self._background([*PRODUCT, *words]) as (process, url):
            parts = urlsplit(url)
            prefix = (parts.path or "/") if "?" not in url else f"{parts.path}?{parts.query}"
            token = parts.query.removeprefix("token=")
            yield lambda path, body=None, **headers: self._ask(
                parts.netloc,
                path.replace("{/}", prefix),
                body,
                {name: value.replace("{token}", token) for name, value in headers.items()},
            )
            process.send_signal(signal.SIGINT)
            rest, errors = process.communicate(timeout=_LONGEST)
        self._begin(f"optimize-eval {line}")
        self._end(process.returncode, url.encode() + b"\n" + rest, errors)

    def _ask(self, netloc: str, path: str, body: bytes | None, headers: Mapping[str, str]) -> None:
        verb = "GET" if body is None else "POST"
        self._begin(f"{verb} {path}")
        with contextlib.closing(http.client.HTTPConnection(netloc, timeout=_LONGEST)) as connection:
            connection.request(verb, path, body, {"Connection": "close", **headers})
            reply = connection.getresponse()
            head = "".join(f"{name}: {value}\n" for name, value in reply.getheaders())
            self._end(reply.status, reply.read(), head.encode())

    @contextlib.contextmanager
    def _background(self, argv: list[str]) -> Iterator[tuple[subprocess.Popen[bytes], str]]:
        """Start what prints its URL as its first line; it is ended with the block."""
        with subprocess.Popen(
            argv,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            cwd=self.folder,
            env=self._environment({}),
        ) as process:
            try:
                yield process, _first_line(process.stdout)
            finally:
                process.terminate()

    def _run(self, argv: list[str], stdin: bytes, env: Mapping[str, str]) -> None:
        done = subprocess.run(
            argv,
            input=stdin,
            capture_output=True,
            cwd=self.folder,
            env=self._environment(env),
            timeout=_LONGEST,
            check=False,
        )
        self._end(done.returncode, done.stdout, done.stderr)

    def _environment(self, env: Mapping[str, str]) -> dict[str, str]:
        """Nothing of the caller's but where programs are."""
        home = self.folder.parent / "home"
        path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
        fixed = {"HOME": str(home), "LANG": "C.UTF-8", "TZ": "UTC", "COLUMNS": "100", "PATH": path}
        return {**fixed, "SETUPTOOLS_USE_DISTUTILS": "stdlib", **self._keys, **env}

    def _begin(self, line: str) -> None:
        self._step = f"{len({path.split('/')[0] for path in self.recording}) + 1:02}"
        self.recording[f"{self._step}/command"] = self._masks.of("command", line.encode() + b"\n")

    def _end(self, status: int, stdout: bytes, stderr: bytes) -> None:
        self.recording[f"{self._step}/command"] += f"exit {status}\n".encode()
        for name, text in (("stdout", stdout), ("stderr", stderr)):
            if masked := self._masks.of(name, text):
                self.recording[f"{self._step}/{name}"] = masked
        self._take_files()

    def _take_files(self) -> None:
        """Record the files that are new or other than before, and the names of those that are gone."""
        now = {name: self._masks.of(name, path.read_bytes()) for name, path in self._files()}
        changed = {name: text for name, text in now.items() if self._seen.get(name) != text}
        self.recording |= {f"{self._step}/files/{name}": text for name, text in changed.items()}
        if gone := sorted(self._seen.keys() - now.keys()):
            self.recording[f"{self._step}/gone"] = "".join(f"{name}\n" for name in gone).encode()
        self._seen = now

    def _files(self) -> Iterator[tuple[str, Path]]:
        for path in sorted(self.folder.rglob("*")):
            name = path.relative_to(self.folder)
            if path.is_file() and name.parts[0] not in _LENT and "__pycache__" not in name.parts:
                yield str(name), path


@contextlib.contextmanager
def staged(port: int) -> Iterator[Stage]:
    """Make a stage whose port is no other's, also of other recorders on this machine."""
    common = Path(tempfile.gettempdir())
    with contextlib.ExitStack() as undo:
        held = undo.enter_context((common / f"optimize-eval-recorder-{_FIRST_PORT + port}").open("w"))
        fcntl.flock(held, fcntl.LOCK_EX)
        # texts are wrapped by the lengths of paths, so that these are the same everywhere
        scratch = Path(tempfile.mkdtemp(prefix="optimize-eval-played-", dir="/tmp"))
        undo.callback(shutil.rmtree, scratch, ignore_errors=True)
        folder = scratch / "work"
        folder.mkdir()
        (scratch / "home").mkdir()
        for name in _LENT:
            (folder / name).symlink_to(ROOT / name)
        yield Stage(folder, _FIRST_PORT + port)


def _first_line(stream: IO[Any] | None) -> str:
    assert stream
    return str(stream.readline().decode().strip())
