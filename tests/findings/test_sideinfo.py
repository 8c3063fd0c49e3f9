"""Side information of any shape: what is counted, what is kept, and that nothing of it is an error."""

import math
import random
import statistics
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, cast

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from optimize_eval.base.documents import to_dict
from optimize_eval.findings.side_info import (
    LONGEST_SHORT,
    MOST_PATHS,
    WORST_KEPT,
    Durations,
    SideInfo,
    latency_of,
    quantile,
)
from optimize_eval.findings.summary_parts import MeasuredCell
from optimize_eval.store.journal import decode, seal
from tests.findings.made import Example, Says, made, on_val, saying

if TYPE_CHECKING:
    from optimize_eval.store.command_units import JournalRecord

LONG = "because " * 20
HUGE = 10**400
FLOATS = st.floats(allow_nan=False, allow_infinity=False)
KEYS = st.sampled_from(["a", "b", "a.b", "a.b.c", "", "é"])
VALUES = st.recursive(
    st.one_of(
        st.none(),
        st.booleans(),
        FLOATS,
        st.integers(),
        st.sampled_from([HUGE, -HUGE, 2**64, LONG]),
        st.text(max_size=5),
    ),
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(KEYS, inner, max_size=3)),
    max_leaves=6,
)


CELL = MeasuredCell(candidate="a", evaluator="judge", task_model=None, split="val")


def told(
    *said: Mapping[str, Any], scores: Sequence[float] = (), is_one_by_one: bool = False
) -> dict[str, Any]:
    """Aggregate what was said of examples 1, 2, …; the scores are 0 where they do not matter."""
    side_info = SideInfo()
    for place, one in enumerate(said):
        score = scores[place] if scores else 0.0
        side_info.take({"outcome": "scored", "score": score, "side_info": {**one}}, place + 1)
        if is_one_by_one:
            side_info.entry(CELL)  # nothing waits any more
    return to_dict(side_info.entry(CELL))


def key(path: str, *said: Mapping[str, Any]) -> dict[str, Any]:
    found: dict[str, Any] = told(*said)["keys"][path]
    return found


@given(st.lists(st.floats(-1e6, 1e6), min_size=1, max_size=60))
def test_numbers_have_their_distribution(values: list[float]) -> None:
    from scipy import stats

    found = key("x", *({"x": value} for value in values))["numbers"]
    assert (found["n"], found["min"], found["max"]) == (len(values), min(values), max(values))
    assert found["mean"] == pytest.approx(statistics.fmean(values), abs=1e-6)
    assert found["p50"] == pytest.approx(statistics.median(values), abs=1e-6)
    assert found["p95"] == pytest.approx(stats.scoreatpercentile(values, 95), abs=1e-6)
    if len(values) == 1:
        assert found["sd"] is None
    else:
        assert found["sd"] == pytest.approx(statistics.stdev(values), abs=1e-5)


@given(st.lists(st.floats(-100, 100), min_size=2, max_size=30))
def test_quantiles_interpolate(values: list[float]) -> None:
    expected = statistics.quantiles(values, n=20, method="inclusive")
    found = [quantile(sorted(values), share / 20) for share in range(1, 20)]
    assert found == pytest.approx(expected, abs=1e-9)


def test_booleans_have_a_rate_and_are_no_numbers() -> None:
    found = key("ok", {"ok": True}, {"ok": True}, {"ok": False}, {})
    assert found == {"n": 3, "missing": 1, "booleans": {"n": 3, "rate": pytest.approx(2 / 3)}}


def test_short_texts_are_counted_the_most_frequent_first() -> None:
    words = ["good"] * 4 + ["bad"] * 2 + ["ugly"] * 2 + ["x", "y", "z"]
    found = key("verdict", *({"verdict": word} for word in words))["texts"]
    assert (found["n"], found["distinct"]) == (11, 6)
    assert [(one["value"], one["count"]) for one in found["top"]] == [
        ("good", 4),
        ("bad", 2),
        ("ugly", 2),
        ("x", 1),
        ("y", 1),
    ]


@pytest.mark.parametrize(("length", "kind"), [(LONGEST_SHORT, "texts"), (LONGEST_SHORT + 1, "long_texts")])
def test_texts_are_short_or_long(length: int, kind: str) -> None:
    assert kind in key("x", {"x": "a" * length})


