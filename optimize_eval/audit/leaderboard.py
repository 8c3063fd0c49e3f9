"""Everything of a leaderboard that a decision hangs on, derived again: models, tasks, pairs."""

import json
import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations
from pathlib import Path

from optimize_eval.audit import numerics
from optimize_eval.audit.axes import Record
from optimize_eval.audit.compared import (
    OF_ALL_ROWS,
    OF_D,
    correct,
    count_moves,
    mean_of,
    of_all_rows,
    p_value_of,
)
from optimize_eval.audit.journaled import (
    CellRecords,
    ExampleRecords,
    JournaledRun,
    JournaledSplit,
    Values,
    are_ruled_apart,
    one_sided,
)
from optimize_eval.audit.said import (
    OF_MEAN,
    passes_of,
    passes_over,
    repeats_of,
    replies_of,
    replies_of_model,
)

_MOST_FLIPPED = 50  # pairs of models
_FEWEST_TASKS = 10
_SUMS = ("correct", "perfect", "total")

Pairs = list[numerics.Pair]


class BoardTask:
    """One task: its name, its examples in a split, and how it is told."""

    def __init__(self, told: Record, split: JournaledSplit, places: slice) -> None:
        self.told, self.split, self.places, self.lines = told, split.name, places, split.lines[places]


@dataclass
class BoardModel:
    """One model: its cells by split, the evaluators that they are of, and what the tasks are."""

    name: str | None
    cells: dict[str, CellRecords]
    evaluators: set[str]
    tasks: list[BoardTask]
    is_changed: bool

    @property
    def sizes(self) -> list[int]:
        return [len(task.lines) for task in self.tasks]

    @property
    def parts(self) -> list[CellRecords]:
        """Give the records of each task."""
        cells = [(self.cells[task.split], task.places) for task in self.tasks]
        return [CellRecords(cell.examples[places], cell.is_unit, cell.repeats) for cell, places in cells]

    @cached_property
    def records(self) -> CellRecords:
        """Put the cells one after the other; scores on a board are from 0 to 1."""
        cells = [self.cells[split] for split in dict.fromkeys(task.split for task in self.tasks)]
        return CellRecords(
            [
                example if cell.is_unit else ExampleRecords(example.records, has_failures=False)
                for cell in cells
                for example in cell.examples
            ],
            is_unit=True,
        )


def expected_boards(folder: Path, run: JournaledRun) -> dict[str, Record]:
    """Compute the board of a bench, and those of its rescorings, by their files.

    That of a scorer which the last command did not name is of an earlier one, and left out.
    """
    boards = {}
    for path in sorted(folder.glob("leaderboard*.json")):
        stored = json.loads(path.read_bytes())
        scorer = path.name.removeprefix("leaderboard").removesuffix(".json")[1:]  # as in ".f1"
        names = {model["adapter"] for model in stored["models"]}
        if names.intersection(run.axes.task_models) and (not scorer or scorer in run.evaluators):
            boards[path.name] = _board(stored, run, scorer)
    return boards


def _board(stored: Record, run: JournaledRun, scorer: str) -> Record:
    left_out = {} if scorer else _left_out(run)
    scorers = {split: scorer or _own(run, split) for split in run.splits if split not in left_out}
    tasks = _tasks(stored, run, scorers)
    names = [model["adapter"] for model in stored["models"]]
    models = [_model(run, name, scorers, tasks) for name in run.axes.task_models if name in names]
    pairs, replies = pairs_of(models, run.axes.seed), replies_of(run)
    rows = [_row(model, replies) | {"win_rate": win_rate(str(model.name), pairs)} for model in models]
    top = {key: rows[0][key] for key in ("overall_score", "adapter", "tasks")}
    if left_out:
        top["left_out"] = [{"task": split, **why} for split, why in left_out.items()]
    return {
        **top,
        "models": sorted(
            rows, key=lambda row: (len(row["not_run"]), -(row["lower_bound"] or 0.0), row["failed"])
        ),
        "pairs": pairs,
        "changed": [str(model.name) for model in models if model.is_changed],
    }


def _own(run: JournaledRun, split: str) -> str:
    """Name the first scorer that a split has."""
    return next((name for name in run.evaluators if split in run.own_splits.get(name, ())), "")


def _left_out(run: JournaledRun) -> dict[str, Record]:
    """Find the splits whose scores do not all lie from 0 to 1, or are checks: the scorer of each, and why."""
    own = {split: _own(run, split) for split in run.splits}
    reasons = {split: {"evaluator": name, "why": _why_none(run, split, name)} for split, name in own.items()}
    return {split: reason for split, reason in reasons.items() if reason["why"]}


