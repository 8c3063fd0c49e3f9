"""Columns that a task in YAML names and no row has: noted by `validate`, told before anything is called."""

from pathlib import Path

import pytest

from tests.cli.defined import SAMPLES, TASK, task
from tests.cli.prompted import COUNTED, calls
from tests.front_door import Cli

BENCH = ("bench", "sums.yaml", "--model", "m=cmd:./m")
RUN = ("run", "-e", "task:sums.yaml", "--dataset", "sums.jsonl", "--model", "m=cmd:./m")
MISSPELT = TASK.replace("sample.question", "sample.quesion").replace("sample.target", "sample.tagret")
WORDS = ("a field 'quesion' (did you mean 'question'?)", "a field 'tagret' (did you mean 'target'?)")


def test_validate_notes_columns_that_the_dataset_beside_a_task_does_not_have(
    cli: Cli, tmp_path: Path
) -> None:
    task(tmp_path, MISSPELT)
    checked = cli("validate", "sums.yaml")
    _, first, *_, last = checked.stdout.splitlines()
    assert checked.status == 0
    assert first.startswith("note: sums.yaml:")
    assert first.endswith(f"no row of sums.jsonl has {WORDS[0]}")
    assert last.endswith(f"no row of sums.jsonl has {WORDS[1]}")
    (tmp_path / "sums.jsonl").rename(tmp_path / "rows.jsonl")
    assert WORDS[0] not in cli("validate", "sums.yaml").stdout
    described = "key: sums\ndisplay_name: Sums\nsource: {type: local, file_path: rows.jsonl}\n"
    (tmp_path / "datasets").mkdir()
    (tmp_path / "datasets" / "sums.yaml").write_text(described.replace("rows", "../rows"))
    assert f"no row of rows.jsonl has {WORDS[0]}" in cli("validate", "sums.yaml").stdout
    (tmp_path / "rows.jsonl").write_text("no rows")
    assert cli("validate", "sums.yaml").status == 0


@pytest.mark.parametrize("command", [BENCH, RUN, ("preflight", *RUN[1:])], ids=["bench", "run", "preflight"])
def test_a_task_for_which_each_sample_would_fail_calls_nothing(
    cli: Cli, tmp_path: Path, command: tuple[str, ...]
) -> None:
    task(tmp_path, MISSPELT)
    told = cli(*command, env=COUNTED)
    assert (told.status, calls(tmp_path)) == (2, 0)
    assert all(f"no row that takes part has {words}" in told.stderr for words in WORDS)
    assert told.stderr.startswith("sums.yaml:")


def test_a_column_that_may_be_missing_is_noted_and_the_task_runs(cli: Cli, tmp_path: Path) -> None:
    guarded = "{{ sample.tagret | default('1') }}"
    task(tmp_path, TASK.replace("{{ sample.target }}", guarded))
    told = cli(*BENCH, "--out", "r", env=COUNTED)
    assert (told.status, calls(tmp_path)) == (0, SAMPLES), told.stderr
    assert f"no row that takes part has {WORDS[1]}" in " ".join(told.stderr.split())
    rows = (tmp_path / "sums.jsonl").read_text()
    (tmp_path / "sums.jsonl").write_text(rows.replace('"target"', '"tagret"', 1))
    assert "no row that takes part" not in cli(*BENCH, "--out", "r2", env=COUNTED).stderr


def test_a_field_that_one_split_lacks_is_noted_before_anything_is_called(cli: Cli, tmp_path: Path) -> None:
    (tmp_path / "c.txt").write_text("A")
    (tmp_path / "train.jsonl").write_text('{"q": 1, "target": "A"}\n{"q": 2, "target": "B", "note": ""}\n')
    (tmp_path / "val.jsonl").write_text('{"q": 3, "answer": "A"}\n')
    files = ("--dataset", "train.jsonl", "--valset", "val.jsonl")
    noted = 'no val example has the field "target", which all train examples have'
    done = cli("run", "--candidate", "c.txt", "-e", "true", *files, "--dry-run")
    assert noted in " ".join(done.stderr.split())
    (tmp_path / "val.jsonl").write_text('{"q": 3, "answer": "A"}\n{"q": 4, "target": "A"}\n')
    assert "note" not in cli("run", "--candidate", "c.txt", "-e", "true", *files, "--dry-run").stderr
