"""A run of task files → `leaderboard.v1`: models in their order, and compared in pairs.

Failures stay apart: a model that did not run all tasks never stands above one that did, and a failure never
lifts a model. A model's own numbers are leaderboard_models', what it all says in words leaderboard_verdict's.
"""

import math
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from itertools import accumulate, combinations
from typing import Any

from optimize_eval.findings.board.by_task import difference_over
from optimize_eval.findings.board.models import Counted, Model, Values, model_of, read_split, tasks_of
from optimize_eval.findings.board.stored import SCHEMA
from optimize_eval.findings.board.verdict import judge
from optimize_eval.findings.documents import to_dict
from optimize_eval.findings.replies import doubts_of_models
from optimize_eval.findings.shaping import score_difference
from optimize_eval.findings.summary.compare import MOST_FLIPPED_PAIRS, Comparison, corrected
from optimize_eval.statistics.families import ALPHA
from optimize_eval.statistics.paired import PairedDifference
from optimize_eval.store.layout import Layout
from optimize_eval.store.stored import StoredRun
from optimize_eval.tasks import TaskFile


def board_of(
    run: StoredRun,
    files: Sequence[TaskFile],
    models: Mapping[str, str],
    *,
    settings: Mapping[str, Any],
    metric: str | None = None,
    include_per_example: bool = False,
) -> dict[str, Any]:
    """Make the leaderboard of evaluators that stand for models, with nothing owed; splits are files.

    `models` says by evaluator what a model is called; `metric` names who scored in place of a task's metric.
    """
    layout = run.layout
    tasks = list(tasks_of(files, layout))
    found = []
    with run.reader() as reader:
        for name, called in models.items():
            cells = [cell for cell in layout.cells if cell.evaluator == name]
            splits = {
                cell.split: read_split(reader, cell, layout, is_told=include_per_example) for cell in cells
            }
            found.append(model_of(called, tasks, splits, metric, is_told=include_per_example))
    pairs = _pairs(found, tasks, layout.seed)
    for model in found:
        model.told["win_rate"] = _win_rate(model.told["adapter"], pairs)
    first = found[0].told
    changed = [called for name, called in models.items() if name in run.ledger.changed]
    ranked = [model.told for model in sorted(found, key=_standing)]
    return {
        "schema": SCHEMA,
        "timestamp": datetime.now(UTC).isoformat(timespec="seconds"),
        "overall_score": first["overall_score"],
        "adapter": first["adapter"],
        "tasks": first["tasks"],
        "verdict": judge(ranked, pairs, changed, doubts=list(doubts_of_models(ranked, _asked(run, models)))),
        "changed": changed,
        "models": ranked,
        "pairs": pairs,
        "files": [_file(file) for file in files],
        "task_errors": [{"path": file.path, **error.to_dict()} for file in files for error in file.errors],
        "settings": dict(settings),
        "spent": run.ledger.ledger.spending.to_dict(),
    }


def _asked(run: StoredRun, models: Mapping[str, str]) -> dict[str, str]:
    """Say by what a model is called how it is written."""
    written = {one["name"]: one["text"] for one in run.manifest["evaluators"]}
    return {called: written[called] for called in models.values() if called in written}


def expected_board(files: Sequence[TaskFile], layout: Layout) -> dict[str, Any]:
    """Make of a leaderboard what is known of it before anything is called: its models and its tasks."""
    tasks = [
        {
            "task": task.name,
            "metric_id": task.items[0].metric,
            "path": task.file.path,
            "sha256": task.file.sha256,
            "total": task.size,
        }
        for task in tasks_of(files, layout)
    ]
    return {"models": [{"adapter": name, "tasks": tasks} for name in layout.evaluators]}


def _standing(model: Model) -> tuple[float, ...]:
    """Order models: who ran all tasks first, then by what failures counted as 0 leave, then by failures.

    Never by the score next: where a call failed in the place of a wrong answer, that would lift the model.
    """
    told = model.told
    return len(told["not_run"]), -(told["lower_bound"] or 0.0), told["failed"]


def _pairs(models: Sequence[Model], tasks: Sequence[Counted], seed: int) -> list[dict[str, Any]]:
    couples = list(combinations(models, 2))
    may_flip = len(couples) <= MOST_FLIPPED_PAIRS
    means = [_compare(a.means, b.means, tasks, seed=seed, may_flip=may_flip) for a, b in couples]
    return [
        {
            "a": a.told["adapter"],
            "b": b.told["adapter"],
            **to_dict(score_difference(comparison)),
            "holds_at_lower_bound": _holds(comparison, _compare(a.lows, b.lows, tasks, may_flip=False)),
            "holds_at_worst": _holds(comparison, _at_worst(a, b, comparison, tasks)),
        }
        for (a, b), comparison in zip(couples, corrected(means), strict=True)
    ]


def _at_worst(a: Model, b: Model, found: Comparison, tasks: Sequence[Counted]) -> Comparison:
    """Compare with failures as 0 of the one that is ahead, and as 1 of the other."""
    ends = (a.highs, b.lows) if (found.difference.diff or 0.0) > 0 else (a.lows, b.highs)
    return _compare(*ends, tasks, may_flip=False)


def _compare(a: Values, b: Values, tasks: Sequence[Counted], *, seed: int = 0, may_flip: bool) -> Comparison:
    """Compare on the examples that both have a score for; of these, tasks count alike."""
    both = list(zip(a, b, strict=True))
    starts = accumulate((task.size for task in tasks), initial=0)
    pairs = [
        [(x, y) for x, y in both[start : start + task.size] if not math.isnan(y - x)]
        for start, task in zip(starts, tasks, strict=False)
    ]
    difference = difference_over(pairs, seed=seed, may_flip=may_flip)
    return Comparison(difference=difference, dropped=len(both) - difference.n_pairs)


def _holds(found: Comparison, other: Comparison) -> bool:
    """Return True if a difference goes the same way, and is as sure, with failures counted as scores."""
    ways = _way(found.difference), _way(other.difference)
    return None not in ways and ways[0] in {0, ways[1]}


def _way(d: PairedDifference) -> int | None:
    """Say which of two is ahead, by the interval or, where nothing varies, by the test; 0 is neither."""
    if d.p is None or d.diff is None:
        return None
    low, high = d.ci or ((d.diff, d.diff) if d.p < ALPHA else (0.0, 0.0))
    return 1 if low > 0 else -1 if high < 0 else 0


def _win_rate(model: str, pairs: Sequence[Mapping[str, Any]]) -> float | None:
    """Average over the others how many examples are won, where a tie is half a win."""
    rates = [
        (pair["wins" if pair["b"] == model else "losses"] + pair["ties"] / 2) / pair["n_pairs"]
        for pair in pairs
        if model in {pair["a"], pair["b"]} and pair["n_pairs"]
    ]
    return math.fsum(rates) / len(rates) if rates else None


def _file(file: TaskFile) -> dict[str, Any]:
    return {
        "path": file.path,
        "sha256": file.sha256,
        "dialect": file.dialect,
        "tasks": len(file.tasks),
        "errors": len(file.errors),
    }
