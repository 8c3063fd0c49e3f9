"""A leaderboard's numbers as tables and laws: weights, ranks, what was not run, win rates, categories."""

import math
from collections.abc import Mapping, Sequence

import orjson
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from optimize_eval.findings.board_shapes import Board
from optimize_eval.findings.boards import seen_from
from optimize_eval.statistics.differences import difference_of, difference_over
from optimize_eval.statistics.estimates import mean_of
from tests.findings.boards import Files, board, by_name, rendered
from tests.findings.made import Example, Fails

NO = Fails()
LATE = Fails(kind="reported", message="no")

scores = st.floats(0, 1) | st.sampled_from([0.0, 1.0])


def test_each_number_of_a_task() -> None:
    found = board({"m": {"a": [1.0, 0.5, 0.25, NO, LATE], "b": [1.0, NO]}})
    (model,) = found["models"]
    a, b = model["tasks"]
    assert a | {"ci": None} == {
        "task": "a",
        "metric": "f1",
        "score": pytest.approx(1.75 / 3),
        "correct": 2,  # round(1.75)
        "total": 5,
        "latency_ms": 250.0,
        "metric_id": "f1",
        "category": None,
        "path": "a.jsonl",
        "sha256": "0",
        "se": pytest.approx(mean_of([1.0, 0.5, 0.25]).se),
        "ci": None,
        "method": "wilson_effective",
        "n": 3,
        "lower_bound": pytest.approx(1.75 / 5),
        "perfect": 1,
        "scored": 3,
        "failed": 2,
        "timeouts": 1,
        "errors": {"timeout": 1, "reported": 1},
    }
    assert (b["score"], b["ci"], b["correct"], b["timeouts"]) == (1.0, None, 1, 1)
    assert model["overall_score"] == pytest.approx((1.75 / 3 + 1) / 2)  # tasks count alike
    assert model["lower_bound"] == pytest.approx((1.75 / 5 + 1 / 2) / 2)
    assert (model["timeouts"], model["failed"], model["scored"], model["coverage"]) == (2, 3, 4, 4 / 7)
    assert (found["adapter"], found["overall_score"], found["tasks"]) == (
        "m",
        model["overall_score"],
        model["tasks"],
    )


@pytest.mark.parametrize(("got", "correct"), [([0.5], 0), ([0.5, 1.0], 2), ([0.5] * 5, 2), ([NO], 0)])
def test_correct_is_the_rounded_sum(got: Sequence[Example], correct: int) -> None:
    assert board({"m": {"a": got}})["tasks"][0]["correct"] == correct


def test_a_task_without_a_score_is_null_and_named() -> None:
    found = board({"m": {"a": [1.0, 1.0], "b": [NO, NO]}, "dead": {"a": [NO, NO], "b": [NO, NO]}})
    models = by_name(found)
    assert [task["score"] for task in models["m"]["tasks"]] == [1.0, None]
    assert (models["m"]["not_run"], models["m"]["overall_score"]) == (["b"], 1.0)
    dead = models["dead"]
    assert (dead["overall_score"], dead["latency_ms"], dead["not_run"]) == (None, None, ["a", "b"])
    assert dead["win_rate"] is None  # no example is scored for both
    texts = [point["text"] for point in found["verdict"]["points"]]
    assert "m did not run 1 of 2 tasks: b" in texts
    assert "dead did not run 2 of 2 tasks: a, b" in texts
    assert "no model ran all tasks" in found["verdict"]["text"]


@pytest.mark.parametrize(
    ("models", "ranked"),
    [
        ({"low": [0.1, 0.1], "high": [0.9, 0.9]}, ["high", "low"]),
        ({"half": [1.0, NO], "weak": [0.0, 0.0]}, ["weak", "half"]),
        ({"none": [NO, NO], "half": [1.0, NO], "weak": [0.0, 0.0]}, ["weak", "half", "none"]),
        ({"late": [1.0, 1.0, NO], "wrong": [1.0, 1.0, 0.0]}, ["wrong", "late"]),
        ({"tie": [0.5, 0.5], "other": [0.5, 0.5]}, ["tie", "other"]),  # as they were given
    ],
)
def test_who_stands_above_whom(models: Mapping[str, Sequence[Example]], ranked: Sequence[str]) -> None:
    found = board({name: {"a": got} for name, got in models.items()})
    assert [model["adapter"] for model in found["models"]] == ranked


def test_a_narrow_table_keeps_the_best_models_and_says_how_many_it_left_out() -> None:
    models: dict[str, Files] = {f"model-{n}": {"a": [1 - n / 20, 0.5]} for n in range(12)}
    found = board(models)
    lines = rendered(found, width=40).splitlines()
    assert max(map(len, lines)) <= 40
    start = lines.index("") + 1
    table = lines[start : lines.index("", start)]
    assert table[0].split() == ["task", "model-0", "model-1", "model-2"]
    assert table[-1] == " … and 9 more models: see --json"
    wide = rendered(found, width=200)
    assert any("task" in line and "model-7" in line for line in wide.splitlines())
    assert "… and 4 more models: see --json" in wide


