"""`python -m tests.benchmarks` measures what it is told to; what it measures is no test."""

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
    assert {"gate: unchanged, missed", "found at the stated difference", "board, fixed tasks"} <= families
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
    assert Measured(scene=scene, value=0.45, noise=0.06, draws=20).holds
    assert truth.row(Measured(scene=scene, value=0.6, noise=0.1, draws=20)).endswith(
        "| 0.600 | ≤ 0.4 | MISSED |"
    )
    never = Scene(family="f", cell="c", once=lambda _draw: 0.0, high=0.0)
    assert not Measured(scene=never, value=0.05, noise=0.15, draws=20).holds


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
