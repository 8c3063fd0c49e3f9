"""What a leaderboard amounts to in words: who leads, what is not shown, who did not run all, what failed."""

from collections.abc import Iterator, Sequence
from dataclasses import replace

from optimize_eval.findings.board.shapes import ModelPair, ModelScores
from optimize_eval.findings.claims.failures import IF_ALIKE, NOT
from optimize_eval.findings.rows import AMONG_BOTH, about_rules, too_few, why_no_lead
from optimize_eval.findings.shapes.conclusion import Conclusion
from optimize_eval.findings.shapes.difference import OverAllRows, ScoreDifference
from optimize_eval.findings.shapes.summary import Point
from optimize_eval.findings.summary import compare
from optimize_eval.findings.wording import count, interval, number, p_value, percent, signed

_MANY_FAILURES = 0.01
_TURNED = {
    compare.BETTER: compare.WORSE,
    compare.WORSE: compare.BETTER,
    compare.HINT_BETTER: compare.HINT_WORSE,
    compare.HINT_WORSE: compare.HINT_BETTER,
}
_SHOWN = {compare.BETTER, compare.WORSE}
_MOST_NAMED = 5


def judge(
    ranked: Sequence[ModelScores],
    pairs: Sequence[ModelPair],
    changed: Sequence[str] = (),
    doubts: Sequence[str] = (),
) -> Conclusion:
    """Conclude once, for every report; models come as they are ranked, `changed` are programs that did.

    `doubts` is what their replies leave to doubt.
    """
    if changed:
        names = ", ".join(changed)
        text = f"no verdict: {names} changed while being called, so the scores come from different programs"
        return Conclusion(text=f"{text}; start over with --fresh", points=())
    points = [*_points(ranked, pairs), *(Point(mark="!", text=text) for text in doubts)]
    return Conclusion(text=_headline(ranked, pairs), points=tuple(points))


def _headline(ranked: Sequence[ModelScores], pairs: Sequence[ModelPair]) -> str:
    first = ranked[0]
    if first.overall_score is None:
        return "nothing was scored: no model is ahead"
    if len(ranked) == 1:
        return f"{first.adapter} scores {_overall(first)} overall, over {_tasks(first)}"
    second = ranked[1]
    pair = seen_from(first, second, pairs)
    compared = f"{first.adapter} against {second.adapter}: {_difference(pair.difference)}"
    if first.not_run:
        return f"no model ran all tasks, so none leads; {compared}"
    if second.not_run:
        return f"{first.adapter} alone ran all tasks, so it leads nobody; {compared}"
    d = pair.difference
    others = [seen_from(first, other, pairs) for other in ranked[1:] if not other.not_run]
    if not all(one.difference.mark == compare.BETTER and one.holds for one in others):
        return f"no model is shown to be the best; {compared}{_despite(pair)}"
    among = f" {AMONG_BOTH}" if d.skipped_for_one else ""
    return f"{first.adapter} leads{among}; {compared}"


def _despite(pair: ModelPair) -> str:
    """Say what keeps a difference from being a lead: skips of one side, or rules."""
    d = pair.difference
    if pair.holds or d.mark not in _SHOWN or not (d.skipped_for_one or d.over_all_rows):
        return ""
    return f" {why_no_lead(d, IF_ALIKE if pair.holds_at_lower_bound else NOT)}"


def _points(ranked: Sequence[ModelScores], pairs: Sequence[ModelPair]) -> Iterator[Point]:
    first = ranked[0].adapter
    unsure = _not_told_apart(ranked, pairs)
    for other, pair in unsure[:_MOST_NAMED]:
        text = f"{first} against {other.adapter}: {_difference(pair.difference)}{_despite(pair)}"
        yield Point(mark="·", text=text)
    if (more := len(unsure) - _MOST_NAMED) > 0:
        yield Point(mark="·", text=f"nor is {first} shown to differ from {count(more, 'more model')}")
    yield from _rules(ranked, pairs)
    for model in ranked:
        if model.not_run:
            yield Point(mark="!", text=_not_run(model))
        if 1 - model.coverage > _MANY_FAILURES:
            yield Point(mark="!", text=_failures(model))


