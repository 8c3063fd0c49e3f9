"""Agreement, against scikit-learn's and krippendorff's own numbers and by hand."""

import json
import random

import pytest

from optimize_eval.statistics.agreement import alpha, bootstrap, kappa, quadratic_kappa
from tests.paths import ROOT

TABLES = json.loads(
    (ROOT / "tests/statistics/agreements.json").read_text("utf-8")
)  # by tests.tools.agreements


def test_on_200_random_tables_all_coefficients_are_those_of_others() -> None:
    assert len(TABLES) == 200
    for table in TABLES:
        firsts, seconds, *_ = table["rows"]
        pairs = [(a, b) for a, b in zip(firsts, seconds, strict=True) if a is not None and b is not None]
        units = list(zip(*table["rows"], strict=True))
        found = {"kappa": kappa(pairs), "quadratic": quadratic_kappa(pairs)}
        found |= {name: alpha(units, name) for name in ("nominal", "ordinal", "interval")}
        assert found == {name: pytest.approx(table[name], abs=1e-12) for name in found}


def test_where_nobody_differs_there_is_nothing_to_agree_on() -> None:
    assert kappa([]) is quadratic_kappa([]) is alpha([]) is None
    assert (
        kappa([("a", "a")] * 3)
        is quadratic_kappa([(0.1, 0.1)] * 3)
        is alpha([("a", "a"), ("a", None)])
        is None
    )
    assert kappa([("a", "b"), ("b", "a")]) == -1


def test_a_bootstrap_of_whole_clusters_is_wider_and_says_nothing_of_nothing() -> None:
    draw = random.Random(1)
    pairs = [(truth, truth if draw.random() < 0.7 else 1 - truth) for truth in draw.choices((0, 1), k=40)]
    alone = bootstrap([[pair] for pair in pairs], kappa, seed=0)
    copies = bootstrap([[pair] * 5 for pair in pairs], kappa, seed=0)
    thought_apart = bootstrap([[pair] for pair in pairs for _ in range(5)], kappa, seed=0)
    assert alone
    assert thought_apart
    assert alone == copies
    assert alone[1] - alone[0] > 2 * (thought_apart[1] - thought_apart[0])
    assert alone[0] < (kappa(pairs) or 0) < alone[1]
    assert bootstrap([], kappa, seed=0) is None
    assert bootstrap([[("a", "a")]] * 9, kappa, seed=0) is None
