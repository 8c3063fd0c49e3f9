"""The line that a stopped run prints works when it is pasted, also after the evaluator was fixed."""

import json
import shlex
from pathlib import Path

import pytest

from optimize_eval import load_run
from tests.faults.servers import served
from tests.front_door import Cli, Result
from tests.run.projects import Project, project
from tests.tools import write_program

FAILS = ["#!/bin/sh", "exit 3"]
WORKS = ["#!/bin/sh", """echo '{"score": 0.5}'"""]
LATE = ["#!/bin/sh", "echo x >> calls", "[ $(wc -l < calls) -lt 7 ] || exit 3", """echo '{"score": 0.5}'"""]


@pytest.fixture
def made(tmp_path: Path) -> Project:
    """Make a project with a second evaluator, which fails."""
    made = project(tmp_path)
    write_program(tmp_path / "judge.sh", FAILS)
    made.command += ["-e", "./judge.sh", "--concurrency", "1", "--out", "r"]
    return made


def pasted(cli: Cli, stopped: Result, made: Project, last: int = -1) -> Result:
    """Give the command that stands in one of the last lines on stderr."""
    lines = [line for line in stopped.stderr.splitlines() if line.startswith("  optimize-eval ")]
    return cli(*shlex.split(lines[last])[1:], env=made.env())


def outcomes(folder: Path) -> set[tuple[str, str]]:
    return {(record.evaluator, record.outcome) for record in load_run(folder / "r").records}


def test_a_run_goes_on_with_an_evaluator_that_had_scored_nothing(
    cli: Cli, tmp_path: Path, made: Project
) -> None:
    stopped = cli(*made.command, env=made.env())
    assert stopped.status == 4
    assert "after fixing it, run:\n  optimize-eval run -e counts=./counts.sh" in stopped.stderr
    assert "judge" not in stopped.stdout, "stderr says it, once"
    assert "the same command again" not in stopped.stdout
    known = made.asked()
    write_program(tmp_path / "judge.sh", WORKS)
    planned = cli(*made.command, "--dry-run", "--json", env=made.env())
    assert planned.status == 0, planned.stderr
    done = pasted(cli, stopped, made)
    assert done.status == 0, done.stderr
    assert "had scored nothing: what it failed or skipped is called again" in done.stderr
    assert outcomes(tmp_path) == {("counts", "scored"), ("judge", "scored")}
    assert made.asked().total() == 24, "none of them twice"
    assert known
    assert cli("report", "r", "--check").status == 0
    made.forget()
    again = cli(*made.command, env=made.env())
    assert (again.status, made.asked().total()) == (0, 0), again.stderr
    assert "note:" not in again.stderr


def test_the_folder_of_a_run_that_names_none_is_in_the_line(cli: Cli, tmp_path: Path, made: Project) -> None:
    stopped = cli(*made.command[:-2], env=made.env())
    assert stopped.status == 4
    write_program(tmp_path / "judge.sh", WORKS)
    done = pasted(cli, stopped, made)
    assert done.status == 0, done.stderr
    assert len(list((tmp_path / "runs").iterdir())) == 1
    assert made.asked().total() == 24, "none of them twice"


def test_it_may_be_fixed_more_than_once_and_by_an_option(cli: Cli, tmp_path: Path, made: Project) -> None:
    assert cli(*made.command, env=made.env()).status == 4
    write_program(tmp_path / "judge.sh", ["#!/bin/sh", """echo '{"score": 5}'"""])
    still = cli(*made.command, env=made.env())
    assert still.status == 4
    assert "score_out_of_range" in still.stderr
    done = cli(*made.command, "--score-range", "any", env=made.env())
    assert done.status == 2, "the other evaluator has scores by its range"
    sweep = '[[evaluator]]\nname = "counts"\ncommand = "./counts.sh"\n[[evaluator]]\ncommand = "./judge.sh"\n'
    (tmp_path / "s.toml").write_text(sweep + 'score_range = "any"\n')
    options = [word for word in made.command if word not in {"-e", "counts=./counts.sh", "./judge.sh"}]
    done = cli(options[0], "s.toml", *options[1:], env=made.env())
    assert done.status == 0, done.stderr
    assert outcomes(tmp_path) == {("counts", "scored"), ("judge", "scored")}


def test_one_that_has_scores_is_called_anew_by_replace_and_the_line_says_so(
    cli: Cli, tmp_path: Path, made: Project
) -> None:
    write_program(tmp_path / "judge.sh", LATE)
    stopped = cli(*made.command, "--max-failures", "1", env=made.env())
    assert stopped.status == 4
    assert "or, where the fix changes judge, which has scores already:\n" in stopped.stderr
    write_program(tmp_path / "judge.sh", WORKS)
    refused = pasted(cli, stopped, made, last=-2)
    assert refused.status == 2
    assert "evaluator judge has changed: judge.sh" in refused.stderr
    made.forget()
    done = pasted(cli, stopped, made)
    assert done.status == 0, done.stderr
    assert "judge is another program now: its earlier scores stay in the journal" in done.stderr
    assert outcomes(tmp_path) == {("counts", "scored"), ("judge", "scored")}
    assert made.asked().keys().isdisjoint({"a:1"}), "the other evaluator keeps its scores"
    assert cli("report", "r", "--check").status == 0


def test_other_changes_beside_it_are_taken_too(cli: Cli, tmp_path: Path, made: Project) -> None:
    assert cli(*made.command, env=made.env()).status == 4
    write_program(tmp_path / "judge.sh", WORKS)
    (tmp_path / "a.txt").write_text("another text")
    done = cli(*made.command, env=made.env())
    assert done.status == 0, done.stderr
    assert outcomes(tmp_path) == {("counts", "scored"), ("judge", "scored")}
    assert cli("report", "r", "--check").status == 0


@pytest.mark.parametrize("since", ["x", [1]], ids=str)
def test_a_place_in_the_journal_that_is_no_number_is_refused(
    cli: Cli, tmp_path: Path, made: Project, since: object
) -> None:
    assert cli(*made.command, env=made.env()).status == 4
    manifest = json.loads((tmp_path / "r" / "run.json").read_text())
    manifest["evaluators"][0]["since"] = since
    (tmp_path / "r" / "run.json").write_text(json.dumps(manifest))
    assert cli("report", "r").status == 2
    assert cli(*made.command, env=made.env()).status == 2


def test_a_header_with_a_variable_stands_whole_in_the_line(
    cli: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = project(tmp_path)
    monkeypatch.setenv("TOKEN", "sk-canary-1")
    with served() as server:
        made.command[2] = f"judge={server.url}/500"
        header = "Authorization: Bearer ${TOKEN}"
        stopped = cli(*made.command, "--header", header, "--retries", "0", env=made.env())
        assert stopped.status == 4
        assert f"--header '{header}' --retries 0" in stopped.stderr
        literal = cli(*made.command, "--header", "Authorization: Bearer sk-canary-1", env=made.env())
    assert "'Authorization: Bearer ***'" in literal.stderr
    assert "sk-canary-1" not in stopped.stderr + literal.stderr
