"""A run of task files → `leaderboard.v1`: models in their order, compared in pairs, and the verdict.

Failures stay apart: a model that did not run all tasks never stands above one that did, and a failure never
lifts a model. A model's own numbers are made in board_models.
"""

import math
from collections.abc import Iterator, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from functools import partial
from itertools import combinations
from typing import TypeVar

from optimize_eval.base.documents import JsonMapping
from optimize_eval.findings import comparison
from optimize_eval.findings.board_models import (
    NONE_KNOWN,
    BenchedModel,
    CountedTask,
    KnownTasks,
    RankedModel,
    model_names,
    model_of,
    tasks_of,
    unranked_in,
)
from optimize_eval.findings.board_shapes import SCHEMA, Board, ModelPair, ModelScores, ScoredFile, TaskLeftOut
from optimize_eval.findings.comparison import (
    IF_ALIKE,
    MOST_FLIPPED_PAIRS,
    NOT,
    Between,
    beside,
    compare_by_task,
    corrected,
    held_against_leader,
    may_be_favoured,
)
from optimize_eval.findings.difference_words import AMONG_BOTH, about_rules, too_few, why_no_lead
from optimize_eval.findings.replies import doubts_of_models
from optimize_eval.findings.stored_summary import Findings, doubts_about_code, doubts_about_rules
from optimize_eval.findings.summary_shape import Conclusion, Point
from optimize_eval.findings.wording import count, interval, number, percent, signed
from optimize_eval.statistics.differences import OverAllRows, ScoreDifference
from optimize_eval.statistics.power import ALPHA
from optimize_eval.store.layout import Layout
from optimize_eval.tasks.task_files import BoardFile

_MANY_FAILURES = 0.01
_TURNED = {
    comparison.BETTER: comparison.WORSE,
    comparison.WORSE: comparison.BETTER,
    comparison.HINT_BETTER: comparison.HINT_WORSE,
    comparison.HINT_WORSE: comparison.HINT_BETTER,
}
_SHOWN = {comparison.BETTER, comparison.WORSE}
_MOST_NAMED = 5
_Difference = TypeVar("_Difference", ScoreDifference, OverAllRows)


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
        text = f"No verdict: {names} changed while being called, so the scores come from different programs"
        return Conclusion(text=f"{text}. Start over with --fresh", points=())
    points = [*_points(ranked, pairs), *(Point(mark="!", text=text) for text in doubts)]
    return Conclusion(text=_headline(ranked, pairs), points=tuple(points))


def _headline(ranked: Sequence[ModelScores], pairs: Sequence[ModelPair]) -> str:
    first = ranked[0]
    if first.overall_score is None:
        return "No verdict: nothing was scored"
    if len(ranked) == 1:
        return f"{first.adapter} scores {_overall(first)} overall, over {_tasks(first)}"
    second = ranked[1]
    pair = seen_from(first, second, pairs)
    compared = f"{first.adapter} against {second.adapter}: {_difference(pair.difference)}"
    if first.not_run:
        return f"No leader: no model ran all tasks ({compared})"
    if second.not_run:
        return f"No leader: only {first.adapter} ran all tasks ({compared})"
    d = pair.difference
    others = [seen_from(first, other, pairs) for other in ranked[1:] if not other.not_run]
    if not all(pair.difference.mark == comparison.BETTER and pair.holds for pair in others):
        return f"No clear leader: {compared}{_despite(pair)}"
    among = f" {AMONG_BOTH}" if d.skipped_for_one else ""
    return f"{first.adapter} leads{among}, ahead of {second.adapter}: {_difference(d)}"


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
        close = f"{first} and {other.adapter} are too close to call"
        yield Point(mark="·", text=f"{close}: {_difference(pair.difference)}{_despite(pair)}")
    if (more := len(unsure) - _MOST_NAMED) > 0:
        yield Point(
            mark="·",
            text=f"{count(more, 'more model')} {'is' if more == 1 else 'are'} too close to {first} to call",
        )
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
    return replace(pair, a=pair.b, b=pair.a, difference=_turn(pair.difference))