def test_long_texts_are_kept_with_the_lowest_scores_and_their_lines() -> None:
    scores = [0.9, 0.1, 0.5, 0.1, 0.8, 0.3, 0.7]
    said = told(*({"why": f"{LONG}{place}"} for place in range(7)), scores=scores)
    found = said["keys"]["why"]["long_texts"]
    assert found["n"] == 7
    assert [(one["line"], one["score"]) for one in found["worst"]] == [
        (2, 0.1),
        (4, 0.1),
        (6, 0.3),
        (3, 0.5),
        (7, 0.7),
    ]
    assert found["worst"][0]["text"] == f"{LONG}1"


def test_a_megabyte_of_text_is_kept_in_part() -> None:
    said = told(*({"why": "x" * 2**20, f"{'k' * 2**20}": 1} for _ in range(20)))
    assert len(said["keys"]["why"]["long_texts"]["worst"]) == WORST_KEPT
    assert len(orjson.dumps(said)) < 10_000


def test_objects_are_followed_two_levels_down() -> None:
    found = told({"dims": {"tone": 0.5, "facts": {"checked": True}}, "empty": {}})["keys"]
    assert sorted(found) == ["dims.facts", "dims.tone", "empty"]
    assert found["dims.tone"]["numbers"]["mean"] == 0.5
    assert found["dims.facts"] == {"n": 1, "missing": 0, "objects": 1}
    assert found["empty"] == {"n": 1, "missing": 0, "objects": 1}


def test_lists_are_counted_by_their_items() -> None:
    found = key("tags", {"tags": ["a", "b", "a"]}, {"tags": []}, {"tags": ["a", 7, None, LONG]})
    assert found["n"] == 3
    assert found["lists"] | {"n": 3, "min": 0, "p50": 3, "max": 4} == found["lists"]
    assert found["texts"]["top"] == [{"value": "a", "count": 3}, {"value": "b", "count": 1}]


def test_nulls_are_there_and_missing_keys_are_not() -> None:
    found = key("x", {"x": None}, {}, {"x": 1}, {"y": 2})
    assert (found["n"], found["missing"], found["nulls"]) == (2, 2, 1)


def test_mixed_types_at_one_key_are_all_told() -> None:
    values: list[Any] = [1, 2.5, True, "word", LONG, ["a"], None, {}, {"deep": 1}]
    found = told(*({"x": value} for value in values))["keys"]
    assert found["x"]["n"] == 8
    assert sorted(found["x"]) == sorted(
        ["n", "missing", "numbers", "booleans", "texts", "long_texts", "lists", "nulls", "objects"]
    )
    assert found["x"]["numbers"]["mean"] == 1.75
    assert found["x.deep"]["n"] == 1


@pytest.mark.parametrize("number", [HUGE, -HUGE, 2**64, 10**308, 10**309])
def test_integers_of_any_size_are_no_error(number: int) -> None:
    record = {
        "outcome": "scored",
        "score": 0.5,
        "side_info": {"x": number, "y": [number], "z": {"x": number}},
    }
    side_info = SideInfo()
    side_info.take(cast("JournalRecord", decode(seal(record))), 1)
    found = to_dict(side_info.entry(CELL))
    assert found["keys"]["x"]["n"] == 1
    orjson.dumps(found)


def test_numbers_whose_sum_overflows_have_no_mean() -> None:
    found = key("x", *({"x": 1.7e308} for _ in range(3)))["numbers"]
    assert (found["n"], found["mean"], found["sd"], found["p50"], found["max"]) == (
        3,
        None,
        None,
        1.7e308,
        1.7e308,
    )


def test_ten_thousand_keys_are_not_all_kept_and_that_is_told() -> None:
    found = told(*({f"key {place} {n}": n for n in range(100)} for place in range(100)))
    assert len(found["keys"]) == MOST_PATHS
    assert found["values_left_out"] == 10_000 - MOST_PATHS


def test_many_distinct_texts_are_counted_in_full() -> None:
    found = key("id", *({"id": f"{n:04}"} for n in range(3000)))
    assert found["texts"]["n"] == 3000


@given(st.lists(st.dictionaries(KEYS, VALUES, max_size=4), max_size=8), st.lists(st.floats(0, 1), min_size=8))
def test_whatever_is_said_can_be_written_and_adds_up(said: list[dict[str, Any]], scores: list[float]) -> None:
    found = told(*said, scores=scores)
    orjson.dumps(found)
    for one in found["keys"].values():
        assert 0 < one["n"] <= len(said)
        assert one["n"] + one["missing"] == len(said)


def test_a_path_that_two_keys_share_is_counted_once_an_answer() -> None:
    found = key("a.b", {"a.b": 1, "a": {"b": 2}}, {})
    assert found["missing"] == 1


