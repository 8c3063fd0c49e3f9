"""Two runs compared: the numbers by hand, what failures do to them, and laws that hold for any two runs."""

import math
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from optimize_eval.base.errors import UsageError
from optimize_eval.base.protocol import ScoreRange
from optimize_eval.findings.comparison import compare
from optimize_eval.findings.diff_runs import compare_runs
from optimize_eval.store.opened_run import open_stored
from tests.findings.made import (
    LEAD,
    Candidates,
    Example,
    Fails,
    Made,
    No,
    Says,
    made,
    moved,
    noisy,
    on_val,
)

REASON = "the answer names a support address that does not exist, and promises a refund that nobody may give"
SCORES = noisy(40)


def between(a: Made, b: Made, *, force: bool = False) -> dict[str, Any]:
    """Compare two runs as they stand on disk."""
    with tempfile.TemporaryDirectory() as folder:
        runs = [open_stored(run.write(Path(folder, name))) for name, run in (("a", a), ("b", b))]
        return compare_runs(runs[0], runs[1], force=force).to_dict()


def row_between(before: Sequence[Example], after: Sequence[Example], **axes: Any) -> dict[str, Any]:
    told = [made({LEAD: {"v": {"val": entries}}}, **axes) for entries in (before, after)]
    (row,) = between(*told)["rows"]
    return dict(row)


def test_the_numbers_are_those_of_a_paired_comparison() -> None:
    after = moved(SCORES, -0.1, sd=0.1)
    row = row_between(SCORES, after)
    expected = compare(SCORES, after, None, seed=0, may_flip=True)
    assert (row["diff"], row["se"], tuple(row["ci"]), row["p"]) == (
        expected.diff,
        expected.se,
        expected.ci,
        expected.p,
    )
    assert row["diff"] == pytest.approx(row["means"]["b"] - row["means"]["a"])
    assert (row["improved"], row["regressed"]) == (expected.wins, expected.losses)
    assert (row["mark"], row["is_regression"]) == ("worse", True)


def test_the_flips_are_drawn_with_the_seed_of_the_second_run() -> None:
    after = moved(SCORES, -0.01, sd=0.05)
    before, later = (
        made({LEAD: {"v": {"val": scores}}}, seed=seed) for scores, seed in ((SCORES, 3), (after, 7))
    )
    with_3, with_7 = (compare(SCORES, after, None, seed=seed, may_flip=True).p for seed in (3, 7))
    assert between(before, later)["rows"][0]["p"] == with_7 != with_3


def test_the_verdict_says_how_much_how_sure_and_how_many() -> None:
    found = between(on_val(v=[1.0] * 40), on_val(v=[1.0] * 18 + [0.0] * 19 + [Fails()] * 3))
    assert found["verdict"]["text"].startswith("v is worse on val by 0.514 (95 % CI 0.345 to 0.682)")
    assert found["verdict"]["text"].endswith(": 19 regressed, 3 newly failing")


def test_examples_are_counted_by_what_became_of_them() -> None:
    fate: list[tuple[Example, Example]] = [
        (0.1, 0.2),
        (0.2, 0.1),
        (0.3, 0.3),
        (0.4, Fails()),
        (Fails(), 0.5),
        (Fails(), Fails()),
        (No.SKIPPED, 0.5),
        (0.5, No.OWED),
        (Fails(), No.OWED),
    ]
    row = row_between(*zip(*fate, strict=True))
    counted = {name: row[name] for name in ("improved", "regressed", "unchanged", "newly_failing", "fixed")}
    assert set(counted.values()) == {1}
    assert (row["failing_in_both"], row["not_asked"], row["n_pairs"], row["dropped"]) == (1, 3, 3, 6)


