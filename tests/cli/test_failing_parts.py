"""A candidate or model that fails on more than half of its calls: exit code 4, whoever else scored."""

import json
from pathlib import Path

import pytest

from tests.cli.judged import JUDGED, OF_EXAMPLE
from tests.front_door import Cli, Result
from tests.reports.reading import read_junit
from tests.tools import write_program

RUN = (*JUDGED, "--candidate=old.txt", "--candidate=new.txt", "--dataset=d.jsonl", "--workers=1", "--out=r")
OF_MODEL = OF_EXAMPLE.replace("['candidate']", "['task_model']")


def run(cli: Cli, folder: Path, fails: int, *options: str, judge: str = OF_EXAMPLE) -> Result:
    """Call about ten examples, on so many of which `new` fails."""
    (folder / "judge.py").write_text(judge)
    for name in ("old", "new"):
        (folder / f"{name}.txt").write_text(name)
    rows = [{"n": n, "scores": {"old": 0.5, "new": None if n < fails else 0.5}} for n in range(10)]
    (folder / "d.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    return cli(*RUN, "--quiet", *options)


@pytest.mark.parametrize(
    ("fails", "status", "told"),
    [
        (10, 4, "error: judge on new failed on every call (10), reported: cannot\n"),
        (
            6,
            4,
            "error: judge on new failed on 6 of 10 calls, more than half; the last one, reported: cannot\n",
        ),
        (5, 0, ""),
    ],
)
def test_a_candidate_that_fails_on_more_than_half_of_its_calls_is_told(
    cli: Cli, tmp_path: Path, fails: int, status: int, told: str
) -> None:
    done = run(cli, tmp_path, fails)
    assert done.status == status, done.stderr
    assert told in done.stderr
    assert done.stderr.count("error: ") == bool(told)
    assert f"; {fails} of 20 calls failed (judge on new)\nr\n" in done.stdout


def test_a_task_model_that_fails_on_every_call_is_told(cli: Cli, tmp_path: Path) -> None:
    done = run(cli, tmp_path, 10, "--task-model=old", "--task-model=new", judge=OF_MODEL)
    assert done.status == 4
    assert "error: judge with new failed on every call (20), reported: cannot" in done.stderr
    assert done.stderr.count("error: ") == 1
    assert "; 20 of 40 calls failed (judge with new on old 10, judge with new on new 10)" in done.stdout


def test_a_model_that_replies_to_no_prompt_is_told_once(cli: Cli, tmp_path: Path) -> None:
    for name, body in (("good", 'read x; echo \'{"text": "fine"}\''), ("bad", "exit 3")):
        (tmp_path / name).write_text(f"#!/bin/sh\n{body}\n")
        (tmp_path / name).chmod(0o755)
    (tmp_path / "a.md").write_text("Say {{n}}")
    (tmp_path / "d.jsonl").write_text('{"n": 1, "target": "fine"}\n{"n": 2, "target": "fine"}\n')
    what = ("--prompt=a.md", "--model=cmd:./good", "--model=cmd:./bad", "--dataset=d.jsonl", "--out=r")
    done = cli("run", *what, "-e", "@exact_match", "-e", "@f1", "--no-preflight", "--quiet")
    assert done.status == 4, done.stderr
    assert sum(line.startswith("error: ") for line in done.stderr.splitlines()) == 1, done.stderr
    assert "error: model bad failed on every call (2)" in done.stderr


def test_failures_are_errors_for_machines_where_a_gate_or_the_exit_code_says_so(
    cli: Cli, tmp_path: Path
) -> None:
    def errors(*gates: str) -> str | None:
        return read_junit(cli("report", "r", "--format=junit", *gates).stdout).get("errors")

    assert run(cli, tmp_path, 2).status == 0
    assert errors() == "0"
    assert errors("--fail-under=judge@old=0.9") == "0"
    assert errors("--fail-under=judge@new=0.5") == "1"
    assert run(cli, tmp_path, 8, "--fresh").status == 4
    assert errors() == "1"


def test_what_differs_between_models_is_told_with_their_names(cli: Cli, tmp_path: Path) -> None:
    lines = ["#!/bin/sh", "read -r line", "case $line in", "*'\"n\":1'*fails*) exit 3;;"]
    lines += ['*right*) echo \'{"score": 1, "where": 3}\';;', "*) echo '{\"score\": 1}';;", "esac"]
    write_program(tmp_path / "e.sh", lines)
    (tmp_path / "d.jsonl").write_text("".join(f'{{"n":{n}}}\n' for n in range(1, 5)))
    for name in ("a", "b"):
        (tmp_path / f"{name}.txt").write_text(name)
    models = ("--task-model", "right", "--task-model", "fails")
    files = ("--candidate", "a.txt", "--candidate", "b.txt", "--dataset", "d.jsonl")
    done = cli("run", "-e", "./e.sh", *models, *files, "--json")
    assert done.status == 0, done.stderr
    points = [point["text"] for point in done.json["verdict"]["points"]]
    assert (
        "e gave the side info where for a with right on train, but never for a with fails on train" in points
    )
    assert any(point.startswith("a with fails has scores for only ") for point in points)
