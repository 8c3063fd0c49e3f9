"""What a run claims, scene by scene, through the front door: scores are written into the examples."""

import json
import random
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from optimize_eval.findings.wording import signed
from tests.cli.judged import JUDGED, OF_EXAMPLE
from tests.findings.made import moved, noisy
from tests.front_door import Cli, Result

Scores = Mapping[str, Sequence[float | None]]  # by candidate


class Scene:
    """A folder with a judge that gives what examples say, and runs over them."""

    def __init__(self, cli: Cli, folder: Path) -> None:
        self.cli = cli
        self.folder = folder
        (folder / "judge.py").write_text(OF_EXAMPLE)

    def run(self, splits: Mapping[str, Scores], *options: str, out: str = "out") -> Result:
        """Run all candidates over the splits; the first one is the baseline."""
        names = list(next(iter(splits.values())))
        for name in names:
            (self.folder / f"{name}.txt").write_text(name)
        files = {"train": "--dataset", "val": "--valset", "test": "--testset"}
        return self.cli(
            *(*JUDGED, *(f"--candidate={name}.txt" for name in names)),
            *(f"{files[split]}={self._write(split, scores)}" for split, scores in splits.items()),
            *("--no-preflight", "--workers=1", f"--out={out}", *options),
        )

    def run_each(self, rows: Sequence[Mapping[str, Any]], *options: str) -> None:
        """Make a run of a candidate `v` for each name in the scores of examples, in a folder of that name."""
        (self.folder / "d.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
        for name in rows[0]["scores"]:
            (self.folder / "v.txt").write_text(name)
            what = ("--candidate=v.txt", "--dataset=d.jsonl", "--no-preflight", "--quiet", f"--out={name}")
            made = self.cli(*JUDGED, *what, *options)
            assert made.status == 0, made.stderr

    def summary(self, splits: Mapping[str, Scores], *options: str) -> dict[str, Any]:
        done = self.run(splits, "--json", *options)
        assert done.status == 0, done.stderr
        found: dict[str, Any] = done.json["summary"]
        return found

    def _write(self, split: str, scores: Scores) -> str:
        path = self.folder / f"{split}.jsonl"
        rows = zip(*scores.values(), strict=True)
        lines = [
            json.dumps({"n": f"{split} {n}", "scores": dict(zip(scores, row, strict=True))})
            for n, row in enumerate(rows)
        ]
        path.write_text("\n".join(lines) + "\n")
        return path.name


@pytest.fixture
def scene(cli: Cli, tmp_path: Path) -> Scene:
    return Scene(cli, tmp_path)


def text(summary: Mapping[str, Any]) -> str:
    return str(summary["verdict"]["text"])


def points(summary: Mapping[str, Any]) -> str:
    return "\n".join(f"{point['mark']} {point['text']}" for point in summary["verdict"]["points"])


def test_a_gain_that_is_the_same_on_every_example_is_told_exactly(scene: Scene) -> None:
    base = noisy(60, mean=0.3, sd=0.05)
    plus, noise = [x + 0.3 for x in base], moved(base, 0.0, sd=0.05)
    summary = scene.summary({"val": {"base": base, "plus": plus, "noise": noise}})
    assert text(summary) == ("plus beats base on held-out data: exactly +0.300 judge on all 60 examples")
    verdict = summary["verdict"]
    assert (verdict["state"], verdict["winner"], verdict["by"]["ci"]) == ("better", "plus", None)
    assert verdict["by"]["diff"] == pytest.approx(0.3)


def test_a_lead_that_failures_might_hide_is_no_win(scene: Scene) -> None:
    base: list[float | None] = [0.1] * 100
    better: list[float | None] = [*moved([0.3] * 100, 0.0, sd=0.05)]
    base[:25] = [None] * 25
    better[:25] = [None] * 25
    summary = scene.summary({"val": {"base": base, "b": better}})
    assert summary["rows"][1]["vs_baseline"]["val"]["despite_failures"] == "if_both_count_as_zero"
    assert text(summary).endswith(
        "where both were scored, but not clearly if its failed calls count as 0 and the other's as 1"
        " (\N{MINUS SIGN}0.099, 95 % CI \N{MINUS SIGN}0.203 to +0.005)"
    )


def test_a_crash_on_val_misses_the_gap_gate(scene: Scene) -> None:
    train, val = noisy(80, seed=4), [*noisy(30, seed=5), *[None] * 30]
    done = scene.run({"train": {"base": train}, "val": {"base": val}}, "--max-gap=0.1")
    assert done.status == 1
    assert "(30 calls failed: on train counted as 1, on val as 0) is above 0.1" in done.stderr


def _chosen_among(k: int, seed: int = 3) -> dict[str, Scores]:
    draw = random.Random(seed)
    train, val = noisy(80, seed=9, sd=0.2), noisy(60, seed=10, sd=0.2)

    def like(scores: Sequence[float], gain: float) -> list[float]:
        return [min(1.0, max(0.0, x + draw.gauss(gain, 0.2))) for x in scores]

    gains = {f"c{n}": 0.1 for n in range(k)}
    return {
        "train": {"base": train, **{name: like(train, 2 * gain) for name, gain in gains.items()}},
        "val": {"base": val, **{name: like(val, gain) for name, gain in gains.items()}},
    }


def test_a_selection_among_ten_is_told_with_an_interval_of_the_best_of_ten(scene: Scene) -> None:
    from scipy import stats

    summary = scene.summary(_chosen_among(10))
    selection, by = summary["selection"], summary["verdict"]["by"]
    assert selection["k"] == 10
    plain = next(row for row in summary["rows"] if row["candidate"] == summary["verdict"]["winner"])
    d = plain["vs_baseline"]["val"]
    assert by["diff"] == selection["diff"] == d["diff"]
    assert by["ci"] == selection["ci"]
    assert 0 < selection["ci"][0] < d["ci"][0]
    assert selection["ci"][1] == d["ci"][1]
    assert selection["ci"][0] == pytest.approx(d["diff"] - stats.t.ppf(1 - 0.025 / 10, 59) * d["se"])
    assert f"Picked as the best of 10: expect a little less than {signed(d['diff'])}" in points(summary)
    assert len(summary["not_told_apart"]) > 3
    assert f" too close to {summary['verdict']['winner']} to call" in points(summary)
    assert "✓" not in points(summary)  # half of the train gain is lost


def test_lines_that_are_copies_count_together(scene: Scene) -> None:
    scene.run({"val": {"base": noisy(6), "b": moved(noisy(6), 0.1)}})
    lines = (scene.folder / "val.jsonl").read_text()
    (scene.folder / "val.jsonl").write_text(lines * 10)
    done = scene.cli(
        *(*JUDGED, "--candidate=base.txt", "--candidate=b.txt", "--json"),
        *("--valset=val.jsonl", "--dataset=val.jsonl", "--leaks=keep", "--no-preflight", "--out=copies"),
    )
    summary = done.json["summary"]
    assert summary["duplicates"] == {"train": 54, "val": 54}
    assert summary["rows"][1]["vs_baseline"]["val"]["units"] == 6
    assert (
        "! 54 of 60 val examples are copies of earlier lines; they count together, as 6 independent units"
        in (points(summary))
    )


def test_lopsided_differences_are_pointed_out(scene: Scene) -> None:
    base = noisy(20)
    lost = [x - 0.05 - 0.001 * n - 0.25 * (n < 3) for n, x in enumerate(base)]
    summary = scene.summary({"val": {"base": base, "b": [max(0.0, x) for x in lost]}})
    assert "! A few examples decide between b and base (skewness " in points(summary)


def test_a_margin_turns_no_difference_into_a_statement(scene: Scene) -> None:
    base = noisy(100)
    summary = scene.summary({"val": {"base": base, "b": moved(base, 0.001, sd=0.03)}}, "--margin=0.05")
    assert text(summary).startswith(
        "No winner: b does not differ from base by more than 0.050 on held-out data: +0.001, 90 % CI "
    )
    assert summary["verdict"]["state"] == "no_difference"
    assert summary["margins"] == {"judge": 0.05}
    tighter = scene.cli("report", "out", "--margin=judge=0.001", "--json").json
    assert tighter["verdict"]["state"] == "not_shown"


def test_a_margin_says_of_each_candidate_whether_it_is_no_worse(scene: Scene) -> None:
    base = noisy(100)
    candidates = {"near": moved(base, -0.005, sd=0.03), "worse": moved(base, -0.05, sd=0.03, seed=4)}
    told = points(scene.summary({"val": {"base": base, **candidates}}, "--margin=0.05"))
    assert "· near is at most 0.050 worse than base: \N{MINUS SIGN}0.005, 90 % CI " in told
    assert "worse is no worse" not in told


def test_few_equal_zeros_and_ones_show_no_margin_to_be_held(scene: Scene) -> None:
    base = [0.0, 1.0] * 20
    nearly = [1.0, *base[1:]]
    splits: dict[str, Scores] = {"val": {"base": base, "same": base, "nearly": nearly}}
    rows = scene.summary(splits, "--margin=0.05")["rows"]
    held = {row["candidate"]: row["vs_baseline"]["val"]["margin"] for row in rows if row["vs_baseline"]}
    assert [one["no_worse"] for one in held.values()] == [False, True]
    assert held["same"]["ci90"] == pytest.approx([-0.0634, 0.0634], abs=1e-4)  # 2.7 / (40 + 2.7)
    assert scene.cli("report", "out", "--check").status == 0


def test_a_diff_with_a_margin_says_that_nothing_has_changed_by_more(scene: Scene) -> None:
    base = noisy(100)
    pairs = enumerate(zip(base, moved(base, 0.002, sd=0.03), strict=True))
    scene.run_each([{"n": n, "scores": {"a": x, "b": y}} for n, (x, y) in pairs])
    assert " v did not change on train by more than 0.050: +0.002 (90 % CI " in (
        scene.cli("diff", "a", "b", "--margin=0.05").stdout
    )


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["--margin=0"], "--margin needs a number above 0, not '0'"),
        (["--margin=x"], "--margin needs a number above 0, not 'x'"),
        (["--margin=jugde=0.1"], "no evaluator named 'jugde' in this run"),
        (["--margin=0.1", "--score-range=any"], "the scores of judge have no range"),
    ],
)
def test_margins_that_fit_no_run_are_refused(scene: Scene, options: list[str], words: str) -> None:
    done = scene.run({"val": {"base": [0.1, 0.2]}}, *options)
    assert done.status == 2
    assert words in done.stderr


