"""Rendering and post-processing: tables of what comes out, and what holds for every text."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from optimize_eval.tasks import TaskSpec, post_process, render
from optimize_eval.tasks.dialects import POST_PROCESS

FENCE = "```"
PROCESSED = [
    ("none", " A \n", " A \n"),
    ("none", "", ""),
    ("strip_whitespace", "\t 4\u00a0\n", "4"),
    ("strip_whitespace", "\x1c4\u200b", "4\u200b"),
    ("lower", " Ja ÄÖ İ", " ja äö i̇"),
    ("extract_letter", "Answer: C is right", "C"),
    ("extract_letter", "B", "B"),
    ("extract_letter", "(D)", "D"),
    ("extract_letter", "BC then E.", "E"),
    ("extract_letter", "Because", "B"),
    ("extract_letter", "xC", "C"),
    ("extract_letter", "1C2", "C"),
    ("extract_letter", "_E_", "E"),
    ("extract_letter", "éAé", "A"),
    ("extract_letter", "A cat: C", "A"),
    ("extract_letter", "F g h", ""),
    ("extract_letter", "b", ""),
    ("extract_letter", "", ""),
    ("extract_code_block", f"Here:\n{FENCE}python\nx = 1\n{FENCE}\nbye", "x = 1\n"),
    ("extract_code_block", f"{FENCE}\na\n{FENCE}{FENCE}\nb\n{FENCE}", "a\n"),
    ("extract_code_block", f"{FENCE}py3_x\n{FENCE}", ""),
    ("extract_code_block", f"{FENCE}\nx{FENCE}", "x"),
    ("extract_code_block", f"{FENCE}\n\n x\n\n{FENCE}", "\n x\n\n"),
    ("extract_code_block", f"{FENCE}python title=a.py\nx = 1\n{FENCE}", "x = 1\n"),
    ("extract_code_block", f"1. So:\n   {FENCE} py \nx\n   {FENCE}", "x\n   "),
    ("extract_code_block", f"So: {FENCE}python \nx\n{FENCE}", "x\n"),
    ("extract_code_block", f"{FENCE}c++\nx\n{FENCE}", "x\n"),
    ("extract_code_block", f"{FENCE}objective-c\nx\n{FENCE}", "x\n"),
    ("extract_code_block", f"{FENCE}python\r\nx\r\n{FENCE}", "x\r\n"),
    ("extract_code_block", f"Use {FENCE}x{FENCE} and\n{FENCE}py\ny\n{FENCE}", "y\n"),
    ("extract_code_block", f"{FENCE}\nopen", f"{FENCE}\nopen"),
    ("extract_code_block", " x = 1 ", " x = 1 "),
    ("extract_first_line", "\n \n  one \ntwo", "one"),
    ("extract_first_line", "one\r\ntwo", "one"),
    ("extract_first_line", "one\rtwo", "one"),
    ("extract_first_line", "\u2028one\u2028two", "one"),
    ("extract_first_line", "one", "one"),
    ("extract_first_line", " \n\t", ""),
    ("extract_first_line", "", ""),
]


def test_each_rule_takes_what_it_says() -> None:
    assert [(rule, text, post_process(rule, text)) for rule, text, _ in PROCESSED] == PROCESSED
    assert {rule for rule, _, _ in PROCESSED} == set(POST_PROCESS)


@pytest.mark.parametrize("rule", ["", "upper", "LOWER", "strip_whitespace,lower"])
def test_another_rule_is_a_value_error_that_lists_those_there_are(rule: str) -> None:
    with pytest.raises(ValueError, match="extract_first_line"):
        post_process(rule, "x")


@given(st.sampled_from([rule for rule in POST_PROCESS if rule != "extract_code_block"]), st.text())
def test_a_rule_changes_nothing_that_it_has_given(rule: str, text: str) -> None:
    once = post_process(rule, text)
    assert post_process(rule, once) == once


@given(st.text(alphabet="`\nabAE_ x"))
def test_what_is_taken_stands_in_the_text(text: str) -> None:
    for rule in set(POST_PROCESS) - {"lower"}:
        assert post_process(rule, text) in text


@given(st.text().filter(lambda text: FENCE not in text), st.text())
def test_a_block_comes_out_as_it_was_put_between_fences(body: str, after: str) -> None:
    if not body.endswith("`"):
        assert post_process("extract_code_block", f"{FENCE}python\n{body}{FENCE}{after}") == body


def shots(*pairs: tuple[str, str]) -> list[dict[str, str]]:
    return [{"prompt": prompt, "completion": completion} for prompt, completion in pairs]


RENDERED: list[tuple[dict[str, Any], str]] = [
    ({"prompt": "x"}, "x"),
    ({"prompt": " x "}, " x "),
    ({"prompt": "x", "few_shot_examples": []}, "x"),
    ({"prompt": "x", "few_shot_examples": None}, "x"),
    ({"prompt": "x", "few_shot_examples": shots(("a", "b"))}, "a b\n\nx"),
    ({"prompt": "x", "few_shot_examples": shots(("a", "b"), ("c", "d"))}, "a b\n\nc d\n\nx"),
    ({"prompt": "x", "few_shot_examples": shots(("a\n", " b\n"))}, "a\n  b\n\n\nx"),
    ({"prompt": "x", "few_shot_examples": shots(("", ""))}, " \n\nx"),
    ({"prompt": "{x}", "few_shot_examples": shots(("%s", "{0}"))}, "%s {0}\n\n{x}"),
    ({"prompt": "x", "targets": 7, "task_id": None}, "x"),
]


def test_examples_stand_before_the_prompt_and_nothing_is_trimmed() -> None:
    assert [(record, render(record)) for record, _ in RENDERED] == RENDERED


@given(st.text(), st.lists(st.tuples(st.text(), st.text()), max_size=8))
def test_a_task_and_its_record_are_rendered_alike(prompt: str, pairs: list[tuple[str, str]]) -> None:
    record = {
        "task_id": "a",
        "category": "summary",
        "prompt": prompt,
        "targets": ["x"],
        "metric_name": "f1",
        "post_process": "none",
        "few_shot_examples": shots(*pairs),
    }
    assert render(TaskSpec.from_dict(record)) == render(record)
