"""`schema`: what is printed fits what is read and written, and refuses what our own readers refuse."""

from functools import cache
from pathlib import Path
from typing import Any

import jsonschema
import orjson
import pytest
import yaml

from optimize_eval.base import strict_json
from optimize_eval.cli.commands.schema import Document, schema_text
from tests.front_door import Cli
from tests.paths import ROOT
from tests.tasks.yaml.good import GOOD
from tests.tools import write_program


@cache
def validator(document: str) -> Any:
    schema = orjson.loads(schema_text(Document(document)))
    jsonschema.Draft202012Validator.check_schema(schema)
    return jsonschema.Draft202012Validator(schema)


def check(document: str, value: Any) -> None:
    validator(document).validate(value)


@pytest.mark.parametrize("document", Document)
def test_each_document_has_a_schema(cli: Cli, document: str) -> None:
    done = cli("schema", document)
    assert (done.status, done.stderr) == (0, "")
    jsonschema.Draft202012Validator.check_schema(done.json)


def test_what_a_run_writes_fits(cli: Cli, tmp_path: Path) -> None:
    write_program(
        tmp_path / "e.sh",
        [
            "#!/bin/sh",
            "read -r line",
            "case $line in *bad*) echo no; exit;; esac",
            'case $line in *skip*) echo \'{"skip": "no"}\';; *) echo \'{"score": 1, "a": 1}\';; esac',
        ],
    )
    (tmp_path / "d.jsonl").write_text('{"n": 1}\n{"n": "skip"}\n{"n": "bad"}\n{"n": 4}\n')
    for name in "ab":
        (tmp_path / f"{name}.txt").write_text(name)
    words = ("run", "-e", "./e.sh", "--candidate", "[ab].txt", "--dataset", "d.jsonl", "--valset", "d.jsonl")
    check("plan", cli(*words, "--dry-run", "--json").json)
    cli(*words, "--out", "r", "--quiet")
    check("summary", orjson.loads((tmp_path / "r" / "summary.json").read_bytes()))
    lines = [orjson.loads(line) for line in (tmp_path / "r" / "journal.jsonl").read_bytes().splitlines()]
    assert {line.get("outcome") for line in lines} == {"scored", "failed", "skipped", None}
    for line in lines:
        check("journal", line)
        assert "outcome" not in line or not validator("journal").is_valid({**line, "outcome": "perhaps"})


def test_a_board_fits(cli: Cli, tmp_path: Path) -> None:
    tasks = sorted((ROOT / "datasets" / "tasks").glob("*.jsonl"))
    assert cli("bench", *tasks, "--model", "toy", "--model", "silent", "--out", "b", "--quiet").status == 0
    board = orjson.loads((tmp_path / "b" / "leaderboard.json").read_bytes())
    check("leaderboard", board)
    assert not validator("leaderboard").is_valid({**board, "models": 1})


SWEEP = """
[run]
dataset = "d.jsonl"
candidates = ["*.txt"]
repeats = 2
[[evaluator]]
use = "@exact_match"
timeout = 9
[[evaluator]]
judge = ["small", "openai/gpt-4o"]
vote = "median"
shows = ["question"]
[gates]
fail_under = {exact_match = 0.5}
[optimize]
budget = 60
[[model]]
name = "small"
model = "openai/gpt-4o-mini"
"""


def test_sweep_files_fit_and_wrong_keys_do_not() -> None:
    check("sweep", strict_json.loads_toml(SWEEP))
    for wrong in (
        "[run]\ndatset = 'd'",
        "[run]\nrepeats = 0",
        "[[evaluator]]\ntimeout = 9",
        "[[evaluator]]\njudge = 'a/b'\nvote = 'most'",
        "[gates]\nmax_gap = 'a'",
    ):
        assert not validator("sweep").is_valid(strict_json.loads_toml(wrong)), wrong


def test_every_key_of_a_sweep_file_has_a_form() -> None:
    tables = orjson.loads(schema_text(Document.SWEEP))["properties"]
    tables["evaluator"], tables["model"] = tables["evaluator"]["items"], tables["model"]["items"]
    forms = {
        (name, key): form
        for name, table in tables.items()
        for key, form in table.get("properties", {}).items()
    }
    assert len(forms) > 60
    assert [place for place, form in forms.items() if not form.keys() & {"type", "enum", "anyOf"}] == []


RUBRIC = {"objective": "Short.", "dimensions": {"tone": 1, "form": {"weight": 2, "description": "d"}}}


def test_rubrics_fit_and_wrong_keys_do_not() -> None:
    check("rubric", RUBRIC)
    check("rubric", {"labels": {"good": 1, "bad": 0}, "shows": "question"})
    wrongs: tuple[dict[str, Any], ...]
    wrongs = ({"objectiv": "a"}, {"score_min": "0"}, {"dimensions": []}, {"labels": {"good": 2}})
    for wrong in wrongs:
        assert not validator("rubric").is_valid({**RUBRIC, **wrong}), wrong


class _Included(yaml.SafeLoader):  # type: ignore[misc]
    """Reads !include as the text that it stands for."""


_Included.add_constructor("!include", lambda _, node: str(node.value))


def test_the_tasks_that_ship_fit_and_wrong_ones_do_not() -> None:
    tasks = sorted((ROOT / "datasets" / "yaml-tasks").glob("*.yaml"))
    assert tasks
    for path in tasks:
        task = yaml.load(path.read_text("utf-8"), _Included)  # noqa: S506  a safe one
        check("task", task)
        assert not validator("task").is_valid({**task, "keyy": "a"}), path
        assert not validator("task").is_valid({name: value for name, value in task.items() if name != "key"})


@pytest.mark.parametrize("name", GOOD)
def test_tasks_of_every_form_that_the_pages_allow_fit(name: str) -> None:
    check("task", yaml.load(GOOD[name], _Included))  # noqa: S506  a safe one