def test_crashing_where_it_was_bad_does_not_make_a_candidate_better() -> None:
    before = [0.05] * 30 + [0.8] * 30
    better = moved([0.8] * 30, 0.0205, sd=0.01)

    def failing(n: int) -> dict[str, Any]:
        after: list[Example] = [*[Fails()] * n, *[0.05] * (30 - n), *better]
        return between(on_val(v=before), on_val(v=after))

    ahead, worse = failing(12), failing(28)
    assert [found["rows"][0]["mark"] for found in (ahead, worse)] == ["better", "better"]
    assert [found["rows"][0]["is_regression"] for found in (ahead, worse)] == [False, True]
    assert ahead["verdict"]["text"].startswith("v is ahead on val where both were scored, by 0.013 (95 % CI ")
    assert "), but not clearly if failures count as 0: " in ahead["verdict"]["text"]
    assert worse["verdict"]["text"].startswith("v is worse on val if failures count as 0, by ")


def test_failing_where_it_was_good_is_a_regression_though_what_is_left_is_no_worse() -> None:
    row = row_between([1.0, 0.5] * 20, [Fails(), 0.5] * 20)
    assert (row["diff"], row["p"], row["newly_failing"]) == (0.0, 1.0, 20)
    assert row["at_lower_bound"]["mark"] == "worse"
    assert row["is_regression"]


def test_where_there_is_no_lowest_score_a_new_failure_is_a_regression_and_told_as_such() -> None:
    told: list[Sequence[Example]] = [[5.0, 6.0] * 20, [Fails(), *([6.0, 5.0] * 20)[1:]]]
    runs = [made({LEAD: {"v": {"val": scores}}}, score_range=ScoreRange.ANY) for scores in told]
    found = between(*runs)
    row, text = found["rows"][0], found["verdict"]["text"]
    assert (row["at_lower_bound"], row["newly_failing"], row["is_regression"]) == (None, 1, True)
    words = "v fails on val where it had scores, and those calls could have had any score"
    assert text.startswith(words)


def test_repeats_that_fail_are_told_and_without_a_lowest_score_are_a_regression() -> None:
    before: list[Example] = [(0.5, 0.5)] * 40
    after: list[Example] = [(0.5, Fails()), *before[1:]]
    told = "40 unchanged, 1 newly failing in part"
    for score_range in ScoreRange:
        runs = [
            made({"e": {"v": {"val": val}, "w": {"val": before}}}, score_range=score_range)
            for val in (before, after)
        ]
        found = between(*runs)
        assert found["verdict"]["text"].endswith(told)
        assert [row["is_regression"] for row in found["rows"]] == [score_range is ScoreRange.ANY, False]


def test_a_few_new_failures_among_many_are_no_regression() -> None:
    assert not row_between(SCORES, [Fails(), *SCORES[1:]])["is_regression"]


def test_repeats_that_fail_count_at_the_lower_bound_though_each_example_has_a_score() -> None:
    row = row_between([(0.9, 0.9)] * 20 + [(0.5, 0.5)] * 20, [(0.9, Fails())] * 20 + [(0.5, 0.5)] * 20)
    assert (row["unchanged"], row["newly_failing"], row["failed_calls"]) == (40, 0, {"a": 0, "b": 20})
    assert row["is_regression"]


@pytest.mark.parametrize("after", [[0.0] * 40, [Fails()] * 40], ids=["all lost", "all fail"])
def test_a_loss_that_is_the_same_everywhere_is_a_regression(after: list[Example]) -> None:
    found = between(on_val(v=[1.0] * 40), on_val(v=after))
    assert found["rows"][0]["is_regression"]
    assert found["verdict"]["text"].startswith("v is worse on val")
    assert "exactly 1.000 on all 40 examples" in found["verdict"]["text"]


@pytest.mark.parametrize("n", [1, 5, 40])
@pytest.mark.parametrize("clusters", [None, "one"])
def test_the_same_scores_give_p_1_however_few_they_are(n: int, clusters: str | None) -> None:
    by = {"val": [clusters] * n} if clusters else None
    row = row_between(SCORES[:n], SCORES[:n], clusters=by)
    assert (row["p"], row["p_holm"], row["diff"], row["ties"]) == (1.0, 1.0, 0.0, n)
    assert not row["is_regression"]


