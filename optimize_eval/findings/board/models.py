"""One model's numbers on a leaderboard: its tasks, categories and overall score.

Tasks count alike, however many examples they have. What a model did is outcomes', how models compare is
document's.
"""

import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import accumulate

from optimize_eval.base.errors import FailureKind
from optimize_eval.base.frozen import frozen
from optimize_eval.findings.board.by_task import mean_over, on_tasks_like_these
from optimize_eval.findings.board.names import NONE_KNOWN, KnownTasks
from optimize_eval.findings.board.outcomes import CountedTask, FileOutcomes, example_of
from optimize_eval.findings.board.shapes import (
    BoardExample,
    CategoryScores,
    ModelScores,
    TaskScores,
    TasksLikeThese,
)
from optimize_eval.findings.measures import passes_of, passes_over
from optimize_eval.findings.scores import Outcomes, Scores, joined_outcomes
from optimize_eval.findings.shapes.measured import PassRates
from optimize_eval.statistics.estimates import mean_of

ByExample = Sequence[float]  # not a number where there is no score


@frozen
class RankedModel:
    """A model's numbers, and what is behind them in the order of all examples."""

    scores: ModelScores
    outcomes: Outcomes


def model_of(
    name: str,
    tasks: Sequence[CountedTask],
    files: Mapping[str, FileOutcomes],
    metric: str | None,
    *,
    with_examples: bool,
    known: KnownTasks = NONE_KNOWN,
) -> RankedModel:
    entries = tuple(
        _named(
            _task(task, files[task.split], metric or task.items[0].metric, with_examples=with_examples),
            files[task.split].scores.cell.evaluator,
            known,
        )
        for task in tasks
    )
    splits = dict.fromkeys(task.split for task in tasks)
    outcomes = joined_outcomes([files[split].scores for split in splits])
    means, lows = outcomes.means, outcomes.lows or outcomes.means
    not_run = tuple(task.name for task, entry in zip(tasks, entries, strict=True) if _is_not_run(entry))
    scores = _scores_of(
        name, entries, list(files.values()), not_run, means=by_task(means, tasks), lows=by_task(lows, tasks)
    )
    categories, passes = tuple(_categories(means, tasks)), _pass_rates(tasks, files)
    scores = replace(scores, categories=categories, passes=passes)
    return RankedModel(scores=scores, outcomes=outcomes)


def _scores_of(
    name: str,
    entries: tuple[TaskScores, ...],
    files: Sequence[FileOutcomes],
    not_run: tuple[str, ...],
    *,
    means: Sequence[Sequence[float]],
    lows: Sequence[Sequence[float]],
) -> ModelScores:
    """Put together what a model is over all its tasks, whose scores are in `means`."""
    overall = mean_over(means)
    scored = sum(file.scores.scored for file in files)
    errors = sum((Counter(entry.errors) for entry in entries), Counter[str]())
    replies = [file.measures.replies for file in files]
    return ModelScores(
        adapter=name,
        overall_score=overall.mean,
        se=overall.se,
        ci=overall.ci,
        method=overall.method,
        n=overall.n,
        df=overall.df,
        on_tasks_like_these=_elsewhere(means),
        lower_bound=mean_over(lows).mean,
        correct=sum(entry.correct for entry in entries),
        perfect=sum(entry.perfect for entry in entries),
        total=sum(entry.total for entry in entries),
        scored=scored,
        failed=errors.total(),
        skipped=sum(file.scores.skipped for file in files),
        skipped_examples=sum(entry.skipped_examples for entry in entries),
        coverage=scored / (scored + errors.total()) if scored or errors else 1.0,
        timeouts=errors[FailureKind.TIMEOUT],
        errors=dict(errors),
        latency_ms=_milliseconds([calls for file in files for calls in file.seconds]),
        not_run=not_run,
        cut_off=sum(counts.cut_off for counts in replies),
        with_thoughts=sum(counts.with_thoughts for counts in replies),
        refused=sum(counts.refused for counts in replies),
        empty=sum(counts.empty for counts in replies),
        answered_by=dict(sum((counts.answered_by for counts in replies), Counter[str]())),
        categories=(),
        tasks=entries,
        win_rate=None,  # until all models are known
    )


def _pass_rates(tasks: Sequence[CountedTask], files: Mapping[str, FileOutcomes]) -> tuple[PassRates, ...]:
    repeats = [files[task.split].measures.repeats(task.places) for task in tasks]
    return passes_over(repeats)


