"""Each metric of a task against a table made by hand: values, nulls, booleans, texts, what is missing."""

import json
from collections.abc import Mapping, Sequence
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from optimize_eval.base.documents import from_dict
from optimize_eval.base.documents import to_dict as as_json
from optimize_eval.findings.metrics import measure, tabulate
from optimize_eval.findings.summary_shape import Measured, MetricsTable, Sampled
from optimize_eval.tasks.definition import (
    Binary,
    Counted,
    Frequency,
    Metric,
    Multiclass,
    Number,
    PythonMetric,
    metric_of,
    metric_to_dict,
)

Rows = Sequence[Mapping[str, Any]]


def one(metric: Metric, rows: Rows) -> Measured:
    (found,) = measure([metric], rows)
    return found


def of(field: str, values: Sequence[Any]) -> Rows:
    """Make a row of each value; `...` is none at all."""
    return [{"id": number} if value is ... else {field: value} for number, value in enumerate(values)]


NUMBERS: dict[str, tuple[str, Rows, float | None, int, int]] = {  # → value, rows, missing
    "mean": ("mean", of("x", [1, 2, 6]), 3.0, 3, 0),
    "mean of booleans": ("mean", of("x", [True, False, False, True]), 0.5, 4, 0),
    "mean of both": ("mean", of("x", [True, 2, 0.5]), 3.5 / 3, 3, 0),
    "mean without nulls": ("mean", of("x", [1, None, 3]), 2.0, 2, 1),
    "mean without what is not there": ("mean", of("x", [1, ..., 3, None]), 2.0, 2, 2),
    "mean of nulls": ("mean", of("x", [None, None]), None, 0, 2),
    "mean of no rows": ("mean", (), None, 0, 0),
    "max": ("max", of("x", [-5, 2.5, -1]), 2.5, 3, 0),
    "min": ("min", of("x", [-5, 2.5, None]), -5.0, 2, 1),
    "max of booleans": ("max", of("x", [False, False]), 0.0, 2, 0),
    "std_dev": ("std_dev", of("x", [2, 4, 4, 4, 5, 5, 7, 9]), 2.0, 8, 0),  # of n, not of n - 1
    "std_dev of one": ("std_dev", of("x", [7]), 0.0, 1, 0),
    "std_dev of none": ("std_dev", of("x", [None]), None, 0, 1),
}


@pytest.mark.parametrize(("kind", "rows", "value", "n", "missing"), NUMBERS.values(), ids=NUMBERS.keys())
def test_a_number_of_a_field(kind: str, rows: Rows, value: float | None, n: int, missing: int) -> None:
    found = one(Number(type=kind, field="x"), rows)
    assert found.values == pytest.approx({f"x_{kind}": value})
    assert (found.n, found.missing, found.problem) == (n, missing, "")


def test_a_number_may_have_a_name() -> None:
    assert one(Number(type="mean", field="x", name="Mean of x"), of("x", [1])).values == {"Mean of x": 1.0}


PROBLEMS: dict[str, tuple[Metric, Rows, str]] = {
    "a text": (
        Number(type="mean", field="x"),
        of("x", [1, "high"]),
        "the field 'x' holds \"high\", not a number",
    ),
    "a field that is nowhere": (
        Number(type="max", field="y"),
        [{"x": 1}, {"x": 2, "z": 3}],
        "no row has a field 'y'; there are 'x', 'z'",
    ),
    "one of two that is nowhere": (
        Multiclass(field_gt="x", field_pred="y"),
        of("x", ["a"]),
        "no row has a field 'y'; there are 'x'",
    ),
    "texts that are no classes": (
        Multiclass(field_gt="x", field_pred="x"),
        of("x", [str(n) for n in range(1001)]),
        "there are 1,001 different texts, which are no classes: at most 1,000",
    ),
    "too large": (Number(type="std_dev", field="x"), of("x", [1e308, -1e308]), "too large"),
    "an integer too large": (Number(type="mean", field="x"), of("x", [10**400]), "too large"),
    "code that was not run": (PythonMetric(snippet="…"), of("x", [1]), "its code was not run yet"),
}