def test_the_first_evaluator_leads_and_the_others_are_named_by_gravity() -> None:
    lost, gained = moved(SCORES, -0.1, sd=0.1), moved(SCORES, 0.1, sd=0.1)
    before, after = (
        made({e: {"v": {"val": scores}, "w": {"val": SCORES}} for e, scores in zip("efg", told, strict=True)})
        for told in ((SCORES, SCORES, SCORES), (gained, gained, lost))
    )
    verdict = between(before, after)["verdict"]
    assert verdict["text"].startswith("v is better on val by 0.100 e (95 % CI 0.0")
    assert [point["mark"] for point in verdict["points"]] == ["▼", "▲", "·"]
    assert verdict["points"][0]["text"].startswith("v is worse on val by 0.100 g (")
    assert verdict["points"][2]["text"] == "No score changed in 3 other comparisons"


def test_that_no_score_changed_is_the_verdict_only_where_none_did() -> None:
    before, none, other = (
        made({e: {"v": {"val": scores}} for e, scores in zip("ef", told, strict=True)})
        for told in ((SCORES, SCORES), (SCORES, SCORES), (SCORES, moved(SCORES, -0.1, sd=0.1)))
    )
    assert between(before, none)["verdict"]["text"] == "No score changed in any of 2 comparisons"
    assert between(before, other)["verdict"]["text"].startswith("v is worse on val by 0.100 f (")


WORDS: dict[str, tuple[Sequence[Example], str]] = {
    "nothing shown": (
        moved(SCORES, 0.005, sd=0.05),
        "v has no clear change on val: +0.005 (95 % CI ",
    ),
    "failing beside ties": (
        [Fails(), *SCORES[1:]],
        "v has no clear change on val: no difference in any of 39 pairs (at most about 8 in 100 such",
    ),
    "nothing scored": (
        [No.OWED] * 40,
        (
            "Too few examples to say whether v changed on val: 0 examples; "
            "a verdict takes at least 6, usually many more"
        ),
    ),
}


@pytest.mark.parametrize(("after", "words"), WORDS.values(), ids=WORDS.keys())
def test_what_is_not_shown_is_not_said(after: Sequence[Example], words: str) -> None:
    assert between(on_val(v=SCORES), on_val(v=after))["verdict"]["text"].startswith(words)


def test_a_difference_that_correcting_takes_away_is_a_hint_and_no_regression() -> None:
    after = moved(SCORES, -0.02, sd=0.05, seed=5)
    names = [f"w{n}" for n in range(9)]
    found = between(
        on_val(v=SCORES, **dict.fromkeys(names, SCORES)), on_val(v=after, **dict.fromkeys(names, SCORES))
    )
    assert found["rows"][0]["p"] < 0.05 < found["rows"][0]["p_holm"]
    assert found["verdict"]["text"].startswith("v may be worse on val by 0.020 (")
    assert not found["rows"][0]["is_regression"]


def test_nothing_scored_in_both_has_no_p() -> None:
    row = row_between([Fails()] * 12, SCORES[:12])
    assert (row["p"], row["diff"], row["fixed"]) == (None, None, 12)


def test_too_few_pairs_are_called_too_few() -> None:
    text = between(on_val(v=[0.9] * 5), on_val(v=[0.1, 0.2, 0.3, 0.4, 0.5]))["verdict"]["text"]
    assert text.startswith(
        "Too few examples to say whether v changed on val: 5 examples; a verdict takes at least 6"
    )


def test_comparisons_of_one_split_are_corrected_together() -> None:
    after = moved(SCORES, -0.02, sd=0.06, seed=5)
    alone = row_between(SCORES, after)
    a = on_val(v=SCORES, **{f"w{n}": SCORES for n in range(9)})
    b = on_val(v=after, **{f"w{n}": SCORES for n in range(9)})
    row = between(a, b)["rows"][0]
    assert row["p"] == alone["p"] == alone["p_holm"]
    assert row["p_holm"] == pytest.approx(min(1.0, 10 * row["p"]))