def test_clusters_are_the_units_of_the_gate_on_regressions(scene: Scene) -> None:
    scores = noisy(40)
    rows = [{"n": n, "doc": n // 10, "scores": {"a": x, "b": x - 0.1}} for n, x in enumerate(scores)]
    scene.run_each(rows, "--cluster-by=doc")
    done = scene.cli("report", "b", "--no-regression-against=a")
    assert done.status == 1
    assert "4 clusters" in done.stderr


def test_with_a_margin_the_gate_asks_to_be_shown_no_worse(scene: Scene) -> None:
    scores, noise = noisy(60), [0.02, -0.02] * 30
    rows = [
        {"n": n, "scores": {"a": x, "b": x + d - 0.005, "c": x + 20 * d * (-1) ** (n // 2)}}
        for n, (x, d) in enumerate(zip([0.5 + (x - 0.5) / 10 for x in scores], noise, strict=True))
    ]
    scene.run_each(rows)
    small = scene.cli("report", "b", "--no-regression-against=a", "--margin=0.06")
    assert small.status == 0, small.stderr
    assert "at most worse by 0.060 (" in small.stderr
    noisy_one = scene.cli("report", "c", "--no-regression-against=a", "--margin=0.06")
    assert noisy_one.status == 1
    assert "it may be worse by more than 0.060 (" in noisy_one.stderr
    assert scene.cli("report", "c", "--no-regression-against=a").status == 0  # not shown worse, either


def test_a_margin_is_for_rare_losses_too_and_without_a_range_t_is_named(
    scene: Scene,
) -> None:
    noise = [0.001, -0.001] * 30
    scene.run_each([{"n": n, "scores": {"a": 0.6, "b": 0.6 + d}} for n, d in enumerate(noise)])
    done = scene.cli("report", "b", "--no-regression-against=a", "--margin=0.03")
    assert done.status == 1
    assert "it may be worse by more than 0.030 (+0.000, 90 % CI \N{MINUS SIGN}0.05" in done.stderr
    assert "; deciding it takes about 10" in done.stderr
    rows = [{"n": n, "scores": {"c": 6, "d": 6 + d}} for n, d in enumerate(noise)]
    scene.run_each(rows, "--score-range=any")
    done = scene.cli("report", "d", "--no-regression-against=c", "--margin=judge=0.03")
    assert done.status == 0, done.stderr
    assert "at most worse by 0.030 (+0.000, 90 % CI" in done.stderr
    assert " by t)" in done.stderr


def test_no_margin_makes_a_gain_carry_over_that_is_not_shown_to(scene: Scene) -> None:
    base = {"train": noisy(40, seed=3), "val": noisy(40)}
    splits: dict[str, Scores] = {
        "train": {"base": base["train"], "b": moved(base["train"], 0.06, sd=0.05)},
        "val": {"base": base["val"], "b": moved(base["val"], 0.04, sd=0.1)},
    }
    summary = scene.summary(splits, "--margin=0.3")
    assert summary["rows"][1]["overfit"]["state"] == "undecided"
    assert not [point for point in points(summary) if point.startswith("✓")]
