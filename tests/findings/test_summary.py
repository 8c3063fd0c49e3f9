"""A summary against scipy and against numbers done by hand, on runs whose scores are written down."""

import math
import statistics
from collections.abc import Sequence
from typing import Any

import orjson
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from optimize_eval.base.protocol import ScoreRange
from optimize_eval.findings.summary_shape import summary_from
from optimize_eval.reports.terminal import summary as terminal
from optimize_eval.reports.text import Screen
from tests.findings.made import (
    LEAD,
    Entry,
    Fails,
    Made,
    No,
    Says,
    made,
    moved,
    noisy,
    on_train_and_val,
    on_val,
    row_of,
)

FLOATS = st.floats(allow_nan=False, allow_infinity=False)
EXTREME = st.sampled_from([1e308, -1e308, 1.7e308, -1.7e308, 1e155, -1e155, 1e80, 5e-324, 0.0, -0.0, 1.0])
ODD_ENTRIES = st.one_of(
    FLOATS,
    EXTREME,
    st.builds(Fails),
    st.sampled_from(No),
    st.builds(
        Says, FLOATS, st.dictionaries(st.text(max_size=3), st.one_of(FLOATS, st.booleans(), st.none()))
    ),
)
UNIT_ENTRIES = st.one_of(
    st.floats(0, 1), st.sampled_from([0.0, 1.0, 0.5]), st.builds(Fails), st.sampled_from(No)
)


def test_every_field_of_a_splits_numbers() -> None:
    from scipy import stats

    scores: list[Entry] = [0.2, 0.4, 0.6, 0.9, Fails(), Fails("exit_code"), Fails(), No.SKIPPED]
    found = row_of(on_val(a=scores).summary(), "a")["splits"]["val"]
    known = [0.2, 0.4, 0.6, 0.9]
    low, high = _wilson(statistics.fmean(known), stats.sem(known), stats.t.ppf(0.975, 3))
    assert found == {
        "mean": pytest.approx(0.525),
        "se": pytest.approx(stats.sem(known)),
        "ci": pytest.approx((low, high)),
        "method": "wilson_effective",
        "n": 4,
        "repeats": 1,
        "scored": 4,
        "failed": 3,
        "skipped": 1,
        "coverage": pytest.approx(4 / 7),
        "bounds": pytest.approx([2.1 / 7, 5.1 / 7]),
        "within_sd": None,
        "between_sd": pytest.approx(statistics.stdev(known)),
        "failures": {"timeout": 2, "exit_code": 1},
    }


def _wilson(mean: float, se: float, t: float) -> tuple[float, float]:
    """Solve for the means that are t standard errors away, as the standard error is at those means."""
    worth = mean * (1 - mean) / se**2
    centre = (mean + t**2 / (2 * worth)) / (1 + t**2 / worth)
    reach = t / (1 + t**2 / worth) * math.sqrt(mean * (1 - mean) / worth + t**2 / (4 * worth**2))
    return centre - reach, centre + reach


def test_every_field_of_a_difference() -> None:
    from scipy import stats

    first, second = noisy(20), noisy(20, mean=0.55, seed=5)
    run = on_val(a=[*first, Fails(), 0.5, Fails()], b=[*second, 0.5, Fails(), Fails()])
    summary = run.summary()
    found = row_of(summary, "b")["vs_baseline"]["val"]
    pairs = [y - x for x, y in zip(first, second, strict=True)]
    expected = stats.ttest_rel(second, first)
    assert row_of(summary, "a")["vs_baseline"] is None
    assert found["diff"] == pytest.approx(statistics.fmean(pairs))
    assert found["se"] == pytest.approx(stats.sem(pairs))
    assert found["ci"] == pytest.approx(tuple(expected.confidence_interval()))
    assert found["p"] == pytest.approx(expected.pvalue, abs=0.02)
    assert found["p_holm"] == found["p"]
    assert (found["test"], found["n_pairs"], found["dropped"]) == ("flip", 20, 3)
    assert (found["wins"], found["ties"]) == (sum(d > 0 for d in pairs), 0)
    assert found["losses"] == 20 - found["wins"]
    reach = stats.t.ppf(0.975, 19) + stats.t.ppf(0.8, 19)
    assert found["mde"] == pytest.approx(reach * stats.sem(pairs))
    assert (found["units"], found["comparisons"], found["at_most"]) == (20, 1, None)
    assert found["skew"] == pytest.approx(stats.skew(pairs))
    assert found["mark"] == "no_difference"


