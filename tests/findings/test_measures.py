"""pass@k, calibration and corpus BLEU of runs and boards: where there are some, where not, and in words."""

import math
import random
import re
from collections.abc import Sequence
from typing import Any

import pytest

from optimize_eval.base.protocol import ScoreRange
from optimize_eval.findings.summary_shape import summary_from
from optimize_eval.reports.terminal.summary import ShownRun, render
from optimize_eval.reports.text import Screen
from tests.findings.boards import board, rendered
from tests.findings.made import LEAD, Example, Fails, Says, made, on_val, saying

OFTEN: Sequence[Example] = [(1.0, 1.0, 1.0), (1.0, 0.0, 1.0), (0.0, 0.0, 0.0), (1.0, 0.0, 0.0)]


def words(text: str) -> str:
    return " ".join(text.split())


def test_repeats_of_zeros_and_ones_have_pass_rates() -> None:
    summary = on_val(a=OFTEN).summary()
    (told,) = summary["passes"]
    assert (told["candidate"], told["split"], [one["k"] for one in told["by_k"]]) == ("a", "val", [1, 2, 3])
    first, second, third = told["by_k"]
    mean = summary["rows"][0]["splits"]["val"]["mean"]
    assert first["any"]["mean"] == first["all"]["mean"] == pytest.approx(mean)
    assert second["any"]["mean"] == pytest.approx((1 + 1 + 0 + 2 / 3) / 4)
    assert second["all"]["mean"] == pytest.approx((1 + 1 / 3 + 0 + 0) / 4)
    assert (third["any"]["mean"], third["all"]["mean"], third["all"]["n"]) == (0.75, 0.25, 4)
    assert third["all"]["ci"] is not None
    assert "repeats a on judge: pass@3 0.750 (" in words(
        render(summary_from(summary), ShownRun(name="r"), Screen(100))
    )
    assert "pass^3 0.250 (" in words(render(summary_from(summary), ShownRun(name="r"), Screen(100)))


def test_an_example_with_too_few_scored_repeats_takes_no_part() -> None:
    summary = on_val(a=[(1.0, Fails()), (1.0, 1.0), (0.0, 1.0)]).summary()
    ones, twos = summary["passes"][0]["by_k"]
    assert (ones["any"]["n"], twos["any"]["n"]) == (3, 2)
    assert (twos["any"]["mean"], twos["all"]["mean"]) == (1.0, 0.5)


@pytest.mark.parametrize(
    "run",
    [
        on_val(a=[1.0, 0.0]),
        on_val(a=[(1.0, 0.5), (0.0, 0.0)]),
        made({LEAD: {"a": {"val": [(1.0, 0.0), (0.0, 1.0)]}}}, score_range=ScoreRange.ANY),
    ],
    ids=["one repeat", "a graded score", "any number"],
)
def test_what_is_no_pass_has_no_rate(run: Any) -> None:
    assert run.summary()["passes"] == []


def test_pass_rates_respect_clusters() -> None:
    cells = {LEAD: {"a": {"val": [*OFTEN, *OFTEN]}}}
    plain = made(cells).summary()["passes"][0]["by_k"][2]["all"]
    grouped = made(cells, clusters={"val": [*"1234", *"1234"]}).summary()["passes"][0]["by_k"][2]["all"]
    assert grouped["mean"] == plain["mean"]
    assert grouped["se"] > plain["se"]


def test_models_have_pass_rates_over_tasks_and_for_each() -> None:
    found = board({"m": {"a": OFTEN, "b": [(1.0, 1.0, 1.0)] * 2, "graded": [(0.5, 1.0, 0.0)] * 2}})
    (model,) = found["models"]
    assert [task.get("passes") is not None for task in model["tasks"]] == [True, True, False]
    last = model["passes"][-1]
    assert (last["k"], last["all"]["tasks"], last["all"]["n"]) == (3, 2, 6)
    assert last["all"]["mean"] == pytest.approx((0.25 + 1) / 2)  # tasks count alike
    assert last["any"]["mean"] == pytest.approx((0.75 + 1) / 2)
    assert "repeats m pass@3 0.875 (" in words(rendered(found, width=100))


def test_a_confidence_beside_scores_is_calibrated_or_not() -> None:
    sure = [Says(float(n % 2), {"confidence": 0.95}) for n in range(10)]
    rest = [Says(0.0, {"confidence": "high"}), Says(1.0, {"confidence": 95}), Says(0.0, {"confidence": True})]
    summary = on_val(a=[*sure, *rest, Fails(), 1.0]).summary()
    (told,) = summary["calibration"]
    assert (told["n"], told["unusable"], told["score"]) == (10, 3, 0.5)
    assert told["brier"] == pytest.approx((0.05**2 + 0.95**2) / 2)
    assert told["ece"] == pytest.approx(0.45)
    assert [(one["low"], one["n"]) for one in told["bins"]] == [(0.9, 10)]
    text = words(render(summary_from(summary), ShownRun(name="r"), Screen(100)))
    assert "confidence a on judge: states 0.950 on average and scores 0.500; Brier 0.452, ECE 0.450" in text
    assert "0.9 to 1.0: 10 answers, stated 0.950, scored 0.500" in text
    assert on_val(a=[1.0, 0.0]).summary()["calibration"] == []


def test_bleu_of_the_corpus_is_told_beside_the_mean_of_sentences() -> None:
    counts = [[6, 6, 6, 5, 4, 3, 6, 5, 4, 3], [3, 6, 1, 0, 0, 0, 3, 2, 1, 0]]
    says: list[Example] = [
        Says(score, {"bleu_counts": one}) for score, one in zip((1.0, 0.2), counts, strict=True)
    ]
    odd = [
        Says(0.0, {"bleu_counts": one}) for one in ([1] * 9, [1.5] * 10, "10", [10**400] * 10, [True] * 10)
    ]
    summary = on_val(a=[*says, *odd]).summary()
    (told,) = summary["corpus_bleu"]
    expected = math.exp(1 - 12 / 9) * (7 / 9 * 5 / 7 * 4 / 5 * 3 / 3) ** 0.25
    assert (told["score"], told["outputs"]) == (pytest.approx(expected), 2)
    text = words(render(summary_from(summary), ShownRun(name="r"), Screen(100)))
    assert f"corpus a on judge: BLEU {expected:.3f} over 2 outputs" in text
    found = board({"m": {"t": says}})
    assert found["models"][0]["tasks"][0]["corpus_bleu"]["score"] == pytest.approx(expected)
    assert f"corpus m BLEU {expected:.3f} on t" in words(rendered(found, width=100))


def test_repeats_say_how_much_more_of_them_would_gain() -> None:
    draw = random.Random(4)
    base = [tuple(0.5 + draw.gauss(0, 0.1) for _ in range(2)) for _ in range(200)]
    shifts = [draw.gauss(0.05, 0.1) for _ in range(200)]
    other = [tuple(0.5 + shift + draw.gauss(0, 0.1) for _ in range(2)) for shift in shifts]
    (point,) = saying(on_val(base=base, other=other).summary(), "More repeats")
    told = re.fullmatch(
        r"· More repeats would narrow the interval of other by about (\d+) % at most, "
        r"twice the examples by 29 %",
        point,
    )
    assert told
    assert int(told[1]) == pytest.approx(100 * (1 - (0.01 / 0.02) ** 0.5), abs=5)
    (alone,) = saying(on_val(base=base).summary(), "More repeats")
    assert "narrow its interval by about " in alone
    assert not saying(on_val(base=[0.1, 0.2], other=[0.3, 0.2]).summary(), "More repeats")
