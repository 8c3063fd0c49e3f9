"""What every test shares: the installed program as a subprocess, and a check that nothing is left behind."""

import contextlib
import os
import shutil
import subprocess
import sys
import time
import uuid
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import orjson
import pytest

from optimize_eval import http_evaluator
from tests.fake_model import FakeModel, Rules, served_model

ROOT = Path(__file__).resolve().parents[1]
PROGRAM = Path(sys.executable).with_name("optimize-eval")
MARK = "OPTIMIZE_EVAL_TEST"

os.environ.pop("PYTHONUNBUFFERED", None)  # it would hide evaluators that forget to flush
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)  # or our program is compiled anew at each of 3,000 starts


def pytest_xdist_auto_num_workers() -> int:
    """Run two tests a processor: many of them wait, for deadlines or for the processes of others."""
    return 2 * (os.cpu_count() or 1)


@dataclass(frozen=True, slots=True)
class Result:
    """What a finished command left: its exit status and both streams."""

    status: int
    stdout: str
    stderr: str

    @property
    def json(self) -> Any:
        return orjson.loads(self.stdout)


Cli = Callable[..., Result]


@pytest.fixture
def cli(tmp_path: Path) -> Cli:
    """Run the installed `optimize-eval` in an empty folder."""

    def run(*arguments: str | Path, stdin: bytes = b"", env: dict[str, str] | None = None) -> Result:
        done = subprocess.run(
            [PROGRAM, *map(str, arguments)],
            input=stdin,
            capture_output=True,
            cwd=tmp_path,
            env={**_without_ci(), **(env or {})},
            timeout=50,
            check=False,
        )
        return Result(done.returncode, done.stdout.decode(), done.stderr.decode())

    return run


StartModel = Callable[[Rules], FakeModel]


@pytest.fixture
def fake_model(tmp_path: Path) -> Iterator[StartModel]:
    """Start the fake model server with rules, as TOML text or as a list; it ends with the test."""
    with contextlib.ExitStack() as running:
        yield lambda rules: running.enter_context(served_model(rules, tmp_path))


def _without_ci() -> dict[str, str]:
    return {name: value for name, value in os.environ.items() if name != "CI"}


@pytest.fixture(scope="session", autouse=True)
def _http_client() -> None:
    """Start the HTTP client's runtime, which stays for a process's life: a thread, three descriptors."""
    http_evaluator("http://127.0.0.1:9/").close()


@pytest.fixture(autouse=True)
def nothing_left(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """After each test: no process that it started, and as many descriptors as before."""
    mark = uuid.uuid4().hex
    monkeypatch.setenv(MARK, mark)
    before = _descriptors()
    yield
    left = processes_with(f"{MARK}={mark}".encode())
    assert not left, f"still running after the test: {left}"
    patience = time.monotonic() + 5  # the HTTP client's threads close connections a moment after its close()
    while _descriptors() > before and time.monotonic() < patience:
        time.sleep(0.002)
    assert _descriptors() <= before, f"descriptors left open: {before} before, {_descriptors()} after"


def _descriptors() -> int:
    folder = "/proc/self/fd" if sys.platform == "linux" else "/dev/fd"
    return sum(1 for _ in Path(folder).iterdir())


def processes_with(entry: bytes) -> list[str]:
    """List the command lines of living processes whose environment has an entry."""
    others = (
        path for path in Path("/proc").iterdir() if path.name.isdigit() and int(path.name) != os.getpid()
    )
    found = [_command_line(path) for path in others if _environment_has(path, entry)]
    return [line for line in found if line]


def _command_line(folder: Path) -> str:
    try:
        return (folder / "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
    except OSError:  # it ended meanwhile
        return ""


def _environment_has(folder: Path, entry: bytes) -> bool:
    try:
        return entry in (folder / "environ").read_bytes().split(b"\0")
    except OSError:
        return False


def need(*programs: str) -> pytest.MarkDecorator:
    """Skip where a program is missing, but not under CI: there it has to be."""
    missing = [program for program in programs if shutil.which(program) is None]
    return pytest.mark.skipif(
        bool(missing) and not os.environ.get("CI"), reason=f"needs the tool {', '.join(missing)}"
    )


def write_program(path: Path, lines: Sequence[str]) -> Path:
    path.write_text("\n".join(lines) + "\n")
    path.chmod(0o755)
    return path
