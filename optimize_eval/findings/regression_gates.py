"""Gates on regressions: is a run or a model shown to be worse than earlier, or shown to be no worse.

Without a margin it is missed where a one-sided test at 5 % shows a loss; with one it is met where the loss
is shown to stay below the margin. Units are examples or clusters. What they cannot decide is missed.

Pure: boards and their comparison in, gates out. What a gate is, and how a mean is held against a bound, is
said in gates; how two boards compare, in diff_boards.
"""

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import product
from pathlib import Path

from optimize_eval.base.errors import UsageError
from optimize_eval.base.frozen import frozen
from optimize_eval.findings.board_shapes import Board, ModelScores, TaskScores, by_name
from optimize_eval.findings.comparison import HINT_WORSE, TOO_FEW, WORSE
from optimize_eval.findings.diff_shapes import (
    BoardDiff,
    Change,
    ModelDiff,
    RowDiff,
    RunDiff,
    Standing,
    UnpairedDifference,
    is_shown_lower,
    standing,
)
from optimize_eval.findings.diff_verdict import board_sentence, sentence
from optimize_eval.findings.gates import BoundAxes, Gate, bound_gate, check_reachable, read_bound
from optimize_eval.findings.leakage import Leakage, joined
from optimize_eval.findings.wording import count, interval90, number, place_of_scores, signed
from optimize_eval.statistics.bounds import MOST_UNITS, units_needed
from optimize_eval.statistics.differences import Margin, ScoreDifference
from optimize_eval.statistics.power import ALPHA, can_decide, fewest_units
from optimize_eval.store.beside import TextOfModel
from optimize_eval.store.layout import Layout

_FEWEST_WITH_MARGIN = 2
_AS_BEFORE = " (worse for a gate, which does not correct for what was tried)"
ONE_SIDED = 2 * ALPHA  # of two-sided tests


def regression_gates(
    diff: RunDiff, added: Collection[str], same: Collection[TextOfModel] = ()
) -> Iterator[Gate]:
    """Hold a comparison with an earlier run against the demand that nothing is worse where it counts.

    What that run measured and this one did not may be worse; `added` are evaluators that rescore gave it,
    and `same` is what has the same bytes in both.
    """
    before = diff.a
    for what, name in _measured_before(diff, added):
        text = f"against {before.run}: {what} {name} was called there and not here"
        yield Gate(name=f"no-regression {what} {name}", is_met=False, text=text)
    if before.owed:
        text = f"{before.run} is not finished: {count(before.owed, 'call')} missing"
        yield Gate(name="complete before", is_met=False, text=text)
    if before.changed:
        names = ", ".join(before.changed)
        what = "its scores there come from different programs"
        text = f"{names} changed while being called in {before.run}, so {what}"
        yield Gate(name="unchanged before", is_met=False, text=text)
    for row in (row for row in diff.rows if row.split == diff.decided_on):
        plain = row.as_gates_see_it
        if (row.candidate, row.task_model) in same and _is_unchanged(plain):
            is_met, why = True, ", of the same bytes"
        else:
            is_met, why = judged(plain.change)
            why = why or ("" if is_met or row.standing is plain.standing else _AS_BEFORE)
        yield Gate(
            name=f"no-regression {place_of_scores(row)}, {row.split}",
            is_met=is_met,
            text=f"against {before.run}: {sentence(row, has_others=True)}{why}",
        )


def nothing_to_compare(before: Path, split: str, leakage: Leakage) -> Gate:
    """Miss the demand where the split that it is about has leaked."""
    text = f"against {before}: without enough data: {leakage.not_held_out(split)}"
    return Gate(name=f"no-regression {split}", is_met=False, text=text)


def _measured_before(diff: RunDiff, added: Collection[str]) -> Iterator[tuple[str, str]]:
    """List what only the earlier run has, with what it is."""
    only = diff.only_in_a
    renamed = {row.candidate_in_a: None for row in diff.rows if row.candidate_in_a != row.candidate}
    axes = (
        ("evaluator", only.evaluators),
        ("candidate", (*renamed, *only.candidates)),
        ("task model", only.task_models),
        ("split", only.splits),
    )
    for what, names in axes:
        yield from ((what, name or "none") for name in names if name not in added)


