"""What a leaderboard says in words: who leads, what is not shown, who did not run all, what failed."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from optimize_eval.findings.documents import from_dict
from optimize_eval.findings.rows import too_few
from optimize_eval.findings.shapes.difference import ScoreDifference
from optimize_eval.findings.summary import compare
from optimize_eval.findings.wording import count, interval, number, p_value, percent, signed

_MANY_FAILURES = 0.01
_TURNED = {
    compare.BETTER: compare.WORSE,
    compare.WORSE: compare.BETTER,
    compare.HINT_BETTER: compare.HINT_WORSE,
    compare.HINT_WORSE: compare.HINT_BETTER,
}
_MOST_NAMED = 5

Model = Mapping[str, Any]
Pair = Mapping[str, Any]


def judge(
    ranked: Sequence[Model], pairs: Sequence[Pair], changed: Sequence[str] = (), doubts: Sequence[str] = ()
) -> dict[str, Any]:
    """Say it once, for every report; models come as they are ranked, `changed` are programs that did.

    `doubts` is what their replies leave to doubt.
    """
    if changed:
        names = ", ".join(changed)
        text = f"no verdict: {names} changed while being called, so the scores come from different programs"
        return {"text": f"{text}; start anew with --fresh", "points": []}
    told = [*_points(ranked, pairs), *(("!", text) for text in doubts)]
    points = [{"mark": mark, "text": text} for mark, text in told]
    return {"text": _headline(ranked, pairs), "points": points}


def _headline(ranked: Sequence[Model], pairs: Sequence[Pair]) -> str:
    first = ranked[0]
    if first["overall_score"] is None:
        return "nothing was scored: no model is ahead"
    if len(ranked) == 1:
        return f"{first['adapter']} scores {_overall(first)} overall, over {_tasks(first)}"
    second = ranked[1]
    pair = seen_from(first, second, pairs)
    told = f"{first['adapter']} against {second['adapter']}: {_difference(pair)}"
    if first["not_run"]:
        return f"no model ran all tasks, so none leads; {told}"
    if second["not_run"]:
        return f"{first['adapter']} leads: {second['adapter']} did not run all tasks"
    is_sure = pair["mark"] == compare.BETTER and pair["holds_at_worst"]
    return f"{first['adapter']} leads; {told}" if is_sure else f"no model is shown to be the best; {told}"


def _points(ranked: Sequence[Model], pairs: Sequence[Pair]) -> Iterator[tuple[str, str]]:
    first = ranked[0]["adapter"]
    unsure = _not_told_apart(ranked, pairs)
    for other, pair in unsure[:_MOST_NAMED]:
        yield "·", f"{first} against {other['adapter']}: {_difference(pair)}"
    if (more := len(unsure) - _MOST_NAMED) > 0:
        yield "·", f"nor is {first} shown to differ from {count(more, 'more model')}"
    for model in ranked:
        if model["not_run"]:
            yield "!", _not_run(model)
        if 1 - model["coverage"] > _MANY_FAILURES:
            yield "!", _failures(model)


def _not_told_apart(ranked: Sequence[Model], pairs: Sequence[Pair]) -> list[tuple[Model, Pair]]:
    """Find the models, from the third on, that the first is not shown to differ from."""
    found = [(other, seen_from(ranked[0], other, pairs)) for other in ranked[2:] if not other["not_run"]]
    return [(other, pair) for other, pair in found if pair["mark"] not in {compare.BETTER, compare.WORSE}]


def seen_from(model: Model, other: Model, pairs: Sequence[Pair]) -> dict[str, Any]:
    """Give the comparison of two models as the first minus the second."""
    names = {model["adapter"], other["adapter"]}
    pair = next(dict(pair) for pair in pairs if {pair["a"], pair["b"]} == names)
    if pair["b"] == model["adapter"]:
        return pair
    turned = {"wins": pair["losses"], "losses": pair["wins"], "a": pair["b"], "b": pair["a"]}
    ci = pair["ci"] and [-pair["ci"][1], -pair["ci"][0]]
    diff = None if pair["diff"] is None else -pair["diff"]
    return pair | turned | {"diff": diff, "ci": ci, "mark": _TURNED.get(pair["mark"], pair["mark"])}


def _difference(pair: Pair) -> str:
    if pair["diff"] is None:
        return "no example is scored for both"
    if pair["mark"] == compare.TOO_FEW:
        return f"{signed(pair['diff'])}, too few to say more: {too_few(from_dict(ScoreDifference, pair))}"
    ci = f"95 % CI {interval(pair['ci'])}" if pair["ci"] else "alike within each task"
    return f"{signed(pair['diff'])} ({ci}, {p_value(pair['p_holm'])}, {count(pair['n_pairs'], 'pair')})"


def _overall(model: Model) -> str:
    """Write the score with an interval: where these tasks have none, that on tasks like these."""
    score, other = number(model["overall_score"]), model.get("on_tasks_like_these")
    if model["ci"]:
        return f"{score} (95 % CI {interval(model['ci'], number)})"
    if other and other["ci"]:
        return f"{score} (95 % CI {interval(other['ci'], number)} on tasks like these)"
    return score


def _tasks(model: Model) -> str:
    scored = sum(task["score"] is not None for task in model["tasks"])
    return (
        f"{scored} of {count(len(model['tasks']), 'task')}"
        if scored < len(model["tasks"])
        else count(scored, "task")
    )


def _not_run(model: Model) -> str:
    missing, tasks = model["not_run"], count(len(model["tasks"]), "task")
    named = ", ".join(missing[:_MOST_NAMED]) + (", …" if len(missing) > _MOST_NAMED else "")
    return f"{model['adapter']} did not run {len(missing):,} of {tasks}: {named}"


def _failures(model: Model) -> str:
    calls = count(model["scored"] + model["failed"], "call")
    kinds = ", ".join(f"{many:,} {kind}" for kind, many in model["errors"].items())
    share = percent(1 - model["coverage"])
    return (
        f"{model['adapter']}: {model['failed']:,} of {calls} failed ({share}: {kinds}), left "
        f"out of every mean; counted as 0 it would score {number(model['lower_bound'])}"
    )