def test_every_field_of_a_gap_and_of_overfit() -> None:
    from scipy import stats

    train, val = (noisy(25), noisy(15, seed=3))
    better_train, better_val = moved(train, 0.2, sd=0.1), moved(val, 0.05, sd=0.1)
    found = row_of(on_train_and_val(a=(train, val), b=(better_train, better_val)).summary(), "b")
    gap = stats.ttest_ind(better_train, better_val, equal_var=False)
    assert found["gap"]["value"] == pytest.approx(
        statistics.fmean(better_train) - statistics.fmean(better_val)
    )
    assert found["gap"]["ci"] == pytest.approx(tuple(gap.confidence_interval()))
    assert found["gap"]["df"] == pytest.approx(gap.df)
    assert found["gap"]["flag"] == (gap.pvalue < 0.05)
    gains = [
        [y - x for x, y in zip(before, after, strict=True)]
        for before, after in [(train, better_train), (val, better_val)]
    ]
    overfit = stats.ttest_ind(*gains, equal_var=False)
    assert found["overfit"]["value"] == pytest.approx(0.15)
    assert found["overfit"]["se"] == pytest.approx(math.hypot(*(stats.sem(gain) for gain in gains)))
    assert found["overfit"]["ci"] == pytest.approx(tuple(overfit.confidence_interval()))
    assert found["overfit"]["df"] == pytest.approx(overfit.df)
    assert found["overfit"]["flag"] is True


def test_failed_repeats_leave_an_example_its_other_ones() -> None:
    run = on_val(a=[(0.2, 0.4, Fails()), (Fails(), Fails(), Fails()), (0.9, 0.9, 0.9)])
    found = row_of(run.summary(), "a")["splits"]["val"]
    assert (found["n"], found["scored"], found["failed"]) == (2, 5, 4)
    assert found["mean"] == pytest.approx((0.3 + 0.9) / 2)
    assert found["coverage"] == pytest.approx(5 / 9)
    assert found["bounds"] == pytest.approx([(0.2 + 0 + 0.9) / 3, (1.6 / 3 + 1 + 0.9) / 3])


def test_all_failed_is_bounded_by_the_whole_range() -> None:
    found = row_of(on_val(a=[Fails(), Fails()]).summary(), "a")["splits"]["val"]
    assert (found["mean"], found["se"], found["ci"], found["method"]) == (None, None, None, None)
    assert (found["n"], found["coverage"], found["bounds"]) == (0, 0.0, [0.0, 1.0])


def test_a_range_without_ends_has_no_bounds() -> None:
    run = made({LEAD: {"a": {"val": [3.0, -2.0, Fails()]}}}, score_range=ScoreRange.ANY)
    assert row_of(run.summary(), "a")["splits"]["val"]["bounds"] is None


@pytest.mark.parametrize("entry", [No.SKIPPED, No.OWED])
def test_what_was_not_asked_has_no_coverage(entry: Entry) -> None:
    found = row_of(on_val(a=[entry, entry]).summary(), "a")["splits"]["val"]
    assert (found["coverage"], found["mean"], found["bounds"], found["failed"]) == (None, None, None, 0)


def test_a_single_example_has_a_mean_and_nothing_else() -> None:
    summary = on_val(a=[0.4], b=[0.6]).summary()
    found, d = row_of(summary, "b")["splits"]["val"], row_of(summary, "b")["vs_baseline"]["val"]
    assert (found["mean"], found["se"], found["ci"], found["between_sd"]) == (0.6, None, None, None)
    assert (d["diff"], d["n_pairs"]) == (pytest.approx(0.2), 1)
    assert [d[key] for key in ("se", "ci", "p", "p_holm", "test", "mde")] == [None] * 6


