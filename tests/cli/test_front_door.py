"""The law behind the `cli` fixture: called in this process or started in its own, a command is the same."""

import re
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