def test_the_worst_come_with_both_scores_and_what_was_said() -> None:
    before: list[Example] = [Says(0.5 + n / 100, {"why": REASON + " before"}) for n in range(20)]
    after = list(before)
    after[3] = Says(0.1, {"z": REASON + " later", "why": REASON + " after", "short": "no"})
    after[4] = Says(0.5, {})
    after[7] = Fails("exit_code", "KeyError")
    after[9] = Fails()
    worst = row_between(before, after)["worst"]
    assert [one["b"]["line"] for one in worst] == [10, 8, 4, 5]  # what fails first, and there the best
    assert worst[1]["b"] == {
        "line": 8,
        "score": None,
        "kind": "exit_code",
        "message": "KeyError",
        "reason": None,
    }
    assert worst[1]["a"]["score"] == pytest.approx(0.57)
    assert worst[2]["a"]["reason"] == REASON + " before"
    assert worst[2]["b"]["reason"] == REASON + " after"
    assert (worst[2]["split"], worst[2]["b"]["kind"]) == ("val", None)


def test_at_most_five_worst_are_kept_those_that_lost_most() -> None:
    lost = [n / 100 for n in range(20)]
    worst = row_between([0.5] * 20, [0.5 - one for one in lost])["worst"]
    assert [one["a"]["line"] for one in worst] == [20, 19, 18, 17, 16]


def test_candidates_of_other_names_are_paired_where_each_run_has_one() -> None:
    found = between(on_val(old=SCORES), on_val(new=SCORES))
    (row,) = found["rows"]
    assert (row["candidate"], row["candidate_in_a"]) == ("new", "old")
    assert found["caveats"] == ["no candidate's name is in both runs: old of A is compared with new of B"]
    assert found["only_in_a"]["candidates"] == []


def test_what_only_one_run_has_is_listed() -> None:
    a = made(
        {"e": {"v": {"val": SCORES}, "x": {"val": SCORES}}, "f": {"v": {"val": SCORES}, "x": {"val": SCORES}}}
    )
    b = made({"e": {"v": {"val": SCORES, "test": SCORES}}})
    found = between(a, b)
    assert len(found["rows"]) == 1
    assert found["only_in_a"] == {
        "evaluators": ["f"],
        "candidates": ["x"],
        "task_models": [],
        "splits": [],
        "examples": {},
    }
    assert found["only_in_b"]["splits"] == ["test"]


NOTHING_COMMON: dict[str, tuple[Made, Made]] = {
    "candidate": (on_val(a=SCORES, b=SCORES), on_val(c=SCORES)),
    "evaluator": (made({"e": {"v": {"val": SCORES}}}), made({"f": {"v": {"val": SCORES}}})),
    "task model": (made({("e", "m"): {"v": {"val": SCORES}}}), made({("e", "n"): {"v": {"val": SCORES}}})),
    "split": (made({"e": {"v": {"val": SCORES}}}), made({"e": {"v": {"test": SCORES}}})),
    "example": (on_val(v=[0.5]), made({LEAD: {"v": {"val": [0.5]}}}, sha256={"val": ["other"]})),
}


@pytest.mark.parametrize(("what", "runs"), NOTHING_COMMON.items(), ids=NOTHING_COMMON.keys())
def test_runs_that_have_nothing_in_common_are_refused_also_by_force(
    what: str, runs: tuple[Made, Made]
) -> None:
    with pytest.raises(UsageError, match=f"have no {what} in common"):
        between(*runs, force=True)


def test_other_examples_are_refused_and_by_force_matched_by_what_they_are() -> None:
    a = made({LEAD: {"v": {"val": [0.1, 0.2, 0.3, 0.4]}}}, sha256={"val": ["x", "y", "x", "gone"]})
    b = made({LEAD: {"v": {"val": [0.9, 0.1, 0.3]}}}, sha256={"val": ["new", "x", "x"]})
    with pytest.raises(UsageError, match=r"split val has 2 changed examples \(line 1, 2\)"):
        between(a, b)
    found = between(a, b, force=True)
    (row,) = found["rows"]
    assert (row["ties"], row["n_pairs"]) == (2, 2)  # the first x with the first, the second with the second
    assert (found["only_in_a"]["examples"], found["only_in_b"]["examples"]) == ({"val": 2}, {"val": 1})
    assert "only the examples that both runs have are compared" in found["caveats"][0]


