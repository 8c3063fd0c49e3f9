"""`run --lf`: what failed or got worse in the last run is called again; there is no verdict, and no gate."""

from pathlib import Path

import pytest

from tests.front_door import Cli
from tests.tools import write_program

WORDS = ("run", "-e", "./e.sh", "--candidate", "[ab].txt", "--dataset", "d.jsonl")


@pytest.fixture(autouse=True)
def folder(tmp_path: Path) -> None:
    """Make b lose on the example 3, and every call fail on the example 5."""
    lines = ["#!/bin/sh", "read -r line", "s=1", "case $line in"]
    lines += ["*'\"n\":5'*) exit 3;;", "*after*'\"n\":3'*) s=0;;", "esac", 'echo "{\\"score\\": $s}"']
    write_program(tmp_path / "e.sh", lines)
    (tmp_path / "a.txt").write_text("before")
    (tmp_path / "b.txt").write_text("after")
    (tmp_path / "d.jsonl").write_text("".join(f'{{"n":{n}}}\n' for n in range(1, 9)))


def test_only_what_failed_or_got_worse_is_called_and_nothing_is_claimed(cli: Cli, tmp_path: Path) -> None:
    assert cli(*WORDS, "--quiet").status == 0
    done = cli(*WORDS, "--lf", "--json")
    assert done.status == 0, done.stderr
    (first,) = (path.name for path in (tmp_path / "runs").iterdir())
    assert f"note: 2 of the examples failed or got worse in runs/{first}; the others" in done.stderr
    assert done.json["summary"]["units"] == {"total": 4, "scored": 2, "failed": 2, "skipped": 0, "owed": 0}
    verdict = done.json["verdict"]
    assert verdict["text"].startswith(
        f"No verdict: these examples were chosen because they failed or got worse in {first}. "
    )
    assert (verdict["state"], verdict["winner"]) == (None, None)
    again = cli("report", done.json["run"], "--json").json
    assert again["verdict"] == verdict
    assert cli("report", done.json["run"], "--check").status == 0
    whole = cli(*WORDS, "--json").json
    assert whole["summary"]["units"]["total"] == 16
    assert whole["verdict"]["state"] is not None


def test_where_nothing_failed_nothing_is_called(cli: Cli, tmp_path: Path) -> None:
    write_program(tmp_path / "e.sh", ["#!/bin/sh", "echo '{\"score\": 1}'"])
    assert cli(*WORDS, "--quiet").status == 0
    done = cli(*WORDS, "--lf")
    assert (done.status, done.stdout) == (0, "")
    assert "nothing failed or got worse in runs/run-" in done.stderr


def test_an_interrupted_run_is_not_the_last_one(cli: Cli) -> None:
    assert cli(*WORDS, "--quiet").status == 0
    assert cli(*WORDS, "--lf", "--max-time", "0s", "--quiet").status == 4
    assert "note: 2 of the examples" in cli(*WORDS, "--lf", "--quiet").stderr


def test_no_gate_stands_beside_it_and_there_has_to_be_a_run(cli: Cli) -> None:
    gated = cli(*WORDS, "--lf", "--fail-under", "e=0.5")
    assert (gated.status, "--lf takes examples by their results" in gated.stderr) == (2, True)
    assert "no run under runs/ has ended" in cli(*WORDS, "--lf").stderr.replace("RUN is named, and no ", "")


@pytest.mark.parametrize("gate", [("--fail-under", "e=0.1"), ("--max-gap", "0.1")])
def test_no_gate_is_about_such_a_run_afterwards_either(cli: Cli, gate: tuple[str, str]) -> None:
    assert cli(*WORDS, "--quiet").status == 0
    run = cli(*WORDS, "--lf", "--json").json["run"]
    for words in (("report", run), ("diff", run, run)):
        done = cli(*words, *gate)
        assert (done.status, done.stdout) == (2, ""), done
        assert f"gates cannot be about {run}, whose examples are those that failed" in done.stderr
