"""Scorers that run evaluators which ship: a task says what they are sent, and their fields are scores."""

from collections.abc import Mapping
from typing import Any

import pytest

from optimize_eval.base.protocol import Skip
from optimize_eval.tasks.definition import Bleu, ChoiceEquals, FunctionCalls, Program, StringEquals
from tests.tasks.made_scorers import failure, live, scored, trace
from tests.tools import write_program


def test_bleu_is_sacrebleus_and_keeps_its_signature() -> None:
    with live(Bleu(ground_truth="{{ sample.target }}")) as scorer:
        same = scored(scorer, {"target": "the cat sat on the mat"}, trace("the cat sat on the mat"))
        other = scored(scorer, {"target": "the cat sat on the mat"}, trace("a dog"))
    assert (same.primary, same.scores) == (1.0, {"bleu_score": 1.0})
    assert other.primary == other.scores["bleu_score"] < 0.2
    assert "smooth:exp" in same.metadata["signature"]
    assert "eff:yes" in same.metadata["signature"]


EQUAL = {  # what is said, what is wanted → is_correct
    "another case": ("paris", "Paris", False),
    "a number as JSON writes it": ("5", 5, True),
    "true as Jinja writes it": ("True", True, True),
    "true as JSON writes it": ("true", True, False),
}


def test_strings_are_equal_letter_for_letter() -> None:
    with live(StringEquals(ground_truth="{{ sample.target }}")) as scorer:
        given = {
            name: scored(scorer, {"target": wanted}, trace(said)) for name, (said, wanted, _) in EQUAL.items()
        }
    assert {name: one.scores for name, one in given.items()} == {
        name: {"is_correct": right} for name, (_, _, right) in EQUAL.items()
    }
    assert given["another case"].primary == 0.0
    assert given["another case"].metadata == {"answer_gt": "Paris", "answer_pred": "paris"}


def test_a_dataset_is_scored_by_what_value_says() -> None:
    how = StringEquals(ground_truth="{{ sample.a }}", value="{{ sample.b }}")
    with live(how) as scorer:
        assert scored(scorer, {"a": "x", "b": "x"}, None).primary == 1.0
        assert scored(scorer, {"a": "x", "b": "y"}, None).primary == 0.0


CHOICES = {  # the reply, the choices, the right one → is_correct, completion_validity
    "right": ("B) Paris", ["A", "B"], "B", True, "valid"),
    "wrong": ("A", ["A", "B"], "B", False, "valid"),
    "none of them": ("Paris", ["A", "B"], "B", False, "invalid"),
    "choices as JSON writes them": ("B", '["A", "B"]', "B", True, "valid"),
}


def test_the_first_letter_is_the_choice() -> None:
    how = ChoiceEquals(ground_truth_choice="{{ sample.right }}", choices="{{ sample.choices }}")
    with live(how) as scorer:
        given = {
            name: scored(scorer, {"choices": choices, "right": right}, trace(said))
            for name, (said, choices, right, _, _) in CHOICES.items()
        }
        no_list = failure(scorer, {"choices": "A or B", "right": "A"}, trace("A"))
    assert {
        name: (one.scores["is_correct"], one.metadata["completion_validity"]) for name, one in given.items()
    } == {name: case[3:] for name, case in CHOICES.items()}
    assert given["wrong"].metadata == {
        "completion_validity": "valid",
        "ground_truth_choices": ["A", "B"],
        "ground_truth_correct_choice": "B",
        "predicted_choice": "A",
    }
    assert no_list == "scorer s: the choices are no list but a text"


def test_choices_may_stand_in_the_task() -> None:
    how = ChoiceEquals(ground_truth_choice="{{ sample.right }}", choices=["A", "{{ sample.last }}"])
    with live(how) as scorer:
        result = scored(scorer, {"right": "D", "last": "D"}, trace("D"))
    assert (result.primary, result.metadata["ground_truth_choices"]) == (1.0, ["A", "D"])


def call(name: str, **arguments: Any) -> dict[str, Any]:
    return {"name": name, "arguments": arguments}


