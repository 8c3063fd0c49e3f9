"""How often the regression gate is missed by an unchanged candidate, and met by one that lost the margin."""

import json
import math
import tempfile
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from optimize_eval.base.errors import UsageError
from optimize_eval.findings.diff_runs import compare_runs
from optimize_eval.findings.regression_gates import check_can_decide, regression_gates
from optimize_eval.store.folder import MANIFEST
from optimize_eval.store.opened_run import StoredRun, open_stored
from tests.benchmarks.truth.scenes import Draw, Scene
from tests.findings.made import LEAD, made

MARGIN = 0.05
_FALSE = 0.05
_POWER = 0.8
_DIFFERING = 0.1  # of pairs, where few of them differ

Score = Callable[[Draw, float], float]


def _share(draw: Draw, mean: float) -> float:
    return float(draw.random() < mean)


def _grade(draw: Draw, mean: float) -> float:
    return min(1.0, max(0.0, draw.gauss(mean, 0.15)))


KINDS: dict[str, Score] = {"0/1 at .7": _share, "graded": _grade}

_LOST = 0.03  # of the differences at the border of a margin that is as large
_BEFORE = 0.6


def _rare(draw: Draw) -> float:
    return -0.6 if draw.random() < 0.05 else 0.0


def _near_tie(draw: Draw) -> float:
    return -0.05 if draw.random() < 0.6 else 0.0


def _three_levels(draw: Draw) -> float:
    chance = draw.random()
    return 0.25 * ((chance < 0.1) - (chance >= 0.78))


def _skewed(draw: Draw) -> float:
    return 0.07 - 0.1 * math.exp(-6) - min(0.6, draw.expovariate(10))  # whose mean is 0.1 - 0.1 e⁻⁶


BORDER: dict[str, Callable[[Draw], float]] = {
    "5 % lose .6": _rare,
    "near-ties": _near_tie,
    "three levels": _three_levels,
    "skewed": _skewed,
}
AS_GOOD = {  # candidates by how their differences vary, and examples
    "equal": (0.0, 65),
    "SD .02": (0.02, 100),
    "SD .1": (0.1, 100),
    "SD .2": (0.2, 200),
}


def scenes() -> Iterator[Scene]:
    for name, score in KINDS.items():
        for n in (5, 9, 10, 30, 100):
            once = missed(score, n)
            yield Scene(
                family="gate: unchanged, missed", cell=f"{name}, n = {n}", once=once, high=_FALSE, cost=4
            )
        for clusters in (4, 6, 10):
            once = missed(score, 5 * clusters, clusters=clusters)
            cell = f"{name}, {clusters} clusters of 5"
            yield Scene(family="gate: unchanged, missed", cell=cell, once=once, high=_FALSE, cost=4)
        for n in (10, 30, 100):
            once = passed(score, n)
            cell = f"{name}, n = {n}, margin {MARGIN:g}"
            yield Scene(family="gate: margin lost, met", cell=cell, once=once, high=_FALSE, cost=4)
    yield from _margins()
    for n in (10, 30, 100):
        cell = f"0/1, 1 pair in 10 differs, n = {n}, margin {MARGIN:g}"
        yield Scene(family="gate: margin lost, met", cell=cell, once=passed_by_few(n), high=_FALSE, cost=4)


def _margins() -> Iterator[Scene]:
    """Give the scenes of graded scores at the border of a margin, and of candidates as good."""
    for name, difference in BORDER.items():
        for n in (10, 30, 100, 300):
            cell = f"{name}, n = {n}, margin {_LOST:g}"
            once = passed_at_border(difference, n)
            yield Scene(family="gate: margin lost, met", cell=cell, once=once, high=_FALSE, cost=4)
    for sizes in ((5,), (1, 1, 1, 12)):
        for n in (10, 60):
            cell = (
                f"{n} clusters of {' or '.join(map(str, sorted(set(sizes))))}, 5 % lose .6, margin {_LOST:g}"
            )
            once = passed_at_border(_rare, n, sizes=sizes)
            yield Scene(family="gate: margin lost, met", cell=cell, once=once, high=_FALSE, cost=4)
    for name, (sd, n) in AS_GOOD.items():
        cell = f"{name}, n = {n}, margin {MARGIN:g}"
        once = passed_by_equals(sd, n)
        yield Scene(family="gate: nothing lost, met", cell=cell, once=once, low=_POWER, cost=4)