def _turn(d: ScoreDifference) -> ScoreDifference:
    rows = d.over_all_rows and _negate(d.over_all_rows)
    return replace(_negate(d), wins=d.losses, losses=d.wins, over_all_rows=rows)


def _negate(d: _Difference) -> _Difference:
    return replace(
        d,
        diff=None if d.diff is None else -d.diff,
        ci=d.ci and (-d.ci[1], -d.ci[0]),
        mark=_TURNED.get(d.mark, d.mark),
    )


def _difference(d: ScoreDifference) -> str:
    if d.diff is None:
        return "no example is scored for both"
    if d.mark == comparison.TOO_FEW:
        return f"{signed(d.diff)}, too few examples for a verdict: {too_few(d)}"
    ci = f"95 % CI {interval(d.ci)}" if d.ci else "alike within each task"
    return f"{signed(d.diff)} ({ci}, {count(d.n_pairs, 'pair')})"


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
        f"{model.adapter}: {model.failed:,} of {calls} failed ({share}: {kinds}) and are in "
        f"no mean. Counted as 0, it would score {number(model.lower_bound)}"
    )


def board_of(
    findings: Findings,
    files: Sequence[BoardFile],
    models: Sequence[BenchedModel],
    *,
    settings: JsonMapping,
    metric: str | None = None,
    include_per_example: bool = False,
) -> Board:
    """Make the leaderboard of models, with nothing owed; splits are files, of which one at least is ranked.

    `metric` names who scored in place of a task's metric.
    """
    run = findings.run
    left_out = {} if metric else unranked_in(findings)
    models = [model.without(left_out) for model in models]
    tasks = list(tasks_of(files, run.layout, left_out))
    every = list(_models(findings, tasks, models, metric, with_examples=include_per_example))
    pairs = _pairs(every, tasks, run.layout.seed)
    changed = [model.name for model in models if model.has_changed]
    ranked = [
        replace(model.scores, win_rate=_win_rate(model.scores.adapter, pairs))
        for model in sorted(every, key=_rank)
    ]
    written = {model.name: model.text for model in models}
    doubts = [
        *map(_why_left_out, left_out.values()),
        *doubts_of_models(ranked, written),
        *_unlike_skips(every),
        *doubts_about_code(run.document.settings),
        *doubts_about_rules(run.document.settings),
    ]
    first = every[0].scores
    return Board(
        schema=SCHEMA,
        timestamp=datetime.now(UTC).isoformat(timespec="seconds"),
        overall_score=first.overall_score,
        adapter=first.adapter,
        tasks=first.tasks,
        verdict=judge(ranked, pairs, changed, doubts=doubts),
        changed=tuple(changed),
        models=tuple(ranked),
        pairs=tuple(pairs),
        files=tuple(map(_file, files)),
        left_out=tuple(left_out.values()),
        task_errors=tuple({"path": file.path, **error.to_dict()} for file in files for error in file.errors),
        settings=dict(settings),
        spent=run.ledger.ledger.spending.totals,
    )


def _models(
    findings: Findings,
    tasks: Sequence[CountedTask],
    models: Sequence[BenchedModel],
    metric: str | None,
    *,
    with_examples: bool,
) -> Iterator[RankedModel]:
    known = KnownTasks(document=findings.run.document)
    for model in models:
        files = {split: findings.cell(cell) for split, cell in model.cells.items()}
        yield model_of(model.name, tasks, files, metric, with_examples=with_examples, known=known)


def _why_left_out(task: TaskLeftOut) -> str:
    return f"{task.display_name or task.task} is not on the board: {task.evaluator} {task.why}"


def expected_board(files: Sequence[BoardFile], layout: Layout, known: KnownTasks = NONE_KNOWN) -> Board:
    """Make of a leaderboard what is known of it before anything is called: its models and its tasks."""
    tasks = [
        {
            "task": task.name,
            "metric_id": task.items[0].metric,
            "path": task.file.path,
            "sha256": task.file.sha256,
            "measures": known.digest_on(task.split),
            "total": task.size,
        }
        for task in tasks_of(files, layout)
    ]
    return Board.of_what_is_known(
        {"models": [{"adapter": name, "tasks": tasks} for name in model_names(layout)]}
    )


