"""One mistake is told once: what failed, the fix, and the command to run, which works when it is pasted."""

import shlex
from pathlib import Path

import pytest

from tests.front_door import Cli, Result

ROWS = '{"n": 1}\n{"n": 2}\n{"n": 3}\n'
PRINTS = "print('{\"score\": 0.5}')\n"


@pytest.fixture
def run(cli: Cli, tmp_path: Path) -> Cli:
    """Run two candidates over a dataset with `-e` and other options."""
    for name in ("a.txt", "b.txt"):
        (tmp_path / name).write_text(name)
    (tmp_path / "d.jsonl").write_text(ROWS)
    (tmp_path / "judge.py").write_text(PRINTS)

    def command(*options: str) -> Result:
        return cli("run", "--candidate", "a.txt", "--candidate", "b.txt", "--dataset", "d.jsonl", *options)

    return command


MISTYPED = {  # -e → what of it is told, the -e of the line that goes on
    "judge.py": ("no program judge.py on PATH", "python3 judge.py"),
    "./judge.py": ("./judge.py is not executable", "python3 ./judge.py"),
    "style=judge.py": ("no program judge.py on PATH", "style=python3 judge.py"),
    "judgee.py": ("no program judgee.py on PATH", "python3 judge.py"),
    "python3 judgee.py": ("No such file or directory", "python3 judge.py"),
}


@pytest.mark.parametrize(("written", "told", "works"), [(w, *t) for w, t in MISTYPED.items()], ids=MISTYPED)
def test_a_mistyped_program_is_told_once_with_the_line_that_goes_on(
    run: Cli, cli: Cli, written: str, told: str, works: str
) -> None:
    failed = run("-e", written)
    assert failed.status == 4
    assert failed.stdout == " no result: nothing was scored.\n"
    assert failed.stderr.count(told) == 1 + failed.stderr.count("it wrote to stderr:")
    *_, fix, say, line = failed.stderr.splitlines()
    assert "did you mean " in (failed.stderr if "try it:" in fix else fix)
    assert say == "stopped before the other 3 calls (--no-preflight makes them anyway); to go on, run:"
    pasted = shlex.split(line)
    assert works in pasted
    done = cli(*pasted[1:])
    assert (done.status, done.stderr.count("6/6, 0 failed")) == (0, 1), done.stderr


def test_where_all_calls_were_made_the_command_is_told_too(run: Cli) -> None:
    failed = run("-e", "sh -c 'echo no luck >&2; exit 3'", "--limit", "1", "--out", "r")
    assert failed.stdout == " no result: nothing was scored.\n"
    assert failed.stderr.count("no luck\n") == 1, "the message has all that was written"
    assert "stopped" not in failed.stderr
    assert "after fixing it, run:\n  optimize-eval run --candidate a.txt" in failed.stderr


def test_beside_one_that_scores_the_broken_one_is_told_on_stderr_alone(run: Cli) -> None:
    failed = run("-e", "judge.py", "-e", "ok=python3 judge.py", "--no-preflight")
    assert failed.status == 4
    assert "ok: train, sorted by mean" in failed.stdout
    assert failed.stdout.count("not_found") == 1, "the verdict says it, and no list of failures"
    assert "the same command again" not in failed.stdout
    assert failed.stderr.count("no program judge.py on PATH") == 1


def test_a_report_of_it_later_says_what_failed(run: Cli, cli: Cli) -> None:
    run("-e", "judge.py", "--out", "r")
    assert "3 × not_found  judge · a, b · train 1: no program judge.py on PATH" in cli("report", "r").stdout


def test_some_failures_are_in_the_report_with_the_way_to_retry(run: Cli) -> None:
    most = """python3 -c 'import sys; sys.exit(3) if "3}" in input() else print("{\\"score\\": 1}")'"""
    done = run("-e", most)
    assert "2 × exit_code" in done.stdout
    assert "retry what failed" in done.stdout