FIND, BOOK = call("find", city="Rome"), call("book", seats=2)
CALLS: dict[str, tuple[list[Any], list[Mapping[str, Any]], bool, tuple[Any, ...]]] = {
    # required, made, in order → all made, coverage, made, not made, unrequired, total
    "all": (["find", "book"], [FIND, BOOK], False, (True, 1.0, 2, 0, 0, 2)),
    "half": (["find", "book"], [FIND], False, (False, 0.5, 1, 1, 0, 2)),
    "with arguments": ([BOOK], [FIND, BOOK], False, (True, 1.0, 1, 0, 1, 1)),
    "another order that matters": (["book", "find"], [FIND, BOOK], True, (False, 1.0, 2, 0, 0, 2)),
    "in order among others": (["find", "book"], [FIND, call("x"), BOOK], True, (True, 1.0, 2, 0, 1, 2)),
}


@pytest.mark.parametrize("in_order", [False, True])
def test_required_calls_are_looked_for_among_those_made(*, in_order: bool) -> None:
    cases = {name: case for name, case in CALLS.items() if case[2] == in_order}
    with live(FunctionCalls(function_calls="{{ sample.calls }}", in_order=in_order)) as scorer:
        given = {
            name: scored(scorer, {"calls": required}, trace("", *made))
            for name, (required, made, _, _) in cases.items()
        }
    assert {name: (*one.scores.values(),) for name, one in given.items()} == {
        name: expected for name, (*_, expected) in cases.items()
    }
    assert all(one.primary == one.scores["required_calls_coverage"] for one in given.values())


def test_required_calls_may_stand_in_the_task_and_no_trace_makes_none() -> None:
    with live(FunctionCalls(function_calls=["find", BOOK])) as scorer:
        assert scored(scorer, {}, trace("", FIND)).primary == 0.5
        assert scored(scorer, {}, None).primary == 0.0
    with live(FunctionCalls(function_calls="{{ sample.calls }}")) as scorer:
        assert "function_calls is not a list in JSON" in failure(scorer, {"calls": "find it"}, trace())


def test_any_program_is_a_scorer_whose_side_info_is_scores(tmp_path: Any) -> None:
    says = ["#!/bin/sh", """echo '{"score": 0.25, "length": 7, "kind": "short"}'"""]
    with live(Program(keys={"command": str(write_program(tmp_path / "m.sh", says))})) as scorer:
        result = scored(scorer, {"target": "x"}, trace("y"))
    assert (result.primary, result.scores) == (0.25, {"score": 0.25, "length": 7, "kind": "short"})
    assert result.side_info == {"scores": result.scores}


def test_a_program_sees_the_last_text_and_the_sample_and_may_skip(tmp_path: Any) -> None:
    says = ["#!/bin/sh", f"cat > {tmp_path}/seen", """echo '{"skip": "no target"}'"""]
    with live(Program(keys={"command": str(write_program(tmp_path / "m.sh", says))})) as scorer:
        result = scorer.score({"target": "x"}, trace("y"), float("inf"))
    assert isinstance(result, Skip)
    assert result.why == "no target"
    assert '"candidate":"y","example":{"target":"x"}' in (tmp_path / "seen").read_text()


def test_a_field_that_is_missing_is_a_failure_of_the_scorer() -> None:
    with live(StringEquals(ground_truth="{{ sample.target }}")) as scorer:
        said = failure(scorer, {"answer": "x"}, trace("x"))
    assert said.startswith("scorer s: bad_template: there is no 'target'")


SEEN = {  # what a template says of a conversation
    "{{ solver_output.output }}": "b",
    "{{ solver_output.output.choices[0].message.content }}": "b",
    "{{ model_output }} {{ input_prompt }}": "b b",
    "{{ messages[0].content }}": "q",
    "{{ trace.get_last_user_text() }}": "q",
    "{% for one in messages %}{{ one.role }} {% endfor %}": "user assistant ",
    "{% if true %}b{% endif %}": "b",
    "{{ trace.function_calls[0].name }}": "find",
}


@pytest.mark.parametrize(("template", "text"), SEEN.items())
def test_templates_see_the_conversation(template: str, text: str) -> None:
    with live(StringEquals(ground_truth=template, value="{{ sample.text }}")) as scorer:
        result = scored(scorer, {"text": text}, trace("b", FIND, question="q"))
    assert result.metadata["answer_gt"] == text