def test_keys_alike_in_their_first_letters_do_not_make_missing_negative() -> None:
    long = "k" * 200
    found = told({f"{long}1": 1, f"{long}2": 2})["keys"]
    assert all(one["missing"] >= 0 for one in found.values())


def says(scores: Sequence[float], side_info: Mapping[str, Any]) -> list[Example]:
    return [Says(score, side_info) for score in scores]


SCORES = [0.1 * place for place in range(10)]


def test_keys_that_differ_between_candidates_are_pointed_out() -> None:
    summary = on_val(a=says(SCORES, {"x": 1, "y": 1}), b=says(SCORES, {"x": 1})).summary()
    assert saying(summary, "! judge gave the side info y for a on val, but never for b on val")


def test_keys_that_differ_between_splits_are_pointed_out() -> None:
    cells = {"a": {"train": says(SCORES, {"x": 1}), "val": says(SCORES, {"x": 1, "z": {"w": 0}})}}
    summary = made({"judge": cells}).summary()
    assert saying(summary, "! judge gave the side info z.w for a on val, but never for a on train")


def test_a_key_that_is_there_at_times_is_not_pointed_out() -> None:
    some = [*says(SCORES[:5], {"x": 1}), *says(SCORES[5:], {"y": 2})]
    assert not saying(on_val(a=some, b=list(reversed(some))).summary(), "side info")


def test_a_key_that_was_left_out_is_not_said_to_be_missing() -> None:
    many = {f"key {n:03}": n for n in range(MOST_PATHS + 50)}
    backwards = dict(reversed(many.items()))
    summary = on_val(a=says(SCORES, many), b=says(SCORES, backwards)).summary()
    assert not saying(summary, "never")


def test_each_entry_tells_where_it_is_from() -> None:
    cells = {"a": {"train": says(SCORES, {"x": 1}), "val": says(SCORES, {})}}
    entries = made({("judge", "m1"): cells}).summary()["side_info"]
    assert [(one["candidate"], one["task_model"], one["split"], list(one["keys"])) for one in entries] == [
        ("a", "m1", "train", ["x"]),
        ("a", "m1", "val", []),
    ]


SAID = [0.5, 7, True, None, "word", LONG, ["word", 1], [], {}, {"a": 1}, {"a": "word", "b": {"c": 1}}, HUGE]


def said_by(chance: random.Random, keys: Sequence[str]) -> dict[str, Any]:
    """Say something at some of the keys, also within others; paths may be shared, and may be too many."""
    said = {key: chance.choice(SAID) for key in chance.sample(keys, 4)}
    return {**said, chance.choice(keys): {key: chance.choice(SAID) for key in chance.sample(keys, 4)}}


@pytest.mark.parametrize("many", [5, 40])
def test_what_is_taken_in_together_is_as_one_answer_after_the_other(many: int) -> None:
    chance = random.Random(many)
    keys = ["a", "b", "a.b", "a" * 200, "a" * 300, *(f"key {n}" for n in range(many))]
    for _ in range(10):
        said = [said_by(chance, keys) for _ in range(chance.randrange(1, 90))]
        scores = [chance.choice([0.0, 0.5, 1.0]) for _ in said]
        assert told(*said, scores=scores) == told(*said, scores=scores, is_one_by_one=True)


def test_of_many_texts_the_first_thousand_are_told_apart_whatever_came_together() -> None:
    said = [{"id": f"{n % 1_100:04}", "tags": [f"{n:04}", "x"]} for n in range(1_200)]
    assert told(*said) == told(*said, is_one_by_one=True)
    assert key("id", *said)["texts"]["distinct"] == 1000


TAKEN = st.one_of(
    st.integers(0, 200_000).map(lambda micros: micros / 1e6), st.floats(0, 1e300), st.just(math.nan)
)


@given(st.lists(st.lists(TAKEN, min_size=1, max_size=20), min_size=1, max_size=3))
def test_latency_is_of_all_calls_that_were_timed_to_the_last_digit(cells: list[list[float]]) -> None:
    known = sorted(taken for cell in cells for taken in cell if not math.isnan(taken))
    told = latency_of("e", "train", [*map(Durations, cells)], attempts=1)
    if not known:
        assert told is None
        return
    assert told
    assert (told.n, told.p50, told.p95, told.max) == (
        len(known),
        quantile(known, 0.5),
        quantile(known, 0.95),
        known[-1],
    )
    assert told.total == pytest.approx(math.fsum(known), abs=1e-6)