def _task(task: CountedTask, file: FileOutcomes, metric: str, *, with_examples: bool) -> TaskScores:
    scores = [value for value in task.of(file.scores.means) if not math.isnan(value)]
    errors = sum(task.of(file.kinds), Counter[str]())
    mean = mean_of(scores, is_unit=True)
    return TaskScores(
        task=task.name,
        metric=metric.partition("@")[0],
        score=mean.mean,
        correct=round(math.fsum(scores)),
        total=task.size,
        latency_ms=_milliseconds(task.of(file.seconds)),
        metric_id=metric,
        category=task.items[0].category,
        path=task.file.path,
        sha256=task.file.sha256,
        se=mean.se,
        ci=mean.ci,
        method=mean.method,
        n=mean.n,
        lower_bound=mean_of([low for low in task.of(_lows(file.scores)) if not math.isnan(low)]).mean,
        perfect=scores.count(1.0),
        scored=sum(map(len, task.of(file.seconds))),
        failed=errors.total(),
        skipped=sum(task.of(file.scores.skipped_calls)),
        skipped_examples=_skipped_in(task, file.scores),
        timeouts=errors[FailureKind.TIMEOUT],
        errors=dict(errors),
        passes=passes_of(file.measures.repeats(task.places), None),
        corpus_bleu=file.measures.corpus_bleu,
        per_example=tuple(_examples(task, file)) if with_examples else (),
    )


def _named(task: TaskScores, evaluator: str, known: KnownTasks) -> TaskScores:
    """Put in what people call a task in YAML and its scorer, and what that measures."""
    if task.task not in known.tasks:
        return task
    return replace(
        task,
        display_name=known.tasks[task.task],
        scorer_name=known.scorers.get(evaluator, ""),
        evaluator=evaluator,
        measures=known.digests.get(evaluator, ""),
    )


def _examples(task: CountedTask, file: FileOutcomes) -> Iterator[BoardExample]:
    parts = task.items, task.of(file.records), task.of(file.scores.means)
    for item, records, mean in zip(*parts, strict=True):
        whole = example_of(item.id, item.line, records, mean)
        yield replace(whole, prompt=item.prompt, targets=item.targets)


def _is_not_run(entry: TaskScores) -> bool:
    """Return True if at most half of the examples that apply have a score."""
    applying = entry.total - entry.skipped_examples
    return applying > 0 and 2 * entry.n <= applying


def _skipped_in(task: CountedTask, scores: Scores) -> int:
    """Count the examples that do not apply: all of their calls were skipped."""
    return sum(map(scores.has_only_skips, task.of(range(len(scores.means)))))


def _lows(scores: Scores) -> ByExample:
    """Give the scores with failures counted as 0."""
    return scores.means if scores.lows is None else scores.lows


def by_task(values: ByExample, tasks: Sequence[CountedTask]) -> list[list[float]]:
    """Give each task the values that it has."""
    starts = accumulate((task.size for task in tasks), initial=0)
    return [
        [value for value in values[start : start + task.size] if not math.isnan(value)]
        for start, task in zip(starts, tasks, strict=False)
    ]


def _categories(values: ByExample, tasks: Sequence[CountedTask]) -> Iterator[CategoryScores]:
    """Average each category's tasks; files of examples have none."""
    apart = by_task(values, tasks)
    for category in dict.fromkeys(task.items[0].category for task in tasks if task.items[0].category):
        own = [apart[place] for place, task in enumerate(tasks) if task.items[0].category == category]
        mean = mean_over(own)
        yield CategoryScores(
            category=category,
            score=mean.mean,
            se=mean.se,
            ci=mean.ci,
            method=mean.method,
            n=mean.n,
            on_tasks_like_these=_elsewhere(own),
            tasks=len(own),
        )


def _elsewhere(tasks: Sequence[Sequence[float]]) -> TasksLikeThese | None:
    """Say what other tasks of this kind could make of the mean; None where there are too few to tell."""
    mean = on_tasks_like_these(tasks)
    if mean is None:
        return None
    return TasksLikeThese(se=mean.se, ci=mean.ci, method=mean.method, tasks=mean.n)


def _milliseconds(seconds: Sequence[Sequence[float]]) -> float | None:
    """Average how long scored calls took."""
    taken = [one for of_example in seconds for one in of_example]
    return round(math.fsum(taken) / len(taken) * 1000, 3) if taken else None
