"""`validate` on task files: which tasks can be used, and a table of what is wrong with the others."""

import json
import zipfile
from pathlib import Path

import pytest

from optimize_eval.reports.text import columns
from optimize_eval.tasks.dialects import RULES
from tests.front_door import Cli
from tests.paths import ROOT
from tests.tasks.made import task

GOOD = ROOT / "datasets" / "tasks.jsonl"
BAD = ROOT / "datasets" / "tasks_bad.jsonl"
EXAMPLES = sorted((ROOT / "datasets" / "tasks").iterdir())


def test_the_files_that_ship_are_told_apart(cli: Cli) -> None:
    done = cli("validate", GOOD, *EXAMPLES, ROOT / "datasets" / "greetings.jsonl")
    assert (done.status, done.stderr) == (0, "")
    assert [line.rpartition(": ")[2] for line in done.stdout.splitlines()] == [
        "ok, 10 tasks",
        "ok, 5 examples",
        *["ok, 4 examples"] * 4,
        "ok, 3 records",
    ]
    files = cli("validate", GOOD, EXAMPLES[0], "--json").json["files"]
    assert [(one["kind"], one["valid"], one["ids"][0], one["errors"]) for one in files] == [
        ("spec", 10, "arith-sum", []),
        ("examples", 5, "arith-00", []),
    ]


def test_bad_tasks_are_a_table_for_people_that_fits_and_a_list_for_programs(cli: Cli) -> None:
    for wide in (80, 40):
        done = cli("validate", BAD, env={"COLUMNS": str(wide)})
        assert done.status == 2
        *table, more, count = done.stdout.splitlines()
        assert max(map(columns, table)) <= wide
        assert [line for line in table if line.startswith("   16  bad_value")]
        assert more.endswith("and 12 more problems; --json lists all")
        assert count.endswith("32 of 33 tasks cannot be used")
        assert f"{BAD}:2: bad_json, _line: " in done.stderr
    told = cli("validate", BAD, "--json")
    (file,) = told.json["files"]
    assert (told.status, file["path"], file["kind"], file["valid"], file["ids"]) == (
        2,
        str(BAD),
        "spec",
        1,
        ["good-one"],
    )
    assert {error["rule"] for error in file["errors"]} == set(RULES)
    assert set(file["errors"][0]) == {"line_number", "task_id", "rule", "field", "detail"}


def test_a_file_is_taken_for_what_it_is_said_to_be(cli: Cli, tmp_path: Path) -> None:
    (tmp_path / "plain.jsonl").write_text('{"input": 1, "metric": "mine"}\n')
    guessed = cli("validate", "plain.jsonl")
    assert (guessed.status, "a plain dataset: --format dataset" in guessed.stderr) == (2, True)
    assert cli("validate", "plain.jsonl", "--format", "dataset").stdout == "plain.jsonl: ok, 1 record\n"
    (file,) = cli("validate", "plain.jsonl", "--format", "spec", "--json").json["files"]
    assert [error["rule"] for error in file["errors"]] == ["mixed_dialect"]
    (file,) = cli("validate", "plain.jsonl", "--format", "task_yaml", "--json").json["files"]
    assert {(error["rule"], error["field"]) for error in file["errors"]} >= {
        ("unknown_field", "metric"),
        ("missing_required", "definition"),
    }


def test_tasks_in_a_file_that_is_no_jsonl_are_told_how_to_convert_it(cli: Cli, tmp_path: Path) -> None:
    records = [json.dumps(task()), json.dumps(task(task_id="b"))]
    (tmp_path / "array.jsonl").write_text("[\n" + ",\n".join(records) + "\n]\n")
    (tmp_path / "pretty.jsonl").write_text(json.dumps(task(), indent=1) + "\n" + records[1] + "\n")
    told = cli("validate", "array.jsonl", "pretty.jsonl").stdout.splitlines()
    assert [("convert it: " in line, line.split(":")[0]) for line in told] == [
        (True, "array.jsonl"),
        (True, "pretty.jsonl"),
    ]
    assert "3 of 4" in cli("validate", "array.jsonl", "--format", "spec").stdout


def test_a_task_file_without_a_task_or_that_is_not_there_is_told(cli: Cli, tmp_path: Path) -> None:
    (tmp_path / "empty.jsonl").write_text("\n\n")
    done = cli("validate", "empty.jsonl", "nowhere.jsonl", "--format", "spec")
    assert done.status == 2
    assert done.stdout == "empty.jsonl: the file holds no record\nnowhere.jsonl: no such file\n"
    assert cli("validate", "nowhere.jsonl").stdout == "nowhere.jsonl: no such file\n"


