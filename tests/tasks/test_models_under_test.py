"""Models under test: what `--model` takes, how each kind answers or fails; programs are real processes."""

import shlex
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import pytest

from optimize_eval.base.errors import DataError, EvaluationError, UsageError
from optimize_eval.base.evaluator import EvaluatorSpec
from optimize_eval.models.model_kinds import ModelSpec, connect_model, parse_model, retries_of
from optimize_eval.models.under_test import ModelUnderTest, Output, Prompt
from tests.paths import PROGRAMS, PYTHON
from tests.tools import write_program

MODEL = f"cmd:{PYTHON} {PROGRAMS / 'model.py'}"
WORDS = [f"say {word}" for word in ("even one", "odd two", "please refuse", "even three", "odd four", "five")]


@contextmanager
def live(text: str, spec: EvaluatorSpec | None = None) -> Iterator[ModelUnderTest]:
    model = connect_model(ModelSpec(text=text, how=spec or EvaluatorSpec(timeout=5, workers=2)))
    try:
        yield model
    finally:
        model.close()


def said(model: ModelUnderTest, text: str, identity: str = "") -> object:
    try:
        return model.generate(Prompt(text=text, id=identity), time.monotonic() + 30).text
    except EvaluationError as error:
        return str(error.kind), error.message


def texts(outputs: list[Output | EvaluationError]) -> list[object]:
    return [(str(one.kind), one.message) if isinstance(one, EvaluationError) else one.text for one in outputs]


@pytest.mark.parametrize(
    ("text", "kind", "rest"),
    [
        ("cmd:./my_model --fast", "cmd:", "./my_model --fast"),
        (" replay:out.jsonl ", "replay:", "out.jsonl"),
        ("toy", "toy", ""),
        ("silent", "silent", ""),
        ("openrouter/meta/llama-3:free", "", "openrouter/meta/llama-3:free"),
        ("https://x/y", "http", "https://x/y"),
    ],
)
def test_a_models_text_tells_its_kind(text: str, kind: str, rest: str) -> None:
    assert parse_model(text) == (kind, rest)


@pytest.mark.parametrize(
    ("text", "hint"),
    [
        ("", "a model is cmd:"),
        ("toyy", "did you mean toy?"),
        ("cmd: ", "a model is cmd:"),
        ("replay:", "a model is cmd:"),
        ("comd:./x", "did you mean cmd:COMMAND?"),
        ("openai", "did you mean openai/MODEL?"),
        ("./my_model", "a program is written cmd:./my_model"),
        ("out.jsonl", "recorded outputs are written replay:out.jsonl"),
    ],
)
def test_what_names_no_model_is_refused_with_what_there_is(text: str, hint: str) -> None:
    with pytest.raises(UsageError) as caught:
        parse_model(text)
    assert hint in caught.value.hint
    assert repr(text.strip()) in caught.value.message or not text


def test_only_what_is_behind_a_network_is_called_again_by_default() -> None:
    assert [retries_of(text) for text in ("openai/x", "http://x", "toy", "cmd:x", "")] == [2, 2, 0, 0, 0]


EXPECTED: list[object] = ["ONE", "TWO", ("reported", "no comment"), "THREE", "FOUR", "FIVE"]


@pytest.mark.parametrize(
    "trait",
    [
        *("one-shot", "good", "window", "batch", "short-batch", "batch-once"),
        *("dies", "noise", "wrong-id"),
    ],
)
def test_however_a_program_is_asked_and_whatever_it_breaks_its_outputs_are_the_same(trait: str) -> None:
    with live(f"{MODEL} {trait}") as model, ThreadPoolExecutor(4) as threads:
        assert [said(model, text) for text in WORDS] == EXPECTED
        assert list(threads.map(lambda text: said(model, text), WORDS)) == EXPECTED
        prompts = [Prompt(text=text) for text in WORDS]
        many = model.generate_many(prompts, 5)
        assert texts(many) == EXPECTED
        batched = [one.side.get("batched") for one in many if isinstance(one, Output)]
        assert any(batched) == (trait in {"batch", "batch-once"})
        assert ("broke" in model.note) == (trait in {"dies", "noise", "wrong-id"})


def test_a_program_that_hangs_is_late_and_is_asked_again_by_the_next_prompt() -> None:
    with live(f"{MODEL} hangs", EvaluatorSpec(timeout=0.5)) as model:
        assert [said(model, f"even {text}") for text in ("one", "two", "six")] == ["ONE", "TWO", "SIX"]
        with pytest.raises(EvaluationError) as caught:
            model.generate(Prompt(text="odd"), time.monotonic() + 0.5)
        assert (caught.value.kind, "within 0.5 s" in caught.value.message) == ("timeout", True)
        assert said(model, "even two") == "TWO"


