"""One model's numbers on a leaderboard: which cells hold them, outcomes, tasks, categories, the score.

A bench's models are its task models. Each task, a split, has scorers, evaluators that are for it alone; the
first of them is the board's. An evaluator that was added scores the replies to all tasks once more.

An example's task is its file, or its own record where each record is a task. Tasks count alike, however many
examples they have. How models compare is said in boards.
"""

import hashlib
import json
import math
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from itertools import accumulate
from typing import TypeVar

from optimize_eval.base.documents import JsonDict
from optimize_eval.base.errors import FailureKind
from optimize_eval.base.frozen import Remembers, frozen
from optimize_eval.findings.board_shapes import (
    BoardExample,
    CategoryScores,
    ModelScores,
    Prediction,
    TaskLeftOut,
    TaskScores,
    TasksLikeThese,
)
from optimize_eval.findings.cells import Outcomes, ReadCell, Scores, joined_outcomes
from optimize_eval.findings.measures import EVERY, passes_of, passes_over
from optimize_eval.findings.stored_summary import Findings
from optimize_eval.findings.summary_parts import PassRates
from optimize_eval.statistics.estimates import Estimate, mean_of, mean_over, on_tasks_like_these
from optimize_eval.store.command_units import JournalRecord
from optimize_eval.store.layout import Cell, Layout
from optimize_eval.store.ledger import OWED
from optimize_eval.store.opened_run import StoredRun
from optimize_eval.store.run_document import RunDocument
from optimize_eval.tasks.stored_tasks import KeptScorer, KeptTask, tasks_in
from optimize_eval.tasks.task_files import SPEC, BoardFile, BoardItem


@frozen
class BenchedModel:
    """A model of a board: what it is called, how it is written, and where its scores are."""

    name: str
    text: str
    cells: Mapping[str, Cell]  # by split
    has_changed: bool = False  # it, or who scored it, was not one program throughout

    def without(self, splits: Collection[str]) -> "BenchedModel":
        cells = {split: cell for split, cell in self.cells.items() if split not in splits}
        return replace(self, cells=cells)


def benched_models(run: StoredRun) -> tuple[BenchedModel, ...]:
    """List the models of a bench as they were named, with the scores of the tasks' own scorers."""
    layout = run.layout
    scorers = {
        split: name for name in reversed(layout.evaluators) for split in layout.splits_of.get(name, ())
    }
    return _scored_by(run, scorers)


def models_scored_by(run: StoredRun, evaluator: str) -> tuple[BenchedModel, ...]:
    """List the models with the scores of an evaluator for all tasks; each model once."""
    models = _scored_by(run, {split.name: evaluator for split in run.layout.splits_for(evaluator)})
    distinct = {entry.sha256: entry.name for entry in reversed(run.document.selected_models)}
    return tuple(model for model in models if model.name in distinct.values())


def _scored_by(run: StoredRun, scorers: Mapping[str, str]) -> tuple[BenchedModel, ...]:
    """List the models with the scores of one evaluator for each split."""
    changed = run.ledger.changed.intersection(scorers.values())
    return tuple(
        BenchedModel(
            name=entry.name,
            text=entry.text,
            cells={
                cell.split: cell
                for cell in run.layout.cells
                if (cell.evaluator, cell.task_model) == (scorers.get(cell.split), entry.name)
            },
            has_changed=bool(changed) or entry.name in run.ledger.changed_models,
        )
        for entry in run.document.selected_models
    )


def unranked_in(findings: Findings) -> Mapping[str, TaskLeftOut]:
    """Find the splits that no board can be about: what it would be about, and why it is not."""
    known = KnownTasks(document=findings.run.document)
    cells: dict[str, list[Cell]] = {split.name: [] for split in findings.run.layout.splits}
    for model in benched_models(findings.run):
        for split, cell in model.cells.items():
            cells[split].append(cell)
    return {
        split: TaskLeftOut(
            task=split, evaluator=theirs[0].evaluator, why=why, display_name=known.tasks.get(split, "")
        )
        for split, theirs in cells.items()
        if (why := _why_none(findings, theirs, known.checks))
    }


def _why_none(findings: Findings, cells: Sequence[Cell], checks: Collection[str]) -> str:
    if any(cell.evaluator in checks for cell in cells):
        return "has the purpose qa"
    is_unit = all(findings.cell(cell).scores.is_unit for cell in cells)
    return "" if is_unit else "gives no numbers from 0 to 1"


