"""Everything of a leaderboard that a decision hangs on, in its shape: models over tasks that count alike."""

import json
import math
from collections import Counter
from collections.abc import Sequence
from itertools import combinations
from pathlib import Path
from typing import Any

from optimize_eval.findings.rederive import numerics
from optimize_eval.findings.rederive.compared import Told, correct, mean_of
from optimize_eval.findings.rederive.journal import Cell, Run, Values
from optimize_eval.findings.rederive.replies import told_of_model

_OF_S = ("se", "ci", "method", "n")
_OF_D = (
    *("diff", "se", "ci", "p", "p_holm", "test", "n_pairs", "units", "comparisons", "dropped"),
    *("wins", "ties", "losses", "mark"),
)
_FEWEST_TASKS = 10
_MOST_FLIPPED = 50

Pairs = list[numerics.Pair]


class Task:
    """One task: its name, its examples in a split, and how it is told."""

    def __init__(self, told: Told, split: str, places: slice) -> None:
        self.told, self.split, self.places = told, split, places

    def of(self, values: Sequence[Any]) -> Sequence[Any]:
        return values[self.places]


def expected_boards(folder: Path, run: Run) -> dict[str, Told]:
    """Compute the board of a bench, and those of its rescorings, by their files."""
    found = {}
    for path in sorted(folder.glob("leaderboard*.json")):
        stored = json.loads(path.read_bytes())
        scorer = path.name.removeprefix("leaderboard").removesuffix(".json")  # as in ".f1"
        found[path.name] = _board(stored, run, scorer)
    return found


def _board(stored: Told, run: Run, scorer: str) -> Told:
    tasks = list(_tasks(stored, run))
    names = [model["adapter"] for model in stored["models"]]
    there = [name for name in run.evaluators if any(name == f"{one}{scorer}" for one in names)]
    models = [_model(run, name, name.removesuffix(scorer) if scorer else name, tasks) for name in there]
    pairs = _pairs(models, run.seed)
    for model in models:
        model["win_rate"] = _win_rate(model["adapter"], pairs)
    ranked = sorted(
        models, key=lambda one: (len(one["not_run"]), -(one["lower_bound"] or 0.0), one["failed"])
    )
    first = models[0]
    top = {key: first[key] for key in ("overall_score", "adapter", "tasks")}
    for model in models:
        del model["values"], model["lows"], model["highs"]
    return {**top, "models": ranked, "pairs": pairs, "changed": [n for n in there if n in run.changed]}


def _tasks(stored: Told, run: Run) -> list[Task]:
    """Tell which examples each task has: a whole split, or one line where lines are tasks."""
    told = iter(stored["tasks"])
    found = []
    files = [file for file in stored["files"] if file["tasks"]]
    for file, split in zip(files, run.splits.values(), strict=True):
        many = len(split.lines)
        places = [slice(n, n + 1) for n in range(many)] if file["dialect"] == "spec" else [slice(0, many)]
        found += [Task(next(told), split.name, place) for place in places]
    return found


def _model(run: Run, evaluator: str, name: str, tasks: Sequence[Task]) -> Told:
    cells = {split: run.cells[evaluator, None, split, run.candidates[0]] for split in run.splits}
    entries = [_entry(task, cells[task.split]) for task in tasks]
    values = [list(task.of(cells[task.split].means)) for task in tasks]
    lows, highs = (
        [list(task.of(cells[task.split].with_failures(end) or [])) for task in tasks] for end in (0.0, 1.0)
    )
    kinds = sum((cell.kinds for cell in cells.values()), Counter[str]())
    scored, failed = sum(cell.scored for cell in cells.values()), kinds.total()
    overall = _overall(values)
    return {
        "adapter": name,
        "overall_score": overall["mean"],
        **{key: overall[key] for key in (*_OF_S, "df")},
        "on_tasks_like_these": _elsewhere(values),
        "lower_bound": _overall(lows)["mean"],
        **{key: sum(entry[key] for entry in entries) for key in ("correct", "perfect", "total")},
        "scored": scored,
        "failed": failed,
        "coverage": scored / (scored + failed),
        "timeouts": kinds["timeout"],
        "errors": dict(kinds),
        **told_of_model(run.replies, evaluator),
        "not_run": [one["task"] for one in entries if one["n"] <= one["total"] / 2],
        "categories": _categories(values, tasks),
        "tasks": entries,
        "values": values,
        "lows": lows,
        "highs": highs,
    }


