"""Two leaderboards against each other: which tasks moved, by how much, and which predictions changed.

Where both have their examples, differences are paired; else they are those of independent means, and what
has no spread has no interval. Pure: boards in, one value out.
"""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from optimize_eval.errors import UsageError
from optimize_eval.findings.board.by_task import difference_over
from optimize_eval.findings.board.stored import Board, Task, by_name, differences
from optimize_eval.findings.documents import to_dict
from optimize_eval.findings.shaping import score_difference
from optimize_eval.findings.summary import compare
from optimize_eval.findings.summary.compare import Comparison, corrected
from optimize_eval.findings.wording import count, interval, p_value, signed
from optimize_eval.statistics.gaps import gap_of

SCHEMA = "optimize-eval.board-diff.v1"

_MOST_CHANGED = 100
_NEWLY_FAILING, _FIXED = (False, True), (True, False)
_MARKS = {compare.BETTER: "▲", compare.HINT_BETTER: "△", compare.WORSE: "▼", compare.HINT_WORSE: "▽"}
_WORDS = {
    compare.BETTER: "{name} is better: {by}",
    compare.WORSE: "{name} is worse: {by}",
    compare.HINT_BETTER: "{name} may be better, a hint only: {by}",
    compare.HINT_WORSE: "{name} may be worse, a hint only: {by}",
}

Model = Mapping[str, Any]
Couple = tuple[Mapping[str, Any], Mapping[str, Any]]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Moved:
    """One task of both boards, before and after, and its examples in pairs where both have them."""

    name: str
    before: Task
    after: Task
    examples: Sequence[Couple]

    @property
    def scored(self) -> list[Couple]:
        return [pair for pair in self.examples if all(one["score"] is not None for one in pair)]

    @property
    def fates(self) -> list[tuple[bool, ...]]:
        """Tell of each example on which of the boards it has no score."""
        return [tuple(one["score"] is None for one in pair) for pair in self.examples]

    @property
    def changed(self) -> list[Couple]:
        return [differing for pair in self.examples if (differing := _differing(*pair))]


def compared(a: Board, b: Board, *, force: bool = False) -> dict[str, Any]:
    """Compare, a before and b after; raises UsageError where their scores are not of the same."""
    reasons = differences(a, b)
    if reasons and not force:
        raise _not_the_same(reasons)
    models = [_told(before, after) for before, after in _couples(a, b)]
    return {
        "schema": SCHEMA,
        "caveats": [*reasons, *_changed(a, "A"), *_changed(b, "B"), *_unpaired(models)],
        "verdict": _verdict(models),
        "models": models,
        "only_in_a": _only(a, b),
        "only_in_b": _only(b, a),
    }


def check_comparable(a: Board, b: Board) -> None:
    """Refuse boards that cannot be compared; of the second no more than names has to be known."""
    if reasons := differences(a, b):
        raise _not_the_same(reasons)
    _couples(a, b)


def _not_the_same(reasons: Sequence[str]) -> UsageError:
    return UsageError(
        "\n".join(["the two boards do not measure the same:", *(f"  {one}" for one in reasons)]),
        hint="run `optimize-eval bench` on the same files for both; diff --force compares what is common",
    )


def _couples(a: Board, b: Board) -> list[tuple[Model, Model]]:
    """Pair models by name; the only one of each board with each other, whatever they are called."""
    before, after = ({model["adapter"]: model for model in board["models"]} for board in (a, b))
    if common := [name for name in after if name in before]:
        return [(before[name], after[name]) for name in common]
    if len(before) == len(after) == 1:
        return [(*before.values(), *after.values())]
    raise UsageError(
        f"no model is on both boards: {', '.join(before)} on the first, {', '.join(after)} on the second",
        hint="compare boards of the same models, or of one model each",
    )