def test_clusters_widen_intervals_and_are_the_units() -> None:
    from scipy import stats

    centres = noisy(25, sd=0.2)
    first = [value for value in centres for _ in range(4)]
    second = [value for value in moved(centres, 0.05, sd=0.1) for _ in range(4)]
    labels = [f"doc {doc}" for doc in range(25) for _ in range(4)]
    run = made({LEAD: {"a": {"val": first}, "b": {"val": second}}}, clusters={"val": labels})
    found = row_of(run.summary(), "b")
    low, high = _wilson(statistics.fmean(second), stats.sem(second[::4]), stats.t.ppf(0.975, 24))
    assert found["splits"]["val"]["method"] == "wilson_effective"
    assert found["splits"]["val"]["n"] == 100
    assert found["splits"]["val"]["se"] == pytest.approx(stats.sem(second[::4]))
    assert found["splits"]["val"]["ci"] == pytest.approx((low, high))
    expected = stats.ttest_rel(second[::4], first[::4])
    assert found["vs_baseline"]["val"]["n_pairs"] == 100
    assert found["vs_baseline"]["val"]["ci"] == pytest.approx(tuple(expected.confidence_interval()))
    assert found["vs_baseline"]["val"]["p"] == pytest.approx(expected.pvalue, abs=0.02)


def test_groups_have_the_same_numbers_each() -> None:
    easy, hard = noisy(12, mean=0.8), noisy(18, mean=0.3)
    labels = ["easy"] * 12 + ["hard"] * 18
    better = [*moved(easy, 0.02), *moved(hard, 0.2)]
    run = made(
        {LEAD: {"a": {"val": [*easy, *hard]}, "b": {"val": better}}}, groups={"val": {"difficulty": labels}}
    )
    groups = row_of(run.summary(), "b")["groups"]
    assert list(groups) == ["difficulty=easy", "difficulty=hard"]
    alone = row_of(on_val(a=hard, b=better[12:]).summary(), "b")
    found = groups["difficulty=hard"]
    assert {key: alone["splits"]["val"][key] for key in found["splits"]["val"]} == found["splits"]["val"]
    for key in ("diff", "se", "ci", "p", "n_pairs", "wins"):
        assert found["vs_baseline"]["val"][key] == alone["vs_baseline"]["val"][key]


def test_all_pairs_are_compared_and_corrected_as_a_family_of_their_own() -> None:
    base = noisy(40)
    run = on_val(a=base, b=moved(base, 0.02, sd=0.05), c=moved(base, 0.03, sd=0.05, seed=4))
    summary = run.summary()
    pairs = {(pair["a"], pair["b"]): pair for pair in summary["pairs"]}
    assert list(pairs) == [("a", "b"), ("a", "c"), ("b", "c")]
    against = {name: row_of(summary, name)["vs_baseline"]["val"] for name in ("b", "c")}
    assert pairs["a", "b"]["p"] == against["b"]["p"]
    assert [against[name]["p_holm"] for name in "bc"] == pytest.approx(
        _holm([against[name]["p"] for name in "bc"])
    )
    assert [pair["p_holm"] for pair in pairs.values()] == pytest.approx(
        _holm([pair["p"] for pair in pairs.values()])
    )


def test_families_are_the_headlines_the_other_evaluators_and_each_split() -> None:
    def candidates(seed: int) -> dict[str, dict[str, list[float]]]:
        return {
            name: {"train": noisy(16, seed=seed + n), "val": noisy(16, seed=seed + n + 50)}
            for n, name in enumerate("abc")
        }

    keys = [("judge", "m1"), ("judge", "m2"), ("other", "m1"), ("other", "m2")]
    summary = made({key: candidates(100 * n) for n, key in enumerate(keys)}).summary()
    rows = [row for row in summary["rows"] if row["vs_baseline"]]
    families = [
        [row["vs_baseline"]["val"] for row in rows[:2]],
        [row["vs_baseline"]["val"] for row in rows[2:]],
        [row["vs_baseline"]["train"] for row in rows],
        [row["overfit"] for row in rows],
    ]
    assert (rows[1]["evaluator"], rows[1]["task_model"], len(rows)) == ("judge", "m1", 8)
    for family in families:
        assert [d["p_holm"] for d in family] == pytest.approx(_holm([d["p"] for d in family]))


def test_many_candidates_are_compared_by_t() -> None:
    base = noisy(30)
    run = on_val(**{f"c{n}": moved(base, 0.0, sd=0.1, seed=n) for n in range(12)})
    assert {pair["test"] for pair in run.summary()["pairs"]} == {"t"}