def _entry(task: Task, cell: Cell) -> Told:
    values: Values = list(task.of(cell.means))
    there = [value for value in values if value is not None]
    s = mean_of(values, range(len(values)), is_clustered=False, is_unit=True)
    kinds = Counter(kind for kinds in task.of(cell.failures) for kind in kinds)
    lows = list(task.of(cell.with_failures(0.0) or cell.means))
    told = {
        "task": task.told["task"],
        "score": s["mean"],
        **{key: s[key] for key in _OF_S},
        "correct": round(numerics.total(there)),
        "perfect": there.count(1.0),
        "total": len(values),
        "lower_bound": None if None in lows else numerics.average([one for one in lows if one is not None]),
        "scored": sum(map(len, task.of(cell.scores))),
        "failed": kinds.total(),
        "timeouts": kinds["timeout"],
        "errors": dict(kinds),
    }
    if "per_example" in task.told:
        told["per_example"] = [
            {"score": one} | more for one, more in zip(values, task.of(cell.predictions), strict=True)
        ]
    return told


def _known(tasks: Sequence[Values]) -> list[list[float]]:
    found = [[value for value in values if value is not None] for values in tasks]
    return [values for values in found if values]


def _overall(tasks: Sequence[Values]) -> Told:
    """Average over tasks that have a score; the error is that of each task's own mean."""
    there = _known(tasks)
    centres = [numerics.total(values) / len(values) for values in there]
    told: Told = {
        "mean": numerics.average(centres),
        **dict.fromkeys(_OF_S),
        "n": sum(map(len, there)),
        "df": None,
    }
    found = _fixed(there)
    if found is None or told["mean"] is None:
        return told
    se, df = found
    worth = len(there) ** 2 / sum(1 / len(values) for values in there)
    ci = numerics.wilson_effective(told["mean"], se, round(worth), df)
    return told | {"se": se, "df": df, "ci": ci, "method": "wilson_effective"}


def _fixed(tasks: Sequence[Sequence[float]]) -> tuple[float, float] | None:
    """Give the error of a mean over these tasks and its degrees of freedom; None where one has one score."""
    if not tasks or min(map(len, tasks)) <= 1:
        return None
    deviations = [0.0 if len(set(values)) == 1 else numerics.deviation([values]) or 0.0 for values in tasks]
    squares = [(sd * sd / len(values), len(values) - 1) for sd, values in zip(deviations, tasks, strict=True)]
    df = numerics.satterthwaite(squares)
    if math.isinf(df):  # nothing varies
        df = numerics.satterthwaite([(1 / len(values), len(values) - 1) for values in tasks])
    return math.sqrt(sum(square for square, _ in squares)) / len(tasks), df


def _elsewhere(tasks: Sequence[Values]) -> Told | None:
    centres: Values = [numerics.total(values) / len(values) for values in _known(tasks)]
    if len(centres) < _FEWEST_TASKS:
        return None
    s = mean_of(centres, range(len(centres)), is_clustered=False, is_unit=True)
    return {"se": s["se"], "ci": s["ci"], "method": s["method"], "tasks": len(centres)}


def _categories(values: Sequence[Values], tasks: Sequence[Task]) -> list[Told]:
    labels = [task.told.get("category") for task in tasks]
    found = []
    for label in dict.fromkeys(one for one in labels if one):
        own = [mine for mine, other in zip(values, labels, strict=True) if other == label]
        overall = _overall(own)
        spread = {key: overall[key] for key in _OF_S}
        found.append(
            {
                "category": label,
                "score": overall["mean"],
                **spread,
                "on_tasks_like_these": _elsewhere(own),
                "tasks": len(own),
            }
        )
    return found


def _pairs(models: Sequence[Told], seed: int) -> list[Told]:
    couples = list(combinations(models, 2))
    may_flip = len(couples) <= _MOST_FLIPPED
    found = {
        (a["adapter"], b["adapter"]): _compare(a["values"], b["values"], seed, may_flip=may_flip)
        for a, b in couples
    }
    return [
        {
            "a": a["adapter"],
            "b": b["adapter"],
            **{key: d[key] for key in _OF_D},
            "holds_at_lower_bound": _holds(d, a["lows"], b["lows"], seed),
            "holds_at_worst": _holds(d, a["highs"], b["lows"], seed)
            if (d["diff"] or 0) > 0
            else _holds(d, a["lows"], b["highs"], seed),
        }
        for (a, b), d in zip(couples, correct(found, lambda _: 0).values(), strict=True)
    ]


