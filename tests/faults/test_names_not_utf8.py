"""Names of files that are not UTF-8, as old archives leave them: used as they are, and shown with a ?."""

import os
from pathlib import Path

import pytest

from tests.front_door import Cli
from tests.tools import write_program

ODD = os.fsdecode(b"a\xff")  # as an argument arrives
E = ["#!/bin/sh", "cat >/dev/null", "echo '{\"score\": 0.5}'"]


@pytest.fixture
def odd(tmp_path: Path) -> Path:
    folder = tmp_path / ODD
    folder.mkdir()
    for place in (tmp_path, folder):
        write_program(place / "e.sh", E)
        (place / "c.txt").write_text("text")
        (place / "d.jsonl").write_text('{"n": 1}\n')
    for name, like in (("e.sh", "e.sh"), ("c.txt", "c.txt"), ("d.jsonl", "d.jsonl")):
        (tmp_path / f"{ODD}.{name}").write_bytes((tmp_path / like).read_bytes())
    (tmp_path / f"{ODD}.e.sh").chmod(0o755)
    return tmp_path


RUNS = {
    "a run's folder": {"--out": f"runs/{ODD}"},
    "an evaluator": {"-e": f"./{ODD}.e.sh"},
    "a candidate": {"--candidate": f"{ODD}.c.txt"},
    "a dataset": {"--dataset": f"{ODD}.d.jsonl"},
    "a folder of all": {"-e": f"{ODD}/e.sh", "--candidate": f"{ODD}/c.txt", "--dataset": f"{ODD}/d.jsonl"},
}


@pytest.mark.parametrize("given", RUNS.values(), ids=RUNS)
@pytest.mark.usefixtures("odd")
def test_a_run_is_made_resumed_listed_and_reported(cli: Cli, given: dict[str, str]) -> None:
    options = {"-e": "./e.sh", "--candidate": "c.txt", "--dataset": "d.jsonl", "--out": "runs/r", **given}
    run = [word for option in options.items() for word in option]
    assert cli("run", *run).status == 0
    before = cli("report", options["--out"], "--json").json
    assert cli("run", *run, "--quiet").status == 0
    for form in ("md", "html", "csv", "jsonl", "junit"):
        assert cli("report", options["--out"], "--format", form).status == 0
    assert cli("report", options["--out"], "--json").json == before
    assert cli("report", options["--out"], "--check").status == 0
    assert cli("runs", "note", options["--out"], "kept").status == 0
    assert cli("rescore", options["--out"], "-e", f"again={options['-e']}").status == 0
    (listed,) = cli("runs", "--json").json["runs"]
    assert (listed["state"], listed["note"]) == ("done", "kept")
    assert cli("diff", options["--out"], options["--out"]).status == 0


def test_calls_are_reused_of_a_run_in_such_a_folder(cli: Cli, odd: Path) -> None:
    run = ("run", "-e", "./e.sh", "--candidate", "c.txt", "--dataset", "d.jsonl")
    assert cli(*run, "--out", f"runs/{ODD}").status == 0
    assert cli(*run, "--out", "runs/again", "--reuse", f"runs/{ODD}").status == 0
    assert '"reused_from"' in (odd / "runs" / "again" / "journal.jsonl").read_text()
    assert cli("report", "runs/again", "--check").status == 0


def test_a_bench_is_made_reported_and_compared(cli: Cli, tmp_path: Path) -> None:
    task = '{"id": "t", "prompt": "1 + 1 =", "targets": ["2"], "metric": "exact_match"}\n'
    (tmp_path / f"{ODD}.jsonl").write_text(task)
    bench = ("bench", f"{ODD}.jsonl", "--model", "toy", "--out", f"runs/{ODD}")
    for _ in range(2):
        assert cli(*bench).status == 0
    for form in ("json", "md", "html", "junit"):
        assert cli("report", f"runs/{ODD}", "--format", form).status == 0
    assert cli("diff", f"runs/{ODD}", f"runs/{ODD}", "--json").status == 0
