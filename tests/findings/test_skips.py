"""Laws of skips: they are in no mean, no pair and no bound; nothing is counted twice; who differs is told."""

import random
import tempfile
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import orjson
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from optimize_eval.audit.__main__ import differences
from optimize_eval.audit.journaled import read
from optimize_eval.audit.leaderboard import expected_boards
from optimize_eval.audit.summary import expected
from optimize_eval.findings.board_shapes import Board
from optimize_eval.findings.diff_boards import compare_boards
from optimize_eval.findings.diff_runs import compare_runs
from optimize_eval.findings.stored_summary import summarise_stored
from optimize_eval.store.opened_run import open_stored
from tests.findings.boards import board, board_and_folder, by_name, rendered
from tests.findings.made import Example, Fails, No, Summary, headline, made, moved, noisy, on_val, saying

SKIP = No.SKIPPED
SCORES = noisy(40)

entries = st.sampled_from([0.0, 0.25, 0.5, 1.0, SKIP, Fails()])
repeated = st.tuples(entries, entries)


def numbers(summary: Summary) -> Any:
    """Give what a decision hangs on, without counts of what was skipped and dropped."""
    return [
        [
            {key: value for key, value in (part or {}).items() if key not in {"skipped", "dropped"}}
            for part in (row["splits"]["val"], (row["vs_baseline"] or {}).get("val"))
        ]
        for row in summary["rows"]
    ]


def test_a_lead_among_the_examples_that_apply_to_both_has_to_hold_with_those_that_do_not() -> None:
    base = noisy(60)
    good = [one + 0.1 for one in base]

    def told(skipped: int, gains: Sequence[float] = good) -> Summary:
        return on_val(a=base, b=[*[SKIP] * skipped, *gains[skipped:]]).summary()

    one_of_60 = told(1, moved(base, 0.1, sd=0.05))
    assert headline(one_of_60).startswith(
        "b beats a on held-out data among the examples that apply to both: +"
    )
    many = told(20)
    assert many["verdict"]["state"] == "not_shown"
    assert headline(many) == (
        "No winner: b is ahead of a on held-out data among the examples that apply to both, "
        "but not clearly if skips of one side and failures count as 0 (20 skipped for one; "
        "\N{MINUS SIGN}0.100, 95 % CI \N{MINUS SIGN}0.176 to \N{MINUS SIGN}0.025)"
    )
    assert many["rows"][1]["vs_baseline"]["val"]["skipped_for_one"] == 20
    ignored = [*([0.2, 0.3] * 75), 0.1]
    few = on_val(a=ignored, b=[*moved(ignored, 0.1, sd=0.05)[:-1], SKIP]).summary()
    assert "apply to both" not in headline(few)  # 1 of 150 pairs


@given(st.lists(st.tuples(repeated, repeated), min_size=2, max_size=12), st.data())
def test_an_example_that_all_skip_is_as_if_it_were_not_there(
    pairs: list[tuple[Example, Example]], data: st.DataObject
) -> None:
    among = list(pairs)
    for place in sorted(data.draw(st.sets(st.integers(0, len(pairs)), min_size=1)), reverse=True):
        among.insert(place, ((SKIP, SKIP), (SKIP, SKIP)))
    without, with_skips = (_of_two(entries).summary() for entries in (pairs, among))
    assert numbers(with_skips) == numbers(without)
    assert with_skips["verdict"]["state"] == without["verdict"]["state"]


@pytest.mark.parametrize("units", ["examples", "clusters"])
def test_nor_does_it_move_what_the_choice_among_candidates_gains(units: str, tmp_path: Path) -> None:
    train, val = noisy(30, seed=3), SCORES
    told = {
        "base": {"train": train, "val": val},
        "up": {"train": moved(train, 0.1), "val": moved(val, 0.1, sd=0.05)},
        "too": {"train": moved(train, 0.1, seed=8), "val": moved(val, 0.09, sd=0.05, seed=9)},
    }

    def summary(skipped: int) -> tuple[Summary, Any]:
        skips: list[Example] = [SKIP] * skipped
        cells: dict[str, dict[str, list[Example]]] = {
            name: {"train": [*skips, *split["train"]], "val": [*split["val"][:7], *skips, *split["val"][7:]]}
            for name, split in told.items()
        }
        labels = {"train": [*["s"] * skipped, *map(str, range(30))], "val": [f"{n // 3}" for n in range(40)]}
        labels["val"][7:7] = ["s"] * skipped
        run = made({"judge": cells}, clusters=labels if units == "clusters" else None)
        folder = run.write(tmp_path / f"r{skipped}")
        stored = orjson.loads(orjson.dumps(summarise_stored(open_stored(folder)).to_dict()))
        assert not list(differences(stored, expected(read(folder)), Counter()))
        return stored, stored["selection"]

    (plain, selection), (some, again) = summary(0), summary(3)
    assert again == selection
    assert some["carry_over"] == plain["carry_over"]
    assert headline(some) == headline(plain)
    assert selection["ci"][0]