def test_the_unit_of_scores_changes_no_p_value() -> None:
    base = noisy(30)
    better = moved(base, 0.01, sd=0.05)
    found = [
        row_of(
            made(
                {LEAD: {"a": {"val": [v * unit for v in base]}, "b": {"val": [v * unit for v in better]}}},
                score_range=ScoreRange.ANY,
            ).summary(),
            "b",
        )["vs_baseline"]["val"]
        for unit in (1.0, 2.0**-60, 2.0**60)
    ]
    assert [one["p"] for one in found] == [found[0]["p"]] * 3


def test_another_baseline_is_compared_with() -> None:
    base = noisy(20)
    cells = {LEAD: {"a": {"val": base}, "b": {"val": moved(base, 0.1)}}}
    summary = made(cells, baseline="b").summary()
    assert summary["baseline"] == "b"
    assert row_of(summary, "b")["vs_baseline"] is None
    assert row_of(summary, "a")["vs_baseline"]["val"]["diff"] == pytest.approx(-0.1)


def test_held_out_examples_that_are_train_examples_are_counted() -> None:
    cells = {LEAD: {"a": {"train": [0.1, 0.2, 0.3], "val": [0.1, 0.5], "test": [0.2, 0.9]}}}
    run = made(cells, sha256={"train": ["x", "y", "z"], "val": ["x", "v"], "test": ["y", "x"]})
    leakage = run.summary()["leakage"]
    assert {name: [row["line"] for row in one["rows"]] for name, one in leakage.items()} == {
        "val": [1],
        "test": [1, 2],
    }
    assert {one["state"] for one in leakage.values()} == {"recorded"}  # of a run that was never looked at
    assert made(cells).summary()["leakage"] == {}


def test_failures_are_listed_by_kind_with_a_message_and_lines() -> None:
    run = on_val(a=[Fails(message="first"), 0.5, Fails(message="second"), Fails("exit_code", "boom")])
    assert run.summary()["failures"] == [
        {
            "candidate": "a",
            "evaluator": LEAD,
            "task_model": None,
            "split": "val",
            "kind": kind,
            "count": count,
            "first_message": message,
            "first_side_info": "",
            "lines": lines,
        }
        for kind, count, message, lines in [("timeout", 2, "first", [1, 3]), ("exit_code", 1, "boom", [4])]
    ]


def test_units_and_latency_are_counted() -> None:
    summary = on_val(a=[0.1, Fails(), No.SKIPPED, No.OWED]).summary()
    assert summary["units"] == {"total": 4, "scored": 1, "failed": 1, "skipped": 1, "owed": 1}
    (entry,) = summary["latency"]
    assert entry == {
        "evaluator": LEAD,
        "split": "val",
        "n": 2,
        "p50": pytest.approx(0.375),
        "p95": pytest.approx(0.4875),
        "max": 0.5,
        "attempts": 3,
        "total": 0.75,
    }


def test_the_examples_that_got_worse_come_with_what_the_baseline_had_and_what_was_said() -> None:
    reason = "the answer names a person who does not exist, and then quotes a book that nobody ever wrote"
    scores: list[Entry] = [0.9, 0.8, Says(0.1, {"reasoning": reason}), 0.7, 0.2, 0.6, 0.5]
    worst = row_of(on_val(a=[0.95, 0.85, 0.75, 0.65, 0.55, 0.45, Fails()], b=scores).summary(), "b")["worst"]
    assert [(one["split"], one["line"], one["score"], one["baseline"]) for one in worst] == [
        ("val", 3, 0.1, 0.75),
        ("val", 5, 0.2, 0.55),
        ("val", 2, 0.8, 0.85),
        ("val", 1, 0.9, 0.95),
    ]
    assert [one["text"] for one in worst] == [reason, None, None, None]


def test_of_the_baseline_the_lowest_scores_are_kept() -> None:
    worst = row_of(on_val(a=[0.9, 0.2, Fails(), 0.5, 0.1, 0.7, 0.4, 0.8], b=[1.0] * 8).summary(), "a")[
        "worst"
    ]
    assert [(one["line"], one["score"]) for one in worst] == [
        (5, 0.1),
        (2, 0.2),
        (7, 0.4),
        (4, 0.5),
        (6, 0.7),
    ]