def _told(before: Model, after: Model) -> dict[str, Any]:
    moved = _tasks(before, after)
    comparisons = corrected([_paired([one]) for one in moved])
    changed = [(one.name, pair) for one in moved for pair in one.changed]
    is_paired = bool(moved) and all(one.examples for one in moved)
    whole = len(moved) == len(before["tasks"]) == len(after["tasks"])
    fates = [fate for one in moved for fate in one.fates]
    low = _shaped(corrected([_paired(moved, as_zeros=True)])[0]) if is_paired else None
    return {
        "model": after["adapter"],
        "model_in_a": before["adapter"],
        "paired": is_paired,
        "overall": {
            "a": before.get("overall_score") if whole else None,
            "b": after.get("overall_score") if whole else None,
            **(
                _shaped(corrected([_paired(moved)])[0])
                if is_paired
                else _apart(before, after, "overall_score")
            ),
        },
        "tasks": [_row(one, d) for one, d in zip(moved, comparisons, strict=True)],
        "at_lower_bound": low or _apart(before, after, "lower_bound"),
        "newly_failing": fates.count(_NEWLY_FAILING) if is_paired else None,
        "fixed": fates.count(_FIXED) if is_paired else None,
        "failed_calls": {"a": before.get("failed") or 0, "b": after.get("failed") or 0},
        "predictions_changed": len(changed) if is_paired else None,
        "changed": [_change(*one) for one in sorted(changed, key=_gain)[:_MOST_CHANGED]],
    }


def _tasks(before: Model, after: Model) -> list[_Moved]:
    had, has = by_name(before["tasks"]), by_name(after["tasks"])
    return [
        _Moved(name=name, before=had[name], after=task, examples=list(_pairs(had[name], task)))
        for name, task in has.items()
        if name in had
    ]


def _pairs(before: Task, after: Task) -> Iterator[Couple]:
    """Match examples of one file by their lines, others by their ids, the k-th of a kind with the k-th."""
    rows = [task.get("per_example") or [] for task in (before, after)]
    is_one_file = before.get("sha256") is not None and before.get("sha256") == after.get("sha256")
    has_lines = all(one.get("line") is not None for one in (*rows[0], *rows[1]))
    key = "line" if is_one_file and has_lines else "id"
    unmatched: dict[Any, list[Mapping[str, Any]]] = {}
    for one in reversed(rows[0]):
        unmatched.setdefault(one[key], []).append(one)
    for one in rows[1]:
        if unmatched.get(one[key]):
            yield unmatched[one[key]].pop(), one


def _differing(before: Mapping[str, Any], after: Mapping[str, Any]) -> Couple | None:
    """Find the first prediction of an example that is another now, among those that both boards have.

    An example that was repeated has one for each repeat.
    """
    for pair in zip(_predictions(before), _predictions(after), strict=False):
        if pair[0].get("prediction") != pair[1].get("prediction"):
            return {**before, **pair[0]}, {**after, **pair[1]}
    return None


def _predictions(example: Mapping[str, Any]) -> Sequence[Mapping[str, Any]]:
    return example.get("predictions") or [example]


def _shaped(one: Comparison) -> dict[str, Any]:
    return to_dict(score_difference(one))


def _paired(moved: Sequence[_Moved], *, as_zeros: bool = False) -> Comparison:
    """Compare on the examples that both have a score for, or on all with failures as 0; tasks count alike."""
    taken = [one.examples if as_zeros else one.scored for one in moved]
    value = _low if as_zeros else _score
    difference = difference_over([[(value(a), value(b)) for a, b in pairs] for pairs in taken])
    examples = sum(len(one.examples) for one in moved)
    return Comparison(difference=difference, dropped=examples - difference.n_pairs)


def _score(example: Mapping[str, Any]) -> float:
    return float(example["score"])


def _low(example: Mapping[str, Any]) -> float:
    """Give an example's score with what failed, of its repeats too, as 0."""
    scores = [one["score"] or 0.0 for one in _predictions(example)]
    return math.fsum(scores) / len(scores)


def _row(moved: _Moved, comparison: Comparison) -> dict[str, Any]:
    return {
        "task": moved.name,
        "metric_id": moved.after.get("metric_id"),
        "a": moved.before["score"],
        "b": moved.after["score"],
        **(_shaped(comparison) if moved.examples else _apart(moved.before, moved.after, "score")),
        "predictions_changed": len(moved.changed) if moved.examples else None,
        "newly_failing": moved.fates.count(_NEWLY_FAILING) if moved.examples else None,
        "fixed": moved.fates.count(_FIXED) if moved.examples else None,
    }