@pytest.mark.parametrize(("metric", "rows", "words"), PROBLEMS.values(), ids=PROBLEMS.keys())
def test_what_is_wrong_with_a_metric_is_told_in_its_place(metric: Metric, rows: Rows, words: str) -> None:
    found = one(metric, rows)
    assert words in found.problem
    assert found.values == {}


def test_what_is_wrong_with_one_metric_stops_no_other() -> None:
    wrong, right = measure([Number(type="mean", field="x"), Frequency(field="x")], of("x", ["a"]))
    assert (bool(wrong.problem), right.values) == (True, {"x_a": 1.0})


FREQUENCIES: dict[str, tuple[Rows, dict[str, float], int]] = {
    "texts": (of("x", ["a", "b", "a", "a"]), {"x_a": 0.75, "x_b": 0.25}, 0),
    "booleans": (of("x", [True, False, False, None]), {"x_false": 2 / 3, "x_true": 1 / 3}, 1),
    "numbers": (of("x", [1, 1.0, 2.5]), {"x_1": 2 / 3, "x_2.5": 1 / 3}, 0),
    "a text and a number": (of("x", [1, "1"]), {"x_1": 1.0}, 0),
    "an empty text": (of("x", ["", ...]), {"x_": 1.0}, 1),
    "nulls": (of("x", [None]), {}, 1),
}


@pytest.mark.parametrize(("rows", "shares", "missing"), FREQUENCIES.values(), ids=FREQUENCIES.keys())
def test_shares_of_the_values_of_a_field(rows: Rows, shares: dict[str, float], missing: int) -> None:
    found = one(Frequency(field="x"), rows)
    assert found.values == pytest.approx(shares)
    assert found.missing == missing


def pairs(*listed: tuple[Any, Any]) -> Rows:
    return [{"gt": right, "pred": said} for right, said in listed]


YES_NO = Binary(field_gt="gt", field_pred="pred", positive_answer="yes", negative_answer="no")
TRUE_FALSE = Binary(field_gt="gt", field_pred="pred", positive_answer="True", negative_answer="False")
BINARY: dict[str, tuple[Binary, Rows, tuple[float | None, ...], tuple[int, int, int]]] = {
    # accuracy, precision, recall, F1; rows, missing, left out
    "all four": (
        YES_NO,
        pairs(*[("yes", "yes")] * 3, *[("no", "yes")] * 1, *[("yes", "no")] * 2, *[("no", "no")] * 4),
        (7 / 10, 3 / 4, 3 / 5, 6 / 9),
        (10, 0, 0),
    ),
    "other answers are left out": (
        YES_NO,
        pairs(("yes", "yes"), ("yes", "maybe"), ("perhaps", "no"), ("yes", None)),
        (1.0, 1.0, 1.0, 1.0),
        (1, 1, 2),
    ),
    "case and blanks count": (YES_NO, pairs(("yes", "Yes"), ("yes", " yes")), (None,) * 4, (0, 0, 2)),
    "never said": (YES_NO, pairs(("yes", "no"), ("no", "no")), (0.5, None, 0.0, 0.0), (2, 0, 0)),
    "never right": (YES_NO, pairs(("no", "yes"), ("no", "no")), (0.5, 0.0, None, 0.0), (2, 0, 0)),
    "negatives alone": (YES_NO, pairs(("no", "no")), (1.0, None, None, None), (1, 0, 0)),
    "booleans": (TRUE_FALSE, pairs((True, True), (False, True)), (0.5, 0.5, 1.0, 2 / 3), (2, 0, 0)),
    "numbers are compared as text": (
        Binary(field_gt="gt", field_pred="pred", positive_answer="1", negative_answer="0"),
        pairs((1, "1"), (0, 0.0)),
        (1.0,) * 4,
        (2, 0, 0),
    ),
    "true and its text": (TRUE_FALSE, pairs((True, "True"), (False, "true")), (1.0,) * 4, (1, 0, 1)),
    "no rows": (YES_NO, (), (None,) * 4, (0, 0, 0)),
}


