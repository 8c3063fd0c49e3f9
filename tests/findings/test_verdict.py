"""What a verdict says, rule by rule, and what it never says."""

from collections.abc import Mapping, Sequence
from typing import Any

import pytest

from optimize_eval.base.protocol import ScoreRange
from optimize_eval.findings.summary import summarise
from optimize_eval.findings.wording import MINUS, number, signed
from tests.findings.made import (
    LEAD,
    Candidates,
    Example,
    Fails,
    Made,
    No,
    Says,
    Summary,
    headline,
    made,
    moved,
    noisy,
    on_train_and_val,
    on_val,
    points,
    row_of,
    saying,
)

BASE = noisy(40)
TRAIN = noisy(40, seed=11)
BETTER, WORSE = moved(BASE, 0.1, sd=0.05), moved(BASE, -0.1, sd=0.05)
SAME = moved(BASE, 0.004, sd=0.1)
EQUALS = {f"c{n}": moved(BASE, 0.0, sd=0.1, seed=n) for n in range(9)}  # so many comparisons to correct for
HINT = moved(BASE, 0.04, sd=0.1)
JUDGED = ("beats", "better", "winner", "overfit")


def half_failed(scores: Sequence[float]) -> list[Example]:
    """Let the second half of the calls fail."""
    half = len(scores) // 2
    return [*scores[:half], *[Fails()] * (len(scores) - half)]


def d_of(summary: Summary, candidate: str = "b", split: str = "val", evaluator: str = LEAD) -> dict[str, Any]:
    d: dict[str, Any] = row_of(summary, candidate, evaluator)["vs_baseline"][split]
    return d


def everything(summary: Summary) -> str:
    return "\n".join([headline(summary), *points(summary)])


def of_two(first: Candidates, second: Candidates) -> Made:
    return made({LEAD: first, "policy": second})


def val(**candidates: Sequence[Example]) -> Candidates:
    return {name: {"val": entries} for name, entries in candidates.items()}


def test_what_is_better_beats_the_baseline_with_the_evidence() -> None:
    summary = on_val(a=BASE, b=BETTER).summary()
    low, high = row_of(summary, "b")["vs_baseline"]["val"]["ci"]
    assert headline(summary).startswith("b beats a on held-out data: +0.100 judge")
    assert f"95 % CI {signed(low)} to {signed(high)}" in headline(summary)
    assert headline(summary).endswith(", 40 pairs)")


def test_a_hint_is_never_called_better() -> None:
    summary = on_val(a=BASE, b=HINT, **EQUALS).summary()
    assert headline(summary).startswith(
        "No winner: nothing is clearly better than a on held-out data. Closest: b, +"
    )
    (hint,) = saying(summary, "△")
    assert hint.startswith(
        "△ b may be better (only a hint, not confirmed after correcting for 10 comparisons)"
    )
    assert "beats" not in everything(summary)


def test_a_hint_by_one_comparison_is_not_said_to_fail_by_a_correction() -> None:
    summary = on_val(a=[0.0] * 40, b=[1.0] * 5 + [0.0] * 35).summary()
    assert row_of(summary, "b")["vs_baseline"]["val"]["mark"] == "hint_better"
    assert saying(summary, "△ b may be better (only a hint, not confirmed by its test): +0.125")
    assert "correcting" not in everything(summary)


def test_what_makes_no_difference_has_a_bound_that_rare_gains_do_not_escape() -> None:
    summary = on_val(a=BASE, b=SAME).summary()
    assert "No winner: b is not clearly better than a on held-out data: " in headline(summary)
    assert f"). A gain above {number(summary['largest_gain'])} is ruled out" in everything(summary)
    assert summary["largest_gain"] > row_of(summary, "b")["vs_baseline"]["val"]["ci"][1]


def test_what_is_worse_is_named() -> None:
    summary = on_val(a=BASE, b=BETTER, c=WORSE).summary()
    assert headline(summary).startswith("b beats a")
    assert saying(summary, f"▼ c is worse than a: {MINUS}0.100")


def test_where_all_are_worse_no_gain_is_spoken_of() -> None:
    summary = on_val(a=BASE, b=WORSE).summary()
    assert headline(summary).startswith(f"b is worse than a on held-out data: {MINUS}0.100 judge (95 % CI ")
    assert "A gain above" not in headline(summary)