def test_calls_that_failed_on_other_examples_do_not_count() -> None:
    a = made({LEAD: {"v": {"val": [Fails(), 0.5]}}}, sha256={"val": ["gone", "x"]})
    b = made({LEAD: {"v": {"val": [Fails(), 0.5, Fails()]}}}, sha256={"val": ["new", "x", "newer"]})
    assert between(a, b, force=True)["rows"][0]["failed_calls"] == {"a": 0, "b": 0}


def test_another_score_range_is_another_evaluator_and_has_no_lowest_score() -> None:
    a, b = on_val(v=SCORES), made({LEAD: {"v": {"val": SCORES}}}, score_range=ScoreRange.ANY)
    with pytest.raises(UsageError, match="evaluator judge"):
        between(a, b)
    found = between(a, b, force=True)
    assert found["rows"][0]["at_lower_bound"] is None
    assert any("come from different programs" in caveat for caveat in found["caveats"])


def test_clusters_widen_the_interval() -> None:
    after = [score + (0.1 if n % 20 < 10 else -0.05) for n, score in enumerate(SCORES)]
    by = {"val": [str(n // 5) for n in range(40)]}
    assert row_between(SCORES, after, clusters=by)["se"] > row_between(SCORES, after)["se"]


ENTRIES = st.one_of(
    st.floats(0, 1),
    st.sampled_from([0.0, 1.0]),
    st.just(Fails()),
    st.sampled_from([No.SKIPPED, No.OWED]),
)


@st.composite
def two_runs(draw: st.DrawFn) -> tuple[Made, Made]:
    size = draw(st.integers(1, 18))
    names = draw(st.lists(st.sampled_from(["v", "w"]), min_size=1, unique=True))
    labels = draw(st.none() | st.lists(st.sampled_from("xyz"), min_size=size, max_size=size))

    def run() -> Made:
        cells: Candidates = {
            name: {"val": draw(st.lists(ENTRIES, min_size=size, max_size=size))} for name in names
        }
        return made({LEAD: cells}, clusters={"val": labels} if labels else None)

    return run(), run()


@given(runs=two_runs())
@settings(max_examples=60)
def test_a_run_against_itself_has_nothing_but_ties(runs: tuple[Made, Made]) -> None:
    for row in between(runs[0], runs[0])["rows"]:
        assert row["ties"] == row["n_pairs"]
        assert row["p"] == (1.0 if row["n_pairs"] else None)
        assert row["newly_failing"] == row["fixed"] == 0
        assert (row["worst"], row["is_regression"]) == ([], False)


MIRRORED = {
    "improved": "regressed",
    "regressed": "improved",
    "newly_failing": "fixed",
    "fixed": "newly_failing",
}


@given(runs=two_runs())
@settings(max_examples=60)
def test_the_other_way_round_is_the_mirror_image(runs: tuple[Made, Made]) -> None:
    there, back = between(*runs), between(*reversed(runs))
    for one, other in zip(there["rows"], back["rows"], strict=True):
        for name in ("unchanged", "failing_in_both", "not_asked", "n_pairs", "dropped", *MIRRORED):
            assert one[name] == other[MIRRORED.get(name, name)]
        for name in ("p", "p_holm", "se", "mde"):
            assert one[name] == other[name]
        if one["diff"] is not None:
            assert math.isclose(one["diff"], -other["diff"], abs_tol=1e-15)


@given(runs=two_runs())
@settings(max_examples=60)
def test_every_example_is_counted_once(runs: tuple[Made, Made]) -> None:
    names = ("improved", "regressed", "unchanged", "newly_failing", "fixed", "failing_in_both", "not_asked")
    for row in between(*runs)["rows"]:
        assert sum(row[name] for name in names) == len(runs[0].layout.splits[0].lines)
        assert row["improved"] + row["regressed"] + row["unchanged"] == row["n_pairs"]
