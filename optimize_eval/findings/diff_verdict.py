"""What a comparison of two runs or leaderboards is called in words."""

from collections.abc import Sequence

from optimize_eval.findings import comparison
from optimize_eval.findings.diff_shapes import ModelDiff, RowDiff, Standing, UnpairedDifference
from optimize_eval.findings.difference_words import (
    AMONG_BOTH,
    MARKS,
    lead_holds,
    no_difference_in,
    too_few,
    why_no_lead,
)
from optimize_eval.findings.summary_shape import Conclusion, Point
from optimize_eval.findings.wording import (
    count,
    evaluator_label,
    interval,
    interval90,
    number,
    signed,
)
from optimize_eval.statistics.differences import ScoreDifference
from optimize_eval.store.layout import SINGLE

_MOST_POINTS = 8
_SIGNS = {
    Standing.WORSE: "▼",
    Standing.WORSE_AS_ZEROS: "▼",
    Standing.FAILS_UNBOUNDED: "!",
    Standing.NOT_BETTER_AS_ZEROS: "!",
    Standing.AHEAD_AMONG_SOME: "!",
    Standing.BETTER: "▲",
}
_WORDS = {
    Standing.WORSE: "{who} is worse{where}{among} by {amount}",
    Standing.BETTER: "{who} is better{where}{among} by {amount}",
    Standing.AHEAD_AMONG_SOME: "{who} is ahead{where}, by {amount}, {why}",
    Standing.WORSE_AS_ZEROS: "{who} is worse{where} if failures count as 0, by {amount}",
    Standing.NOT_BETTER_AS_ZEROS: (
        "{who} is ahead{where} where both were scored, by {amount}, but not clearly if failures count as 0"
    ),
    Standing.FAILS_UNBOUNDED: (
        "{who} fails{where}{model} where it had scores, and those calls could have had any score"
    ),
    Standing.MAY_BE_WORSE: "{who} may be worse{where} by {amount}, only a hint",
    Standing.MAY_BE_BETTER: "{who} may be better{where} by {amount}, only a hint",
    Standing.SAME: "{who} scores the same{where}{model} in both runs",
}


def judge_runs(rows: Sequence[RowDiff], deciding: str) -> Conclusion:
    """Conclude: the most severe of the first evaluator on the deciding split first."""
    if len(rows) > 1 and all(row.standing is Standing.SAME for row in rows):
        return Conclusion(text=f"No score changed in any of {count(len(rows), 'comparison')}", points=())
    primary = rows[0].evaluator, rows[0].task_model
    first, *others = sorted(
        rows,
        key=lambda row: (
            row.standing is Standing.SAME,
            (row.evaluator, row.task_model) != primary or row.split != deciding,
            row.standing.severity,
            -abs(row.difference.diff or 0.0),
        ),
    )
    has_others = any((row.evaluator, row.task_model) != primary for row in rows)
    return Conclusion(
        text=sentence(first, has_others=has_others), points=tuple(_points(others, has_others=has_others))
    )


def _points(others: Sequence[RowDiff], *, has_others: bool) -> list[Point]:
    rest = [row for row in others if row.standing is not Standing.SAME]
    rest.sort(key=lambda row: row.standing.severity)
    points = [Point(mark=sign(row), text=sentence(row, has_others=has_others)) for row in rest[:_MOST_POINTS]]
    if more := len(rest) - len(points):
        text = f"{count(more, 'more comparison')} changed less severely"
        points.append(Point(mark="·", text=text))
    if same := len(others) - len(rest):
        points.append(Point(mark="·", text=f"No score changed in {count(same, 'other comparison')}"))
    return points


def sign(row: RowDiff) -> str:
    if row.standing is Standing.WORSE and not lead_holds(row.difference):
        return "!"
    return _SIGNS.get(row.standing, MARKS[row.difference.mark])


def sentence(row: RowDiff, *, has_others: bool) -> str:
    """Say of one row what it amounts to, with the numbers behind it."""
    where = "" if row.split == SINGLE else f" on {row.split}"
    by = f" {evaluator_label(row.evaluator, row.task_model)}" if has_others else ""
    return f"{_amounts_to(row, where, by)}: {counts(row)}"


def _amounts_to(row: RowDiff, where: str, by: str) -> str:
    standing, low = row.standing, row.at_lower_bound
    if standing is Standing.OPEN:
        return _open(row, where, by)
    d = low.difference if standing is Standing.WORSE_AS_ZEROS and low else row.difference
    words = _WORDS[standing]
    if standing is Standing.WORSE and not lead_holds(d):
        words = "{who} is behind{where}, by {amount}, {why}"
    return words.format(
        who=row.candidate,
        where=where,
        model=_in_brackets(by),
        among=f" {AMONG_BOTH}" if d.skipped_for_one else "",
        amount=_amount(d, by) if "{amount}" in words else "",
        why=why_no_lead(d, d.despite_failures or "") if "{why}" in words else "",
    )


