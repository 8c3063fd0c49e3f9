"""Commands about a run that name none take the one under runs/ that ended last, and say which."""

from pathlib import Path

import pytest

from tests.cli.made_runs import make
from tests.findings.made import on_val
from tests.front_door import Cli
from tests.tools import write_program


@pytest.fixture
def two_runs(cli: Cli, tmp_path: Path) -> None:
    """Make runs/later end after runs/first, and one that was killed after both."""
    write_program(tmp_path / "e.sh", ["#!/bin/sh", "echo '{\"score\": 0.5}'"])
    (tmp_path / "v.txt").touch()
    for name in ("first", "later"):
        words = ("run", "-e", "./e.sh", "--candidate", "v.txt", "--out", f"runs/{name}", "--quiet")
        assert cli(*words).status == 0
    make(tmp_path / "runs" / "killed", status=None, age=-1)


@pytest.mark.usefixtures("two_runs")
def test_report_takes_the_run_that_ended_last(cli: Cli) -> None:
    done = cli("report", "--json")
    assert (done.status, done.stderr) == (0, "note: runs/later, which ended last\n")
    assert done.json == cli("report", "runs/later", "--json").json


@pytest.mark.usefixtures("two_runs")
def test_diff_takes_the_run_of_the_same_kind_that_ended_last_beside_the_named_one(
    cli: Cli, tmp_path: Path
) -> None:
    assert cli("diff", "runs/first").stderr == "note: runs/later, which ended last\n"
    assert cli("diff", "runs/later").stderr == "note: runs/first, which ended last\n"
    task = '{"id": "t", "prompt": "1 + 1 =", "targets": ["2"], "metric": "exact_match"}\n'
    (tmp_path / "sums.jsonl").write_text(task)
    for name in ("bench-a", "bench-b"):
        words = ("bench", "sums.jsonl", "--model", "toy", "--out", f"runs/{name}", "--quiet")
        assert cli(*words).status == 0
    assert cli("diff", "runs/first").stderr == "note: runs/later, which ended last\n"
    for named in ("runs/bench-a", "runs/bench-a/leaderboard.json"):
        done = cli("diff", named)
        assert (done.status, done.stderr) == (0, "note: runs/bench-b, which ended last\n")


@pytest.mark.parametrize("words", [("report",), ("diff", "runs/killed")])
def test_without_a_run_that_ended_there_is_nothing_to_take(
    cli: Cli, tmp_path: Path, words: tuple[str, ...]
) -> None:
    (tmp_path / "runs").mkdir()
    on_val(v=[0.5]).write(tmp_path / "runs" / "killed")
    done = cli(*words)
    assert (done.status, done.stdout) == (2, "")
    assert "run under runs/ has ended\n  try: name the folder of a run" in done.stderr