@pytest.mark.parametrize("pairs", [1, 2, 5])
def test_pairs_that_no_test_could_confirm_are_too_few_to_say(pairs: int) -> None:
    summary = on_val(a=BASE[:pairs], b=moved(BASE[:pairs], 0.3)).summary()
    assert headline(summary).startswith(f"Too few examples for a verdict: {pairs} held-out example")
    assert not any(mark in everything(summary) for mark in "▲▼△▽✕✓")


def test_equal_scores_are_no_difference_and_a_reason_to_look_again() -> None:
    summary = on_val(a=BASE, b=BASE).summary()
    assert headline(summary) == (
        "No winner: b and a score the same on held-out data: no difference in any of 40 pairs "
        "(at most about 8 in 100 such examples can differ)"
    )
    assert summary["verdict"]["state"] == "no_difference"
    assert saying(summary, "! judge gave b and a the same score on all ")
    beside = on_val(a=BASE, b=BASE, c=BETTER).summary()
    assert saying(beside, "! judge gave b and a the same score on all ")


def test_pairs_of_one_cluster_are_not_said_to_be_the_same() -> None:
    run = made({LEAD: val(a=BASE, b=BETTER)}, clusters={"val": ["one"] * 40})
    assert headline(run.summary()).startswith("Too few examples")
    assert "same difference" not in everything(run.summary())


def test_the_winner_is_the_best_of_what_is_better_and_the_rest_is_named() -> None:
    summary = on_val(a=BASE, b=moved(BASE, 0.1), c=moved(BASE, 0.2)).summary()
    assert headline(summary).startswith("c beats a")
    assert saying(summary, "▲ b is better than a, too: +0.100")


@pytest.mark.parametrize(
    ("train_gain", "val_gain", "sd", "mark", "words"),
    [
        (0.3, 0.0, 0.05, "✕", "b overfits: +0.300 on train, "),
        (0.1, 0.1, 0.05, "✓", "Overfitting: none seen. Val keeps "),
        (0.1, 0.08, 0.17, "?", "Overfitting: can't tell yet. Val keeps between "),
        (0.4, 0.1, 0.05, "?", "Overfitting: some. The gain on val is 0.300 smaller than on train"),
        (-0.01, 0.1, 0.05, "\N{EN DASH}", "Overfitting: not checked, because train shows no clear gain"),
    ],
    ids=["overfits", "kept", "undecided", "part lost", "no train gain"],
)
def test_a_lost_gain_has_five_names(
    train_gain: float, val_gain: float, sd: float, mark: str, words: str
) -> None:
    run = on_train_and_val(
        a=(TRAIN, BASE), b=(moved(TRAIN, train_gain, sd=sd), moved(BASE, val_gain, sd=sd, seed=6))
    )
    (found,) = saying(run.summary(), words)
    assert found.startswith(mark)


def test_a_gain_that_carries_over_in_part_is_not_called_overfitting_nor_undecided_of_zero() -> None:
    run = on_train_and_val(a=(TRAIN, BASE), b=(moved(TRAIN, 0.4), moved(BASE, 0.1)))
    summary = run.summary()
    assert row_of(summary, "b")["overfit"]["state"] == "part_lost"
    assert row_of(summary, "b")["overfit"]["ci"][0] > 0.25
    assert not saying(summary, "✕")
    assert not saying(summary, "✓")
    assert saying(summary, "smaller than on train")  # a gap whose whole interval lies above 0 is not in doubt


def test_nothing_is_said_of_overfit_where_there_are_few_pairs() -> None:
    run = on_train_and_val(a=(TRAIN, BASE[:5]), b=(moved(TRAIN, 0.4), moved(BASE[:5], 0.0)))
    summary = run.summary()
    assert row_of(summary, "b")["overfit"] | {"flag": False, "state": None} == row_of(summary, "b")["overfit"]
    assert row_of(summary, "b")["gap"]["flag"] is False
    assert not saying(summary, "overfit")


def test_carrying_over_is_claimed_only_where_it_is_shown() -> None:
    for gain in (0.0, 0.05, 0.2):
        run = on_train_and_val(a=(TRAIN, BASE), b=(moved(TRAIN, 0.2), moved(BASE, gain)))
        shown = saying(
            run.summary(), "✓ Overfitting: none seen. Val keeps ", " % of the gain seen on train (between "
        )
        assert bool(shown) is (gain == 0.2)