@pytest.mark.parametrize(("metric", "rows", "values", "counts"), BINARY.values(), ids=BINARY.keys())
def test_two_answers(
    metric: Binary, rows: Rows, values: tuple[float | None, ...], counts: tuple[int, int, int]
) -> None:
    found = one(metric, rows)
    names = ("accuracy", "precision", "recall", "f1_score")
    assert found.values == pytest.approx(dict(zip(names, values, strict=True)))
    assert (found.n, found.missing, found.left_out) == counts
    assert sum(sum(row.values()) for row in found.confusion.values()) == found.n


def test_the_confusion_of_two_answers() -> None:
    rows = BINARY["all four"][1]
    assert one(YES_NO, rows).confusion == {"yes": {"yes": 3, "no": 2}, "no": {"yes": 1, "no": 4}}


CLASSES = Multiclass(field_gt="gt", field_pred="pred")


def test_classes_are_all_that_is_right_or_said() -> None:
    rows = pairs(("a", "a"), ("a", "b"), ("b", "b"), ("c", "b"), ("a", "d"), (None, "a"), ("a", None))
    found = one(CLASSES, rows)
    assert found.values == pytest.approx(
        {
            "accuracy": 2 / 5,
            "a_precision": 1.0,
            "a_recall": 1 / 3,
            "b_precision": 1 / 3,
            "b_recall": 1.0,
            "c_precision": None,  # never said
            "c_recall": 0.0,
            "d_precision": 0.0,
            "d_recall": None,  # never right
        }
    )
    assert (found.n, found.missing) == (5, 2)
    assert found.confusion["a"] == {"a": 1, "b": 1, "d": 1}


COUNTS = [{"tp": 1, "fn": 1, "fp": 0}, {"tp": 5, "fn": 0, "fp": 2}, {"tp": 3, "fn": 1}]
COUNTED: dict[str, tuple[Counted, Rows, dict[str, float | None], int]] = {
    "recall": (
        Counted(type="recall", num_true_positives_field="tp", num_false_negatives_field="fn"),
        COUNTS,
        {"recall": 9 / 11},  # and not the mean of 1/2, 1 and 3/4
        0,
    ),
    "precision": (
        Counted(type="precision", num_true_positives_field="tp", num_false_positives_field="fp"),
        COUNTS,
        {"precision": 6 / 8},
        1,
    ),
    "F1": (
        Counted(
            type="f1_score",
            num_true_positives_field="tp",
            num_false_negatives_field="fn",
            num_false_positives_field="fp",
            name="F",
        ),
        COUNTS,
        {"F": 12 / 15},
        1,
    ),
    "0/0": (
        Counted(type="recall", num_true_positives_field="tp", num_false_negatives_field="fn"),
        [{"tp": 0, "fn": 0}],
        {"recall": None},
        0,
    ),
    "no rows": (
        Counted(type="recall", num_true_positives_field="tp", num_false_negatives_field="fn"),
        [],
        {"recall": None},
        0,
    ),
}


@pytest.mark.parametrize(("metric", "rows", "values", "missing"), COUNTED.values(), ids=COUNTED.keys())
def test_counts_are_summed_before_they_are_divided(
    metric: Counted, rows: Rows, values: dict[str, float | None], missing: int
) -> None:
    found = one(metric, rows)
    assert found.values == pytest.approx(values)
    assert found.missing == missing