def test_records_of_the_same_run_give_the_same_bytes() -> None:
    first, again = (_odd([[0.1, Fails(), 0.7], [0.3, 0.5, No.SKIPPED]]) for _ in range(2))
    assert orjson.dumps(first.summary()) == orjson.dumps(again.summary())


@given(st.data())
@settings(max_examples=75)
def test_no_record_brings_in_a_number_that_is_none(data: st.DataObject) -> None:
    n = data.draw(st.integers(1, 16), label="examples")
    entries = st.lists(ODD_ENTRIES, min_size=n, max_size=n)
    run = _odd([data.draw(entries), data.draw(entries)], score_range=ScoreRange.ANY)
    _check_all_finite(run)


@given(st.data())
def test_bounds_hold_the_mean_of_what_failures_could_have_been(data: st.DataObject) -> None:
    n = data.draw(st.integers(1, 12), label="examples")
    repeats = data.draw(st.integers(1, 3), label="repeats")
    entries = st.lists(st.tuples(*[UNIT_ENTRIES] * repeats), min_size=n, max_size=n)
    run = on_train_and_val(
        a=(data.draw(entries), data.draw(entries)), b=(data.draw(entries), data.draw(entries))
    )
    _check_all_finite(run)
    for row in run.summary()["rows"]:
        for s in row["splits"].values():
            if s["bounds"] is not None:
                assert 0 <= s["bounds"][0] <= s["bounds"][1] <= 1
            if s["ci"] is not None:
                assert s["ci"][0] <= s["mean"] + 1e-12
                assert s["mean"] <= s["ci"][1] + 1e-12
            assert s["n"] <= n
            assert s["scored"] + s["failed"] + s["skipped"] <= n * repeats


@pytest.mark.parametrize(
    "scores",
    [
        [1e308, 1e308, 1e308, 1e308],
        [1.7e308, -1.7e308, -1.7e308, -1.7e308],
        [1e308, -1e308, 1e308, -1e308],
        [1e154, -1e154, 1e154, -1e154],
        [1e80, -1e80, 2e80, 1e79],
        [1e-200, 2e-200, 3e-200, 5e-200],
        [5e-324, 0.0, 5e-324, 0.0],
    ],
    ids=["sum", "spread", "differences", "squares", "fourth powers", "tiny squares", "smallest"],
)
def test_scores_at_the_ends_of_what_a_float_holds_are_no_error(scores: list[float]) -> None:
    _check_all_finite(_odd([scores, [-score for score in reversed(scores)]], score_range=ScoreRange.ANY))


def _odd(entries: Sequence[Sequence[Entry]], *, score_range: ScoreRange = ScoreRange.UNIT) -> Made:
    """Make a run of two candidates; train has the scores of val the other way round."""
    cells = {
        name: {"train": list(reversed(scores)), "val": scores}
        for name, scores in zip("ab", entries, strict=True)
    }
    return made({LEAD: cells}, score_range=score_range)


def _check_all_finite(run: Made) -> None:
    summary = run.summary()
    _check_finite(summary)
    assert orjson.loads(orjson.dumps(summary)) == _as_json(summary)
    for word in ("nan", "inf "):
        assert word not in summary["verdict"]["text"]
    assert terminal.render(summary_from(summary), terminal.ShownRun(name="r"), Screen(80))


def _check_finite(value: Any) -> None:
    match value:
        case float():
            assert math.isfinite(value)
        case dict():
            for one in value.values():
                _check_finite(one)
        case list() | tuple():
            for one in value:
                _check_finite(one)


def _as_json(value: Any) -> Any:
    match value:
        case dict():
            return {key: _as_json(one) for key, one in value.items()}
        case list() | tuple():
            return [_as_json(one) for one in value]
    return value


def _holm(p_values: list[float]) -> list[float]:
    """Correct by Holm's definition, written as a maximum over all smaller p values."""
    ordered = sorted(p_values)
    steps = [min(1.0, (len(ordered) - rank) * p) for rank, p in enumerate(ordered)]
    return [max(steps[: ordered.index(p) + 1]) for p in p_values]