def missed(score: Score, n: int, *, clusters: int | None = None) -> Callable[[Draw], float | None]:
    """Call an unchanged candidate again; None where so few are refused before any call."""

    def once(draw: Draw) -> float | None:
        values = [[score(draw, 0.7) for _ in range(n)] for _ in range(2)]
        with tempfile.TemporaryDirectory() as folder:
            labels = [place % clusters for place in range(n)] if clusters else None
            before, after = _runs(Path(folder), values, labels, None)
            try:
                check_can_decide(before.layout, after.layout)
            except UsageError:
                return None
            return float(not _is_met(before, after))

    return once


def passed(score: Score, n: int) -> Callable[[Draw], float]:
    """Let a candidate lose the margin exactly, and ask whether that is called no worse."""

    def once(draw: Draw) -> float:
        values = [[score(draw, mean) for _ in range(n)] for mean in (0.7, 0.7 - MARGIN)]
        with tempfile.TemporaryDirectory() as folder:
            return float(_is_met(*_runs(Path(folder), values, None, MARGIN)))

    return once


def passed_by_few(n: int) -> Callable[[Draw], float]:
    """Let a candidate lose the margin by few pairs that differ; all others are equal."""
    lost = (_DIFFERING + MARGIN) / 2

    def once(draw: Draw) -> float:
        draws = [draw.random() for _ in range(n)]
        before = [float(one < lost or one > (1 + _DIFFERING) / 2) for one in draws]
        after = [float(lost <= one < _DIFFERING or one > (1 + _DIFFERING) / 2) for one in draws]
        with tempfile.TemporaryDirectory() as folder:
            return float(_is_met(*_runs(Path(folder), [before, after], None, MARGIN)))

    return once


def passed_at_border(
    difference: Callable[[Draw], float], n: int, *, sizes: Sequence[int] = (1,)
) -> Callable[[Draw], float]:
    """Let a candidate lose the margin exactly; the examples of a cluster lose alike."""

    def once(draw: Draw) -> float:
        units = [(difference(draw), draw.choice(sizes)) for _ in range(n)]
        lost = [d for d, size in units for _ in range(size)]
        clusters = [place for place, (_, size) in enumerate(units) for _ in range(size)]
        return float(_is_held(lost, clusters if max(sizes) > 1 else None, _LOST))

    return once


def passed_by_equals(sd: float, n: int) -> Callable[[Draw], float]:
    """Let a candidate be as good, with differences that vary by so much."""
    most = 1 - _BEFORE

    def once(draw: Draw) -> float:
        return float(_is_held([max(-most, min(most, draw.gauss(0, sd))) for _ in range(n)], None, MARGIN))

    return once


def _is_held(differences: Sequence[float], clusters: Sequence[int] | None, margin: float) -> bool:
    values = [[_BEFORE] * len(differences), [_BEFORE + one for one in differences]]
    with tempfile.TemporaryDirectory() as folder:
        return _is_met(*_runs(Path(folder), values, clusters, margin))


def _is_met(before: StoredRun, after: StoredRun) -> bool:
    return all(gate.is_met for gate in regression_gates(compare_runs(before, after, force=False), ()))


def _runs(
    folder: Path,
    values: Sequence[Sequence[float]],
    clusters: Sequence[int] | None,
    margin: float | None,
) -> list[StoredRun]:
    runs = []
    for name, scores in zip("ab", values, strict=True):
        labels = {"val": [str(label) for label in clusters]} if clusters else None
        made({LEAD: {"c": {"val": scores}}}, clusters=labels).write(folder / name)
        path = folder / name / MANIFEST
        manifest = json.loads(path.read_text())
        manifest["settings"] = {"margins": {LEAD: margin}} if margin is not None else {}
        path.write_text(json.dumps(manifest))
        runs.append(open_stored(folder / name))
    return runs
