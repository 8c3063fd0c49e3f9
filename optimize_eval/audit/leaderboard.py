"""Everything of a leaderboard that a decision hangs on, derived again: models, tasks, pairs."""

import json
import math
from collections import Counter
from collections.abc import Collection, Sequence
from itertools import combinations
from pathlib import Path
from typing import Any

from optimize_eval.audit import numerics
from optimize_eval.audit.compared import OF_ALL_ROWS, Told, correct, mean_of
from optimize_eval.audit.journaled import (
    CellRecords,
    JournaledRun,
    JournaledSplit,
    Values,
    are_ruled_apart,
    one_sided,
    told_of_model,
)
from optimize_eval.audit.said import passes_of, passes_over, repeats_of

_OF_D = (
    *("diff", "se", "ci", "p", "p_holm", "test", "n_pairs", "units", "comparisons", "dropped"),
    *("wins", "ties", "losses", "mark"),
)
_MOST_FLIPPED = 50

Pairs = list[numerics.Pair]


def pairs_of(models: Sequence[Told], sizes: Sequence[int], seed: int) -> list[Told]:
    couples = list(combinations(models, 2))
    may_flip = len(couples) <= _MOST_FLIPPED

    def against(before: Values, after: Values) -> Told:
        return _compare(_by_task(before, sizes), _by_task(after, sizes), seed, may_flip=may_flip)

    cells = {(a["adapter"], b["adapter"]): (a["records"], b["records"]) for a, b in couples}
    plain = {names: against(a.means, b.means) for names, (a, b) in cells.items()}
    whole = {
        names: against(*([numerics.average(one) for one in cell.whole] for cell in pair))
        for names, pair in cells.items()
        if are_ruled_apart(*pair)
    }
    over_all = correct(plain | whole, lambda _: 0)
    found = []
    for (a, b), d in correct(plain, lambda _: 0).items():
        told = {"a": a, "b": b, **{key: d[key] for key in _OF_D}, **_held(d, *cells[a, b], sizes, seed)}
        if (a, b) in whole:
            told["over_all_rows"] = {key: over_all[a, b][key] for key in OF_ALL_ROWS}
        found.append(told)
    return found


def _held(d: Told, a: CellRecords, b: CellRecords, sizes: Sequence[int], seed: int) -> Told:
    """Say what becomes of a difference with failures, and many skips of one side, as scores."""

    def holds(as_a: float, as_b: float) -> bool:
        before, after = a.counted_as(as_a, b) or [], b.counted_as(as_b, a) or []
        return _holds(d, _by_task(before, sizes), _by_task(after, sizes), seed)

    alone = one_sided(a, b)
    worst = (1.0, 0.0) if (d["diff"] or 0) > 0 else (0.0, 1.0)
    told = {"holds_at_lower_bound": holds(0.0, 0.0), "holds_at_worst": holds(*worst)}
    return told | ({"skipped_for_one": alone} if alone else {})


def _by_task(values: Values, sizes: Sequence[int]) -> list[Values]:
    given = iter(values)
    return [[next(given) for _ in range(size)] for size in sizes]


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
    over_tasks = fixed([[y - x for x, y in pairs] for pairs in there])
    units = _units(there, is_fixed=over_tasks is not None)
    moves = [y - x for x, y in units]
    told["units"] = len(moves)
    if not there:
        return told
    means = [sum(y - x for x, y in pairs) / len(pairs) for pairs in there]
    told["diff"] = sum(means) / len(means)
    plain = numerics.spread(moves, sum(moves) / len(moves), range(len(moves)))
    if plain is None:
        return told
    told["se"], told["df"] = over_tasks or (plain[0], plain[1] - 1)
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
        return numerics.mcnemar(sum(move > 0 for move in moves), sum(move < 0 for move in moves)), "mcnemar"
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


def win_rate(name: str, pairs: Sequence[Told]) -> float | None:
    rates = [
        (d["wins" if d["b"] == name else "losses"] + d["ties"] / 2) / d["n_pairs"]
        for d in pairs
        if name in {d["a"], d["b"]} and d["n_pairs"]
    ]
    return sum(rates) / len(rates) if rates else None


def fixed(tasks: Sequence[Sequence[float]]) -> tuple[float, float] | None:
    """Give the error of a mean over these tasks and its degrees of freedom; None where one has one score."""
    if not tasks or min(map(len, tasks)) <= 1:
        return None
    deviations = [0.0 if len(set(values)) == 1 else numerics.deviation([values]) or 0.0 for values in tasks]
    squares = [(sd * sd / len(values), len(values) - 1) for sd, values in zip(deviations, tasks, strict=True)]
    df = numerics.satterthwaite(squares)
    if math.isinf(df):  # nothing varies
        df = numerics.satterthwaite([(1 / len(values), len(values) - 1) for values in tasks])
    return math.sqrt(sum(square for square, _ in squares)) / len(tasks), df


_OF_S = ("se", "ci", "method", "n")
_SUMS = ("correct", "perfect", "total")
_FEWEST_TASKS = 10


