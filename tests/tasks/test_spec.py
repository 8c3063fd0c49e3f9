"""The spec dialect: a record with one thing wrong, and the rule, the field and the line that tell it."""

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from optimize_eval.tasks import TaskSpec, load_tasks, validate_file, validate_task
from optimize_eval.tasks.dialects import RULES
from tests.tasks.made import task

FIELDS = ("task_id", "category", "prompt", "targets", "metric_name", "post_process")
SHOT = {"prompt": "1 + 1 =", "completion": "2"}


def without(*names: str) -> dict[str, Any]:
    return {name: value for name, value in task(wrong=1).items() if name not in names}


def mcq(**changed: object) -> dict[str, Any]:
    return {**task(category="mcq", metric_name="accuracy", targets=["A"]), **changed}


GOOD = {
    "plain": task(),
    "shots": task(few_shot_examples=[{**SHOT, "note": 1}] * 8, metadata={}),
    "no shots": task(few_shot_examples=[]),
    "empty texts": task(targets=["", " "], few_shot_examples=[{"prompt": "", "completion": ""}]),
    "one marker": task(prompt="Question: 1 + 1 ="),
    "two markers with shots": task(prompt="Q: 1\nQ: 2", few_shot_examples=[SHOT]),
    "a letter": mcq(targets=["E"]),
    "blanks before the prompt": task(prompt="\n 1 + 1 ="),
}
BAD: dict[str, tuple[Any, str, str]] = {
    "an array": ([], "bad_type", "_root"),
    "null": (None, "bad_type", "_root"),
    "a text": ("task_id", "bad_type", "_root"),
    "nothing": ({}, "missing_required", "task_id"),
    **{
        f"no {name}": (without(*FIELDS[number:]), "missing_required", name)
        for number, name in enumerate(FIELDS)
    },
    "missing before unknown": (without("post_process"), "missing_required", "post_process"),
    "unknown": ({"zeta": 1, "alpha": 2, **task(task_id=1)}, "unknown_field", "zeta"),
    "an alias": (task(id="a"), "unknown_field", "id"),
    "a name in another case": (task(Metadata={}), "unknown_field", "Metadata"),
    "the other dialect": ({"metric": "f1"}, "mixed_dialect", "metric"),
    "both dialects": (task(metric="f1"), "mixed_dialect", "metric"),
    "id null": (task(task_id=None), "bad_type", "task_id"),
    "id a number": (task(task_id=1), "bad_type", "task_id"),
    "id empty": (task(task_id=""), "bad_value", "task_id"),
    "id with a blank": (task(task_id="a b"), "bad_value", "task_id"),
    "id with a line end": (task(task_id="a\n"), "bad_value", "task_id"),
    "id with a dot": (task(task_id="a.b"), "bad_value", "task_id"),
    "id beyond ASCII": (task(task_id="ä"), "bad_value", "task_id"),
    "id with foreign digits": (task(task_id="a\u0663"), "bad_value", "task_id"),
    "id before category": (task(task_id="", category=""), "bad_value", "task_id"),
    "category unknown": (task(category="logic"), "bad_value", "category"),
    "category a list": (task(category=["mcq"]), "bad_value", "category"),
    "category null": (task(category=None), "bad_value", "category"),
    "category in capitals": (task(category="MCQ"), "bad_value", "category"),
    "prompt null": (task(prompt=None), "bad_type", "prompt"),
    "prompt empty": (task(prompt=""), "bad_type", "prompt"),
    "prompt ends in a blank": (task(prompt="x "), "bad_value", "prompt"),
    "prompt ends in a line end": (task(prompt="x\n"), "bad_value", "prompt"),
    "prompt ends in a wide blank": (task(prompt="x\u3000"), "bad_value", "prompt"),
    "prompt blank": (task(prompt="  "), "bad_value", "prompt"),
    "targets a text": (task(targets="2"), "bad_type", "targets"),
    "targets empty": (task(targets=[]), "bad_type", "targets"),
    "targets null": (task(targets=None), "bad_type", "targets"),
    "targets an object": (task(targets={"a": 1}), "bad_type", "targets"),
    "a target a number": (task(targets=["2", 2]), "bad_type", "targets"),
    "a target null": (task(targets=[None]), "bad_type", "targets"),
    "metric unknown": (task(metric_name="rouge"), "bad_value", "metric_name"),
    "metric with its variant": (task(metric_name="exact_match@strict"), "bad_value", "metric_name"),
    "metric a list": (task(metric_name=["f1"]), "bad_value", "metric_name"),
    "rule unknown": (task(post_process="upper"), "bad_value", "post_process"),
    "rules combined": (task(post_process=["lower"]), "bad_value", "post_process"),
    "shots null": (task(few_shot_examples=None), "bad_type", "few_shot_examples"),
    "shots an object": (task(few_shot_examples=SHOT), "bad_type", "few_shot_examples"),
    "nine shots": (task(few_shot_examples=[SHOT] * 9), "bad_value", "few_shot_examples"),
    "nine bad shots": (task(few_shot_examples=[1] * 9), "bad_value", "few_shot_examples"),
    "a shot a text": (task(few_shot_examples=[SHOT, "x"]), "bad_type", "few_shot_examples"),
    "a shot half": (task(few_shot_examples=[{"prompt": "x"}]), "bad_type", "few_shot_examples"),
    "a shot of numbers": (
        task(few_shot_examples=[{"prompt": 1, "completion": "x"}]),
        "bad_type",
        "few_shot_examples",
    ),
    "metadata null": (task(metadata=None), "bad_type", "metadata"),
    "metadata a list": (task(metadata=[]), "bad_type", "metadata"),
    "metadata before the pair": (task(metadata=[], metric_name="bleu_4"), "bad_type", "metadata"),
    "no choice": (mcq(targets=["A", "B"]), "bad_value", "targets"),
    "a choice beyond E": (mcq(targets=["F"]), "bad_value", "targets"),
    "a small choice": (mcq(targets=["a"]), "bad_value", "targets"),
    "a choice with a line end": (mcq(targets=["A\n"]), "bad_value", "targets"),
    "pair before choice": (mcq(metric_name="f1", targets=["A", "B"]), "illegal_pair", "metric_name"),
    "two questions": (task(prompt="Question: 1\nQUESTION: 2"), "embedded_few_shot", "prompt"),
    "a question and an example": (task(prompt="Example: 1\nQ: 2"), "embedded_few_shot", "prompt"),
    "two markers, no shots": (
        task(prompt="q: 1\nq: 2", few_shot_examples=[]),
        "embedded_few_shot",
        "prompt",
    ),
    "choice before markers": (mcq(targets=["F"], prompt="q: q:"), "bad_value", "targets"),
}