def ranks_none(findings: Findings) -> bool:
    """Return True if no split of a bench can be on a board."""
    return len(unranked_in(findings)) == len(findings.run.layout.splits)


def is_owed(run: StoredRun, model: BenchedModel) -> bool:
    """Return True if a model has not been called for all of its tasks."""
    units = (range(cell.start, cell.start + cell.size) for cell in model.cells.values())
    return any(run.ledger.count(OWED, numbers) for numbers in units)


def model_names(layout: Layout) -> tuple[str, ...]:
    """Name the models of a bench that is planned."""
    return tuple(map(str, layout.task_models)) if layout.splits_of else layout.evaluators


def name_of(evaluator: str, task_model: str | None, layout: Layout) -> str:
    """Name a model as a board does; with its scorer, where that is not the task's own, as in gates."""
    if task_model is None:
        return evaluator
    return task_model if evaluator in layout.splits_of else f"{task_model}.{evaluator}"


@frozen
class KnownTasks(Remembers):
    """What a run keeps of its tasks in YAML, of which most benches have none."""

    document: RunDocument | None = None

    @cached_property
    def tasks(self) -> Mapping[str, str]:
        """Give what people call them, by their keys."""
        return {task.key: task.display_name for task in self._kept}

    @cached_property
    def scorers(self) -> Mapping[str, str]:
        """Give what people call the scorers, by evaluators."""
        return {scorer.evaluator: scorer.display_name or scorer.key for scorer in self._scorers}

    @cached_property
    def checks(self) -> Collection[str]:
        """List the scorers that are looked at and rank nobody, as their tasks say."""
        return {scorer.evaluator for scorer in self._scorers if scorer.purpose == "qa"}

    @cached_property
    def digests(self) -> Mapping[str, str]:
        """Digest by evaluators what scorers are, with their solvers, and the samples that they are for."""
        return dict(_digests(self.document)) if self.document and self._kept else {}

    def digest_on(self, split: str) -> str:
        """Give what the board's scorer of a split measures; empty of other tasks."""
        splits_of = self.document.selection.splits_of if self.document else {}
        scorer = next((name for name, splits in splits_of.items() if split in splits), "")
        return self.digests.get(scorer, "")

    @cached_property
    def _kept(self) -> Sequence[KeptTask]:
        return tasks_in(self.document.settings) if self.document else ()

    @property
    def _scorers(self) -> Iterator[KeptScorer]:
        return (scorer for task in self._kept for scorer in task.scorers)


NONE_KNOWN = KnownTasks()


def _digests(document: RunDocument) -> Iterator[tuple[str, str]]:
    layout = document.selection
    for entry in document.selected_evaluators:
        samples = [layout.split(name).sha256 for name in layout.splits_of.get(entry.name, ())]
        written = json.dumps([entry.sha256, samples], separators=(",", ":"))
        yield entry.name, hashlib.sha256(written.encode()).hexdigest()


_Value = TypeVar("_Value")


@frozen
class CountedTask:
    """What counts as one task: examples of one file."""

    name: str
    file: BoardFile
    split: str  # the file's name in the run
    places: slice  # of the file's examples

    @property
    def items(self) -> Sequence[BoardItem]:
        return self.of(self.file.tasks)

    @property
    def size(self) -> int:
        return int(self.places.stop - self.places.start)

    def of(self, by_example: Sequence[_Value]) -> Sequence[_Value]:
        return by_example[self.places]


def tasks_of(
    files: Sequence[BoardFile], layout: Layout, left_out: Collection[str] = ()
) -> Iterator[CountedTask]:
    """List the tasks of files; those of the splits that are left out do not count."""
    there = [file for file in files if file.tasks]
    for file, split in zip(there, layout.splits, strict=True):
        if split.name in left_out:
            continue
        if file.dialect == SPEC:  # a record is a task
            for index, item in enumerate(file.tasks):
                places = slice(index, index + 1)
                yield CountedTask(name=item.id, file=file, split=split.name, places=places)
        else:
            yield CountedTask(name=file.name, file=file, split=split.name, places=slice(0, len(file.tasks)))


Said = tuple[str, Prediction]  # what became of a call, and what was said in it


