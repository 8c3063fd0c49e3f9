"""`python -m tests.benchmarks` measures what it is told to; what it measures is no test."""

import random

import pytest

from tests.benchmarks import data, program
from tests.benchmarks.__main__ import ROWS, name_of, select
from tests.benchmarks.truth import __main__ as truth
from tests.benchmarks.truth.scenes import Measured, Scene, measure


def test_names_select_rows_in_the_order_of_the_table() -> None:
    assert select([]) == list(ROWS)
    assert select(["load_cpu", "program"]) == [
        program.help_cpu,
        program.run_help_cpu,
        program.dry_run_cpu,
        data.load_cpu,
    ]
    assert select(["program.help_cpu"]) == [program.help_cpu]
    assert len({name_of(row) for row in ROWS}) == len(ROWS)


def test_an_unknown_name_ends_with_all_there_are() -> None:
    with pytest.raises(SystemExit, match=r"(?s)no row is named nothing; there are.*program.help_cpu"):
        select(["program", "nothing"])


def test_the_simulation_has_every_kind_of_claim_and_words_select_its_scenes() -> None:
    scenes = truth.every_scene()
    families = {scene.family for scene in scenes}
    assert {"mean", "mean of clusters", "paired difference", "gap", "lost gain", "false claim"} <= families
    assert {
        "gate: unchanged, missed",
        "each example: sound, missed",
        "found at the stated difference",
        "board, fixed tasks",
    } <= families
    assert len({(scene.family, scene.cell) for scene in scenes}) == len(scenes)
    assert [scenes[number].cell for number in truth.select(["coverage 20 equal"])] == [
        "20 equal",
        "20 equal, one scatters",
        "20 equal, spreads .02 to .4",
        "20 equal, 0 or 1",
    ]


def test_a_bar_allows_for_the_noise_of_the_simulation_and_for_no_more() -> None:
    scene = Scene(family="f", cell="c", once=lambda draw: float(draw.random() < 0.5), high=0.4)
    assert not measure(scene, 2000).holds
    few = measure(scene, 20)
    assert truth.row(few) == truth.row(measure(scene, 20))
    assert Measured(scene=scene, value=0.45, error=0.02, draws=20).verdict == "ok within 3 SE"
    assert Measured(scene=scene, value=0.4, error=0.02, draws=20).verdict == "ok"
    beyond = Measured(scene=scene, value=0.6, error=0.02, draws=1200, beside={"before": "0.500 ± 0.010"})
    assert _cells(truth.row(beyond)) == [
        *("f", "c", "1,200", "0.600 ± 0.020", "≤ 0.4", "MISSED", "before 0.500 ± 0.010"),
    ]
    never = Scene(family="f", cell="c", once=lambda _draw: 0.0, high=0.0)
    assert not Measured(scene=never, value=0.05, error=0.05, draws=20).holds


def test_none_of_few_draws_has_a_standard_error_and_what_says_nothing_is_refused() -> None:
    never = measure(Scene(family="f", cell="c", once=lambda _draw: 0.0, high=0.05), 20)
    assert _cells(truth.row(never))[3:6] == ["0.000 ± 0.047", "≤ 0.05", "ok"]
    silent = measure(Scene(family="f", cell="c", once=lambda _draw: None, low=0.9), 20)
    assert silent.holds
    assert _cells(truth.row(silent))[2:6] == ["0", "nothing", "≥ 0.9", "refused"]


def test_what_stands_beside_a_scene_is_of_the_same_draws() -> None:
    scene = Scene(family="f", cell="c", once=random.Random.random, beside={"again": random.Random.random})
    same = measure(scene, 20)
    assert same.beside == {"again": str(same)}


def test_the_simulation_explains_itself_and_knows_its_words(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit, match="0"):
        truth.main(["--help"])
    assert "ok within 3 SE: beyond it by at most three standard errors" in capsys.readouterr().out
    with pytest.raises(SystemExit, match="2"):
        truth.main(["coverage", "nothing of this kind"])
    assert "no scene has 'nothing of this kind'; there are: mean · " in capsys.readouterr().err


def _cells(row: str) -> list[str]:
    return [cell.strip() for cell in row.strip("|").split("|")]


_CHEAP = [  # a few of each family that costs little; all of them are measured by the simulation itself
    *("0/1 at 0.8, n = 30", "beta(9.5,.5), n = 30", "95 % ones, n = 30", "0/1 at .9, 10 clusters"),
    *("continuous, 10 clusters", "5 tasks × 8", "10 tasks × 8", "train 30, val 30"),
    *("graded, n = 30, 20 comparisons", "0/1, n = 30, 4 comparisons", "10 % of val"),
]


@pytest.mark.parametrize("word", _CHEAP)
def test_claims_are_as_often_true_as_they_say(word: str) -> None:
    numbers = truth.select([word])
    assert numbers
    for number in numbers:
        found = measure(truth.every_scene()[number], 200)
        assert found.holds, truth.row(found)