USUAL: dict[str, tuple[Rows, list[dict[str, float | None]]]] = {
    "is_correct is called accuracy": ([{"is_correct": True}, {"is_correct": False}], [{"accuracy": 0.5}]),
    "each numeric field": (
        [{"score": 0.5, "words": 3, "kind": "x"}, {"score": 1, "words": None}],
        [{"score_mean": 0.75}, {"words_mean": 3.0}],
    ),
    "labels": ([{"label": "a"}, {"label": "b"}], [{"label_a": 0.5, "label_b": 0.5}]),
    "texts": ([{"kind": "x"}], []),
    "a number in one row, a text in another": ([{"x": 1}, {"x": "1"}], []),
    "no rows": ([], []),
}


@pytest.mark.parametrize(("rows", "values"), USUAL.values(), ids=USUAL.keys())
def test_a_scorer_that_names_no_metrics_has_the_usual_ones(
    rows: Rows, values: list[dict[str, float | None]]
) -> None:
    assert [found.values for found in measure(None, rows)] == values


def test_no_metrics_are_none() -> None:
    assert measure([], [{"is_correct": True}]) == []


def test_what_code_gave_is_read_where_it_was_written_down() -> None:
    metric = PythonMetric(snippet="…")
    (found,) = measure([metric], of("x", [1, 2]), lambda asked: {"median": 1.5} if asked is metric else None)
    assert (found.values, found.n) == ({"median": 1.5}, 2)


EVERY: list[Metric] = [
    PythonMetric(snippet="def compute_metrics(scores): return {}", key="k"),
    YES_NO,
    CLASSES,
    Frequency(field="x"),
    *(Number(type=kind, field="x", name="n") for kind in ("mean", "max", "min", "std_dev")),
    *(metric for metric, *_ in COUNTED.values()),
]


@pytest.mark.parametrize("metric", EVERY, ids=lambda metric: metric_to_dict(metric)["type"])
def test_a_metric_that_is_written_down_is_read_back(metric: Metric) -> None:
    assert metric_of(metric_to_dict(metric)) == metric


@given(
    st.lists(st.tuples(st.sampled_from(["yes", "no", "?", None]), st.sampled_from(["yes", "no", "?", None])))
)
def test_every_row_is_counted_once_and_two_answers_are_two_classes(
    listed: list[tuple[str | None, str | None]],
) -> None:
    rows = pairs(*listed)
    found = one(YES_NO, rows)
    assert found.n + found.missing + found.left_out == len(rows)
    known = [row for row in rows if {row["gt"], row["pred"]} <= {"yes", "no"}]
    classes = one(CLASSES, known).values
    assert found.values["precision"] == classes.get("yes_precision")
    assert found.values["recall"] == classes.get("yes_recall")
    assert found.values["accuracy"] == classes["accuracy"]


def test_what_failed_or_is_excluded_is_counted_and_in_no_metric() -> None:
    samples = [
        Sampled(fields={"score": 1}),
        Sampled(fields={"score": 0}, excluded_by=("low", "odd")),
        Sampled(fields={"score": 0.5}, excluded_by=("odd",)),
        Sampled(fields=None),
        Sampled(fields={"score": 0.5}),
    ]
    table = tabulate(None, samples)
    assert (table.n_total, table.n_scored, table.n_excluded, table.n_failed) == (5, 2, 2, 1)
    assert table.excluded_by == {"low": 1, "odd": 2}
    assert [one.values for one in table.metrics] == [{"score_mean": 0.75}]


def test_a_table_is_a_document() -> None:
    rows = [Sampled(fields=row) for row in BINARY["other answers are left out"][1]]
    table = tabulate([YES_NO, Number(type="mean", field="x")], rows)
    written = json.loads(json.dumps(as_json(table)))
    assert from_dict(MetricsTable, written) == table
    assert written["metrics"][1] == {
        "type": "mean",
        "values": {},
        "n": 0,
        "problem": "no row has a field 'x'; there are 'gt', 'pred'",
    }
