"""Called in this process or started alone, a command is the same; Ctrl-C is quiet whenever it comes."""

import re
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest

from tests.front_door import Result, in_its_own_process, in_this_process
from tests.paths import PROGRAMS, ROOT

GREETINGS = ["--dataset", f"{ROOT}/datasets/greetings.jsonl"]
TWO = ["--candidate", "a.txt", "--candidate", "b.txt"]
RUN = ["run", "-e", "@exact_match", *TWO, *GREETINGS, "--out", "r", "--concurrency", "1"]
SWEEP = 'run = {candidates = ["a.txt", "b.txt"]}\n[[evaluator]]\ncommand = "sh -c \'exit 3\'"\n'
COMMANDS: Mapping[str, tuple[Sequence[str], bytes, int]] = {  # → arguments, stdin, exit status
    "nothing": ([], b"", 2),
    "help": (["--help"], b"", 0),
    "help of a command": (["run", "--help"], b"", 0),
    "a misspelt option": (["score", "a.txt", "--evaluatr", "x"], b"", 2),
    "score of stdin": (["score", "-", "-e", f"{PROGRAMS}/good.sh"], "Zoë 🙂".encode(), 0),
    "a failure": (["score", "a.txt", "-e", "./nowhere"], b"", 4),
    "bytes that are no text": (["score", "-", "-e", "true"], b"\xff", 2),
    "a run": (RUN, b"", 0),
    "a run for programs": ([*RUN, "--json"], b"", 0),
    "a gate that is missed": ([*RUN, "--fail-under", "exact_match=0.99"], b"", 1),
    "a sweep that fails": (["run", "s.toml", "--out", "f"], b"", 4),
    "a dry run": ([*RUN, "--dry-run"], b"", 0),
    "a bench": (["bench", f"{ROOT}/datasets/tasks", "--model", "toy", "--out", "b", "--quiet"], b"", 0),
    "bad data": (["validate", f"{ROOT}/datasets/tasks_bad.jsonl", "a.txt"], b"", 2),
    "no such run": (["report", "nowhere"], b"", 2),
    "a preflight": (["preflight", "-e", f"{PROGRAMS}/silent.sh", "--json"], b"", 1),
    "a schema": (["schema", "payload"], b"", 0),
}
PROGRESS = re.compile(r"(?m)^\d\d:\d\d:\d\d .*\n")  # only where the machine is slow
CHANGING = re.compile(
    r'"(?:seconds|p50|p95|max|mean|started_at|created|timestamp|latency_ms)": ?[^,}]+'
    r'|"total": ?\d*\.\d+|\d+\.\d+ s\b|\d+ ms\b|"journal": ?\{[^}]*\}'
)


def without_times(result: Result) -> Result:
    stderr = PROGRESS.sub("", result.stderr)
    return Result(result.status, CHANGING.sub("TIME", result.stdout), CHANGING.sub("TIME", stderr))


@pytest.mark.parametrize(("arguments", "stdin", "status"), COMMANDS.values(), ids=COMMANDS.keys())
def test_in_this_process_or_in_its_own_a_command_is_the_same(
    tmp_path: Path, arguments: Sequence[str], stdin: bytes, status: int
) -> None:
    results = []
    for place in (in_its_own_process, in_this_process):
        folder = tmp_path / "project"
        folder.mkdir()
        (folder / "a.txt").write_text("Hello, Ada!")
        (folder / "b.txt").write_text("Hi")
        (folder / "s.toml").write_text(SWEEP)
        results.append(without_times(place(folder)(*arguments, stdin=stdin)))
        folder.rename(tmp_path / place.__name__)
    assert results[0] == results[1]
    assert results[0].status == status, results[0]


HARNESS = """
import atexit, os, signal, sys

what, how = sys.argv[1:3]
del sys.argv[1:3]

def interrupt():
    os.kill(os.getpid(), signal.SIGINT)

class Dropped:
    def __del__(self):
        interrupt()  # raised in here, Python drops it

class Finder:
    def find_spec(self, name, *_):
        if name == what:
            sys.meta_path.remove(self)
            Dropped() if how == "dropped" else interrupt()

sys.meta_path.insert(0, Finder())
if what == "exit":
    atexit.register(interrupt)
from optimize_eval.cli import main
main()
"""


def interrupted(folder: Path, what: str, how: str = "raised") -> subprocess.CompletedProcess[str]:
    """Run to the end, and interrupt the program when it looks for a module, or exits."""
    (folder / "c.txt").touch()
    (folder / "d.jsonl").write_text('{"id": 1}\n')
    run = ["run", "-e", str(PROGRAMS / "good.sh"), "--candidate", "c.txt", "--dataset", "d.jsonl"]
    command = [sys.executable, "-c", HARNESS, what, how, *run, "--out", "r"]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False, timeout=50)


@pytest.mark.parametrize(
    ("what", "how"),
    [
        ("optimize_eval.cli.app", "raised"),  # the first that is loaded
        ("typer", "raised"),
        ("optimize_eval.run.runner", "raised"),  # the command's own modules
        ("optimize_eval.run.runner", "dropped"),
        ("optimize_eval.findings.summary", "raised"),  # the run is over
        ("optimize_eval.reports.terminal.summary", "raised"),  # the end is printed
        ("exit", "raised"),
    ],
)
def test_an_interrupt_is_quiet_whenever_it_comes(tmp_path: Path, what: str, how: str) -> None:
    done = interrupted(tmp_path, what, how)
    assert done.returncode == 130, done.stderr
    assert "Traceback" not in done.stderr
    assert "Exception ignored" not in done.stderr


def test_a_package_that_is_imported_leaves_signals_alone() -> None:
    code = (
        "import signal; before = signal.getsignal(signal.SIGINT); import optimize_eval, optimize_eval.cli; "
        "print(signal.getsignal(signal.SIGINT) is before)"
    )
    assert subprocess.check_output([sys.executable, "-c", code], text=True) == "True\n"
