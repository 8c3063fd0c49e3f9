"""The examples dialect, and how a file's dialect is told."""

import json
from pathlib import Path
from typing import Any

import pytest

from optimize_eval import DataError, UsageError
from optimize_eval.base.evaluator import EvaluatorSpec
from optimize_eval.evaluators.kinds import parse_evaluator
from optimize_eval.tasks import load_tasks, validate_file
from optimize_eval.tasks.dialects import IN_EXAMPLES, IN_SPEC, TaskExample, evaluator_of
from tests.tasks.made import example, task


def without(name: str) -> dict[str, Any]:
    return {key: value for key, value in example(metric="f1").items() if key != name}


def written(path: Path, *records: object) -> Path:
    """Write a file; texts are lines as they stand."""
    lines = [record if isinstance(record, str) else json.dumps(record) for record in records]
    path.write_text("\n".join(lines), encoding="utf-8")
    return path


def told(path: Path, chosen: str | None = None) -> list[tuple[int, str, str, str]]:
    _, errors = validate_file(path, format=chosen)
    return [(one.line_number, one.task_id, one.rule, one.field) for one in errors]


BAD = {
    "no prompt": (without("prompt"), "missing_required", "prompt"),
    "no targets": (without("targets"), "missing_required", "targets"),
    "no metric": (without("metric"), "missing_required", "metric"),
    "id a number": (example(id=7), "bad_type", "id"),
    "prompt null": (example(prompt=None), "bad_type", "prompt"),
    "prompt empty": (example(prompt=""), "bad_type", "prompt"),
    "targets a text": (example(targets="2"), "bad_type", "targets"),
    "targets empty": (example(targets=[]), "bad_type", "targets"),
    "a target a number": (example(targets=[2]), "bad_type", "targets"),
    "metric a list": (example(metric=["f1"]), "bad_type", "metric"),
    "metric unknown": (example(metric="rouge"), "bad_value", "metric"),
    "extras a list": (example(extras=[]), "bad_type", "extras"),
    "extras null": (example(extras=None), "bad_type", "extras"),
    "of both dialects": (example(task_id="a"), "mixed_dialect", "task_id"),
    "of the other dialect": (task(), "mixed_dialect", "task_id"),
    "a metric's other name": (example(metric_name="f1"), "mixed_dialect", "metric_name"),
    "another metric": (example(metric="f1"), "bad_value", "metric"),
    "an array": ([], "bad_type", "_root"),
    "no json": ("{", "bad_json", "_line"),
}


@pytest.mark.parametrize(("record", "rule", "field"), BAD.values(), ids=BAD.keys())
def test_a_wrong_example_is_told_and_the_others_are_read(
    tmp_path: Path, record: object, rule: str, field: str
) -> None:
    path = written(tmp_path / "t.jsonl", "# a note", "", example(), record, "  # more", example())
    tasks, errors = validate_file(path)
    assert [one.task_id for one in tasks] == ["ex-3", "ex-6"]
    assert [(one.line_number, one.rule, one.field) for one in errors] == [(4, rule, field)]


def test_an_unknown_metric_is_told_with_those_there_are(tmp_path: Path) -> None:
    _, (error,) = validate_file(written(tmp_path / "t.jsonl", example(metric="bleurt")))
    assert "rouge_l" in error.detail
    assert "code_exec@stdout" in error.detail


def test_ids_are_given_or_made_of_the_line_and_are_not_given_twice(tmp_path: Path) -> None:
    path = written(
        tmp_path / "t.jsonl", example(id="a"), example(note=1), example(id="a"), example(id="ex-2")
    )
    tasks, _ = validate_file(path)
    assert [one.task_id for one in tasks] == ["a", "ex-2"]
    assert told(path) == [(3, "a", "duplicate_task_id", "id"), (4, "ex-2", "duplicate_task_id", "id")]


def test_an_example_keeps_its_extras_and_its_bytes(tmp_path: Path) -> None:
    extras = {"io_pairs": [[1, 2]]}
    path = written(tmp_path / "double.jsonl", example(metric="code_exec", extras=extras, level=1))
    (read,), _ = validate_file(path)
    assert isinstance(read, TaskExample)
    assert read.extras == extras
    file = load_tasks(path)
    (one,) = file.tasks
    assert (file.name, one.metric, one.evaluator) == (
        "double",
        "code_exec@io_pairs",
        "@code_exec@io_pairs",
    )
    assert (one.post_process, one.category, json.loads(one.raw)["level"]) == ("none", None, 1)


def test_the_first_record_that_shows_a_dialect_decides_and_others_are_mixed(tmp_path: Path) -> None:
    path = tmp_path / "t.jsonl"
    written(path, "{", {"prompt": "x"}, task(), example())
    assert told(path) == [
        (1, "?", "bad_json", "_line"),
        (2, "?", "missing_required", "task_id"),
        (4, "?", "mixed_dialect", "metric"),
    ]
    written(path, example(task_id="b"), example(), task())
    assert told(path) == [(1, "ex-1", "mixed_dialect", "task_id"), (3, "ex-3", "mixed_dialect", "task_id")]
    written(path, task(metric="f1"))
    assert told(path) == [(1, "a", "mixed_dialect", "metric")]


def test_a_format_that_is_given_overrides(tmp_path: Path) -> None:
    path = written(tmp_path / "t.jsonl", example(), task())
    assert [line for line, *_ in told(path, "spec")] == [1]
    assert [line for line, *_ in told(path, "examples")] == [2]
    assert told(path, "dataset") == []
    with pytest.raises(UsageError, match="no format of task files is called 'yaml'"):
        validate_file(path, format="yaml")


def test_without_a_dialect_it_is_a_dataset_and_no_task_file(tmp_path: Path) -> None:
    path = written(tmp_path / "t.jsonl", {"input": 1}, [1], "{")
    assert validate_file(path)[0] == []
    assert told(path) == [(2, "?", "bad_type", "_root"), (3, "?", "bad_json", "_line")]
    with pytest.raises(UsageError, match="holds no task"):
        load_tasks(path)
    with pytest.raises(UsageError, match="holds no task"):
        load_tasks(written(path, ""), format="spec")
    with pytest.raises(DataError, match="no such file"):
        load_tasks(tmp_path / "u.jsonl")


def test_every_metric_is_an_evaluator_that_ships() -> None:
    texts = {evaluator_of(metric) for metric in (*IN_SPEC.values(), *IN_EXAMPLES.values())}
    for text in sorted(texts):
        assert parse_evaluator(text, EvaluatorSpec()).name == text[1:]