def _why_none(run: JournaledRun, split: str, scorer: str) -> str:
    scorers = [entry for task in run.axes.settings.get("tasks", ()) for entry in task["scorers"]]
    if scorer in {entry["evaluator"] for entry in scorers if entry.get("purpose") == "qa"}:
        return "has the purpose qa"
    keys = [(scorer, model, split, run.candidates[0]) for model in run.axes.task_models]
    return "gives no numbers from 0 to 1" if scorer and any(_is_off(run.cells[key]) for key in keys) else ""


def _is_off(cell: CellRecords) -> bool:
    scores = (score for example in cell.examples for score in example.scores)
    return not cell.is_unit and (cell.unranked > 0 or any(not 0 <= score <= 1 for score in scores))


def _tasks(stored: Record, run: JournaledRun, scorers: dict[str, str]) -> list[BoardTask]:
    """Tell which examples each task has: a whole split, or one line where lines are tasks."""
    told_tasks = iter(stored["tasks"])
    tasks = []
    files = [file for file in stored["files"] if file["tasks"]]
    for file, split in zip(files, run.splits.values(), strict=True):
        if split.name in scorers:
            every = len(split.lines)
            each = [slice(at, at + 1) for at in range(every)]
            parts = each if file["dialect"] == "spec" else [slice(0, every)]
            tasks += [BoardTask(next(told_tasks), split, places) for places in parts]
    return tasks


def _model(
    run: JournaledRun, name: str | None, scorers: dict[str, str], tasks: list[BoardTask]
) -> BoardModel:
    cells = {split: run.cells[scorer, name, split, run.candidates[0]] for split, scorer in scorers.items()}
    evaluators = {*scorers.values()}
    is_changed = bool(evaluators.intersection(run.changed)) or name in run.changed_models
    return BoardModel(name, cells, evaluators, tasks, is_changed)


def _row(model: BoardModel, replies: list[Record]) -> Record:
    parts, cells = model.parts, [*model.cells.values()]
    entries = [_entry(task, part) for task, part in zip(model.tasks, parts, strict=True)]
    values = [part.means for part in parts]
    lows = {split: cell.with_failures(0.0) or [] for split, cell in model.cells.items()}
    whole = CellRecords([example for cell in cells for example in cell.examples], is_unit=True)
    overall = _overall(values)
    mine = [
        reply
        for reply in replies
        if reply["evaluator"] in model.evaluators and reply["task_model"] in {None, str(model.name)}
    ]
    return {
        "adapter": str(model.name),
        "overall_score": overall["mean"],
        **{key: overall[key] for key in (*OF_MEAN, "df")},
        "on_tasks_like_these": _elsewhere(values),
        "lower_bound": _overall([lows[task.split][task.places] for task in model.tasks])["mean"],
        **{key: sum(entry[key] for entry in entries) for key in _SUMS},
        **_if_any(skipped_examples=sum(entry.get("skipped_examples", 0) for entry in entries)),
        **_outcomes(whole, whole.scored),
        "coverage": 1.0 if whole.coverage is None else whole.coverage,
        **replies_of_model(mine),
        "not_run": [
            entry["task"]
            for entry, part in zip(entries, parts, strict=True)
            if entry["n"] <= (applying := _applying(part)) / 2 and applying
        ],
        "categories": _categories(values, model.tasks),
        **_passes(parts),
        "tasks": entries,
    }


def _outcomes(cell: CellRecords, scored: int) -> Record:
    return {
        "scored": scored,
        "failed": cell.failed,
        **_if_any(skipped=cell.skipped),
        "timeouts": cell.kinds["timeout"],
        "errors": dict(cell.kinds),
    }


def _entry(task: BoardTask, part: CellRecords) -> Record:
    values, labels = part.means, range(len(part.examples))
    known = [value for value in values if value is not None]
    mean = mean_of(values, labels, is_clustered=False, is_unit=True)
    lows = [low for low in part.with_failures(0.0) or values if low is not None]
    entry = {
        "task": task.told["task"],
        "score": mean["mean"],
        **{key: mean[key] for key in OF_MEAN},
        "correct": round(numerics.total(known)),
        "perfect": known.count(1.0),
        "total": len(values),
        "lower_bound": numerics.average(lows),
        **_outcomes(part, part.scored - part.unranked),
        **_if_any(skipped_examples=len(values) - _applying(part)),
    }
    if passes := passes_of(part, labels, is_clustered=False):
        entry["passes"] = passes
    if "per_example" in task.told:
        rows = zip(task.lines, values, part.examples, strict=True)
        entry["per_example"] = [
            {"line": line, "score": value, **_predictions(example)} for line, value, example in rows
        ]
    return entry