def test_no_winner_is_named_that_is_not_ahead_with_failures_as_0() -> None:
    summary = on_val(a=BASE, b=half_failed(BETTER)).summary()
    assert headline(summary).startswith("No winner: b is ahead of a on held-out data where both were scored")
    assert "beats" not in everything(summary)
    assert saying(summary, "! b has scores for only 20 of 40 val examples. To win it must")
    assert saying(summary, "! b: 20 of 40 judge calls failed (50 %, timeout)", "val mean would be")


def test_a_winner_that_is_ahead_with_failures_as_0_is_named_with_its_coverage() -> None:
    summary = on_val(a=BASE, b=[Fails(), *BETTER[1:]]).summary()
    assert headline(summary).startswith("b beats a")
    assert saying(summary, "! b has scores for only 39 of 40 val examples")


def test_what_is_worse_with_failures_is_said_to_be_so_where_both_were_scored() -> None:
    summary = on_val(a=BASE, b=half_failed(WORSE)).summary()
    assert headline(summary).startswith("b is worse than a on held-out data where both were scored: ")
    beside = on_val(a=BASE, b=BETTER, c=half_failed(WORSE)).summary()
    assert saying(beside, "▼ c is worse than a where both were scored: ")


def test_failing_where_scores_are_low_lifts_no_one_above_a_candidate_without_failures() -> None:
    steady = moved(BASE, 0.2)
    picky: list[Example] = [Fails() if place % 5 < 2 else 0.97 for place in range(40)]
    summary = on_val(a=[score - 0.2 for score in BASE], steady=steady, picky=picky).summary()
    picked, other = (row_of(summary, name)["splits"]["val"] for name in ("picky", "steady"))
    assert picked["mean"] > other["mean"] > picked["bounds"][0]
    assert d_of(summary, "picky")["despite_failures"] == "surely"
    assert not headline(summary).startswith("picky beats")


def test_without_a_worst_score_failures_are_not_said_to_count_as_0() -> None:
    run = made({LEAD: val(a=BASE, b=[Fails(), *BETTER[1:]])}, score_range=ScoreRange.ANY)
    assert headline(run.summary()).startswith("No winner: b is ahead of a")
    assert "count as 0" not in headline(run.summary())
    assert "failures as 0" not in everything(run.summary())


def test_on_another_evaluator_nothing_is_better_that_is_not_ahead_with_failures_as_0() -> None:
    run = of_two(val(a=BASE, b=BETTER), val(a=BASE, b=half_failed(BETTER)))
    assert headline(run.summary()).startswith("b beats a")
    assert saying(run.summary(), "on policy")
    assert not saying(run.summary(), "is better on policy")


def test_on_test_data_nothing_beats_that_is_not_ahead_with_failures_as_0() -> None:
    cells: Candidates = {
        "a": {"val": BASE, "test": BASE},
        "b": {"val": BETTER, "test": half_failed(BETTER)},
    }
    assert "beats a on test data" not in headline(made({LEAD: cells}).summary())


def test_coverage_that_differs_is_told_in_different_numbers() -> None:
    base = noisy(3000)
    assert saying(on_val(a=base, b=[Fails(), *base[1:]]).summary(), "for only 2,999 of 3,000 val examples")


def test_equal_coverage_is_not_spoken_of() -> None:
    assert not saying(on_val(a=BASE, b=BETTER).summary(), "for only")


def test_failures_above_one_percent_are_named_with_kind_and_lower_bound() -> None:
    base = noisy(300)
    failing: list[Example] = [Fails(), Fails("exit_code", "boom"), Fails(), Fails(), *base[4:]]
    summary = on_val(a=base, b=failing).summary()
    low = row_of(summary, "b")["splits"]["val"]["bounds"][0]
    (found,) = saying(summary, "calls failed")
    assert found.startswith("! b: 4 of 300 judge calls failed (1.3 %, mostly timeout) and are in no mean")
    assert found.endswith(f"Counted as 0, its val mean would be {number(low)}")


def test_failures_up_to_one_percent_are_not_named() -> None:
    base = noisy(300)
    assert not saying(on_val(a=base, b=[Fails(), Fails(), Fails(), *base[3:]]).summary(), "calls failed")