def example_of(name: str, line: int | None, said: Sequence[Said], mean: float) -> BoardExample:
    """Give an example's prediction and score, or why it has none; of several repeats each."""
    outcomes, every = zip(*said, strict=True)
    first = every[
        next((outcomes.index(outcome) for outcome in ("scored", "failed") if outcome in outcomes), 0)
    ]
    return BoardExample(
        id=name,
        prompt="",
        prediction=first.prediction,
        targets=(),
        score=None if math.isnan(mean) else mean,
        line=line,
        error=first.error,
        skip=first.skip,
        predictions=every if len(every) > 1 else (),
    )


def said_in(record: JournalRecord) -> Said:
    """Keep of a record what a board has of examples."""
    outcome = record["outcome"]
    prediction = Prediction(
        prediction=record.get("side_info", {}).get("prediction"),
        score=record.get("score"),
        error=record.get("kind"),
        skip=record.get("message") if outcome == "skipped" else None,
    )
    return outcome, prediction


ByExample = Sequence[float]  # not a number where there is no score


@frozen
class RankedModel:
    """A model's numbers, and what is behind them in the order of all examples."""

    scores: ModelScores
    outcomes: Outcomes


def model_of(
    name: str,
    tasks: Sequence[CountedTask],
    files: Mapping[str, ReadCell],
    metric: str | None,
    *,
    with_examples: bool,
    known: KnownTasks = NONE_KNOWN,
) -> RankedModel:
    entries = tuple(
        _with_names(
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
    files: Sequence[ReadCell],
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
        **_spread(overall),
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
        latency_ms=_milliseconds([taken for file in files for taken in file.scores.seconds_of(EVERY)]),
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


def _pass_rates(tasks: Sequence[CountedTask], files: Mapping[str, ReadCell]) -> tuple[PassRates, ...]:
    repeats = [files[task.split].measures.repeats(task.places) for task in tasks]
    return passes_over(repeats)


def _task(task: CountedTask, file: ReadCell, metric: str, *, with_examples: bool) -> TaskScores:
    scores = [value for value in task.of(file.scores.means) if not math.isnan(value)]
    errors, seconds = file.scores.kinds_of(task.places), file.scores.seconds_of(task.places)
    mean = mean_of(scores, is_unit=True)
    return TaskScores(
        task=task.name,
        metric=metric.partition("@")[0],
        score=mean.mean,
        correct=round(math.fsum(scores)),
        total=task.size,
        latency_ms=_milliseconds(seconds),
        metric_id=metric,
        category=task.items[0].category,
        path=task.file.path,
        sha256=task.file.sha256,
        **_spread(mean),
        lower_bound=mean_of([low for low in task.of(_lows(file.scores)) if not math.isnan(low)]).mean,
        perfect=scores.count(1.0),
        scored=len(seconds),
        failed=errors.total(),
        skipped=sum(task.of(file.scores.skipped_calls)),
        skipped_examples=_skipped_in(task, file.scores),
        timeouts=errors[FailureKind.TIMEOUT],
        errors=dict(errors),
        passes=passes_of(file.measures.repeats(task.places), None),
        corpus_bleu=file.measures.corpus_bleu,
        per_example=tuple(_examples(task, file)) if with_examples else (),
    )


def _with_names(task: TaskScores, evaluator: str, known: KnownTasks) -> TaskScores:
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


def _examples(task: CountedTask, file: ReadCell) -> Iterator[BoardExample]:
    parts = task.items, task.of(file.kept), task.of(file.scores.means)
    for item, said, mean in zip(*parts, strict=True):
        whole = example_of(item.id, item.line, said, mean)
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
        own = [apart[index] for index, task in enumerate(tasks) if task.items[0].category == category]
        mean = mean_over(own)
        yield CategoryScores(
            category=category,
            score=mean.mean,
            **_spread(mean),
            on_tasks_like_these=_elsewhere(own),
            tasks=len(own),
        )


def _elsewhere(tasks: Sequence[Sequence[float]]) -> TasksLikeThese | None:
    """Say what other tasks of this kind could make of the mean; None where there are too few to tell."""
    mean = on_tasks_like_these(tasks)
    if mean is None:
        return None
    return TasksLikeThese(se=mean.se, ci=mean.ci, method=mean.method, tasks=mean.n)


def _spread(mean: Estimate) -> JsonDict:
    """Give what a board tells of an estimate besides the mean."""
    return {"se": mean.se, "ci": mean.ci, "method": mean.method, "n": mean.n}


def _milliseconds(seconds: Sequence[float]) -> float | None:
    """Average how long scored calls took."""
    return round(math.fsum(seconds) / len(seconds) * 1000, 3) if seconds else None