@given(st.lists(st.tuples(repeated, repeated), min_size=1, max_size=8))
def test_nothing_is_counted_twice_and_the_journal_gives_the_same_another_way(
    pairs: list[tuple[Example, Example]],
) -> None:
    with tempfile.TemporaryDirectory() as folder:
        run = _of_two(pairs).write(Path(folder, "r"))
        stored = orjson.loads(orjson.dumps(summarise_stored(open_stored(run)).to_dict()))
        again = expected(read(run))
    units = stored["units"]
    assert units["total"] == sum(units[name] for name in ("scored", "failed", "skipped", "owed"))
    for row in stored["rows"]:
        s = row["splits"]["val"]
        assert s["scored"] + s["failed"] + s["skipped"] == 2 * len(pairs)
    assert sum(group["count"] for group in stored.get("skips", [])) == units["skipped"]
    assert ("skips" in stored) == (units["skipped"] > 0)
    assert not list(differences(stored, again, Counter()))


def _of_two(pairs: Sequence[tuple[Example, Example]]) -> Any:
    a, b = zip(*pairs, strict=True)
    return on_val(a=a, b=b)


def test_a_skip_is_in_no_mean_no_bound_and_no_pair() -> None:
    found = on_val(a=[0.5, 0.7, SKIP, Fails()], b=[0.6, SKIP, 0.9, 0.1]).summary()
    a, b = (row["splits"]["val"] for row in found["rows"])
    assert (a["mean"], a["n"], a["skipped"], a["coverage"]) == (
        pytest.approx(0.6),
        2,
        1,
        pytest.approx(2 / 3),
    )
    assert a["bounds"] == pytest.approx([0.4, 1.1 / 1.5])
    assert (b["n"], b["skipped"], b["coverage"], b["bounds"]) == (3, 1, 1.0, [b["mean"], b["mean"]])
    d = found["rows"][1]["vs_baseline"]["val"]
    assert (d["n_pairs"], d["dropped"], d["diff"]) == (1, 3, pytest.approx(0.1))


def test_skips_that_differ_are_pointed_out_also_where_they_are_as_many() -> None:
    apart = on_val(a=[SKIP, *SCORES], b=[*SCORES, SKIP], c=[SKIP, *SCORES]).summary()
    (point,) = saying(apart, "! judge skipped different")
    assert point == (
        "! judge skipped different val calls, 1 for each candidate, but not the same: 2 of 41 examples "
        "differ. A pair counts only if neither side was skipped"
    )
    alike = on_val(a=[SKIP, *SCORES], b=[SKIP, *moved(SCORES, 0.1)]).summary()
    assert not saying(alike, "skipped")


def test_an_evaluator_that_skips_all_of_one_candidate_leaves_nothing_to_compare() -> None:
    found = on_val(a=SCORES, b=[SKIP] * 40).summary()
    assert found["verdict"]["state"] == "too_few"
    assert saying(found, "!", "from 0 (a) to 40 (b)")


def test_of_skips_and_failures_alone_the_failures_are_told() -> None:
    found = on_val(a=[Fails(), SKIP], b=[SKIP, SKIP]).summary()
    assert headline(found).startswith("No scores: the only judge call on val failed (timeout: ")
    assert found["verdict"]["state"] == "failed"


def test_another_evaluator_that_skips_everything_is_said_to() -> None:
    found = made({"judge": {"a": {"val": SCORES}}, "code": {"a": {"val": [SKIP] * 40}}}).summary()
    assert saying(found, "code skipped every call (40 calls)")


def test_a_diff_counts_skips_apart(tmp_path: Path) -> None:
    scores: dict[str, list[Example]] = {
        "before": [*[0.5] * 12, SKIP, SKIP, 0.7, Fails()],
        "after": [*[0.5] * 12, SKIP, 0.6, SKIP, SKIP],
    }
    before, after = (open_stored(on_val(v=v).write(tmp_path / name)) for name, v in scores.items())
    found = compare_runs(before, after, force=False).to_dict()
    (row,) = found["rows"]
    assert (row["newly_skipped"], row["skipped"], row["newly_failing"]) == (1, 3, 0)
    assert not row["is_regression"]
    assert found["verdict"]["text"].endswith(": 12 unchanged, 1 newly skipped, 3 skipped")