def _rules(ranked: Sequence[ModelScores], pairs: Sequence[ModelPair]) -> Iterator[Point]:
    """Say of the first model what rules may have made of its lead."""
    first, *others = ranked
    for other in others[:_MOST_NAMED]:
        d = seen_from(first, other, pairs).difference
        if d.over_all_rows:
            yield Point(mark="!", text=about_rules(first.adapter, other.adapter, d))


def _not_told_apart(
    ranked: Sequence[ModelScores], pairs: Sequence[ModelPair]
) -> list[tuple[ModelScores, ModelPair]]:
    """Find the models, from the third on, that the first is not shown to differ from."""
    others = [(other, seen_from(ranked[0], other, pairs)) for other in ranked[2:] if not other.not_run]
    return [(other, pair) for other, pair in others if pair.difference.mark not in _SHOWN or _despite(pair)]


def seen_from(model: ModelScores, other: ModelScores, pairs: Sequence[ModelPair]) -> ModelPair:
    """Give the comparison of two models as the first minus the second."""
    names = {model.adapter, other.adapter}
    pair = next(pair for pair in pairs if {pair.a, pair.b} == names)
    if pair.b == model.adapter:
        return pair
    return replace(pair, a=pair.b, b=pair.a, difference=_turned(pair.difference))


def _turned(d: ScoreDifference) -> ScoreDifference:
    return replace(
        d,
        diff=None if d.diff is None else -d.diff,
        ci=d.ci and (-d.ci[1], -d.ci[0]),
        wins=d.losses,
        losses=d.wins,
        mark=_TURNED.get(d.mark, d.mark),
        over_all_rows=(rows := d.over_all_rows) and _all_rows_turned(rows),
    )


def _all_rows_turned(rows: OverAllRows) -> OverAllRows:
    return replace(
        rows,
        diff=None if rows.diff is None else -rows.diff,
        ci=rows.ci and (-rows.ci[1], -rows.ci[0]),
        mark=_TURNED.get(rows.mark, rows.mark),
    )


def _difference(d: ScoreDifference) -> str:
    if d.diff is None:
        return "no example is scored for both"
    if d.mark == compare.TOO_FEW:
        return f"{signed(d.diff)}, too few to say more: {too_few(d)}"
    ci = f"95 % CI {interval(d.ci)}" if d.ci else "alike within each task"
    return f"{signed(d.diff)} ({ci}, {p_value(d.p_holm)}, {count(d.n_pairs, 'pair')})"


def _overall(model: ModelScores) -> str:
    """Write the score with an interval: where these tasks have none, that on tasks like these."""
    score, other = number(model.overall_score), model.on_tasks_like_these
    if model.ci:
        return f"{score} (95 % CI {interval(model.ci, number)})"
    if other and other.ci:
        return f"{score} (95 % CI {interval(other.ci, number)} on tasks like these)"
    return score


def _tasks(model: ModelScores) -> str:
    scored = sum(task.score is not None for task in model.tasks)
    tasks = count(len(model.tasks), "task")
    return f"{scored} of {tasks}" if scored < len(model.tasks) else tasks


def _not_run(model: ModelScores) -> str:
    missing, tasks = model.not_run, count(len(model.tasks), "task")
    named = ", ".join(missing[:_MOST_NAMED]) + (", …" if len(missing) > _MOST_NAMED else "")
    return f"{model.adapter} did not run {len(missing):,} of {tasks}: {named}"


def _failures(model: ModelScores) -> str:
    calls = count(model.scored + model.failed, "call")
    kinds = ", ".join(f"{many:,} {kind}" for kind, many in model.errors.items())
    share = percent(1 - model.coverage)
    return (
        f"{model.adapter}: {model.failed:,} of {calls} failed ({share}: {kinds}), left "
        f"out of every mean; counted as 0 it would score {number(model.lower_bound)}"
    )