def _open(row: RowDiff, where: str, by: str) -> str:
    who, d = row.candidate, row.difference
    if d.mark == comparison.TOO_FEW:
        return f"Too few examples to say whether {who} changed{where}{_in_brackets(by)}: {too_few(d)}"
    if d.ci is None:
        same = no_difference_in(d) if not d.diff else _amount(d, by)
        return f"{who} has no clear change{where}{_in_brackets(by)}: {same}"
    if row.margin and row.margin.equivalent:
        amount = f"{signed(d.diff)}{by} ({interval90(row.margin)})"
        return f"{who} did not change{where} by more than {number(row.margin.margin)}: {amount}"
    return f"{who} has no clear change{where}: {signed(d.diff)}{by} (95 % CI {interval(d.ci)})"


def _in_brackets(by: str) -> str:
    return by and f" ({by.strip()})"


def _amount(d: ScoreDifference, by: str) -> str:
    """Write how much, without its sign, and how sure that is."""
    amount = f"{number(abs(d.diff or 0.0))}{by}"
    if d.ci is None:
        return f"exactly {amount} on all {count(d.n_pairs, 'example')}"
    ends = sorted(map(abs, d.ci))
    return f"{amount} (95 % CI {interval(ends, number)})"


def counts(row: RowDiff) -> str:
    """Count examples by what became of them."""
    others = row.not_compared
    many = {
        "improved": row.improved,
        "regressed": row.regressed,
        "newly failing": others.newly_failing,
        "newly failing in part": others.newly_failing_in_part,
        "fixed": others.fixed,
        "failing in both": others.failing_in_both,
        "newly skipped": others.newly_skipped,
        "skipped": others.skipped,
        "not called": others.not_asked - others.newly_skipped - others.skipped,
    }
    texts = [f"{examples:,} {words}" for words, examples in many.items() if examples]
    if not row.improved and not row.regressed and row.unchanged:
        texts.insert(0, f"{row.unchanged:,} unchanged")
    return ", ".join(texts) or "nothing was scored in both"


_BOARD_WORDS = {
    comparison.BETTER: "{name} is better: {by}",
    comparison.WORSE: "{name} is worse: {by}",
    comparison.HINT_BETTER: "{name} may be better (only a hint): {by}",
    comparison.HINT_WORSE: "{name} may be worse (only a hint): {by}",
}


def judge_boards(models: Sequence[ModelDiff]) -> Conclusion:
    """Conclude for each model; the one that lost most is the headline."""
    first, *others = sorted(
        models, key=lambda model: (not model.has_moved, model.overall.difference.diff or 0.0)
    )
    points = [Point(mark=_mark(model.overall.difference), text=board_sentence(model)) for model in others]
    return Conclusion(text=board_sentence(first), points=tuple(points))


def _mark(d: ScoreDifference | UnpairedDifference) -> str:
    is_held = isinstance(d, UnpairedDifference) or lead_holds(d)
    return MARKS[d.mark] if is_held else "!"


_NEVER_BOTH = "no example has a score on both boards"


def board_sentence(model: ModelDiff) -> str:
    """Say what came out for one model."""
    name, d, tasks = model.model, model.overall.difference, model.tasks
    moved = sum(task.has_moved for task in tasks)
    changed = model.predictions_changed
    counts = f"{moved:,} of {count(len(tasks), 'task')} moved"
    counts += f", {count(changed, 'prediction')} changed" if changed is not None else ""
    if d.diff is None:
        is_lacking = model.overall.a is None or model.overall.b is None
        why = "one of the boards has no overall score for it" if is_lacking else _NEVER_BOTH
        return f"{name} cannot be compared: {why}; {counts}"
    if not moved and not d.diff:
        return f"{name} scores the same on both boards: {counts}"
    by = signed(d.diff)
    if d.ci:
        by += f" (95 % CI {interval(d.ci)})"
    words = _held(d) or _BOARD_WORDS.get(d.mark, "{name} has no clear change: {by}")
    if d.mark == comparison.TOO_FEW:
        words = "{name}: {by}, too few examples to say more"
    return f"{words.format(name=name, by=by)}; {counts}"


def _held(d: ScoreDifference | UnpairedDifference) -> str:
    """Say of a difference that skips of one side keep from being more, or less, what it is about."""
    if isinstance(d, UnpairedDifference) or d.mark not in {comparison.BETTER, comparison.WORSE}:
        return ""
    if not lead_holds(d):
        side = "ahead" if d.mark == comparison.BETTER else "behind"
        return f"{{name}} is {side}: {{by}} {why_no_lead(d, d.despite_failures or '')}"
    return f"{{name}} is {d.mark} {AMONG_BOTH}: {{by}}" if d.skipped_for_one else ""