def test_many_models_that_are_not_told_apart_take_one_line() -> None:
    models: dict[str, Files] = {f"model-{n}": {"a": [0.5] * 3} for n in range(30)}
    points = [point["text"] for point in board(models)["verdict"]["points"]]
    assert len(points) == 6
    assert points[-1] == "23 more models are too close to model-0 to call"


def test_categories_average_their_tasks() -> None:
    kinds = ["mcq", "summary", "mcq", "summary"]
    found = board({"m": {"a": [1.0, 0.5, 0.0, NO], "b": [1.0, 1.0]}}, categories={"a": kinds})
    told = {
        one["category"]: (one["score"], one["n"], one["tasks"]) for one in found["models"][0]["categories"]
    }
    assert told == {"mcq": (0.5, 2, 2), "summary": (0.5, 1, 2)}
    assert [task["task"] for task in found["tasks"]] == ["a1", "a2", "a3", "a4", "b"]
    assert found["overall_score"] == pytest.approx((1.0 + 0.5 + 0.0 + 1.0) / 4)


def test_examples_are_told_only_when_asked_for() -> None:
    got: dict[str, Files] = {"m": {"a": [1.0, NO]}}
    assert "per_example" not in board(got)["tasks"][0]
    first, second = board(got, include_per_example=True)["tasks"][0]["per_example"]
    assert (first["id"], first["score"], second["score"], second["error"]) == ("a1", 1.0, None, "timeout")
    assert "error" not in first


some_files = st.lists(st.lists(scores | st.just(NO), min_size=1, max_size=5), min_size=1, max_size=4)


@given(some_files)
def test_overall_is_the_mean_of_the_tasks_that_have_a_score(files: list[list[Example]]) -> None:
    (model,) = board({"m": {str(n): got for n, got in enumerate(files)}})["models"]
    means = [task["score"] for task in model["tasks"] if task["score"] is not None]
    if means:
        assert model["overall_score"] == pytest.approx(math.fsum(means) / len(means), abs=1e-12)
    else:
        assert model["overall_score"] is None


@given(some_files, st.data())
def test_two_models_win_as_often_as_the_other_loses_and_either_may_come_first(
    files: list[list[Example]], data: st.DataObject
) -> None:
    one = {str(n): got for n, got in enumerate(files)}
    two = {
        name: data.draw(st.lists(scores | st.just(NO), min_size=len(got), max_size=len(got)))
        for name, got in one.items()
    }
    found, turned = board({"x": one, "y": two}), board({"y": two, "x": one})
    models, same = by_name(found), by_name(turned)
    rates = [model["win_rate"] for model in models.values()]
    assert rates == [None, None] or math.fsum(rates) == pytest.approx(1)
    for name in ("x", "y"):
        assert {**models[name]} == same[name]
    (pair,), (back,) = found["pairs"], turned["pairs"]
    assert (pair["a"], back["a"]) == ("x", "y")
    assert (pair["p"], pair["test"], pair["n_pairs"]) == (back["p"], back["test"], back["n_pairs"])
    assert (pair["wins"], pair["ties"], pair["losses"]) == (back["losses"], back["ties"], back["wins"])
    whole = Board.from_dict(found)
    by_model = {model.adapter: model for model in whole.models}
    seen = seen_from(by_model["x"], by_model["y"], whole.pairs).difference
    if pair["diff"] is not None:
        assert pair["diff"] == -back["diff"]
        assert seen.diff == -pair["diff"]
    if pair["ci"] is not None:
        assert pair["ci"] == pytest.approx((-back["ci"][1], -back["ci"][0]))


@given(some_files, st.data())
def test_a_failure_never_lifts_a_model(files: list[list[Example]], data: st.DataObject) -> None:
    got = {str(n): list(one) for n, one in enumerate(files)}
    name = data.draw(st.sampled_from(list(got)))
    place = data.draw(st.integers(0, len(got[name]) - 1))
    assume(got[name][place] is not NO)
    worse = {**got, name: [NO if n == place else one for n, one in enumerate(got[name])]}
    models = by_name(board({"whole": got, "failing": worse}))
    assert models["failing"]["lower_bound"] <= models["whole"]["lower_bound"] + 1e-12
    assert len(models["failing"]["not_run"]) >= len(models["whole"]["not_run"])
    assert (
        models["failing"]["tasks"][int(name)]["failed"] == models["whole"]["tasks"][int(name)]["failed"] + 1
    )


@given(st.lists(st.tuples(st.floats(0, 1), st.floats(0, 1)), min_size=1, max_size=12))
def test_one_task_and_tasks_of_one_example_are_compared_as_examples_are(
    pairs: list[tuple[float, float]],
) -> None:
    plain = difference_of([a for a, _ in pairs], [b for _, b in pairs])
    singles = difference_over([[pair] for pair in pairs])
    assert (singles.diff, singles.se, singles.p, singles.test) == (plain.diff, plain.se, plain.p, plain.test)
    assert singles.ci is None or max(map(abs, singles.ci)) <= 1
    one = difference_over([pairs])
    assert (one.p, one.test, one.df, one.n_pairs) == (plain.p, plain.test, plain.df, plain.n_pairs)
    possible = plain.ci and (max(-1.0, plain.ci[0]), min(1.0, plain.ci[1]))
    assert one.ci == (possible and pytest.approx(possible, abs=1e-12))