def _unlike_skips(models: Sequence[RankedModel]) -> Iterator[str]:
    """Point out that models were not scored on the same examples."""
    every = [model.outcomes.skipped_calls for model in models]
    differing = sum(len(set(skipped)) > 1 for skipped in zip(*every, strict=True))
    if differing:
        calls = ", ".join(
            f"{model.scores.skipped:,} ({model.scores.adapter})" for model in models[:_MOST_NAMED]
        )
        more = ", …" * (len(models) > _MOST_NAMED)
        examples = count(len(every[0]), "example")
        yield (
            f"The models skipped different calls, {calls}{more}: {differing:,} of {examples} differ. "
            "A pair counts only if neither side was skipped"
        )


def _rank(model: RankedModel) -> tuple[float, ...]:
    """Order models: who ran all tasks first, then by what failures counted as 0 leave, then by failures.

    Never by the score next: where a call failed in the place of a wrong answer, that would lift the model.
    """
    scores = model.scores
    return len(scores.not_run), -(scores.lower_bound or 0.0), scores.failed


def _pairs(models: Sequence[RankedModel], tasks: Sequence[CountedTask], seed: int) -> list[ModelPair]:
    couples = list(combinations(models, 2))
    sizes, many = [task.size for task in tasks], len(couples)
    between = partial(compare_by_task, sizes=sizes, comparisons=many)
    drawn = partial(between, seed=seed, may_flip=many <= MOST_FLIPPED_PAIRS)
    plain = [drawn(a.outcomes.means, b.outcomes.means) for a, b in couples]
    whole = {
        index: drawn(a.outcomes.over_all_rows, b.outcomes.over_all_rows)
        for index, (a, b) in enumerate(couples)
        if may_be_favoured(a.outcomes, b.outcomes)
    }
    over_all = corrected([whole.get(index, difference) for index, difference in enumerate(plain)])
    return [
        _pair(a, b, difference, over_all[index] if index in whole else None, partial(between, may_flip=False))
        for index, ((a, b), difference) in enumerate(zip(couples, corrected(plain), strict=True))
    ]


def _pair(
    a: RankedModel, b: RankedModel, plain: ScoreDifference, over_all: ScoreDifference | None, between: Between
) -> ModelPair:
    """Shape a comparison; where failures and skips of one side count, they are the leader's as 0."""
    held = held_against_leader(a.outcomes, b.outcomes, plain, between, is_unit=True)
    difference = beside(plain, None, over_all)
    return ModelPair(
        a=a.scores.adapter,
        b=b.scores.adapter,
        difference=replace(difference, skipped_for_one=held.skipped_for_one),
        holds_at_lower_bound=_holds(plain, held.at_zero),
        holds_at_worst=_holds(plain, held.at_worst),
    )


def _holds(plain: ScoreDifference, other: ScoreDifference | None) -> bool:
    """Return True if a difference goes the same way, and is as sure, with failures counted as scores."""
    if other is None:
        return False
    ways = _way(plain), _way(other)
    return None not in ways and ways[0] in {0, ways[1]}


def _way(d: ScoreDifference) -> int | None:
    """Say which of two is ahead, by the interval or, where nothing varies, by the test; 0 is neither."""
    if d.p is None or d.diff is None:
        return None
    low, high = d.ci or ((d.diff, d.diff) if d.p < ALPHA else (0.0, 0.0))
    return 1 if low > 0 else -1 if high < 0 else 0


def _win_rate(model: str, pairs: Sequence[ModelPair]) -> float | None:
    """Average over the others how many examples are won, where a tie is half a win."""
    rates = []
    for pair in pairs:
        d = pair.difference
        if model in {pair.a, pair.b} and d.n_pairs:
            rates.append(((d.wins if pair.b == model else d.losses) + d.ties / 2) / d.n_pairs)
    return math.fsum(rates) / len(rates) if rates else None


def _file(file: BoardFile) -> ScoredFile:
    return ScoredFile(
        path=file.path,
        sha256=file.sha256,
        dialect=file.dialect,
        tasks=len(file.tasks),
        errors=len(file.errors),
    )
