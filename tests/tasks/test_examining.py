"""Filters against tables made by hand: values, nulls, booleans, texts, what is missing."""

from contextlib import closing
from typing import Any

import pytest

from optimize_eval.base.errors import EvaluationError
from optimize_eval.tasks.definition import (
    Action,
    Comparison,
    Filter,
    Membership,
    Unary,
    filter_of,
    filter_to_dict,
)
from optimize_eval.tasks.templates import hosted
from optimize_eval.tasks.trace import MESSAGE, Trace
from optimize_eval.tasks.yaml.task_data import Actions, RuleFault, examiner

NULL: Any = None
ROW = {
    "n": 5,
    "half": 0.5,
    "whole": 5.0,
    "text": "5",
    "yes": True,
    "null": NULL,
    "a b": "x",
    "deep": {"k": 1},
}


def comparison(op: str, expression: str, value: Any) -> Filter:
    return Comparison(op=op, expression=expression, value=value)


HOLDS: dict[str, tuple[Filter, bool]] = {
    "a number": (comparison("equals", "{{ n }}", 5), True),
    "a number and its text": (comparison("equals", "{{ n }}", "5"), True),
    "a text and its number": (comparison("equals", "{{ text }}", 5), True),
    "a whole number of floating point": (comparison("equals", "{{ whole }}", "5"), True),
    "another spelling of a number": (comparison("equals", "{{ n }}", "5.0"), False),
    "true is not 1": (comparison("equals", "{{ yes }}", 1), False),
    "true and its text": (comparison("equals", "{{ yes }}", "true"), True),
    "true as Python writes it": (comparison("equals", "{{ yes }}", "True"), True),
    "null is no empty text": (comparison("equals", "{{ null }}", ""), False),
    "null and its text": (comparison("equals", "{{ null }}", "null"), True),
    "not equal": (comparison("not_equals", "{{ n }}", 6), True),
    "not equal to its text": (comparison("not_equals", "{{ n }}", "5"), False),
    "more than one expression is a text": (comparison("equals", "{{ n }}-{{ text }}", "5-5"), True),
    "no expression is a text": (comparison("equals", "n", "n"), True),
    "a column with a blank": (comparison("equals", "{{ sample['a b'] }}", "x"), True),
    "the sample's column": (comparison("equals", "{{ sample.n }}", 5), True),
    "inside a field": (comparison("equals", "{{ deep.k }}", 1), True),
    "blanks and trimming": (comparison("equals", " {{- sample.deep.k -}}\n", 1), True),
    "greater": (comparison("greater_than", "{{ n }}", 4.5), True),
    "not greater": (comparison("greater_than", "{{ n }}", 5), False),
    "less": (comparison("less_than", "{{ half }}", 1), True),
    "greater or equal": (comparison("greater_or_equal", "{{ n }}", 5), True),
    "less or equal": (comparison("less_or_equal", "{{ n }}", 4), False),
    "booleans are 0 and 1 in an order": (comparison("greater_than", "{{ yes }}", 0), True),
    "computed": (comparison("greater_than", "{{ n * 2 }}", 9), True),
    "a length": (comparison("equals", "{{ text | length }}", 1), True),
    "by the host": (comparison("equals", "{{ ('a' ~ n) | center(3) | trim }}", "a5"), True),
    "in": (Membership(op="in", expression="{{ n }}", values=[1, "5"]), True),
    "in none": (Membership(op="in", expression="{{ n }}", values=[]), False),
    "not in": (Membership(op="not_in", expression="{{ n }}", values=[1, 2]), True),
    "not in, but there": (Membership(op="not_in", expression="{{ yes }}", values=["true"]), False),
    "exists": (Unary(op="exists", expression="{{ n }}"), True),
    "null exists": (Unary(op="exists", expression="{{ null }}"), True),
    "what is not there": (Unary(op="exists", expression="{{ other }}"), False),
    "what is not there in a field": (Unary(op="not_exists", expression="{{ sample.other.k }}"), True),
    "what the host does not find": (Unary(op="exists", expression="{{ other | center(3) }}"), False),
    "is true": (Unary(op="is_true", expression="{{ yes }}"), True),
    "is false": (Unary(op="is_false", expression="{{ yes }}"), False),
    "a comparison is true": (Unary(op="is_true", expression="{{ n > 3 }}"), True),
}