def test_leakage_is_a_point() -> None:
    cells = {"a": {"train": TRAIN, "val": BASE}, "b": {"train": TRAIN, "val": BETTER}}
    digests = [str(place) for place in range(40)]
    leaking = made({LEAD: cells}, sha256={"train": digests, "val": ["0", "1", *(f"v{n}" for n in range(38))]})
    words = "! 2 held-out examples are also among the train examples, and are counted"
    assert saying(leaking.summary(), words) == [words]
    assert not saying(made({LEAD: cells}).summary(), "also among")


def test_the_best_of_several_is_said_to_be_picked_as_that() -> None:
    rival = moved(BASE, 0.09, sd=0.1, seed=5)
    assert saying(
        on_val(a=BASE, b=BETTER, c=rival).summary(),
        "· Picked as the best of 2: expect a little less than +0.100",
    )
    assert "Picked" not in everything(on_val(a=BASE, b=BETTER).summary())


def test_what_a_winner_of_graded_scores_may_lose_unseen_is_a_point() -> None:
    (said,) = saying(on_val(a=BASE, b=BETTER).summary(), "big losses")
    assert said == "· 40 examples cannot rule out big losses on up to 7.2 % of all examples"
    shares = {"a": [0.0] * 40, "b": [*[1.0] * 20, *[0.0] * 20]}
    assert not saying(on_val(**shares).summary(), "big losses")


def test_nothing_wins_whose_interval_as_the_best_of_all_holds_0() -> None:
    base = noisy(14)
    uneven = [one + (0.02 if place < 9 else 0.3) for place, one in enumerate(base)]
    same = {f"c{n}": base for n in range(19)}
    summary = on_val(a=base, up=uneven, **same).summary()
    (row,) = (one for one in summary["rows"] if one["candidate"] == "up")
    assert row["vs_baseline"]["val"]["mark"] == "better"  # each flip of the 14 signs is less extreme
    assert summary["verdict"]["state"] == "not_shown"
    assert summary["selection"]["ci"][0] < 0 < row["vs_baseline"]["val"]["ci"][0]
    expected = (
        "No winner: up is ahead of a on held-out data by +0.120, but its interval as the best of 20 includes"
    )
    assert headline(summary).startswith(expected)
    assert on_val(a=base, up=uneven).summary()["verdict"]["state"] == "better"


@pytest.mark.parametrize(("gain", "verb"), [(0.1, "beats"), (0.0, "is not clearly better than")])
def test_with_a_testset_the_test_split_speaks(gain: float, verb: str) -> None:
    test = noisy(40, seed=77)
    cells = {
        "a": {"train": TRAIN, "val": BASE, "test": test},
        "b": {"train": TRAIN, "val": BETTER, "test": moved(test, gain, sd=0.05)},
        "c": {"train": TRAIN, "val": SAME, "test": test},
    }
    summary = made({LEAD: cells}).summary()
    assert (
        headline(summary)
        .removeprefix("No winner: ")
        .startswith(f"b, picked on val as the best of 2, {verb} a on test data: ")
    )
    assert f": {signed(gain)} judge (95 % CI " in headline(summary)


def test_what_was_selected_on_train_is_not_said_to_be_selected_on_val() -> None:
    cells = {
        "a": {"train": TRAIN, "test": BASE},
        "b": {"train": moved(TRAIN, 0.1), "test": BETTER},
        "c": {"train": TRAIN, "test": SAME},
    }
    assert "on val" not in everything(made({LEAD: cells}).summary())


@pytest.mark.parametrize(
    ("scores", "words"),
    [
        (WORSE, f"▼ b is worse on policy: {MINUS}0.100"),
        (BETTER, "▲ b is better on policy, too: +0.100"),
        (SAME, "· b and a are too close to call on policy: +0.004"),
        (BASE, "· b and a are too close to call on policy: no difference in any of 40 pairs"),
    ],
    ids=["worse", "better", "none", "the same"],
)
def test_other_evaluators_are_always_named(scores: list[float], words: str) -> None:
    assert saying(of_two(val(a=BASE, b=BETTER), val(a=BASE, b=scores)).summary(), words)


