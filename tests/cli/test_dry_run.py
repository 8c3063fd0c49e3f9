"""What `run --dry-run` says of a run before any call: costs, and which differences it would find."""

import random
from pathlib import Path

import orjson
import pytest

from optimize_eval.statistics.power import detectable, detectable_share, examples_needed
from tests.findings.made import LEAD, made
from tests.front_door import Cli


@pytest.fixture
def data(tmp_path: Path) -> Path:
    """Write 40 examples of eight customers, and four candidates."""
    lines = [orjson.dumps({"n": n, "customer": str(n % 8)}) for n in range(40)]
    (tmp_path / "d.jsonl").write_bytes(b"\n".join(lines) + b"\n")
    for name in "abcd":
        (tmp_path / f"{name}.txt").write_text(name)
    return tmp_path


COMMAND = ("run", "-e", "judge=true", "--candidate", "[abcd].txt", "--dataset", "d.jsonl", "--dry-run")


@pytest.mark.usefixtures("data")
def test_a_plan_says_what_would_be_found_and_what_a_small_difference_takes(cli: Cli) -> None:
    told = cli(*COMMAND, "--json").json
    expected = detectable(se=0.3 / 40**0.5, units=40, comparisons=3)
    assert told["smallest_detectable"] == told["power"]["graded"]["found"] == pytest.approx(expected)
    assert told["power"]["graded"]["needed"] == examples_needed(0.05, sd=0.3, comparisons=3)
    shares = detectable_share(pairs=40, discordance=0.25, comparisons=3)
    assert told["power"]["zero_one"]["found"] == pytest.approx(shares)
    said = " ".join(cli(*COMMAND).stdout.split())
    assert "train has 40 examples, and 3 candidates to compare with the baseline" in said
    assert f"a difference of {expected:.2f} would be found in 80 of 100 runs; 0.05 takes" in said
    assert f"a difference of {shares:.2f} would be found" in said


@pytest.mark.usefixtures("data")
def test_with_clusters_the_clusters_are_what_counts(cli: Cli) -> None:
    told = cli(*COMMAND, "--cluster-by", "customer", "--json").json["power"]
    assert (told["units"], told["examples"], told["is_clustered"], told["zero_one"]) == (8, 40, True, None)
    sd = 0.3 * ((1 + 4 * 0.3) * 8 / 40) ** 0.5  # the mean of five examples that are alike by .3
    assert told["graded"]["found"] == pytest.approx(detectable(se=sd / 8**0.5, units=8, comparisons=3))
    said = " ".join(cli(*COMMAND, "--cluster-by", "customer").stdout.split())
    assert "train has 8 clusters of about 5 examples" in said


@pytest.mark.usefixtures("data")
def test_too_few_examples_are_told_to_show_nothing_ever(cli: Cli) -> None:
    said = " ".join(cli(*COMMAND, "--limit", "5").stdout.split())
    assert "no difference can be confirmed, however large: that takes 7 examples" in said
    assert cli(*COMMAND, "--limit", "5", "--json").json["smallest_detectable"] is None


def test_an_earlier_run_says_how_scores_vary_and_what_more_repeats_would_gain(cli: Cli, data: Path) -> None:
    """What examples add to a difference has sd .05, what each repeat of a score adds .1."""
    draw = random.Random(1)
    base, other = [], []
    for _ in range(300):
        shift = draw.gauss(0, 0.05)
        base.append(tuple(0.5 + draw.gauss(0, 0.1) for _ in range(2)))
        other.append(tuple(0.5 + shift + draw.gauss(0, 0.1) for _ in range(2)))
    made({LEAD: {"a": {"train": base}, "b": {"train": other}}}).write(data / "earlier")
    command = [*COMMAND, "--like", "earlier", "--repeats", "8"]
    told = cli(*command, "--json").json
    # Var of a difference: .05² of examples, and 2 × .1² / repeats of noise
    assert told["like"]["noise"] == pytest.approx(0.01 / (0.01 + 0.0025), abs=0.05)
    assert told["power"]["sd"] == pytest.approx((0.0025 + 0.0025) ** 0.5, rel=0.1)
    assert told["power"]["gain_of_repeats"] == pytest.approx(1 - 0.5**0.5, abs=0.06)
    assert told["seconds"] == pytest.approx(40 * 4 * 8 * 0.25 / told["slots"])  # as its calls took
    said = " ".join(cli(*command).stdout.split())
    assert "more repeats narrow intervals by about " in said
    assert "as slow as in earlier, about" in said
    assert "as in earlier" in said
    assert "guess" not in said


def test_scores_of_zero_and_one_are_planned_by_how_many_pairs_differed(cli: Cli, data: Path) -> None:
    base = [float(n % 2) for n in range(50)]
    other = [1 - one if n % 10 == 0 else one for n, one in enumerate(base)]
    made({LEAD: {"a": {"train": base}, "b": {"train": other}}}).write(data / "earlier")
    told = cli(*COMMAND, "--like", "earlier", "--json").json["power"]
    assert (told["graded"], told["discordance"]) == (None, pytest.approx(0.1))
    assert told["zero_one"]["found"] == pytest.approx(
        detectable_share(pairs=40, discordance=0.1, comparisons=3)
    )


def test_a_run_without_scores_is_refused_and_so_is_a_plan_that_is_none(cli: Cli, data: Path) -> None:
    made({LEAD: {"a": {"train": [0.5]}}}).write(data / "one")
    refused = cli(*COMMAND, "--like", "one")
    assert (refused.status, refused.stdout) == (2, "")
    assert "one does not say how scores vary" in refused.stderr
    refused = cli(*COMMAND[:-1], "--like", "one")
    assert refused.status == 2
    assert "add --dry-run" in refused.stderr


def test_copies_of_a_line_count_once(cli: Cli, data: Path) -> None:
    line = orjson.dumps({"n": 0})
    (data / "d.jsonl").write_bytes(
        b"\n".join([line] * 20 + [orjson.dumps({"n": n}) for n in range(1, 21)]) + b"\n"
    )
    told = cli(*COMMAND, "--json").json["power"]
    assert (told["units"], told["examples"], told["is_clustered"]) == (21, 40, True)


def test_a_plan_with_a_margin_says_how_many_examples_that_takes(cli: Cli, data: Path) -> None:
    said = " ".join(cli(*COMMAND, "--margin=0.05").stdout.split())
    takes = "ruling out a loss of 0.05 judge takes"
    assert f"train has 40 examples; {takes} 63 examples with equal scores, about " in said
    (told,) = cli(*COMMAND, "--margin=0.05", "--json").json["margins"]
    assert (told["evaluator"], told["if_equal"], told["sd"]) == ("judge", 63, 0.1)
    assert 80 < told["needed"] < 100
    some = ("--score-range", "any", "--margin", "judge=0.05")
    assert cli(*COMMAND, *some, "--json").json["margins"] == []  # nothing is known of such scores
    zeros = {"a": {"val": [0.0, 1.0] * 50}, "b": {"val": [0.0, 1.0, 1.0, 0.0] * 25}}
    made({LEAD: zeros}).write(data / "zeros")
    (like,) = cli(*COMMAND, "--margin=0.05", "--like=zeros", "--json").json["margins"]
    assert (like["if_equal"], like["sd"]) == (52, pytest.approx(0.71, abs=0.01))
    assert f"{takes} 52 examples with equal scores, about {like['needed']:,} if" in " ".join(
        cli(*COMMAND, "--margin=0.05", "--like=zeros").stdout.split()
    )