@pytest.mark.parametrize(
    ("answer", "kind", "message"),
    [
        ('{"text": ""}', None, ""),
        ('{"text": "a", "error": "b"}', None, "a"),
        ('{"output": "4"}', "model_error", 'the answer has no "text"; it has "output"'),
        ("{}", "model_error", 'the answer has no "text"; it has no key at all'),
        ('{"text": 4}', "model_error", '"text" is the number 4, not a text'),
        ('{"text": null}', "model_error", '"text" is null, not a text'),
        ('{"error": "too warm"}', "reported", "too warm"),
        ('"4"', "not_an_object", 'stdout is the text "4", not a JSON object'),
        ("4", "not_an_object", "stdout is the number 4, not a JSON object"),
        ("", "no_output", "stdout is empty"),
        ('thinking\n{"text": "4"}', "invalid_json", 'stdout line 1 is not JSON: "thinking"'),
        ('{"text": "\\ud800"}', "invalid_json", "surrogate"),
    ],
)
def test_what_a_program_prints_is_its_output_or_a_failure_that_shows_a_text(
    tmp_path: Path, answer: str, kind: str | None, message: str
) -> None:
    (tmp_path / "answer").write_text(answer)
    with live(f"cmd:{PROGRAMS / 'say.sh'} {tmp_path / 'answer'}") as model:
        try:
            assert (None, model.generate(Prompt(text="x"), time.monotonic() + 30).text) == (kind, message)
        except EvaluationError as error:
            assert error.kind == kind
            assert message in error.message
            assert "score" not in error.hint


@pytest.mark.parametrize(
    ("program", "kind"),
    [
        ("raises.py", "exit_code"),
        ("exit_3_after_answer.sh", "exit_code"),
        ("kills_itself.sh", "killed"),
        ("not_executable.py", "start_failed"),
        ("missing", "not_found"),
    ],
)
def test_programs_fail_as_evaluators_do(program: str, kind: str) -> None:
    with (
        live(f"cmd:{shlex.quote(str(PROGRAMS / program))}") as model,
        pytest.raises(EvaluationError) as caught,
    ):
        model.generate(Prompt(text="x"), time.monotonic() + 5)
    assert caught.value.kind == kind


def test_a_program_has_the_folder_and_the_variables_of_its_specification(tmp_path: Path) -> None:
    write_program(tmp_path / "m.sh", ["#!/bin/sh", 'printf \'{"text": "%s %s"}\' "$GREETING" "${PWD##*/}"'])
    spec = EvaluatorSpec(cwd=str(tmp_path), environment={"GREETING": "hi"})
    with live("cmd:./m.sh", spec) as model:
        assert said(model, "x") == f"hi {tmp_path.name}"
        assert model.capacity.batch == 1


def test_the_toy_reads_the_prompt_and_silent_says_nothing() -> None:
    with live("toy") as toy, live("silent") as silent:
        assert said(toy, "Think first.\n\ncompute: 1234 * 3") == "3702"
        assert said(toy, "compute: 7 / 0") == said(toy, "Who are you?") == "I do not know."
        assert said(silent, "Who are you?") == ""


def test_recorded_outputs_are_found_by_id_and_one_that_is_missing_is_a_failure(tmp_path: Path) -> None:
    path = tmp_path / "out.jsonl"
    path.write_text('\n{"id": "a", "output": "4", "by": "me"}\n{"id": "b", "output": ""}\n')
    with live(f"replay:{path}") as model:
        assert (said(model, "x", "a"), said(model, "y", "a"), said(model, "x", "b")) == ("4", "4", "")
        assert said(model, "x", "ab") == ("model_error", "out.jsonl has no output of 'ab'")
        assert texts(model.generate_many([Prompt(text="x", id=name) for name in "ac"], 1))[0] == "4"
    with live("replay:out.jsonl", replace(EvaluatorSpec(), cwd=str(tmp_path))) as model:
        assert said(model, "x", "a") == "4"


def test_every_bad_line_of_recorded_outputs_is_told(tmp_path: Path) -> None:
    path = tmp_path / "out.jsonl"
    lines = [
        '{"id": "a", "output": "4"}',
        '{"id": "a", "output": "5"}',
        '{"task_id": "b", "output": "5"}',
        '{"id": "c", "text": "5"}',
        '{"id": "d", "output": 5}',
        "[]",
        "{",
    ]
    path.write_text("\n".join(lines))
    with pytest.raises(DataError) as caught:
        connect_model(ModelSpec(text=f"replay:{path}"))
    told = {problem.line: problem.reason for problem in caught.value.problems}
    assert list(told) == [2, 3, 4, 5, 6, 7]
    assert "line 1 already" in told[2]
    assert '"task_id" is not read' in told[3]
    assert '"text" is not read' in told[4]
    assert "the number 5" in told[5]
    path.write_text("")
    with pytest.raises(UsageError, match="holds no output"):
        connect_model(ModelSpec(text=f"replay:{path}"))
    with pytest.raises(DataError, match="no such file"):
        connect_model(ModelSpec(text=f"replay:{path}x"))