def test_an_interval_is_of_these_tasks_and_from_ten_tasks_on_there_is_one_of_tasks_like_these() -> None:
    """W8: that tasks differ in difficulty is no uncertainty of a mean over these very tasks."""
    tasks = {str(n): [n / 12, n / 12 + 0.01, n / 12] for n in range(12)}
    (model,) = board({"m": tasks})["models"]
    assert model["method"] == "wilson_effective"
    assert model["se"] == pytest.approx(math.sqrt(12 * (0.01**2 / 3 / 3)) / 12)
    assert model["ci"][1] - model["ci"][0] < 0.01
    assert model["df"] == pytest.approx(24)
    other = model["on_tasks_like_these"]
    assert other["tasks"] == 12
    assert other["se"] == pytest.approx(mean_of([n / 12 for n in range(12)]).se)
    assert other["ci"][1] - other["ci"][0] > 0.3
    text = " ".join(rendered(board({"m": tasks}), width=100).split())
    assert "on tasks like these (95 % CI, 12 tasks as a sample): m 0." in text


def test_a_task_with_one_score_has_no_error_and_then_the_mean_has_no_interval() -> None:
    (model,) = board({"m": {"a": [1.0, 0.0], "b": [1.0, NO]}})["models"]
    assert (model["overall_score"], model["ci"], model["se"], model["method"]) == (0.75, None, None, None)
    assert model["on_tasks_like_these"] is None
    singles = board({"m": {str(n): [n % 2] for n in range(10)}})
    assert singles["models"][0]["ci"] is None
    assert "0.500 (95 % CI 0.2" in singles["verdict"]["text"]
    assert "on tasks like these" in singles["verdict"]["text"]


def test_a_leader_is_shown_to_be_ahead_of_all_models_that_ran_all_tasks() -> None:
    files = {"x": [0.8, 0.9] * 6, "y": [0.7, 0.8] * 6, "z": [1.0, 0.0, 1.0, 0.6] * 3}
    found = board({name: {"a": scores} for name, scores in files.items()})
    assert found["verdict"]["text"].startswith("No clear leader: x against y: +0.100 ")
    alone = board({"x": {"a": [0.5] * 3}, "y": {"a": [NO] * 3}})
    assert alone["verdict"]["text"].startswith("No leader: only x ran all tasks (")


def test_a_leader_has_to_lead_with_its_failures_as_0_and_the_others_as_1() -> None:
    """W2: both fail 5 of 25, on different examples; 0 for both would leave the lead as it is."""
    ahead: list[Example] = [*[0.9, 0.8, 0.85, 0.95] * 5, *[NO] * 5]
    behind: list[Example] = [*[NO] * 5, *[0.5, 0.6, 0.55, 0.45] * 5]
    found = board({"x": {"a": ahead}, "y": {"a": behind}})
    (pair,) = found["pairs"]
    assert (pair["mark"], pair["holds_at_worst"]) == ("worse", False)
    assert "No clear leader: " in found["verdict"]["text"]
    whole = board({"x": {"a": ahead[:20]}, "y": {"a": behind[5:]}})
    assert whole["pairs"][0]["holds_at_worst"] is True
    assert whole["verdict"]["text"].startswith("x leads")


def test_models_that_differ_alike_everywhere_are_told_apart_by_the_test() -> None:
    found = board({"x": {"a": [1.0] * 9, "b": [1.0] * 4}, "y": {"a": [0.0] * 9, "b": [0.0] * 4}})
    (pair,) = found["pairs"]
    assert (pair["ci"], pair["mark"], pair["holds_at_worst"]) == (None, "worse", True)
    text = found["verdict"]["text"]
    assert text == "x leads, ahead of y: +1.000 (alike within each task, 13 pairs)"
    assert "▼ \N{MINUS SIGN}1.000" in rendered(found, width=100)


REPEATED: dict[str, Files] = {
    "x": {"a": [(1.0, 0.0), NO, (1.0, 1.0)], "b": [(0.0, 1.0), (1.0, 1.0)]},
    "y": {"a": [(0.0, 0.0), (1.0, 1.0), NO], "b": [(1.0, 1.0), (0.0, 0.0)]},
}


def test_a_board_is_read_as_it_was_written_in_the_same_order() -> None:
    found = board(REPEATED, categories={"a": ["mcq", "mcq", "sum"]}, include_per_example=True)
    assert orjson.dumps(Board.from_dict(orjson.loads(orjson.dumps(found))).to_dict()) == orjson.dumps(found)
    assert list(found["models"][0])[-3:] == ["categories", "tasks", "win_rate"]
    assert list(found["pairs"][0])[:3] == ["a", "b", "diff"]
