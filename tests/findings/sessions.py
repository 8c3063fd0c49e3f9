"""Ways to get at a verdict by session after session, where nothing differs: each says if one claims more."""

import random
from collections.abc import Callable, Sequence
from pathlib import Path
from statistics import fmean
from tempfile import TemporaryDirectory

from tests.findings.folders import SessionFolder

Draw = random.Random

_ROWS = 60


def dropped(k: int) -> Callable[[Draw], bool]:
    """Drop the last of equal candidates, one session after the other."""

    def once(draw: Draw) -> bool:
        folder = SessionFolder({f"c{n}": {"val": noise(draw)} for n in range(k + 1)})
        ranked = sorted((f"c{n}" for n in range(1, k + 1)), key=lambda name: -_mean(folder, name))
        return any(_is_better(folder, "c0", *ranked[:many]) for many in (k, k // 2, 3, 2, 1))

    return once


def edited(edits: int, *, at_any: bool = False) -> Callable[[Draw], bool]:
    """Edit one candidate again and again; an edit stays if val rose. The last verdict counts, or any one."""

    def once(draw: Draw) -> bool:
        base = noise(draw)
        folder, best = SessionFolder({"base": {"val": base}}), "base"
        claims = []
        for number in range(edits):
            name = f"v{number}"
            inherited = folder.scores[best]["val"]
            folder.scores[name] = {"val": [_within(score + draw.gauss(0, 0.1)) for score in inherited]}
            claims.append(_is_better(folder, "base", name))
            best = max(best, name, key=lambda name: _mean(folder, name))
        return any(claims) if at_any else best != "base" and _is_better(folder, "base", best)

    return once


def another_baseline(k: int) -> Callable[[Draw], bool]:
    """Take the worst of equal candidates for the baseline, once that is known."""

    def once(draw: Draw) -> bool:
        folder = SessionFolder({f"c{n}": {"val": noise(draw)} for n in range(k + 1)})
        names = sorted(folder.scores, key=lambda name: _mean(folder, name))
        first = _is_better(folder, *folder.scores)
        return first or _is_better(folder, names[0], names[-1])

    return once


def run_again(k: int) -> Callable[[Draw], bool]:
    """Compare the best of equal candidates of another folder with the baseline, by the scores from there."""

    def once(draw: Draw) -> bool:
        scores: dict[str, dict[str, Sequence[float]]] = {f"c{n}": {"val": noise(draw)} for n in range(k + 1)}
        searched = SessionFolder(scores)
        best = max((f"c{n}" for n in range(1, k + 1)), key=lambda name: _mean(searched, name))
        first = _is_better(searched, *scores)
        with TemporaryDirectory() as name:
            alone = SessionFolder({one: scores[one] for one in ("c0", best)}, folder=Path(name))
            alone.reuse(searched)
            return first or _is_better(alone, "c0", best)

    return once


def looked(*sizes: int) -> Callable[[Draw], bool]:
    """Look at more and more examples."""

    def once(draw: Draw) -> bool:
        folder = SessionFolder({name: {"val": noise(draw, sizes[-1])} for name in "ab"})
        return any(_is_better(folder, "a", "b", rows=rows) for rows in sizes)

    return once


def noise(draw: Draw, rows: int = _ROWS) -> list[float]:
    return [_within(draw.gauss(0.5, 0.2)) for _ in range(rows)]


def _within(score: float) -> float:
    return min(1.0, max(0.0, score))


def equal_steps(most: int, looks: int) -> list[int]:
    return [most * (n + 1) // looks for n in range(looks)]


def _mean(folder: SessionFolder, name: str) -> float:
    return fmean(folder.scores[name]["val"])


def _is_better(folder: SessionFolder, *names: str, rows: int | None = None) -> bool:
    return folder.session(*names, rows=rows).verdict.state == "better"