def _is_unchanged(row: RowDiff) -> bool:
    """Return True if each example that had a score has that again, and nothing else became of any."""
    return row.standing is Standing.SAME and not row.change.fails_more and not row.not_compared.newly_skipped


def check_can_decide(before: Layout, layout: Layout, same: Collection[TextOfModel] = ()) -> None:
    """Refuse, before anything is called, a gate that so few examples could never be held against.

    What has the `same` bytes in both needs no number of them: equal scores meet the gate.
    """
    if all(pair in same for pair in product(layout.candidates, layout.task_models) if _is_in(before, *pair)):
        return
    split = layout.split(layout.deciding)
    clusters = joined(split.contents, split.clusters)
    units = len(set(clusters)) if clusters else len(split.lines)
    comparisons = _in_common(before, layout)
    has_margins = all(name in layout.margins for name in layout.evaluators if name in before.evaluators)
    fewest = _FEWEST_WITH_MARGIN if has_margins else fewest_units(comparisons, ONE_SIDED)
    if units < fewest:
        what = "cluster" if clusters else "example"
        among = f" for {comparisons:,} comparisons" if comparisons > 1 and not has_margins else ""
        raise UsageError(
            f"--no-regression-against cannot be decided on {count(units, f'{split.name} {what}')}: "
            f"it takes at least {fewest}{among}; nothing was called",
            hint="add examples" if has_margins else "add examples, or say with --margin which loss is small",
        )


def _is_in(layout: Layout, candidate: str, model: str | None) -> bool:
    return candidate in layout.candidates and model in layout.task_models


def _in_common(a: Layout, b: Layout) -> int:
    """Count the comparisons that two runs give on a split."""
    evaluators = len(set(a.evaluators) & set(b.evaluators))
    models = len(set(a.task_models) & set(b.task_models))
    return max(1, evaluators * models * max(1, len(set(a.candidates) & set(b.candidates))))


def judged(change: Change) -> tuple[bool, str]:
    """Return whether the gate is met, and what has to be said besides the comparison."""
    d = change.difference
    if not d.n_pairs:
        return False, ""
    if change.margin is not None:
        return _judged_by_margin(change, change.margin)
    if is_shown_lower(change):
        return False, "" if d.mark == WORSE else " (lower by a one-sided test at 5 %)"
    if not can_decide(d.units, d.comparisons, ONE_SIDED):
        fewest = fewest_units(d.comparisons, ONE_SIDED)
        return False, f"; {count(d.units, 'unit')} cannot decide this, which takes at least {fewest}"
    return True, ""


def _judged_by_margin(change: Change, margin: Margin) -> tuple[bool, str]:
    low = change.low_margin
    amount = f"{signed(change.difference.diff)}, {interval90(margin)}"
    bound = f"{number(margin.margin)} ({amount})"
    if standing(change) is Standing.FAILS_UNBOUNDED:
        return False, ""
    if not margin.no_worse:
        return False, f"; it may be worse by more than {bound}{_units_it_takes(change.difference, margin)}"
    if low is not None and not low.no_worse:
        return False, f"; at most worse by {bound}, but not if failures count as 0"
    return True, f"; at most worse by {bound}"


def _units_it_takes(d: ScoreDifference, margin: Margin) -> str:
    """Say how many examples would show it, if all are like those that there are."""
    what = "example" if d.units == d.n_pairs else "cluster"
    needed = units_needed(d, margin.method, margin.ci90[0], margin.margin)
    if needed is None:
        return f"; more {what}s like these would not decide it"
    about = "more than" if needed == MOST_UNITS else "about"
    return f"; deciding it takes {about} {count(needed, what)} like these"


_OF_A_BENCH = BoundAxes("bench", "model", "task")


@frozen
class BoardBound:
    """The lowest score that a model may have, overall or on a task, or that all models may have on a task."""

    model: str | None
    task: str | None
    least: float