class BoardTask:
    """One task: its name, its examples in a split, and how it is told."""

    def __init__(self, told: Told, split: JournaledSplit, places: slice) -> None:
        self.told, self.split, self.places, self.lines = told, split.name, places, split.lines[places]

    def of(self, values: Sequence[Any]) -> Sequence[Any]:
        return values[self.places]


def expected_boards(folder: Path, run: JournaledRun) -> dict[str, Told]:
    """Compute the board of a bench, and those of its rescorings, by their files.

    That of a scorer which the last command did not name is of an earlier one, and left out.
    """
    found = {}
    for path in sorted(folder.glob("leaderboard*.json")):
        stored = json.loads(path.read_bytes())
        scorer = path.name.removeprefix("leaderboard").removesuffix(".json")  # as in ".f1"
        if places := _places(stored, run, scorer):
            found[path.name] = _board(stored, run, places)
    return found


class _Place:
    """Where the scores of a model are: cells by split, of these evaluators."""

    def __init__(
        self, name: str, cells: dict[str, CellRecords], evaluators: set[str], *, changed: bool
    ) -> None:
        self.name, self.cells, self.evaluators, self.changed = name, cells, evaluators, changed


def _places(stored: Told, run: JournaledRun, scorer: str) -> list[_Place]:
    """Find the models in the order of the run; `scorer` is empty, or its name behind a dot."""
    names = [model["adapter"] for model in stored["models"]]
    if scorer and scorer[1:] not in run.evaluators:
        return []
    by_split = {
        split: scorer[1:] or next(one for one in run.evaluators if split in run.own_splits.get(one, ()))
        for split in run.splits
        if scorer or split not in _left_out(run)
    }
    return [_place(run, model, by_split) for model in run.task_models if model in names]


def _left_out(run: JournaledRun) -> dict[str, tuple[str, str]]:
    """Find the splits whose scores do not all lie from 0 to 1, or are checks: the scorer of each, and why."""
    own = {
        split: next((one for one in run.evaluators if split in run.own_splits.get(one, ())), "")
        for split in run.splits
    }
    reasons = {split: (one, _why_none(run, split, one)) for split, one in own.items() if one}
    return {split: (one, why) for split, (one, why) in reasons.items() if why}


def _why_none(run: JournaledRun, split: str, scorer: str) -> str:
    if scorer in run.checks:
        return "has the purpose qa"
    cells = [run.cells[scorer, model, split, run.candidates[0]] for model in run.task_models]
    return "gives no numbers from 0 to 1" if any(map(_is_off, cells)) else ""


def _is_off(cell: CellRecords) -> bool:
    scores = (score for scores in cell.scores for score in scores)
    return not cell.is_unit and (cell.unranked > 0 or any(not 0 <= score <= 1 for score in scores))


def _place(run: JournaledRun, model: str | None, by_split: dict[str, str]) -> _Place:
    cells = {split: run.cells[one, model, split, run.candidates[0]] for split, one in by_split.items()}
    evaluators = {*by_split.values()}
    is_changed = bool(evaluators.intersection(run.changed)) or model in run.changed_models
    return _Place(str(model), cells, evaluators, changed=is_changed)


def _board(stored: Told, run: JournaledRun, places: list[_Place]) -> Told:
    left_out = {split: one for split, one in _left_out(run).items() if split not in places[0].cells}
    tasks = list(_tasks(stored, run, left_out))
    models = [_model(run, place, tasks) for place in places]
    pairs = pairs_of(models, [len(values) for values in models[0]["values"]], run.seed)
    for model in models:
        model["win_rate"] = win_rate(model["adapter"], pairs)
    ranked = sorted(
        models, key=lambda one: (len(one["not_run"]), -(one["lower_bound"] or 0.0), one["failed"])
    )
    first = models[0]
    top = {key: first[key] for key in ("overall_score", "adapter", "tasks")}
    for model in models:
        del model["values"], model["records"]
    if left_out:
        top["left_out"] = [
            {"task": split, "evaluator": one, "why": why} for split, (one, why) in left_out.items()
        ]
    return {**top, "models": ranked, "pairs": pairs, "changed": [one.name for one in places if one.changed]}


def _tasks(stored: Told, run: JournaledRun, left_out: Collection[str]) -> list[BoardTask]:
    """Tell which examples each task has: a whole split, or one line where lines are tasks."""
    told = iter(stored["tasks"])
    found = []
    files = [file for file in stored["files"] if file["tasks"]]
    for file, split in zip(files, run.splits.values(), strict=True):
        if split.name in left_out:
            continue
        many = len(split.lines)
        places = [slice(n, n + 1) for n in range(many)] if file["dialect"] == "spec" else [slice(0, many)]
        found += [BoardTask(next(told), split, place) for place in places]
    return found