def _apart(before: Model | Task, after: Model | Task, field: str) -> dict[str, Any]:
    """Subtract two means whose examples are not known; what has no spread has no interval."""
    a, b = before.get(field), after.get(field)
    if a is None or b is None:
        return {"diff": None, "ci": None, "p_holm": None, "mark": compare.TOO_FEW}
    told = {"diff": b - a, "ci": None, "p_holm": None, "mark": compare.TOO_FEW}
    spreads = [
        (one[field], one.get("se") or 0.0, one.get("df") or (one.get("n") or 0) - 1)
        for one in (after, before)
    ]
    if all(se and df > 0 for _, se, df in spreads):
        found = gap_of(*spreads)
        told["ci"] = found.ci
        told["mark"] = compare.NO_DIFFERENCE
        if found.excludes_zero:
            told["mark"] = compare.HINT_BETTER if found.value > 0 else compare.HINT_WORSE
    return told


def _change(task: str, pair: Couple) -> dict[str, Any]:
    return {
        "task": task,
        "id": pair[1]["id"],
        **{
            side: {"prediction": one.get("prediction"), "score": one["score"], "error": one.get("error")}
            for side, one in zip("ab", pair, strict=True)
        },
    }


def _gain(change: tuple[str, Couple]) -> float:
    """Sort what lost most first; what fails now before all, what was failing last."""
    before, after = (one["score"] for one in change[1])
    if after is None:
        return -math.inf
    return math.inf if before is None else float(after - before)


def _changed(board: Board, side: str) -> Iterator[str]:
    if names := ", ".join(map(str, board.get("changed") or ())):
        yield f"{names} changed while being called in {side}: its scores come from different programs"


def _unpaired(models: Sequence[Model]) -> Iterator[str]:
    if not all(model["paired"] for model in models):
        yield "nothing is paired: a board has no examples (`bench --include-per-example` keeps them)"


def _verdict(models: Sequence[Model]) -> dict[str, Any]:
    """Say what came out for each model; the one that lost most is the headline."""
    gravest = sorted(models, key=lambda model: (not _has_moved(model), model["overall"]["diff"] or 0.0))
    points = [
        {"mark": _MARKS.get(model["overall"]["mark"], "·"), "text": sentence(model)} for model in gravest[1:]
    ]
    return {"text": sentence(gravest[0]), "points": points}


def _has_moved(model: Model) -> bool:
    return any(task["a"] != task["b"] for task in model["tasks"])


def sentence(model: Model) -> str:
    """Say what came out for one model."""
    name, overall, tasks = model["model"], model["overall"], model["tasks"]
    moved = sum(task["a"] != task["b"] for task in tasks)
    changed = model["predictions_changed"]
    told = f"{moved:,} of {count(len(tasks), 'task')} moved"
    told += f", {count(changed, 'prediction')} changed" if changed is not None else ""
    if overall["diff"] is None:
        return f"{name}: {told}; there is no overall score on one of the boards"
    if not moved and not overall["diff"]:
        return f"{name} scores the same on both boards: {told}"
    by = signed(overall["diff"])
    if overall["ci"]:
        by += f" (95 % CI {interval(overall['ci'])}{_p(overall)})"
    words = _WORDS.get(overall["mark"], "{name}: {by}, no difference is shown")
    if overall["mark"] == compare.TOO_FEW:
        words = "{name}: {by}, too few examples to say more"
    return f"{words.format(name=name, by=by)}; {told}"


def _p(overall: Mapping[str, Any]) -> str:
    p = overall["p_holm"] if overall["p_holm"] is not None else overall.get("p")
    return "" if p is None else f", {p_value(p)}"


def _only(one: Board, other: Board) -> dict[str, list[str]]:
    """List the models and tasks that only one of the boards has."""
    names = [[model["adapter"] for model in board["models"]] for board in (one, other)]
    tasks = [by_name(board["models"][0]["tasks"]) for board in (one, other)]
    return {
        "models": [] if len(names[0]) == len(names[1]) == 1 else [n for n in names[0] if n not in names[1]],
        "tasks": [name for name in tasks[0] if name not in tasks[1]],
    }
