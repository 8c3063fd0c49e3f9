"""The models that replied, each against the first one, prompt by prompt: pairs, and points about them."""

from collections.abc import Iterator

from optimize_eval.findings.claims.against import Against
from optimize_eval.findings.rows import AMONG_BOTH, MARKS, change, lead_holds, too_few, why_no_lead
from optimize_eval.findings.shapes.row import ModelPair
from optimize_eval.findings.shapes.summary import Point, Summary
from optimize_eval.findings.shaping import held_difference
from optimize_eval.findings.summary import compare
from optimize_eval.findings.wording import count
from optimize_eval.store.layout import Layout

MOST_NAMED = 5  # of prompts

_WORDS = {
    compare.BETTER: "is better than",
    compare.WORSE: "is worse than",
    compare.HINT_BETTER: "may be better, a hint only, than",
    compare.HINT_WORSE: "may be worse, a hint only, than",
}


def model_pairs(against: Against) -> Iterator[ModelPair]:
    """Shape the comparisons of models."""
    first = against.layout.task_models[0]
    for (where, name), one in against.models.items():
        pair = against.scores[where._replace(task_model=first), name], against.scores[where, name]
        yield ModelPair(
            a=str(first),
            b=str(where.task_model),
            candidate=name,
            evaluator=where.evaluator,
            split=where.split,
            failed=sum(scores.failed for scores in pair),
            difference=held_difference(one),
        )


def points_about_models(summary: Summary, won_by: str | None, layout: Layout) -> Iterator[Point]:
    """Compare models within each of the first prompts, by the first evaluator where it decides."""
    pairs = [
        pair
        for pair in summary.models
        if (pair.evaluator, pair.split) == (layout.evaluators[0], layout.deciding)
    ]
    names = dict.fromkeys(filter(None, (won_by, *layout.candidates)))
    for name in [*names][:MOST_NAMED]:
        for pair in pairs:
            if pair.candidate == name:
                yield _point(pair)
    left = len(names) - MOST_NAMED
    if pairs and left > 0:
        yield _more(left)


def _point(pair: ModelPair) -> Point:
    d, where = pair.difference, f"with the prompt {pair.candidate}"
    if d.mark == compare.TOO_FEW:
        return Point(mark="·", text=f"{where} too few to tell {pair.b} from {pair.a}: {too_few(d)}")
    if d.mark == compare.NO_DIFFERENCE:
        return Point(mark="·", text=f"{where} {pair.b} is not told apart from {pair.a}: {change(d)}")
    if pair.failed:
        side = "ahead of" if (d.diff or 0) > 0 else "behind"
        failed = f"{count(pair.failed, 'call')} failed"
        what = f"is {side} {pair.a} where both were scored, but {failed}"
        return Point(mark="!", text=f"{where} {pair.b} {what}: {change(d)}")
    if d.mark in {compare.BETTER, compare.WORSE} and not lead_holds(d):
        side = "ahead of" if d.mark == compare.BETTER else "behind"
        what = f"is {side} {pair.a} {why_no_lead(d, d.despite_failures or '')}"
        return Point(mark="!", text=f"{where} {pair.b} {what}: {change(d)}")
    among = f" {AMONG_BOTH}" if d.skipped_for_one else ""
    return Point(mark=MARKS[d.mark], text=f"{where} {pair.b} {_WORDS[d.mark]} {pair.a}{among}: {change(d)}")


def _more(left: int) -> Point:
    return Point(
        mark="·", text=f"models are compared with {count(left, 'more prompt')}, too: see summary.json"
    )