def test_a_candidate_that_leads_by_a_hint_is_named_where_it_is_worse() -> None:
    """So that a candidate cannot look better for what it loses elsewhere."""
    lead = val(a=BASE, b=HINT, **EQUALS)
    summary = of_two(lead, val(a=BASE, b=WORSE, **EQUALS)).summary()
    assert saying(summary, "△ b may be better")
    assert saying(summary, "policy", "b ", "worse")


def test_whatever_is_worse_on_another_evaluator_is_named_without_a_winner() -> None:
    summary = of_two(val(a=BASE, b=SAME, c=SAME), val(a=BASE, b=WORSE, c=BASE)).summary()
    assert saying(summary, "policy", "b ", "worse")


def test_the_only_other_candidate_is_told_once_by_name_where_it_is_worse() -> None:
    summary = of_two(val(a=BASE, b=BASE), val(a=BASE, b=WORSE)).summary()
    told = [point for point in points(summary) if "on policy" in point]
    assert [point.split(":")[0] for point in told] == ["▼ b is worse on policy"]


def test_a_single_candidate_is_told_on_every_evaluator() -> None:
    summary = of_two(val(a=BASE), val(a=WORSE)).summary()
    mean = number(row_of(summary, "a", "policy")["splits"]["val"]["mean"])
    assert headline(summary).startswith("a scores ")
    assert saying(summary, "policy", mean)


def test_task_models_are_told_apart() -> None:
    cells: Mapping[tuple[str, str], Candidates] = {
        (LEAD, "small"): val(a=BASE, b=BETTER),
        (LEAD, "large"): val(a=BASE, b=WORSE),
    }
    summary = made(cells).summary()
    assert headline(summary).startswith("b beats a")
    assert "small" in headline(summary)
    assert saying(summary, "▼ b is worse on judge with large")


def test_failures_of_task_models_are_told_apart() -> None:
    cells = {
        (LEAD, "small"): val(a=BASE, b=BETTER),
        (LEAD, "large"): val(a=BASE, b=half_failed(BETTER)),
    }
    (found,) = saying(made(cells).summary(), "calls failed")
    assert "large" in found


def test_the_power_line_is_that_of_the_headlines_task_model() -> None:
    cells = {
        (LEAD, "small"): val(a=BASE, b=moved(BASE, 0.0, sd=0.05)),
        (LEAD, "large"): val(a=BASE, b=moved(BASE, 0.0, sd=0.4)),
    }
    summary = made(cells).summary()
    assert saying(summary, f"a difference of about {d_of(summary)['mde']:.2f} (4 times out of 5)")


@pytest.mark.parametrize("clusters", [19, 20])
def test_fewer_than_20_clusters_are_warned_of(clusters: int) -> None:
    labels = [str(place % clusters) for place in range(40)]
    run = made({LEAD: val(a=BASE, b=BETTER)}, clusters={"val": labels})
    warned = saying(run.summary(), "! val has only 19 clusters by metadata.doc_id")
    assert bool(warned) is (clusters == 19)


def test_the_power_line_tells_what_can_be_seen_and_what_it_takes() -> None:
    from scipy import stats

    summary = on_val(a=BASE, b=moved(BASE, 0.0, sd=0.2)).summary()
    d = d_of(summary)
    reach = (stats.t.ppf(0.975, 39) + stats.t.ppf(0.8, 39)) * d["se"]
    needed = (reach / 0.05) ** 2 * 40
    (found,) = saying(
        summary, f"? 40 val examples are enough to find a difference of about {reach:.2f} (4 times out"
    )
    told = int(found.rpartition(" ")[2].replace(",", ""))
    assert told == pytest.approx(needed, rel=0.05)
    narrow = on_val(a=BASE, b=moved(BASE, 0.0, sd=0.02)).summary()
    assert saying(narrow, "(4 times out of 5)")
    assert not saying(narrow, "take about")


def test_needed_examples_are_numbers_that_people_can_read() -> None:
    base = [1e100 * place for place in range(20)]
    run = made({LEAD: val(a=base, b=list(reversed(base)))}, score_range=ScoreRange.ANY)
    assert saying(run.summary(), "20 val examples are enough to find a difference of about")
    assert max(map(len, everything(run.summary()).split())) <= 20