def _compare(a: Sequence[Values], b: Sequence[Values], seed: int, *, may_flip: bool) -> Told:
    tasks: list[Pairs] = [
        [(x, y) for x, y in zip(mine, other, strict=True) if x is not None and y is not None]
        for mine, other in zip(a, b, strict=True)
    ]
    there = [pairs for pairs in tasks if pairs]
    d = [y - x for pairs in there for x, y in pairs]
    told: Told = {
        "n_pairs": len(d),
        "dropped": sum(map(len, a)) - len(d),
        "wins": sum(one > 0 for one in d),
        "ties": sum(one == 0 for one in d),
        "losses": sum(one < 0 for one in d),
        **dict.fromkeys(("diff", "se", "ci", "df", "p", "p_holm", "test")),
        "comparisons": 1,
    }
    fixed = _fixed([[y - x for x, y in pairs] for pairs in there])
    units = _units(there, is_fixed=fixed is not None)
    moves = [y - x for x, y in units]
    told["units"] = len(moves)
    if not there:
        return told
    means = [sum(y - x for x, y in pairs) / len(pairs) for pairs in there]
    told["diff"] = sum(means) / len(means)
    plain = numerics.spread(moves, sum(moves) / len(moves), range(len(moves)))
    if plain is None:
        return told
    told["se"], told["df"] = fixed or (plain[0], plain[1] - 1)
    ci = numerics.around(told["diff"], told["se"], told["df"])
    told["ci"] = ci and (max(-1.0, ci[0]), min(1.0, ci[1]))  # two scores from 0 to 1 differ by no more
    told["p"], told["test"] = _test(units, plain[0], seed, may_flip=may_flip)
    return told


def _units(tasks: Sequence[Pairs], *, is_fixed: bool) -> Pairs:
    """Give what is flipped: pairs by their weight in their task, or else whole tasks."""
    if not is_fixed:
        return [
            (
                numerics.total(x for x, _ in pairs) / len(pairs),
                numerics.total(y for _, y in pairs) / len(pairs),
            )
            for pairs in tasks
        ]
    is_even = len({len(pairs) for pairs in tasks}) == 1
    return [(x, y) if is_even else (x / len(pairs), y / len(pairs)) for pairs in tasks for x, y in pairs]


def _test(units: Pairs, se: float, seed: int, *, may_flip: bool) -> tuple[float, str]:
    moves = [y - x for x, y in units]
    if {score for pair in units for score in pair} <= {0, 1}:
        return numerics.mcnemar(sum(one > 0 for one in moves), sum(one < 0 for one in moves)), "mcnemar"
    mean = sum(moves) / len(moves)
    if not se:
        return (2.0 ** (1 - len(moves)) if mean else 1.0), "flip_exact"
    if len(moves) <= 14:  # noqa: PLR2004
        return numerics.flips(moves, seed), "flip_exact"
    if len(moves) <= 1000 and may_flip:  # noqa: PLR2004
        return numerics.flips(moves, seed), "flip"
    return numerics.two_sided(mean / se, len(moves) - 1), "t"


def _holds(d: Told, a: Sequence[Values], b: Sequence[Values], seed: int) -> bool:
    """Return True if a difference goes the same way, and as surely, with failures as scores."""
    other = _compare(a, b, seed, may_flip=False)
    if d["p"] is None or other["p"] is None:
        return False
    return _sign(d) in {0, _sign(other)}


def _sign(d: Told) -> int:
    if d["ci"] is None:
        return 0 if d["p"] >= numerics.ALPHA else int(d["diff"] > 0) - int(d["diff"] < 0)
    return int(d["ci"][0] > 0) - int(d["ci"][1] < 0)


def _win_rate(name: str, pairs: Sequence[Told]) -> float | None:
    rates = [
        (d["wins" if d["b"] == name else "losses"] + d["ties"] / 2) / d["n_pairs"]
        for d in pairs
        if name in {d["a"], d["b"]} and d["n_pairs"]
    ]
    return sum(rates) / len(rates) if rates else None
