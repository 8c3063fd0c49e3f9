"""How stable repeated calls are, where the gates of a run ask for it, with fresh calls that confirm it."""

import math
import re
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from optimize_eval.audit.axes import Record
from optimize_eval.audit.compared import mean_of
from optimize_eval.audit.journaled import ExampleRecords, JournaledRun, Key, by_axis

_DEMAND = re.compile(r"\.(each|pass[@^][1-9]\d{0,3})((?:@.*)?)", re.DOTALL)
_FINEST = 10_000
_FEWEST_FRESH, _TIMES = 40, 4


@dataclass
class _Demand:
    """One gate: what it asks, and of which parts; None is every one."""

    asks: str
    least: float
    evaluator: str | None = None
    candidate: str | None = None
    model: str | None = None
    split: str | None = None


def stability_of(run: JournaledRun) -> list[Record]:
    """Compute what the gates of the run's own command are held against, cell by cell."""
    texts = (run.axes.settings.get("gates") or {}).get("fail_under") or []
    demands = [demand for text in texts if (demand := _read(text, run))]
    pairs = [(demand, key) for demand in demands for key in run.cells_in_order if _concerns(demand, key, run)]
    distinct = {(key, demand.asks, demand.least): (demand, key) for demand, key in pairs}
    return [_entry(demand, key, run) for demand, key in distinct.values()]


def _read(text: str, run: JournaledRun) -> _Demand | None:
    name, _, said = text.rpartition("=")
    read = None
    for subject, about in sorted(_parts(run).items(), key=lambda pair: len(pair[0])):
        behind = _behind(about, run)
        if name.startswith(subject) and name[len(subject) :] in behind:
            return None  # the name of something whose mean is asked for
        asked = _DEMAND.fullmatch(name[len(subject) :]) if name.startswith(subject) else None
        if asked and asked[2] in behind:  # of several the longest name
            read = asked[1], about | behind[asked[2]]
    if not read:
        return None
    passes, slash, calls = said.partition("/")
    return _Demand(read[0], int(passes) / int(calls) if slash else float(said), **read[1])


def _parts(run: JournaledRun) -> dict[str, dict[str, str]]:
    """List by their names what a gate may be about."""
    evaluators = {name: {"evaluator": name} for name in run.evaluators}
    if run.axes.document["kind"] != "bench":
        return evaluators
    return evaluators | _tasks(run) | {name: {"model": name} for name in run.axes.task_models if name}


def _tasks(run: JournaledRun) -> dict[str, dict[str, str]]:
    """List the tasks of a bench; one in JSONL is called as its scorer is."""
    tasks = {}
    for split in run.splits:
        own = [name for name in run.evaluators if split in run.own_splits.get(name, ())]
        tasks[split if not own or own[0].startswith(f"{split}.") else own[0]] = {"split": split}
    return tasks


def _behind(about: dict[str, str], run: JournaledRun) -> dict[str, dict[str, str]]:
    """List what may stand behind it."""
    nothing: dict[str, dict[str, str]] = {"": {}}
    models = {f"@{name}": {"model": name} for name in run.axes.task_models if name}
    if run.axes.document["kind"] == "bench":
        tasks = {f"@{name}": split for name, split in _tasks(run).items()}
        return nothing | (tasks if "model" in about else models)
    candidates = {f"@{name}": {"candidate": name} for name in run.candidates}
    both = {f"{a}{b}": candidates[a] | models[b] for a in candidates for b in models}
    return nothing | both | models | candidates


def _concerns(demand: _Demand, key: Key, run: JournaledRun) -> bool:
    evaluator, model, split, candidate = key
    own = [name for name in run.evaluators if split in run.own_splits.get(name, ())]
    splits = run.splits_for(evaluator)
    decides = run.deciding if run.deciding in splits else splits[0]
    return (
        evaluator == (demand.evaluator or (own[0] if own else evaluator))
        and demand.candidate in {None, candidate}
        and demand.model in {None, model}
        and split == (demand.split or (split if run.own_splits else decides))
    )


def _counts(example: ExampleRecords) -> tuple[int, int]:
    """Count the calls of an example, and those that passed."""
    return len(example.scores) + example.unranked + len(example.failures), example.scores.count(1)


def _entry(demand: _Demand, key: Key, run: JournaledRun) -> Record:
    cell, split = run.cells[key], run.splits[key[2]]
    is_graded = any(example.unranked or not {*example.scores} <= {0, 1} for example in cell.examples)
    counts = [(0, 0) if is_graded else _counts(example) for example in cell.examples]
    entry = by_axis(key) | {"demand": demand.asks, "least": demand.least, "graded": is_graded}
    if demand.asks == "each":
        suspects = [*_suspects(demand, key, run, counts)]
        with_calls = sum(calls > 0 for calls, _ in counts)
        return entry | {"examples": with_calls, **({"suspects": suspects} if suspects else {})}
    k = int(demand.asks[5:])
    values = [_share(demand.asks, k, calls, passed) if calls >= k else None for calls, passed in counts]
    mean = mean_of(values, split.labels, is_clustered=split.is_clustered, is_unit=True)
    value = {name: mean[name] for name in ("mean", "se", "ci", "method", "n")}
    return entry | {"examples": mean["n"], "value": value}


def _share(asks: str, k: int, calls: int, passed: int) -> float:
    if "^" in asks:
        return math.comb(passed, k) / math.comb(calls, k)
    return 1 - math.comb(calls - passed, k) / math.comb(calls, k)


def _suspects(
    demand: _Demand, key: Key, run: JournaledRun, counts: list[tuple[int, int]]
) -> Iterator[Record]:
    """List the examples below their rate, and what their fresh calls show."""
    rate = Fraction(demand.least).limit_denominator(_FINEST)
    below = [index for index, (calls, passed) in enumerate(counts) if passed < rate * calls]
    most = max(_FEWEST_FRESH, _TIMES * run.axes.repeats)
    for index in below:
        line = run.splits[key[2]].lines[index]
        read = (run.confirmations.get((*key, line, number)) for number in range(1, most + 1))
        fresh = [record for record in read if record]
        made = [record for record in fresh if record["outcome"] != "skipped"]
        passed = sum(record.get("score") == 1 for record in made)
        is_decided = len(fresh) == most and bool(made)
        chance = _chance(passed, len(made), rate) if is_decided else None
        said: dict[str, Any] = {"made": len(fresh), "passed": passed, "calls": len(made)}
        yield {
            "line": line,
            "passed": counts[index][1],
            "calls": counts[index][0],
            **({"fresh": said} if fresh else {}),
            "chance": chance,
            "below": chance is None or chance <= 0.05 / len(below),
        }


def _chance(passed: int, calls: int, rate: Fraction) -> float:
    """Give the probability of so few passes, as a fraction until the end."""
    ways = (math.comb(calls, n) * rate**n * (1 - rate) ** (calls - n) for n in range(passed + 1))
    return float(sum(ways, Fraction(0)))