@pytest.mark.parametrize("record", GOOD.values(), ids=GOOD.keys())
def test_a_good_record_has_no_error(record: dict[str, Any]) -> None:
    assert validate_task(record) == []


@pytest.mark.parametrize(("record", "rule", "field"), BAD.values(), ids=BAD.keys())
def test_the_first_fault_of_a_record_is_told(record: object, rule: str, field: str) -> None:
    (error,) = validate_task(record, line_number=7)
    assert (error.line_number, error.rule, error.field) == (7, rule, field)
    assert error.detail


PAIRS = {
    "arithmetic": {"exact_match", "f1"},
    "mcq": {"exact_match", "accuracy"},
    "code_exec": {"code_exec"},
    "classification": {"exact_match", "accuracy", "f1"},
    "summary": {"exact_match", "f1", "bleu_4", "rouge_l"},
}


def test_each_category_has_its_metrics() -> None:
    for category, legal in PAIRS.items():
        for metric in ("exact_match", "f1", "bleu_4", "rouge_l", "accuracy", "code_exec"):
            errors = validate_task(task(category=category, metric_name=metric, targets=["A"]))
            said = [(error.rule, error.field) for error in errors]
            assert said == ([] if metric in legal else [("illegal_pair", "metric_name")])


def test_an_error_names_its_record_by_what_it_gives_as_an_id() -> None:
    given_and_shown = {"a b": "a b", "": "?", None: "?", 7: "7", True: "?"}
    for given_id, shown in given_and_shown.items():
        (error,) = validate_task(task(task_id=given_id))
        assert error.task_id == shown
    assert validate_task(without("task_id"))[0].task_id == "?"