def _predictions(example: ExampleRecords) -> Record:
    """Give what a board tells of repeats, their scores; where some failed, which ones is not known."""
    if len(example.scores) < 2 or example.failures or example.skips:  # noqa: PLR2004  one is no repeat
        return {}
    return {"predictions": [{"score": score} for score in example.scores]}


def _passes(parts: Sequence[CellRecords]) -> Record:
    """Estimate over the tasks that have such scores how often any of k repeats passes, and all do."""

    def mean(values: Sequence[Values]) -> Record:
        overall = _overall(values)
        others = _elsewhere(values) if overall["ci"] is None else None
        spread = {key: (others or overall)[key] for key in ("se", "ci", "method")}
        return {"mean": overall["mean"], **spread, "n": overall["n"], "tasks": len(values)}

    passes = passes_over([repeats_of(part) for part in parts], mean)
    return {"passes": passes} if passes else {}


def _if_any(**counts: int) -> Record:
    return {name: many for name, many in counts.items() if many}


def _applying(cell: CellRecords) -> int:
    """Count the examples that were not skipped in every call."""
    return sum(bool(row.scores or row.failures or not row.skips) for row in cell.examples)


def _known_scores(tasks: Sequence[Values]) -> list[list[float]]:
    scores = [[value for value in values if value is not None] for values in tasks]
    return [values for values in scores if values]


def _overall(tasks: Sequence[Values]) -> Record:
    """Average over tasks that have a score; the error is that of each task's own mean."""
    there = _known_scores(tasks)
    centres = [numerics.total(values) / len(values) for values in there]
    overall: Record = {
        "mean": numerics.average(centres),
        **dict.fromkeys(OF_MEAN),
        "n": sum(map(len, there)),
        "df": None,
    }
    error = _error_over(there)
    if error is None or overall["mean"] is None:
        return overall
    se, df = error
    worth = len(there) ** 2 / sum(1 / len(values) for values in there)
    ci = numerics.wilson_effective(overall["mean"], se, round(worth), df)
    return overall | {"se": se, "df": df, "ci": ci, "method": "wilson_effective"}


def _error_over(tasks: Sequence[Sequence[float]]) -> tuple[float, float] | None:
    """Give the error of a mean over these tasks and its degrees of freedom; None where one has one score."""
    if not tasks or min(map(len, tasks)) <= 1:
        return None
    deviations = [0.0 if len(set(values)) == 1 else numerics.deviation([values]) or 0.0 for values in tasks]
    squares = [(sd * sd / len(values), len(values) - 1) for sd, values in zip(deviations, tasks, strict=True)]
    df = numerics.satterthwaite(squares)
    if math.isinf(df):  # nothing varies
        df = numerics.satterthwaite([(1 / len(values), len(values) - 1) for values in tasks])
    return math.sqrt(sum(square for square, _ in squares)) / len(tasks), df


def _elsewhere(tasks: Sequence[Values]) -> Record | None:
    centres: Values = [numerics.total(values) / len(values) for values in _known_scores(tasks)]
    if len(centres) < _FEWEST_TASKS:
        return None
    mean = mean_of(centres, range(len(centres)), is_clustered=False, is_unit=True)
    return {"se": mean["se"], "ci": mean["ci"], "method": mean["method"], "tasks": len(centres)}


def _categories(values: Sequence[Values], tasks: Sequence[BoardTask]) -> list[Record]:
    labels = [task.told.get("category") for task in tasks]
    categories = []
    for label in dict.fromkeys(filter(None, labels)):
        own = [mine for mine, other in zip(values, labels, strict=True) if other == label]
        overall = _overall(own)
        categories.append(
            {
                "category": label,
                "score": overall["mean"],
                **{key: overall[key] for key in OF_MEAN},
                "on_tasks_like_these": _elsewhere(own),
                "tasks": len(own),
            }
        )
    return categories


