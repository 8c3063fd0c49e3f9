"""Datasets and models by key: which file, which filters, and what is said where there is none."""

from pathlib import Path

import pytest

from optimize_eval.base.errors import DataError, UsageError
from optimize_eval.data.datasets import load_examples
from optimize_eval.run.defining import model_text
from optimize_eval.tasks.definition import Membership, TaskDefinition, Unary
from optimize_eval.tasks.yaml.loading import load_task
from optimize_eval.tasks.yaml.task_data import Dataset, dataset_of, left_out
from tests.tasks.yaml.made import of_dataset, task

DESCRIBED = """\
key: capitals
display_name: Capitals
description: Some.
source:
  type: local
  file_path: ../rows/all.csv
  filters:
    - {op: not_in, expression: "{{ sample['Departure Date'] }}", values: ["2025-07-04"]}
    - {op: is_true, expression: "{{ good }}"}
"""
FILTERS = (
    Membership(op="not_in", expression="{{ sample['Departure Date'] }}", values=("2025-07-04",)),
    Unary(op="is_true", expression="{{ good }}"),
)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for name in ("datasets", "rows"):
        (tmp_path / name).mkdir()
    (tmp_path / "rows" / "all.csv").write_text("a\n1\n")
    (tmp_path / "capitals.yaml").write_text(task())
    return tmp_path


@pytest.fixture
def definition(folder: Path) -> TaskDefinition:
    return load_task(str(folder / "capitals.yaml"))


def test_rows_are_those_given_else_those_beside_the_task(folder: Path, definition: TaskDefinition) -> None:
    assert dataset_of(definition, {"capitals": "x/y.csv", "z": "z"}) == Dataset(path=Path("x/y.csv"))
    (folder / "datasets" / "capitals.csv").write_text("a\n1\n")
    assert dataset_of(definition, {}).path == folder / "datasets" / "capitals.csv"
    (folder / "capitals.jsonl").write_text("{}\n")
    assert dataset_of(definition, {}) == Dataset(path=folder / "capitals.jsonl")


def test_a_description_says_where_rows_are_and_which_take_part(
    folder: Path, definition: TaskDefinition
) -> None:
    described = folder / "datasets" / "capitals.yaml"
    described.write_text(DESCRIBED)
    expected = Dataset(path=folder / "rows" / "all.csv", filters=FILTERS, described=str(described))
    assert dataset_of(definition, {}) == expected
    (folder / "mine.yaml").write_text(DESCRIBED.replace("../rows", "rows"))
    given = dataset_of(definition, {"capitals": str(folder / "mine.yaml")})
    assert (given.path, given.filters) == (folder / "rows" / "all.csv", FILTERS)


def test_rows_that_filters_leave_out_are_told_with_the_filter(
    folder: Path, definition: TaskDefinition
) -> None:
    (folder / "datasets" / "capitals.yaml").write_text(DESCRIBED)
    rows = [("2025-07-04", "true"), ("2025-07-05", "false"), ("2025-07-06", "true")]
    text = "Departure Date,good\n" + "".join(f"{day},{good}\n" for day, good in rows)
    (folder / "rows" / "all.csv").write_text(text)
    dataset = dataset_of(definition, {})
    (examples,) = load_examples([dataset.path])
    assert left_out(dataset, examples) == {
        1: f"{dataset.described}: {{{{ sample['Departure Date'] }}}} not_in [2025-07-04]",
        2: f"{dataset.described}: {{{{ good }}}} is_true",
    }
    (folder / "rows" / "all.csv").write_text(text.replace("false", "maybe"))
    (examples,) = load_examples([dataset.path])
    with pytest.raises(DataError) as raised:
        left_out(dataset, examples)
    assert [one.line for one in raised.value.problems] == [2, 3]
    assert "is_true" in str(raised.value)


WRONG = {
    "type: local": ("type: huggingface", "not_supported", "source.type"),
    "../rows/all.csv": ("../rows/some.csv", "bad_reference", "source.file_path"),
    "file_path: ../rows/all.csv": ("file_path: ../../all.csv", "bad_reference", "source.file_path"),
    "key: capitals": ("key: cities", "bad_value", "key"),
    "op: not_in": ("op: notin", "bad_value", "source.filters[0].op"),
    "{{ good }}": ("{{ good }", "bad_template", "source.filters[1].expression"),
    "description: Some.": ("descripton: Some.", "unknown_field", "descripton"),
    "good }}": ("good }}((TODO))", "unfinished", "source.filters[1].expression"),
}


@pytest.mark.parametrize("written", WRONG)
def test_what_is_wrong_with_a_description_is_told(
    folder: Path, definition: TaskDefinition, written: str
) -> None:
    other, rule, field = WRONG[written]
    (folder / "datasets" / "capitals.yaml").write_text(DESCRIBED.replace(written, other))
    with pytest.raises(DataError) as raised:
        dataset_of(definition, {})
    assert [(one.rule, one.field) for one in raised.value.problems] == [(rule, field)]


def test_a_dataset_that_is_nowhere_is_told_with_the_nearest(folder: Path, definition: TaskDefinition) -> None:
    (folder / "datasets" / "capital.csv").write_text("a\n1\n")
    (folder / "outside").symlink_to("/")
    with pytest.raises(UsageError, match="no dataset 'capitals'") as raised:
        dataset_of(definition, {"cities": "c.csv"})
    assert raised.value.hint == "did you mean capital? Name its file: --data capitals=FILE"


@pytest.mark.parametrize("given", [{"dataset": "a.csv", "x": "b.csv"}, {"x": "a.csv"}])
def test_a_task_that_names_no_dataset_takes_the_one_that_is_given(
    folder: Path, given: dict[str, str]
) -> None:
    (folder / "d.yaml").write_text(of_dataset("scorers: []\n"))
    definition = load_task(str(folder / "d.yaml"))
    assert dataset_of(definition, given).path == Path("a.csv")
    for none in ({}, {"x": "a.csv", "y": "b.csv"}):
        with pytest.raises(UsageError, match="names no dataset"):
            dataset_of(definition, none)


def test_models_are_given_or_written_or_theirs() -> None:
    given = {"judge": "openai/m", "anthropic$x": "cmd:./x"}
    assert model_text("judge", given) == ("openai/m", "")
    assert model_text("anthropic$x", given) == ("cmd:./x", "")
    assert model_text("mistral/m", given) == ("mistral/m", "")
    text, note = model_text("openai$gpt-4-1-nano", given)
    assert (text, "--model-key 'openai$gpt-4-1-nano=openai/NAME'" in note) == ("openai/gpt-4-1-nano", True)
    with pytest.raises(UsageError, match="no model is given for the key 'jugde'") as raised:
        model_text("jugde", given)
    assert raised.value.hint == "say which: --model-key jugde=PROVIDER/MODEL, not judge=…"
