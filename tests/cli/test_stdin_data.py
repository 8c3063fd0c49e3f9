"""Examples that come on stdin: `--dataset -`."""

from pathlib import Path

import pytest

from tests.front_door import Cli
from tests.tools import write_program

ROWS = b'{"n": 1}\n{"n": 2}\n'


@pytest.fixture(autouse=True)
def folder(tmp_path: Path) -> None:
    write_program(tmp_path / "e.sh", ["#!/bin/sh", "echo '{\"score\": 0.5}'"])
    (tmp_path / "v.txt").touch()


def test_examples_on_stdin_are_a_dataset_and_the_same_again_are_the_same_run(
    cli: Cli, tmp_path: Path
) -> None:
    words = ("run", "-e", "./e.sh", "--candidate", "v.txt", "--dataset", "-", "--out", "r", "--json")
    done = cli(*words, stdin=ROWS)
    assert (done.status, done.json["summary"]["units"]["total"]) == (0, 2), done.stderr
    (tmp_path / "rows.jsonl").write_bytes(ROWS)
    again = cli("report", "r", "--filter", "n=2", "--dataset", "rows.jsonl", "--json")
    assert (again.status, again.json["units"]["total"]) == (0, 1), again.stderr
    again = cli(*words, stdin=ROWS)
    assert again.json["summary"] == done.json["summary"]
    asked = cli("report", "r", "--filter", "n=2", stdin=ROWS)
    assert (asked.status, asked.stdout) == (2, ""), "nobody waits for a stdin that was"
    assert "error: the train examples came on stdin, and a run keeps no data" in asked.stderr
    assert "--dataset FILE" in asked.stderr
    assert "the train examples came on stdin" in cli("rescore", "r", "-e", "@exact_match").stderr


def test_a_bad_line_of_stdin_is_told_by_its_number(cli: Cli) -> None:
    words = ("run", "-e", "./e.sh", "--candidate", "v.txt", "--dataset", "-")
    assert "stdin:2:" in cli(*words, stdin=b'{"n": 1}\n[2]\n').stderr


@pytest.mark.parametrize("more", [("--valset", "-"), ("--candidate", "-")])
@pytest.mark.parametrize("command", ["run", "preflight"])
def test_stdin_is_one_thing_only(cli: Cli, command: str, more: tuple[str, str]) -> None:
    done = cli(command, "-e", "./e.sh", "--dataset", "-", *more, stdin=ROWS)
    assert (done.status, done.stdout) == (2, "")
    assert "stdin (-) can be one thing only" in done.stderr