def test_differences_that_are_only_rounding_are_zero() -> None:
    for seed in range(20):
        better = moved(TRAIN, 0.1, sd=0.05, seed=seed), moved(BASE, 0.1, sd=0.05, seed=seed + 1)
        assert f"e{MINUS}" not in everything(on_train_and_val(a=(TRAIN, BASE), b=better).summary())


def test_before_the_end_there_is_no_verdict() -> None:
    summary = on_val(a=BASE, b=[*BETTER[:-1], No.OWED]).summary()
    assert (
        headline(summary)
        == "Unfinished: 79 of 80 calls done; so far b leads on judge. The verdict comes at the end"
    )
    assert points(summary) == []
    nothing = on_val(a=[No.OWED] * 3, b=[No.OWED] * 3).summary()
    assert headline(nothing) == "Unfinished: 0 of 6 calls done. The verdict comes at the end"
    for word in JUDGED:
        assert word not in everything(summary)


def test_an_evaluator_that_changed_gets_no_verdict() -> None:
    run = on_val(a=BASE, b=BETTER)
    summary = summarise(run.layout, run.records, [LEAD])[0].to_dict()
    assert headline(summary).startswith("No verdict: judge changed")
    for word in ("beats", "better", "leads"):
        assert word not in everything(summary)


def test_other_evaluators_are_named_where_the_first_scored_nothing() -> None:
    failed: list[Example] = [Fails()] * 40
    summary = of_two(val(a=failed, b=failed), val(a=BASE, b=WORSE)).summary()
    assert headline(summary).startswith("No scores: all ")
    assert saying(summary, "policy", "worse")


def test_nothing_scored_says_why() -> None:
    failed: list[Example] = [Fails("exit_code", "KeyError: 'dims'")] * 3
    said = headline(on_val(a=failed, b=failed).summary())
    assert said.startswith("No scores: all ")
    assert said.endswith(" failed (exit_code: KeyError: 'dims')")


def test_nothing_scored_on_val_is_not_nothing_scored() -> None:
    failed: list[Example] = [Fails()] * 40
    said = headline(on_train_and_val(a=(TRAIN, failed), b=(TRAIN, failed)).summary())
    assert said.startswith("No scores: all 80 judge calls on val failed (")


def test_a_verdict_stays_short_whatever_messages_hold() -> None:
    failed: list[Example] = [Fails("exit_code", "KeyError " * 250)] * 3
    assert len(headline(on_val(a=failed).summary())) < 500


def test_a_baseline_without_scores_is_named() -> None:
    said = headline(on_val(a=[Fails()] * 40, b=BETTER).summary())
    assert "beats" not in said
    assert " a" in said  # what is missing is the baseline's


def test_a_single_candidate_is_told_with_its_interval() -> None:
    summary = on_val(a=BASE).summary()
    s = row_of(summary, "a")["splits"]["val"]
    low, high = (number(end) for end in s["ci"])
    assert headline(summary) == (
        f"a scores {number(s['mean'])} on judge on held-out data (95 % CI {low} to {high}, 40 examples)"
    )


def test_without_examples_one_measurement_each_says_little() -> None:
    one = made({LEAD: {"a": {"single": [0.5]}}}).summary()
    assert headline(one) == "a scores 0.500 on judge"
    two = made({LEAD: {"a": {"single": [0.5]}, "b": {"single": [0.7]}}}).summary()
    assert headline(two) == "Too few examples for a verdict: one measurement each on judge (b 0.700, a 0.500)"


def test_repeats_without_examples_are_not_one_measurement() -> None:
    cells = {"a": {"single": [(0.5, 0.6, 0.4)]}, "b": {"single": [(0.7, 0.8, 0.9)]}}
    said = headline(made({LEAD: cells}).summary())
    assert said.startswith("Too few examples for a verdict")
    assert "one measurement each" not in said


@pytest.mark.parametrize("side", [{}, {"reason": "short"}])
def test_side_information_that_only_some_candidates_have_is_pointed_out(side: Mapping[str, str]) -> None:
    has: list[Example] = [Says(score, {"grounded": True}) for score in BASE]
    lacks: list[Example] = [Says(score, side) for score in BASE]
    assert saying(on_val(a=has, b=lacks).summary(), "! judge gave the side info grounded for a", "b")
    assert not saying(on_val(a=has, b=has).summary(), "side info")