BAD_LINES = {
    "syntax": b'{"task_id": ',
    "digits": b'{"task_id": ' + b"7" * 5000 + b"}",
    "brackets": b"[" * 100_000,
    "closed brackets": b"[" * 100_000 + b"]" * 100_000,
    "not UTF-8": b'{"task_id": "\xff"}',
    "NaN": b'{"task_id": NaN}',
    "infinite": b'{"task_id": 1e999}',
    "key twice": b'{"task_id": "a", "task_id": "b"}',
    "key twice within": b'{"task_id": "a", "metadata": {"k": 1, "k": 1}}',
    "surrogate": b'{"task_id": "\\ud800"}',
    "a comment": b"# a note",
    "two records": b"{} {}",
}


@pytest.mark.parametrize("line", BAD_LINES.values(), ids=BAD_LINES.keys())
def test_a_line_that_is_no_json_is_one_error_and_the_others_are_read(tmp_path: Path, line: bytes) -> None:
    path = tmp_path / "t.jsonl"
    good = json.dumps(task()).encode()
    path.write_bytes(b"\n \t\r\n" + line + b"\n\xe3\x80\x80\n" + good)
    tasks, errors = validate_file(path)
    assert [one.task_id for one in tasks] == ["a"]
    assert [(one.line_number, one.task_id, one.rule, one.field) for one in errors] == [
        (3, "?", "bad_json", "_line")
    ]


def test_an_id_is_taken_by_valid_earlier_records_only(tmp_path: Path) -> None:
    path = tmp_path / "t.jsonl"
    records = [task(category="x"), task(), task(prompt=""), task(), task(task_id="b")]
    path.write_text("\n".join(map(json.dumps, records)))
    tasks, errors = validate_file(path, format="spec")
    assert [one.task_id for one in tasks] == ["a", "b"]
    assert [(one.line_number, one.rule, one.field) for one in errors] == [
        (1, "bad_value", "category"),
        (3, "bad_type", "prompt"),
        (4, "duplicate_task_id", "task_id"),
    ]
    assert "line 2" in errors[2].detail


def test_a_task_keeps_what_its_record_says(tmp_path: Path) -> None:
    path = tmp_path / "t.jsonl"
    line = json.dumps(task(few_shot_examples=[SHOT], metadata={"big": 10**30}))
    path.write_bytes(b"\xef\xbb\xbf" + line.encode() + b"\r\n")
    (spec,), errors = validate_file(path)
    assert isinstance(spec, TaskSpec)
    assert (errors, spec.targets, spec.metadata) == ([], ("2",), {"big": 10**30})
    (loaded,) = load_tasks(path).tasks
    assert (loaded.raw, loaded.line, loaded.prompt) == (line.encode(), 1, "1 + 1 = 2\n\n1 + 1 =")
    assert (loaded.metric, loaded.evaluator, loaded.category) == ("f1", "@f1", "arithmetic")


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=9),
    lambda inner: st.lists(inner, max_size=9) | st.dictionaries(st.text(max_size=9), inner, max_size=3),
    max_leaves=12,
)


@given(st.dictionaries(st.sampled_from([*FIELDS, "few_shot_examples", "metadata", "metric", "x"]), VALUES))
def test_any_change_of_a_record_gives_at_most_one_error_by_a_known_rule(changed: dict[str, Any]) -> None:
    errors = validate_task(task(**changed))
    assert len(errors) <= 1
    assert {error.rule for error in errors} <= set(RULES)


@given(st.lists(st.binary(max_size=40) | st.just(json.dumps(task()).encode()), max_size=6))
def test_no_bytes_crash_the_validator_and_every_line_is_a_task_or_an_error(
    tmp_path_factory: pytest.TempPathFactory, lines: list[bytes]
) -> None:
    path = tmp_path_factory.mktemp("law") / "t.jsonl"
    path.write_bytes(b"\n".join(lines))
    for chosen in (None, "spec", "examples"):
        tasks, errors = validate_file(path, format=chosen)
        numbers = [one.line_number for one in errors]
        assert numbers == sorted(set(numbers))
        assert len(tasks) + len(errors) <= path.read_bytes().count(b"\n") + 1
