"""How often the regression gate is missed by an unchanged candidate, and met by one that lost the margin."""

import json
import tempfile
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from optimize_eval.errors import UsageError
from optimize_eval.findings.diff.gates import check_can_decide, regression_gates
from optimize_eval.findings.diff.runs import compare_runs
from optimize_eval.store.folder import MANIFEST
from optimize_eval.store.stored import StoredRun, open_stored
from tests.benchmarks.truth.scenes import Draw, Scene
from tests.findings.made import LEAD, made

MARGIN = 0.05
_FALSE = 0.05
_DIFFERING = 0.1  # of pairs, where few of them differ

Score = Callable[[Draw, float], float]


def _share(draw: Draw, mean: float) -> float:
    return float(draw.random() < mean)


def _grade(draw: Draw, mean: float) -> float:
    return min(1.0, max(0.0, draw.gauss(mean, 0.15)))


KINDS: dict[str, Score] = {"0/1 at .7": _share, "graded": _grade}


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
    for n in (10, 30, 100):
        cell = f"0/1, 1 pair in 10 differs, n = {n}, margin {MARGIN:g}"
        yield Scene(family="gate: margin lost, met", cell=cell, once=passed_by_few(n), high=_FALSE, cost=4)


def missed(score: Score, n: int, *, clusters: int | None = None) -> Callable[[Draw], float | None]:
    """Call an unchanged candidate again; None where so few are refused before any call."""

    def once(draw: Draw) -> float | None:
        values = [[score(draw, 0.7) for _ in range(n)] for _ in range(2)]
        with tempfile.TemporaryDirectory() as folder:
            before, after = _runs(Path(folder), values, clusters, None)
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


def _is_met(before: StoredRun, after: StoredRun) -> bool:
    return all(gate.is_met for gate in regression_gates(compare_runs(before, after, force=False), ()))


def _runs(
    folder: Path, values: Sequence[Sequence[float]], clusters: int | None, margin: float | None
) -> list[StoredRun]:
    runs = []
    for name, scores in zip("ab", values, strict=True):
        labels = {"val": [str(place % clusters) for place in range(len(scores))]} if clusters else None
        made({LEAD: {"c": {"val": scores}}}, clusters=labels).write(folder / name)
        path = folder / name / MANIFEST
        manifest = json.loads(path.read_text())
        manifest["settings"] = {"margins": {LEAD: margin}} if margin is not None else {}
        path.write_text(json.dumps(manifest))
        runs.append(open_stored(folder / name))
    return runs
