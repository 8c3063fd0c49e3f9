"""Parameters: every kind of value, what is wrong with one, and where they go in a task."""

from pathlib import Path
from typing import Any

import pytest

from optimize_eval.base.errors import DataError
from optimize_eval.tasks import definition as parts
from optimize_eval.tasks.definition import TaskDefinition
from optimize_eval.tasks.yaml.loading import load_task
from optimize_eval.tasks.yaml.parameters import config_of
from tests.tasks.yaml.made import HEAD, scorer, task

KINDS = {
    "f": "type: float, min: 0, max: 1",
    "i": "type: int",
    "b": "type: boolean",
    "s": "type: string",
    "m": "type: model",
    "l": "type: list, dtype: integer",
    "t": "type: list, dtype: string",
    "k": "type: categorical, allowed_values: [low, 2], values_mapping: {low: lowest}",
    "n": "type: categorical, allowed_values: [x, y], multiple: true",
    "u": "type: int, nullable: true",
}
ALL = {
    "f": 0.5,
    "i": 3,
    "b": True,
    "s": "x",
    "m": "openai/m",
    "l": [1, 2],
    "t": ["p", "q"],
    "k": 2,
    "n": ["y"],
    "u": None,
}
WRITTEN = {
    "f": "0.5",
    "i": "3",
    "b": "True",
    "s": "x",
    "m": "openai/m",
    "l": "1,2",
    "t": "p,q",
    "k": "2",
    "n": "y",
    "u": "null",
}
SHOWING = ", ".join(f"{name}=<< config.{name} >>" for name in KINDS)


def with_parameters(folder: Path, text: str) -> str:
    """Write a task with all kinds of parameters."""
    listed = "".join(f"  - {{key: {key}, display_name: D, {kind}}}\n" for key, kind in KINDS.items())
    path = folder / "task.yaml"
    path.write_text(text.replace(HEAD, f"{HEAD}config_spec:\n{listed}"))
    return str(path)


def truth_of(definition: TaskDefinition) -> Any:
    (one,) = definition.scorers
    assert isinstance(one.how, parts.Bleu)
    return one.how.ground_truth


def test_values_are_put_into_texts_as_python_writes_them(tmp_path: Path) -> None:
    path = with_parameters(tmp_path, scorer(f"type: bleu\nground_truth: '{SHOWING}'"))
    shown = "f=0.5, i=3, b=True, s=x, m=openai/m, l=[1, 2], t=['p', 'q'], k=2, n=['y'], u=None"
    for config in (ALL, config_of(WRITTEN)):
        assert truth_of(load_task(path, config)) == shown
    loaded = load_task(path, {**ALL, "k": "low", "f": 1})
    assert "k=lowest" in truth_of(loaded)
    assert loaded.config["f"] == 1


def test_a_value_that_is_the_whole_text_keeps_its_type(tmp_path: Path) -> None:
    judge = (
        "type: model_as_a_judge_classifier\nmodel_key: << config.m >>\nuser_prompt: << config.s >>\n"
        "correct_labels: << config.t >>\nincorrect_labels: << config.n >>\n"
        "use_structured_outputs: '<< config.b >>'"
    )
    (one,) = load_task(with_parameters(tmp_path, scorer(judge)), ALL).scorers
    assert one.how == parts.Classifier(
        model_key="openai/m",
        user_prompt="x",
        correct_labels=["p", "q"],
        incorrect_labels=["y"],
        use_structured_outputs=True,
    )


WRONG = {
    "f=2": "config.f: must be from 0 to 1, this is 2",
    "f=high": 'config.f: must be a number, this is the text "high"',
    "i=1.5": "config.i: must be a whole number, this is 1.5",
    "b=yes": 'config.b: must be true or false, this is the text "yes"',
    "m=": "config.m: must not be empty",
    "l=1,a": 'config.l[1]: must be a whole number, this is the text "a"',
    "l=[1": 'config.l: must be a list, this is the text "[1"',
    "k=high": "config.k: must be one of low, 2; this is high",
    "n=x,z": "config.n[1]: must be one of x, y; this is z",
    "u=null ": "config.u: must be a whole number",
    "modell=x": "config.modell: the task has no parameter 'modell'",
}


@pytest.mark.parametrize("written", WRONG)
def test_a_value_that_cannot_be_is_named_with_what_may_be_and_what_was_given(
    tmp_path: Path, written: str
) -> None:
    path = with_parameters(tmp_path, task())
    with pytest.raises(DataError) as raised:
        load_task(path, {**ALL, **config_of(dict([written.split("=")]))})
    assert WRONG[written] in str(raised.value)
    assert len(raised.value.problems) == 1


def test_values_that_are_missing_are_told_all_at_once(tmp_path: Path) -> None:
    path = with_parameters(tmp_path, task())
    with pytest.raises(DataError) as raised:
        load_task(path, {"f": 0.5})
    missing = {problem.field for problem in raised.value.problems}
    assert missing == {f"config.{key}" for key in KINDS if key not in {"f", "u"}}
    assert "the parameter 'k' needs one of low, 2: --config k=…" in str(raised.value)


def test_types_that_only_values_show_are_checked_with_them(tmp_path: Path) -> None:
    path = with_parameters(tmp_path, scorer("type: bleu\nground_truth: << config.i >>"))
    with pytest.raises(DataError, match="must be a text, this is a number"):
        load_task(path, ALL)


@pytest.mark.parametrize(
    ("name", "text"), [("c.yaml", "i: 3\n"), ("c.json", '{"i": 3}'), ("c.toml", "i = 3\n")]
)
def test_values_come_from_a_file_too_and_the_command_line_wins(tmp_path: Path, name: str, text: str) -> None:
    (tmp_path / name).write_text(text)
    assert config_of({}, str(tmp_path / name)) == {"i": 3}
    path = with_parameters(tmp_path, scorer(f"type: bleu\nground_truth: '{SHOWING}'"))
    config = config_of({"i": "4"}, str(tmp_path / name))
    assert "i=4" in truth_of(load_task(path, {**ALL, **config}))


@pytest.mark.parametrize("text", ["- 1\n", "a: [\n", "", "a: 1\na: 2\n"])
def test_a_file_of_values_that_cannot_be_read_is_told(tmp_path: Path, text: str) -> None:
    (tmp_path / "c.yaml").write_text(text)
    with pytest.raises(DataError, match=r"c\.yaml"):
        config_of({}, str(tmp_path / "c.yaml"))
