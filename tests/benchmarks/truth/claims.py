"""How often something false is claimed where nothing differs, and how far a chosen winner is flattered."""

from collections.abc import Callable, Iterator, Sequence
from typing import Any

from tests.benchmarks.truth.scenes import Draw, Scene, covers
from tests.findings.made import LEAD, Example, made, on_val

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
    for k in (2, 5, 20):
        yield Scene(
            family="choice, equal: coverage", cell=f"K = {k}", once=_fitted(k, 0.0), low=0.93, cost=5 + k
        )
        yield Scene(
            family="choice, equal: bias",
            cell=f"K = {k}",
            once=_optimism(k, 0.0),
            low=-0.01,
            high=0.01,
            cost=5 + k,
            is_share=False,
        )
        yield Scene(
            family="choice, different: optimism",
            cell=f"K = {k}, gains 0 to .1",
            once=_optimism(k, 0.1),
            high=0.01,
            cost=5 + k,
            is_share=False,
        )


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


def _chosen(draw: Draw, k: int, most: float) -> tuple[Summary, float] | None:
    """Choose among K candidates on 60 val examples, and give the true gain of the one that is named."""
    gains = [most * n / max(1, k - 1) for n in range(k)]
    base = [draw.gauss(0.5, 0.12) for _ in range(60)]
    others = {f"c{n}": [one + draw.gauss(gain, 0.15) for one in base] for n, gain in enumerate(gains)}
    selection = on_val(base=base, **others).summary()["selection"]
    if not selection["crossfit"]:
        return None
    return selection["crossfit"], gains[int(selection["candidate"][1:])]


def _fitted(k: int, most: float) -> Callable[[Draw], float | None]:
    def once(draw: Draw) -> float | None:
        found = _chosen(draw, k, most)
        return found and covers(found[0]["ci"], found[1])

    return once


def _optimism(k: int, most: float) -> Callable[[Draw], float | None]:
    def once(draw: Draw) -> float | None:
        found = _chosen(draw, k, most)
        return found and found[0]["diff"] - found[1]

    return once