def test_of_pairs_of_candidates_skips_of_one_side_make_hints(tmp_path: Path) -> None:
    bad, good = [0.1] * 6, noisy(34)
    skipping: list[Example] = [*[SKIP] * 6, *moved(good, 0.02, sd=0.01)]
    folder = on_val(base=[0.0] * 40, all=[*bad, *good], some=skipping).write(tmp_path / "r")
    told = orjson.loads(orjson.dumps(summarise_stored(open_stored(folder)).to_dict()))
    assert not list(differences(told, expected(read(folder)), Counter()))
    pair = told["pairs"][-1]
    assert (pair["b"], pair["mark"], pair["skipped_for_one"]) == ("some", "hint_better", 6)
    assert pair["despite_failures"] == "no"
    pair["at_worst"]["diff"] += 0.1
    assert list(differences(told, expected(read(folder)), Counter()))


def test_nor_is_a_model_better_by_them() -> None:
    bad, good = [0.1] * 6, noisy(34)
    skipping: list[Example] = [*[SKIP] * 6, *moved(good, 0.02, sd=0.01)]
    run = made({("judge", "m"): {"p": {"val": [*bad, *good]}}, ("judge", "n"): {"p": {"val": skipping}}})
    told = replace(run, layout=replace(run.layout, compares_models=True)).summary()
    assert saying(told, "With p, n is ahead of m among the examples that apply to both, but not clearly if")
    assert told["models"][0]["despite_failures"] == "no"


def test_a_diff_calls_nothing_better_by_having_bad_examples_skipped(tmp_path: Path) -> None:
    bad, good = [0.1] * 6, noisy(34)
    skipping: list[Example] = [*[SKIP] * 6, *moved(good, 0.02, sd=0.01)]
    before, after = (
        open_stored(on_val(v=v).write(tmp_path / name)) for name, v in (("a", [*bad, *good]), ("b", skipping))
    )
    told, back = compare_runs(before, after, force=False), compare_runs(after, before, force=False)
    (row,) = told.to_dict()["rows"]
    assert (row["mark"], row["skipped_for_one"], row["despite_failures"]) == ("better", 6, "no")
    why = (
        "among the examples that apply to both, but not clearly if skips of one side and failures count as 0"
    )
    assert told.verdict.text.startswith("v is ahead on val, by 0.0")
    assert f", {why} (6 skipped for one; +0.002, 95 % CI " in told.verdict.text
    assert told.verdict.text.endswith("): 32 improved, 2 regressed, 6 newly skipped")
    assert back.verdict.text.startswith("v is behind on val, by 0.0")
    assert f", {why} (6 skipped for one; " in back.verdict.text
    assert "): 2 improved, 32 regressed" in back.verdict.text
    assert back.rows[0].is_regression  # a gate stays as it is


def test_a_diff_of_a_clear_gain_is_about_the_examples_that_apply_to_both(tmp_path: Path) -> None:
    gains: list[Example] = [SKIP, *moved(SCORES, 0.2, sd=0.02)[1:]]
    before, after = (
        open_stored(on_val(v=v).write(tmp_path / name)) for name, v in (("a", [*SCORES]), ("b", gains))
    )
    text = compare_runs(before, after, force=False).verdict.text
    assert text.startswith("v is better on val among the examples that apply to both by 0.")


@given(st.lists(st.tuples(entries, entries), min_size=1, max_size=8))
def test_on_a_board_a_skip_is_neither_a_zero_nor_a_failure(pairs: list[tuple[Example, Example]]) -> None:
    assume(any(isinstance(one, float) for one in (a for a, _ in pairs)))
    x, y = zip(*pairs, strict=True)
    found = by_name(board({"x": {"t": [*x, 1.0]}, "y": {"t": [*y, 1.0]}}))
    for name, got in (("x", x), ("y", y)):
        model, (task,) = found[name], found[name]["tasks"]
        scored = [one for one in (*got, 1.0) if isinstance(one, float)]
        failed = sum(isinstance(one, Fails) for one in got)
        assert (model.get("skipped", 0), model["failed"]) == (got.count(SKIP), failed)
        assert model["overall_score"] == pytest.approx(sum(scored) / len(scored))
        assert task["lower_bound"] == pytest.approx(sum(scored) / (len(scored) + failed))
        assert bool(model["not_run"]) == (2 * len(scored) <= len(scored) + failed)


