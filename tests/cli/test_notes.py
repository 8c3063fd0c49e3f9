"""Notes of runs from outside: written by commands, kept through sessions, shown by the list and reports."""

import os
from pathlib import Path

import pytest

from optimize_eval.store.folder import hold_lock
from tests.cli.made_runs import make
from tests.front_door import Cli
from tests.reports.looks import HOSTILE, measured
from tests.tools import write_program

TASK = '{"id": "t", "prompt": "1 + 1 =", "targets": ["2"], "metric": "exact_match"}\n'


@pytest.fixture
def command(tmp_path: Path) -> list[str]:
    write_program(tmp_path / "e.sh", ["#!/bin/sh", "echo '{\"score\": 0.5}'"])
    (tmp_path / "v.txt").touch()
    return ["run", "-e", "./e.sh", "--candidate", "v.txt", "--out", "r", "--quiet"]


def note_of(cli: Cli, run: str = "r") -> str | None:
    (one,) = cli("runs", run, "--json").json["runs"]
    note: str | None = one["note"]
    return note


def test_a_note_is_shown_by_the_list_and_at_the_head_of_reports(cli: Cli, command: list[str]) -> None:
    assert cli(*command, "--note", " the prompt\nbefore the fix ").status == 0
    assert note_of(cli) == "the prompt\nbefore the fix"
    assert "note: the prompt before the fix" in " ".join(cli("runs", "r", "--long").stdout.split())
    assert cli("report", "r").stdout.startswith(" note: the prompt before the fix\n e: single\n")
    assert cli("report", "r", "--json").json["note"] == "the prompt\nbefore the fix"
    assert cli("report", "r", "--format", "md").stdout.startswith("Note: the prompt before the fix\n\n**v ")
    assert cli("report", "r", "--check").status == 0


def test_a_note_makes_no_other_run_and_no_other_summary(cli: Cli, tmp_path: Path, command: list[str]) -> None:
    assert cli(*command).status == 0
    before = (tmp_path / "r" / "summary.json").read_bytes()
    assert cli(*command, "--note", "noted").status == 0
    assert (tmp_path / "r" / "summary.json").read_bytes() == before
    assert cli("report", "r").stdout.startswith(" note: noted\n")


def test_a_note_leaves_long_lists_of_run_json_on_one_line(
    cli: Cli, tmp_path: Path, command: list[str]
) -> None:
    (tmp_path / "d.jsonl").write_text("".join(f'{{"n": {n}}}\n' for n in range(50)))
    assert cli(*command, "--dataset", "d.jsonl").status == 0
    before = (tmp_path / "r" / "run.json").read_text().count("\n")
    assert cli("runs", "note", "r", "of fifty").status == 0
    assert (tmp_path / "r" / "run.json").read_text().count("\n") == before + 1


def test_a_note_stays_until_it_is_replaced_or_removed(cli: Cli, command: list[str]) -> None:
    assert cli(*command, "--note", "first").status == 0
    assert cli(*command).status == 0
    assert note_of(cli) == "first"
    assert cli("rescore", "r", "-e", "other=./e.sh 2", "--quiet").status == 0
    assert note_of(cli) == "first"
    assert cli("rescore", "r", "-e", "third=./e.sh 3", "--quiet", "--note", "second").status == 0
    assert note_of(cli) == "second"
    done = cli("runs", "note", "r", "third")
    assert (done.status, done.stdout, done.stderr, note_of(cli)) == (0, "", "", "third")
    assert cli("runs", "note", "r/run.json", "").status == 0
    assert note_of(cli) is None
    assert "note" not in cli("report", "r", "--json").json
    assert cli(*command, "--note", "fourth").status == 0
    assert cli(*command, "--note", " ").status == 0
    assert note_of(cli) is None
    assert cli(*command, "--note", "fifth").status == 0
    assert cli(*command, "--fresh").status == 0
    assert note_of(cli) is None


def test_a_bench_has_notes_too(cli: Cli, tmp_path: Path) -> None:
    (tmp_path / "tasks.jsonl").write_text(TASK)
    assert (
        cli(
            "bench", "tasks.jsonl", "--model", "toy", "-e", "own=@exact_match", "--out", "r", "--note", "N"
        ).status
        == 0
    )
    assert note_of(cli) == "N"
    assert cli("report", "r").stdout.startswith(" note: N\n")
    assert cli("report", "r", "--json").json["note"] == "N"
    assert cli("report", "r", "--format", "md").stdout.startswith("Note: N\n\n")


def test_the_note_of_a_run_that_is_being_worked_on_waits(cli: Cli, tmp_path: Path) -> None:
    with hold_lock(make(tmp_path / "r")):
        done = cli("runs", "note", "r", "text")
    assert done.status == 2
    assert f"in use by process {os.getpid()}" in done.stderr
    assert note_of(cli) is None


@pytest.mark.parametrize("text", ["x" * 1001, os.fsdecode(b"\xff")])
def test_what_cannot_be_noted_is_refused_before_any_call(
    cli: Cli, tmp_path: Path, command: list[str], text: str
) -> None:
    assert cli(*command, "--note", text).status == 2
    assert not (tmp_path / "r").exists()
    make(tmp_path / "r")
    assert cli("runs", "note", "r", text).status == 2


def test_there_is_no_note_where_there_is_no_run(cli: Cli, tmp_path: Path) -> None:
    (tmp_path / "r").mkdir()
    for name in ("r", "nowhere", ""):
        done = cli("runs", "note", name, "text")
        assert done.status == 2
        assert "there is no run in" in done.stderr
    assert [path.name for path in tmp_path.rglob("*")] == ["r"]


@pytest.mark.parametrize("width", [40, 80])
def test_notes_are_inert(cli: Cli, tmp_path: Path, width: int) -> None:
    for name, text in HOSTILE.items():
        folder = name.replace(" ", "-")
        make(tmp_path / folder)
        assert cli("runs", "note", folder, text[:1000].replace("\0", "")).status == 0
        listed = cli("runs", folder, "--long", env={"COLUMNS": str(width)}).stdout
        report = cli("report", folder, env={"COLUMNS": str(width)}).stdout.splitlines()
        for line in (*listed.splitlines(), *report[:3]):
            assert measured(line) <= width
            assert not [letter for letter in line if letter < " " or letter == "\u202e"]