def pairs_of(models: Sequence[BoardModel], seed: int) -> list[Record]:
    couples = list(combinations(models, 2))
    may_flip = len(couples) <= _MOST_FLIPPED
    names = [(str(a.name), str(b.name)) for a, b in couples]

    def against(a: Values, b: Values, sizes: Sequence[int]) -> Record:
        return _compare(_by_task(a, sizes), _by_task(b, sizes), seed, may_flip=may_flip)

    plain = {
        name: against(a.records.means, b.records.means, a.sizes)
        for name, (a, b) in zip(names, couples, strict=True)
    }
    whole = {
        name: against(*of_all_rows(a.records, b.records), a.sizes)
        for name, (a, b) in zip(names, couples, strict=True)
        if are_ruled_apart(a.records, b.records)
    }
    over_all, corrected = correct(plain | whole, lambda _: 0), correct(plain, lambda _: 0)
    pairs = []
    for (a, b), name in zip(couples, names, strict=True):
        numbers = {key: corrected[name][key] for key in OF_D if key != "at_most"}
        pair = {"a": name[0], "b": name[1], **numbers, **_hold_against_failures(corrected[name], a, b, seed)}
        if name in whole:
            pair["over_all_rows"] = {key: over_all[name][key] for key in OF_ALL_ROWS}
        pairs.append(pair)
    return pairs


def _hold_against_failures(d: Record, a: BoardModel, b: BoardModel, seed: int) -> Record:
    """Say what becomes of a difference with failures, and many skips of one side, as scores."""

    def holds(as_a: float, as_b: float) -> bool:
        before = a.records.counted_as(as_a, b.records) or []
        after = b.records.counted_as(as_b, a.records) or []
        return _holds(d, _by_task(before, a.sizes), _by_task(after, a.sizes), seed)

    alone = one_sided(a.records, b.records)
    worst = (1.0, 0.0) if (d["diff"] or 0) > 0 else (0.0, 1.0)
    held = {"holds_at_lower_bound": holds(0.0, 0.0), "holds_at_worst": holds(*worst)}
    return held | ({"skipped_for_one": alone} if alone else {})


def _by_task(values: Values, sizes: Sequence[int]) -> list[Values]:
    left = iter(values)
    return [[next(left) for _ in range(size)] for size in sizes]


def _compare(a: Sequence[Values], b: Sequence[Values], seed: int, *, may_flip: bool) -> Record:
    tasks: list[Pairs] = [
        [(x, y) for x, y in zip(mine, other, strict=True) if x is not None and y is not None]
        for mine, other in zip(a, b, strict=True)
    ]
    there = [pairs for pairs in tasks if pairs]
    every = [pair for pairs in there for pair in pairs]
    d = count_moves(every, sum(map(len, a)) - len(every))
    over_tasks = _error_over([[y - x for x, y in pairs] for pairs in there])
    units = _units(there, is_fixed=over_tasks is not None)
    moves = [y - x for x, y in units]
    d |= {"units": len(moves), "diff": None}
    if not there:
        return d
    means = [sum(y - x for x, y in pairs) / len(pairs) for pairs in there]
    d["diff"] = sum(means) / len(means)
    mean = sum(moves) / len(moves)
    plain = numerics.spread(moves, mean, range(len(moves)))
    if plain is None:
        return d
    d["se"], d["df"] = over_tasks or (plain[0], plain[1] - 1)
    ci = numerics.around(d["diff"], d["se"], d["df"])
    d["ci"] = ci and (max(-1.0, ci[0]), min(1.0, ci[1]))  # two scores from 0 to 1 differ by no more
    if {score for pair in units for score in pair} <= {0, 1}:
        wins, losses = sum(move > 0 for move in moves), sum(move < 0 for move in moves)
        return d | {"p": numerics.mcnemar(wins, losses), "test": "mcnemar"}
    d["p"], d["test"] = p_value_of(moves, mean, plain[0], seed, may_flip=may_flip)
    return d


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


def _holds(d: Record, a: Sequence[Values], b: Sequence[Values], seed: int) -> bool:
    """Return True if a difference goes the same way, and as surely, with failures as scores."""
    other = _compare(a, b, seed, may_flip=False)
    if d["p"] is None or other["p"] is None:
        return False
    return _sign(d) in {0, _sign(other)}


def _sign(d: Record) -> int:
    if d["ci"] is None:
        return 0 if d["p"] >= numerics.ALPHA else int(d["diff"] > 0) - int(d["diff"] < 0)
    return int(d["ci"][0] > 0) - int(d["ci"][1] < 0)


def win_rate(name: str, pairs: Sequence[Record]) -> float | None:
    rates = [
        (d["wins" if d["b"] == name else "losses"] + d["ties"] / 2) / d["n_pairs"]
        for d in pairs
        if name in {d["a"], d["b"]} and d["n_pairs"]
    ]
    return sum(rates) / len(rates) if rates else None