def test_hostile_names_reach_no_terminal_and_no_log_that_obeys(
    cli: Cli, program: Cli, tmp_path: Path
) -> None:
    name = "\x1b[2J\n::error::" + "x" * 500
    (tmp_path / "h.jsonl").write_text(json.dumps(task(**{name: 1})) + "\n" + json.dumps(task(task_id=name)))
    done = cli("validate", "h.jsonl", env={"CI": "1", "COLUMNS": "40"})
    assert done.status == 2
    for stream in (done.stdout, done.stderr):
        assert "\x1b" not in stream
        assert "::" not in stream
    assert max(map(len, done.stdout.splitlines())) <= 40
    ascii_only = program("validate", "h.jsonl", env={"PYTHONIOENCODING": "ascii"})
    assert ascii_only.stdout.isascii()


_PROMPTFOO = """# yaml-language-server: $schema=promptfoo
description: mine
prompts:
  - 'Answer: {{question}}'
providers: [echo]
tests: []
"""
_FOREIGN = {  # file → its text, whose it is
    "promptfooconfig.yaml": (_PROMPTFOO, "a configuration of promptfoo"),
    "promptfooconfig.json": (
        '{\n "prompts" : ["a"],\n "providers": ["echo"]\n}',
        "a configuration of promptfoo",
    ),
    "theory.py": (
        "from inspect_ai import Task, task\n\n@task\ndef theory():\n    return Task()\n",
        "a task of Inspect",
    ),
    "gsm8k.yaml": ("task: gsm8k\noutput_type: generate_until\ndoc_to_text: '{{q}}'\n", "a task of lm-eval"),
}


@pytest.mark.parametrize("name", _FOREIGN)
def test_a_file_of_another_tool_is_called_by_its_name(cli: Cli, tmp_path: Path, name: str) -> None:
    text, what = _FOREIGN[name]
    (tmp_path / name).write_text(text)
    done = cli("validate", name)
    assert (done.status, done.stdout.startswith(f"{name}: it holds {what}: ")) == (2, True), done
    assert done.stderr == (
        "error: the file cannot be used\n"
        "  try: nothing in it is wrong for that tool: do what is said there, then validate what comes of it\n"
    )
    assert cli("validate", name, "--json").json["files"][0]["kind"] == "other_tool"


@pytest.mark.parametrize(
    "command", [("bench",), ("run", "--dataset", "rows.jsonl", "-e")], ids=["bench", "run"]
)
def test_a_task_file_of_another_tool_is_called_by_its_name_where_it_is_to_be_used(
    cli: Cli, tmp_path: Path, command: tuple[str, ...]
) -> None:
    (tmp_path / "pf.yaml").write_text(_PROMPTFOO)
    (tmp_path / "rows.jsonl").write_text('{"input": 1}\n')
    named = "pf.yaml" if command == ("bench",) else "task:pf.yaml"
    done = cli(*command, named, "--model", "cmd:cat")
    assert done.status == 2
    assert done.stderr == (
        "pf.yaml: it holds a configuration of promptfoo: "
        "`optimize-eval import pf.yaml --out DIR` makes a folder of it that runs here\n"
        "error: 1 problem found. Nothing was run.\n"
    )


def test_one_problem_is_shown_once_and_of_several_files_the_first_is_named(cli: Cli, tmp_path: Path) -> None:
    (tmp_path / "bad.jsonl").write_text('{"a": 1}\n{bad\n')
    line = "bad.jsonl:2:2: expecting property name enclosed in double quotes"
    alone = cli("validate", "bad.jsonl")
    assert alone.stdout == f"{line}\n"
    assert alone.stderr == (
        "error: the file cannot be used\n  try: fix the line listed above, then validate again\n"
    )
    assert f"the first problem is {line}" in cli("validate", "bad.jsonl", "--json").stderr
    (tmp_path / "worse.jsonl").write_text('{"a": 1}\n{bad\n{bad\n')
    assert f"the first problem is {line}" in cli("validate", "bad.jsonl", "worse.jsonl").stderr


def test_a_log_of_inspect_in_a_zip_is_told_from_other_archives(cli: Cli, tmp_path: Path) -> None:
    for name, member in (("log.eval", "header.json"), ("other.zip", "rows.jsonl")):
        with zipfile.ZipFile(tmp_path / name, "w") as archive:
            archive.writestr(member, "{}")
    assert "it holds a log of Inspect" in cli("validate", "log.eval").stdout
    assert "a zip archive" in cli("validate", "other.zip").stdout


def test_rows_of_another_tool_that_can_be_used_are_and_are_told(cli: Cli, tmp_path: Path) -> None:
    (tmp_path / "samples.jsonl").write_text(
        '{"doc_id": 0, "doc": {"q": "1"}, "resps": [["2"]], "target": "2"}\n'
    )
    done = cli("validate", "samples.jsonl")
    assert (done.status, "samples.jsonl: ok, 1 record" in done.stdout) == (0, True)
    assert "note: samples.jsonl: no metric has a score for each document" in done.stdout


def test_files_of_ours_are_nobody_elses(cli: Cli) -> None:
    files = sorted(
        path for path in (ROOT / "datasets").rglob("*") if path.suffix in {".jsonl", ".yaml", ".csv"}
    )
    assert "it holds " not in cli("validate", *files).stdout
