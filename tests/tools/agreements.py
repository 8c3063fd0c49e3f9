"""Make the table of agreements that tests hold ours against: python -m tests.tools.agreements > FILE.

Made with scikit-learn 1.9.1 and krippendorff 0.9.0. They are no extra of ours: with what scikit-learn itself
needs they are 57 MB to install, for two functions whose answers never change.
"""

import json
import random
import sys
from importlib import import_module
from typing import Any

CASES = 200


def main() -> None:
    draw = random.Random(0)
    rows = [json.dumps(_case(draw)) for _ in range(CASES)]
    sys.stdout.write("[\n" + ",\n".join(rows) + "\n]\n")


def _case(draw: random.Random) -> dict[str, Any]:
    raters, units, levels = draw.randint(2, 4), draw.randint(3, 40), draw.randint(2, 6)
    truth = [draw.randrange(levels) for _ in range(units)]
    rows = [[_rating(draw, value, levels) for value in truth] for _ in range(raters)]
    pairs = [(a, b) for a, b in zip(*rows[:2], strict=True) if a is not None and b is not None]
    return {"rows": rows, "levels": levels, **_kappas(pairs, levels), **_alphas(rows)}


def _rating(draw: random.Random, truth: int, levels: int) -> int | None:
    """Rate as the truth is, or by chance, or not at all."""
    kind = draw.random()
    return None if kind < 0.15 else truth if kind < 0.6 else draw.randrange(levels)


def _kappas(pairs: list[tuple[int, int]], levels: int) -> dict[str, float | None]:
    score = import_module("sklearn.metrics").cohen_kappa_score
    firsts, seconds = [a for a, _ in pairs], [b for _, b in pairs]
    if len({*firsts, *seconds}) < 2:
        return {"kappa": None, "quadratic": None}
    labels = list(range(levels))
    quadratic = score(firsts, seconds, labels=labels, weights="quadratic")
    return {"kappa": float(score(firsts, seconds, labels=labels)), "quadratic": float(quadratic)}


def _alphas(rows: list[list[int | None]]) -> dict[str, float | None]:
    data = [[float("nan") if value is None else value for value in row] for row in rows]
    alpha = import_module("krippendorff").alpha
    measures = ("nominal", "ordinal", "interval")
    try:
        return {name: float(alpha(data, level_of_measurement=name)) for name in measures}
    except ValueError:  # one value alone
        return dict.fromkeys(measures)


if __name__ == "__main__":
    main()