@pytest.fixture(autouse=True)
def _host() -> Any:
    with closing(hosted.Holder()):
        yield


@pytest.mark.parametrize(("filter_", "holds"), HOLDS.values(), ids=HOLDS.keys())
def test_a_filter_holds_or_not(filter_: Filter, *, holds: bool) -> None:
    assert examiner(filter_)({**ROW, "sample": ROW}) == holds


FAULTS: dict[str, tuple[Filter, str]] = {
    "an order of texts": (
        comparison("less_than", "{{ text }}", 6),
        '{{ text }} is "5", and less_than wants a number',
    ),
    "an order with a text": (
        comparison("less_than", "{{ n }}", "6"),
        'its value is "6", and less_than wants a number',
    ),
    "an order of null": (comparison("greater_than", "{{ null }}", 0), "{{ null }} is null, and"),
    "1 is not true": (
        Unary(op="is_true", expression="{{ n }}"),
        "{{ n }} is 5, and is_true wants true or false",
    ),
    "null is not false": (Unary(op="is_false", expression="{{ null }}"), "wants true or false"),
    "what is not there": (
        comparison("equals", "{{ other }}", 1),
        "{{ other }} is not there, and equals wants a value",
    ),
    "what cannot be computed": (comparison("equals", "{{ n / 0 }}", 1), "bad_template: ZeroDivisionError"),
    "what takes for ever": (
        comparison("equals", "{{ 'a' | center(10**9) }}", 1),
        "bad_template",
    ),
}


@pytest.mark.parametrize(("filter_", "words"), FAULTS.values(), ids=FAULTS.keys())
def test_what_cannot_be_examined_is_a_fault(filter_: Filter, words: str) -> None:
    with pytest.raises(RuleFault) as caught:
        examiner(filter_)({**ROW, "sample": ROW})
    assert words in str(caught.value)


def action(key: str, filter_: Filter) -> Action:
    return Action(key=key, filter=filter_)


def said(reply: str) -> Trace:
    return Trace(items=[{"type": MESSAGE, "role": "assistant", "content": reply}])


def test_actions_see_sample_output_and_scores_and_every_rule_that_matches_is_named() -> None:
    actions = Actions(
        [
            action("empty", comparison("equals", "{{ solver_output.output }}", "")),
            action("low", comparison("less_than", "{{ scores['a-b'].score }}", 0.5)),
            action("odd", Unary(op="is_true", expression="{{ sample.odd }}")),
        ]
    )
    scores = {"a-b": {"score": 0.25}}
    assert actions.excluded_by({"odd": False}, said("hm"), scores) == ("low",)
    assert actions.excluded_by({"odd": True}, said(""), scores) == ("empty", "low", "odd")


def test_a_rule_that_cannot_be_applied_says_which_one_it_is() -> None:
    actions = Actions([action("low", comparison("less_than", "{{ scores.judge.score }}", 0.5))])
    with pytest.raises(EvaluationError) as caught:
        actions.excluded_by({}, said("hm"), {"other": {"score": 1}})
    assert caught.value.stage == "action"
    assert caught.value.message == (
        "action low: {{ scores.judge.score }} is not there, and less_than wants a value"
    )


@pytest.mark.parametrize("filter_", [one for one, _ in HOLDS.values() if not isinstance(one, Membership)])
def test_a_filter_that_is_written_down_is_read_back(filter_: Filter) -> None:
    assert filter_of(filter_to_dict(filter_)) == filter_


def test_a_filter_of_several_values_is_read_back() -> None:
    filter_ = Membership(op="in", expression="{{ n }}", values=(1, "x"))
    assert filter_of(filter_to_dict(filter_)) == filter_