def parse_bound(
    text: str, models: Sequence[str], tasks: Sequence[str], scorers: Sequence[str] = ()
) -> BoardBound:
    """Read MODEL=LEAST, MODEL@TASK=LEAST or, where no model is called so, TASK=LEAST.

    `scorers` are those of tasks in YAML, which other gates are about.
    """
    named = text.rpartition("=")[0]
    if named in tasks and named not in models:
        *_, least = read_bound(text, _OF_A_BENCH, tasks, ())
        check_reachable(text, least)
        return BoardBound(model=None, task=named, least=least)
    also = f"; a scorer's gate is TASK.SCORER[.METRIC]=0.8, such as {scorers[0]}=0.8" if scorers else ""
    model, task, least = read_bound(text, _OF_A_BENCH._replace(also=also), models, tasks)
    check_reachable(text, least)
    return BoardBound(model=model, task=task, least=least)


def bound_gates(models: Mapping[str, ModelScores], bounds: Sequence[BoardBound]) -> Iterator[Gate]:
    """Hold models, each by its name, against their bounds."""
    for bound in (own for one in bounds for own in _each(one, models)):
        where = f"{bound.model}, overall" if bound.task is None else f"{bound.model} on {bound.task}"
        scores = _scores_of(models.get(bound.model or ""), bound.task)
        if scores is None:
            text = f"{where}: it is not on the board, so it may be below {bound.least:g}"
            yield Gate(name=f"fail-under {where}", is_met=False, text=text)
        else:
            yield bound_gate(where, scores, bound.least)


def _each(bound: BoardBound, models: Mapping[str, ModelScores]) -> Iterator[BoardBound]:
    """Take a bound of all models apart; those scored by an own metric have another name than on the board."""
    if bound.model is not None:
        yield bound
        return
    for name, model in models.items():
        if name == model.adapter:
            yield replace(bound, model=name)


def _scores_of(model: ModelScores | None, task: str | None) -> ModelScores | TaskScores | None:
    if model is None or task is None:
        return model
    return by_name(model.tasks).get(task)


def unchanged(board: Board, where: str) -> Iterator[Gate]:
    """Demand that a board's programs stayed what they were."""
    if names := ", ".join(board.changed):
        text = f"{names} changed while being called{where}, so its scores come from different programs"
        yield Gate(name=f"unchanged{where}", is_met=False, text=text)


def board_regression_gates(diff: BoardDiff, before: Board, against: str) -> Iterator[Gate]:
    """Hold a comparison with an earlier board against the demand that no model is worse overall.

    What that board has and this one has not may be worse.
    """
    yield from unchanged(before, f" in {against}")
    for what, names in (("model", diff.only_in_a.models), ("task", diff.only_in_a.tasks)):
        for name in names:
            text = f"against {against}: {what} {name} is on that board and not on this one"
            yield Gate(name=f"no-regression {what} {name}", is_met=False, text=text)
    for model in diff.models:
        is_met, why = _judged(model)
        text = f"against {against}: {board_sentence(model)}{why}"
        yield Gate(name=f"no-regression {model.model}, overall", is_met=is_met, text=text)


def check_boards_can_decide(before: Board, expected: Board) -> None:
    """Refuse, before anything is called, a gate that so few examples in pairs could never be held against."""
    is_paired = all(task.per_example for model in before.models for task in model.tasks)
    examples = sum(task.total for task in expected.models[0].tasks)
    if is_paired and not can_decide(examples, alpha=ONE_SIDED):
        raise UsageError(
            f"--no-regression-against cannot be decided on {count(examples, 'example')}: "
            f"it takes at least {fewest_units(alpha=ONE_SIDED)}; nothing was called",
            hint="add tasks or examples",
        )


def _judged(model: ModelDiff) -> tuple[bool, str]:
    change = model.change
    return (_holds_apart(model), "") if change is None else judged(change)


def _holds_apart(model: ModelDiff) -> bool:
    """Return True if nothing got worse as far as two means can tell; what they leave open is a loss."""
    fails_more = model.failed_calls.b > model.failed_calls.a
    compared = [model.overall.difference, *([model.at_lower_bound] if fails_more else [])]
    return not any(map(_is_loss, compared))


def _is_loss(apart: ScoreDifference | UnpairedDifference) -> bool:
    if apart.diff is None:
        return True
    return apart.mark == HINT_WORSE or (apart.mark == TOO_FEW and apart.diff < 0)
