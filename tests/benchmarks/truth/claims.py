"""How often something false is claimed where nothing differs, and how far a chosen winner is flattered."""

from collections.abc import Callable, Iterator, Sequence
from typing import Any

from tests.benchmarks.truth.scenes import Draw, Scene, covers
from tests.findings.made import LEAD, Example, No, made, on_val

_FALSE = 0.05
_CLAIMS = {"better", "worse"}

Summary = dict[str, Any]


def scenes() -> Iterator[Scene]:
    wrong: dict[str, Callable[[Summary], bool]] = {
        "headline": lambda summary: summary["verdict"]["state"] in _CLAIMS,
        "primary evaluator, val": lambda summary: _marked(summary, "val"),
        "train": lambda summary: _marked(summary, "train"),
        "overfits": lambda summary: any((row["overfit"] or {}).get("flag") for row in summary["rows"]),
        "pairs, val": lambda summary: any(
            pair["mark"] in _CLAIMS for pair in summary["pairs"] if pair["split"] == "val"
        ),
    }
    for name, is_false in wrong.items():
        yield Scene(
            family="false claim",
            cell=f"20 equal candidates: {name}",
            once=_equal(is_false),
            high=_FALSE,
            cost=10,
        )
    for evaluators in (6, 12):
        once = _evaluators(evaluators)
        cell = f"{evaluators} evaluators, all but the first"
        yield Scene(family="false claim", cell=cell, once=once, high=_FALSE, cost=10)
    yield Scene(family="false claim", cell="4 groups × 4 candidates", once=_groups, high=_FALSE, cost=10)
    once = skipped_where_bad
    yield Scene(family="false claim", cell="skipped where bad, two equal", once=once, high=0.0)
    for cell, (gains, sds) in PICKED.items():
        once = of_the_best(gains, sds)
        yield Scene(family="best of several: coverage", cell=cell, once=once, low=0.94, cost=2)
    for k in (5, 20):
        shares = of_the_best([0.0] * k, None)
        yield Scene(
            family="best of several: coverage", cell=f"{k} equal, 0 or 1", once=shares, low=0.94, cost=2
        )


def skipped_where_bad(draw: Draw) -> float:
    """Skip a third of an equal candidate's examples, its worst ones, and give whether it wins."""
    base, other = scores(draw, 60), scores(draw, 60)
    bad = sorted(other)[20]
    skipping: list[Example] = [one if one > bad else No.SKIPPED for one in other]
    return float(on_val(base=base, other=skipping).summary()["verdict"]["state"] == "better")


def even(k: int, most: float = 0.0) -> list[float]:
    return [most * n / max(1, k - 1) for n in range(k)]


PICKED: dict[str, tuple[list[float], list[float]]] = {  # gains and spreads of candidates
    "2 equal": (even(2), [0.15] * 2),
    "5 equal": (even(5), [0.15] * 5),
    "20 equal": (even(20), [0.15] * 20),
    "20, gains 0 to .1": (even(20, 0.1), [0.15] * 20),
    "5 equal, one scatters": (even(5), [0.05] * 4 + [0.4]),
    "20 equal, one scatters": (even(20), [0.05] * 19 + [0.4]),
    "20 equal, spreads .02 to .4": (even(20), [0.02 * (n + 1) for n in range(20)]),
    "5, the better ones scatter": (even(5, 0.1), [0.05, 0.1, 0.15, 0.25, 0.4]),
    "5, the worse ones scatter": (even(5, 0.1), [0.4, 0.25, 0.15, 0.1, 0.05]),
    "one sure at .05, 10 that scatter": ([0.05, *even(10)], [0.02] + [0.3] * 10),
}


def scores(draw: Draw, n: int, mean: float = 0.5) -> list[float]:
    return [min(1.0, max(0.0, draw.gauss(mean, 0.15))) for _ in range(n)]


def _marked(summary: Summary, split: str) -> bool:
    against = [row["vs_baseline"][split] for row in summary["rows"] if row["vs_baseline"]]
    return any(d["mark"] in _CLAIMS for d in against)


def _equal(is_false: Callable[[Summary], bool]) -> Callable[[Draw], float]:
    def once(draw: Draw) -> float:
        cells: dict[str, dict[str, Sequence[Example]]] = {
            f"c{n}": {"train": scores(draw, 20), "val": scores(draw, 20)} for n in range(20)
        }
        return float(is_false(made({LEAD: cells}).summary()))

    return once


def _evaluators(many: int) -> Callable[[Draw], float]:
    def once(draw: Draw) -> float:
        cells = {f"e{n}": {name: {"val": scores(draw, 20)} for name in "ab"} for n in range(many)}
        others = [row for row in made(cells).summary()["rows"] if row["evaluator"] != "e0"]
        return float(_marked({"rows": others}, "val"))

    return once


def _groups(draw: Draw) -> float:
    cells = {LEAD: {name: {"val": scores(draw, 48)} for name in "abcd"}}
    summary = made(cells, groups={"val": {"kind": [str(n % 4) for n in range(48)]}}).summary()
    groups = [group for row in summary["rows"] if row["vs_baseline"] for group in row["groups"].values()]
    return float(any(group["vs_baseline"]["val"]["mark"] in _CLAIMS for group in groups))


def of_the_best(gains: Sequence[float], sds: Sequence[float] | None) -> Callable[[Draw], float]:
    """Give whether the interval of the best on 60 val examples holds its own true gain."""

    def once(draw: Draw) -> float:
        base = [draw.gauss(0.5, 0.12) if sds else float(draw.random() < 0.5) for _ in range(60)]
        others = {
            f"c{n}": [one + draw.gauss(gain, sds[n]) for one in base]
            if sds
            else [one if draw.random() < 0.6 else float(draw.random() < 0.5) for one in base]
            for n, gain in enumerate(gains)
        }
        selection = on_val(base=base, **others).summary()["selection"]
        return covers(selection["ci"], gains[int(selection["candidate"][1:])])

    return once