def test_a_model_leads_no_board_by_having_bad_examples_skipped(tmp_path: Path) -> None:
    bad, good = [0.1] * 3, noisy(37)
    worse: dict[str, list[Example]] = {"f": [*bad, *good[:17]], "g": [*bad, *good[17:]]}
    after = moved(good, 0.02, sd=0.01)
    skips: list[Example] = [SKIP] * 3
    skipping: dict[str, list[Example]] = {"f": [*skips, *after[:17]], "g": [*skips, *after[17:]]}
    told, _ = board_and_folder(tmp_path / "r", {"a": worse, "b": skipping, "c": worse})
    (pair, *_) = told["pairs"]
    assert (pair["mark"], pair["skipped_for_one"], pair["holds_at_worst"]) == ("better", 6, False)
    assert told["verdict"]["text"].startswith("No clear leader: b against ")
    reason = (
        "among the examples that apply to both, but not clearly if skips of one side and failures count as 0"
    )
    assert told["verdict"]["text"].endswith(f"{reason} (6 skipped for one)")
    assert told["verdict"]["points"][0]["text"].endswith(f"{reason} (6 skipped for one)")
    assert "▲" not in rendered(told, width=200)
    (tmp_path / "r" / "leaderboard.json").write_bytes(orjson.dumps(told))
    again = expected_boards(tmp_path / "r", read(tmp_path / "r"))["leaderboard.json"]
    assert not list(differences(told, again, Counter()))
    wrong = {**pair, "skipped_for_one": 0}
    assert list(differences({**told, "pairs": [wrong, *told["pairs"][1:]]}, again, Counter()))


def test_a_clear_lead_is_one_among_the_examples_that_apply_to_both() -> None:
    base = noisy(60)
    leading: dict[str, list[Example]] = {"f": [SKIP, *moved(base, 0.2, sd=0.02)[1:]]}
    told = board({"a": {"f": [*base]}, "b": leading})
    assert told["verdict"]["text"].startswith("b leads among the examples that apply to both, ahead of a: +")


def test_a_task_that_does_not_apply_was_not_left_out_by_the_model() -> None:
    found = board({"x": {"a": [1.0, 0.5], "b": [SKIP, SKIP]}, "y": {"a": [0.5, 0.5], "b": [0.2, SKIP]}})
    told = by_name(found)
    assert (told["x"]["not_run"], told["x"]["coverage"], told["x"]["skipped"]) == ([], 1.0, 2)
    assert saying(found, "! The models skipped different calls, 2 (x), 1 (y): 1 of 4 examples differ")
    nothing = board({"x": {"a": [SKIP]}})
    assert (nothing["overall_score"], nothing["models"][0]["coverage"]) == (None, 1.0)


def test_between_boards_a_skip_is_neither_newly_failing_nor_a_zero() -> None:
    entries: list[list[Example]] = [[*[0.5] * 12, SKIP, 0.7, Fails()], [*[0.5] * 12, 0.6, SKIP, SKIP]]
    before, after = (Board.from_dict(board({"m": {"t": one}}, include_per_example=True)) for one in entries)
    (found,) = compare_boards(before, after).to_dict()["models"]
    assert (found["newly_failing"], found["fixed"], found["paired"]) == (0, 0, True)
    assert (found["overall"]["n_pairs"], found["overall"]["dropped"], found["overall"]["diff"]) == (12, 3, 0)
    assert (found["at_lower_bound"]["n_pairs"], found["at_lower_bound"]["diff"]) == (12, 0)


def test_between_boards_no_model_is_better_by_having_bad_examples_skipped() -> None:
    bad, good = [0.1] * 6, noisy(34)
    after: list[Example] = [*[SKIP] * 6, *moved(good, 0.02, sd=0.01)]
    before, then = (
        Board.from_dict(board({"m": {"f": got}}, include_per_example=True)) for got in ([*bad, *good], after)
    )
    told = compare_boards(before, then)
    assert told.verdict.text.startswith("m is ahead: +0.0")
    assert "among the examples that apply to both, but not clearly if skips of one side" in told.verdict.text
    assert compare_boards(then, before).verdict.text.startswith("m is behind: ")


def test_among_many_tasks_a_real_difference_of_one_is_found() -> None:
    draw = random.Random(4)
    before = {f"t{n}": [0.2, 0.4] for n in range(520)} | {"t7": noisy(16)}
    after = {**before, "t7": [one + 0.3 + draw.gauss(0, 0.01) for one in before["t7"]]}
    a, b = (Board.from_dict(board({"m": got}, include_per_example=True)) for got in (before, after))
    (model,) = compare_boards(a, b).models
    assert [task.task for task in model.tasks if task.difference.mark == "better"] == ["t7"]
