"""How often a gate on each example is missed by a sound suite, and finds one that passes by chance."""

import tempfile
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from optimize_eval.findings.stability import suspects_in
from optimize_eval.findings.stability_gates import stability_bounds, stability_gates
from optimize_eval.store.confirmations import fresh_calls
from optimize_eval.store.folder import JOURNAL
from optimize_eval.store.journal import seal
from optimize_eval.store.opened_run import open_stored
from tests.benchmarks.truth.scenes import Draw, Once, Scene
from tests.findings.made import LEAD, made

_EXAMPLES, _CALLS = 200, 10
_FALSE, _FOUND = 0.05, 0.9
_GATE = f"{LEAD}.each=0.8"
_COST = 5


def scenes() -> Iterator[Scene]:
    for rate in (0.99, 0.98, 0.97, 0.95, 0.8):
        cell = f"{_EXAMPLES} examples at {rate:g}, {_CALLS} calls"
        once, calls = is_missed([rate] * _EXAMPLES), fresh_calls_made([rate] * _EXAMPLES)
        yield Scene(
            family="each example: sound, missed",
            cell=cell,
            once=once,
            high=_FALSE,
            cost=_COST,
            beside={"fresh calls": calls} if rate == 0.95 else {},
        )
    for rate, low in ((0.5, _FOUND), (0.6, None), (0.7, None)):
        cell = f"one of {_EXAMPLES} at {rate:g}, the others at .99"
        rates = [rate] + [0.99] * (_EXAMPLES - 1)
        yield Scene(
            family="each example: one is sick, missed", cell=cell, once=is_missed(rates), low=low, cost=_COST
        )
    for rate in (0.99, 0.97, 0.96, 0.95):
        cell = f"pass^5 = 0.8, {_EXAMPLES} examples at {rate:g} (true {rate**5:.3f})"
        once = is_missed([rate] * _EXAMPLES, f"{LEAD}.pass^5=0.8")
        yield Scene(family="pass^5, missed", cell=cell, once=once, cost=_COST)


def is_missed(rates: Sequence[float], gate: str = _GATE) -> Once:
    return _drawn(rates, gate, lambda met, _: float(not met))


def fresh_calls_made(rates: Sequence[float]) -> Once:
    return _drawn(rates, _GATE, lambda _, calls: float(calls))


def _drawn(rates: Sequence[float], gate: str, tell: Callable[[bool, int], float]) -> Once:
    """Draw the calls of a run, then those that its gate asks for."""

    def once(draw: Draw) -> float:
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "run"
            scores = [tuple(float(draw.random() < rate) for _ in range(_CALLS)) for rate in rates]
            made({LEAD: {"c": {"val": scores}}}).write(path)
            run = open_stored(path)
            bounds = [*stability_bounds([gate], run.layout).values()]
            fresh = [line for lines in suspects_in(run, bounds).values() for line in lines]
            _confirm(path, {line: rates[line - 1] for line in fresh if line}, draw)
            [judged] = stability_gates(open_stored(path), bounds)
            return tell(judged.is_met, len(fresh) * fresh_calls(_CALLS))

    return once


def _confirm(folder: Path, suspects: dict[int, float], draw: Draw) -> None:
    """Write down the fresh calls as the runner does."""
    where = {"evaluator": LEAD, "candidate": "c", "split": "val"}
    with (folder / JOURNAL).open("ab") as journal:
        for line, rate in suspects.items():
            for number in range(1, fresh_calls(_CALLS) + 1):
                score = float(draw.random() < rate)
                told = {"outcome": "scored", "score": score, "side_info": {}, "seconds": 0.0}
                journal.write(seal({"key": "", **where, "line": line, "confirm": number, **told}))
