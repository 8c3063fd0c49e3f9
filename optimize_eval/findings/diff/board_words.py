"""What a comparison of two leaderboards is called in words: a sentence for each model."""

from collections.abc import Sequence

from optimize_eval.findings.diff.shapes import ModelDiff, UnpairedDifference
from optimize_eval.findings.rows import AMONG_BOTH, lead_holds, why_no_lead
from optimize_eval.findings.shapes.conclusion import Conclusion
from optimize_eval.findings.shapes.difference import ScoreDifference
from optimize_eval.findings.shapes.summary import Point
from optimize_eval.findings.summary import compare
from optimize_eval.findings.wording import count, interval, p_value, signed

_MARKS = {compare.BETTER: "▲", compare.HINT_BETTER: "△", compare.WORSE: "▼", compare.HINT_WORSE: "▽"}
_WORDS = {
    compare.BETTER: "{name} is better: {by}",
    compare.WORSE: "{name} is worse: {by}",
    compare.HINT_BETTER: "{name} may be better, a hint only: {by}",
    compare.HINT_WORSE: "{name} may be worse, a hint only: {by}",
}


def judge(models: Sequence[ModelDiff]) -> Conclusion:
    """Conclude for each model; the one that lost most is the headline."""
    first, *others = sorted(
        models, key=lambda model: (not model.has_moved, model.overall.difference.diff or 0.0)
    )
    points = [Point(mark=_mark(model.overall.difference), text=sentence(model)) for model in others]
    return Conclusion(text=sentence(first), points=tuple(points))


def _mark(d: ScoreDifference | UnpairedDifference) -> str:
    is_held = isinstance(d, UnpairedDifference) or lead_holds(d)
    return _MARKS.get(d.mark, "·") if is_held else "!"


def sentence(model: ModelDiff) -> str:
    """Say what came out for one model."""
    name, d, tasks = model.model, model.overall.difference, model.tasks
    moved = sum(task.has_moved for task in tasks)
    changed = model.predictions_changed
    counts = f"{moved:,} of {count(len(tasks), 'task')} moved"
    counts += f", {count(changed, 'prediction')} changed" if changed is not None else ""
    if d.diff is None:
        is_lacking = model.overall.a is None or model.overall.b is None
        why = "there is no overall score on one of the boards"
        return f"{name}: {counts}; {why if is_lacking else 'no example has a score on both boards'}"
    if not moved and not d.diff:
        return f"{name} scores the same on both boards: {counts}"
    by = signed(d.diff)
    if d.ci:
        by += f" (95 % CI {interval(d.ci)}{_p(d)})"
    words = _held(d) or _WORDS.get(d.mark, "{name}: {by}, no difference is shown")
    if d.mark == compare.TOO_FEW:
        words = "{name}: {by}, too few examples to say more"
    return f"{words.format(name=name, by=by)}; {counts}"


def _held(d: ScoreDifference | UnpairedDifference) -> str:
    """Say of a difference that skips of one side keep from being more, or less, what it is about."""
    if isinstance(d, UnpairedDifference) or d.mark not in {compare.BETTER, compare.WORSE}:
        return ""
    if not lead_holds(d):
        side = "ahead" if d.mark == compare.BETTER else "behind"
        return f"{{name}} is {side}: {{by}} {why_no_lead(d, d.despite_failures or '')}"
    return f"{{name}} is {d.mark} {AMONG_BOTH}: {{by}}" if d.skipped_for_one else ""


def _p(d: ScoreDifference | UnpairedDifference) -> str:
    p = d.p_holm if d.p_holm is not None else d.p
    return "" if p is None else f", {p_value(p)}"