def _model(run: JournaledRun, place: _Place, tasks: Sequence[BoardTask]) -> Told:
    cells = place.cells
    entries = [_entry(task, cells[task.split]) for task in tasks]
    values = [list(task.of(cells[task.split].means)) for task in tasks]
    lows = [list(task.of(cells[task.split].with_failures(0.0) or [])) for task in tasks]
    kinds = sum((cell.kinds for cell in cells.values()), Counter[str]())
    scored, failed = sum(cell.scored for cell in cells.values()), kinds.total()
    overall = _overall(values)
    return {
        "adapter": place.name,
        "overall_score": overall["mean"],
        **{key: overall[key] for key in (*_OF_S, "df")},
        "on_tasks_like_these": _elsewhere(values),
        "lower_bound": _overall(lows)["mean"],
        **{key: sum(entry[key] for entry in entries) for key in _SUMS},
        **_if_any(skipped_examples=sum(entry.get("skipped_examples", 0) for entry in entries)),
        "scored": scored,
        "failed": failed,
        **_if_any(skipped=sum(cell.skipped for cell in cells.values())),
        "coverage": scored / (scored + failed) if scored + failed else 1.0,
        "timeouts": kinds["timeout"],
        "errors": dict(kinds),
        **told_of_model(_replies(run, place)),
        "not_run": [
            entry["task"]
            for entry, task in zip(entries, tasks, strict=True)
            if entry["n"] <= (applying := _applying(task, cells[task.split])) / 2 and applying
        ],
        "categories": _categories(values, tasks),
        **_passes(tasks, cells),
        "tasks": entries,
        "values": values,
        "records": _joined([cells[split] for split in dict.fromkeys(task.split for task in tasks)]),
    }


def _joined(cells: Sequence[CellRecords]) -> CellRecords:
    """Put a model's cells one after the other; scores on a board are from 0 to 1."""
    return CellRecords(
        scores=[score for cell in cells for score in cell.scores],
        failures=[failure if cell.is_unit else [] for cell in cells for failure in cell.failures],
        skips=[skip for cell in cells for skip in cell.skips],
        is_unit=True,
        whole=[one for cell in cells for one in cell.whole],
        ruled=[one for cell in cells for one in cell.ruled],
        by_outcome=any(cell.by_outcome for cell in cells),
    )


def _replies(run: JournaledRun, place: _Place) -> list[Told]:
    return [
        reply
        for reply in run.replies
        if reply["evaluator"] in place.evaluators and reply["task_model"] in {None, place.name}
    ]


def _entry(task: BoardTask, cell: CellRecords) -> Told:
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
        "lower_bound": numerics.average([one for one in lows if one is not None]),
        "scored": sum(map(len, task.of(cell.scores))),
        "failed": kinds.total(),
        **_if_any(
            skipped=sum(map(len, task.of(cell.skips))), skipped_examples=len(values) - _applying(task, cell)
        ),
        "timeouts": kinds["timeout"],
        "errors": dict(kinds),
    }
    labels = range(len(values))
    if passes := passes_of(cell, labels, is_clustered=False, places=task.places):
        told["passes"] = passes
    if "per_example" in task.told:
        parts = zip(task.lines, values, task.of(cell.predictions), strict=True)
        told["per_example"] = [{"line": line, "score": one} | more for line, one, more in parts]
    return told


def _passes(tasks: Sequence[BoardTask], cells: dict[str, CellRecords]) -> Told:
    """Estimate over the tasks that have such scores how often any of k repeats passes, and all do."""

    def mean(values: Sequence[Values]) -> Told:
        overall = _overall(values)
        others = _elsewhere(values) if overall["ci"] is None else None
        told = {key: (others or overall)[key] for key in ("se", "ci", "method")}
        return {"mean": overall["mean"], **told, "n": overall["n"], "tasks": len(values)}

    passes = passes_over([repeats_of(cells[task.split], task.places) for task in tasks], mean)
    return {"passes": passes} if passes else {}


def _if_any(**counts: int) -> Told:
    return {name: many for name, many in counts.items() if many}


def _applying(task: BoardTask, cell: CellRecords) -> int:
    """Count the examples of a task that were not skipped in every call."""
    parts = zip(task.of(cell.scores), task.of(cell.failures), task.of(cell.skips), strict=True)
    return sum(bool(scores or failures or not skips) for scores, failures, skips in parts)


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
    found = fixed(there)
    if found is None or told["mean"] is None:
        return told
    se, df = found
    worth = len(there) ** 2 / sum(1 / len(values) for values in there)
    ci = numerics.wilson_effective(told["mean"], se, round(worth), df)
    return told | {"se": se, "df": df, "ci": ci, "method": "wilson_effective"}


def _elsewhere(tasks: Sequence[Values]) -> Told | None:
    centres: Values = [numerics.total(values) / len(values) for values in _known(tasks)]
    if len(centres) < _FEWEST_TASKS:
        return None
    s = mean_of(centres, range(len(centres)), is_clustered=False, is_unit=True)
    return {"se": s["se"], "ci": s["ci"], "method": s["method"], "tasks": len(centres)}


def _categories(values: Sequence[Values], tasks: Sequence[BoardTask]) -> list[Told]:
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
