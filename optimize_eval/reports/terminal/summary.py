"""A run's summary as people read it in a terminal: the verdict first, then a table per evaluator.

Pure: summary → text, the same text for the same screen at any time. Numbers are never cut.

Nothing is compared here: a mean over some examples says nothing beside one over others.
"""

from collections import defaultdict
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from functools import partial
from statistics import fmean
from typing import NamedTuple

from optimize_eval.base.frozen import frozen
from optimize_eval.base.spent import SpendingTotals
from optimize_eval.data.candidates import THE_PROMPT
from optimize_eval.findings.board_shapes import ModelScores
from optimize_eval.findings.comparison import OVERFITS
from optimize_eval.findings.summary_parts import LatencyEntry, MeasuredCell, PassRates, Row, ValuesAtPath
from optimize_eval.findings.summary_shape import FailureGroup, Point, SkipGroup, Summary, Verdict
from optimize_eval.findings.wording import (
    MINUS,
    count,
    evaluator_label,
    interval,
    number,
    percent,
    possible_interval,
    signed,
    total_in_words,
)
from optimize_eval.reports import metric_tables
from optimize_eval.reports.cells_of_tables import (
    MOST_FAILURES,
    MOST_ROWS,
    SHOWN_TEXT,
    Alike,
    Matrix,
    candidates_of,
    difference,
    ends,
    failed,
    got_worse_nowhere,
    is_baseline,
    matrices_of,
    most_frequent,
    most_skipped,
    overfit,
    p_value,
    short_interval,
    shown_rows,
    skipped,
    tables_of,
    title_of,
    why_skipped,
    words_of,
    worse_rows,
    worst_of,
)
from optimize_eval.reports.inert import shortened
from optimize_eval.reports.text import (
    Column,
    Screen,
    Style,
    body,
    cut,
    layout_table,
    of_sign,
    part,
    tables_beside,
)
from optimize_eval.statistics.differences import ScoreDifference
from optimize_eval.statistics.estimates import Estimate
from optimize_eval.statistics.rates import Calibration
from optimize_eval.store.command_units import Reader
from optimize_eval.store.layout import Cell
from optimize_eval.store.opened_run import StoredRun

WIDE = 110

_LONGEST_MODEL = 24
_SHOWN_WORST = 3
HEAD = 12
_SIGNS = "▲▼△▽"
_OF_STATES = {
    "better": Style.STRONGLY_GOOD,
    "worse": Style.STRONGLY_BAD,
    "failed": Style.STRONGLY_BAD,
}


@frozen
class ShownRun:
    """A run as people name it, and how it goes on."""

    name: str  # of its folder, as a shell takes it
    note: str | None = None
    command: str = ""  # that resumes it, where that is known
    own: Collection[str] | None = None  # evaluators that --out goes on with; None: all
    goes_on: bool = True  # or how to go on is said elsewhere

    def steps(self, summary: Summary) -> list[tuple[str, str]]:
        """Say how to call what is owed, or failed."""
        may_pass = any(entry.kind != "reported" for entry in summary.failures)
        fixed = f"; after a fix, add --out {self.name}" if self._may_be_fixed(summary) else ""
        again = f"run the same command again{fixed}"
        if not self.goes_on:
            return []
        if summary.units.owed:
            return [("resume", self.command or again)]
        return [("retry what failed", again)] if may_pass else []

    def _may_be_fixed(self, summary: Summary) -> bool:
        """Return True if an evaluator failed and scored nothing: fixed, it goes on in this folder alone."""
        scored = {row.evaluator for row in summary.rows if any(s.scored for s in row.splits.values())}
        failed = {entry.evaluator for entry in summary.failures}
        return bool(failed.intersection(failed if self.own is None else self.own) - scored)


def render(summary: Summary, run: ShownRun, screen: Screen) -> str:
    """Lay out everything, the note first, the verdict last."""
    lines = head(run.note, screen)
    tables = tables_of(summary)
    for rows in tables:
        lines += [*table_of(rows, summary, screen), *_p_values(rows, summary, screen)]
    for matrix in matrices_of(summary):
        lines += _matrix(matrix, summary.decided_on, screen)
    if summary.metrics:
        lines += metric_tables.lines_of_summary(summary, screen)
    if tables:
        lines += _groups(tables[0][0], summary, screen)
    lines += [*failures_of(summary, screen), *_skips(summary, screen)]
    if tables:
        lines += _worst(tables[0], summary, screen)
        lines += side_info_of(tables[0][0], summary, screen)
        lines += of_row(tables[0][0], summary, screen)
    lines += [*spending_of_models(summary.spent, screen), *of_times(summary, screen)]
    lines += verdict_lines(summary.verdict, screen)
    steps = [*run.steps(summary), ("see it again", f"optimize-eval report {run.name}")]
    return "\n".join([*lines, *next_lines(steps, screen)])


def head(note: str | None, screen: Screen) -> list[str]:
    """Show what people noted of a run."""
    return screen.wrap(" note: ", note) if note else []


def verdict_lines(verdict: Verdict, screen: Screen) -> list[str]:
    """Lay out the sentence and its points, each beside its mark."""
    points = (line for point in verdict.points for line in point_lines(point, screen))
    return [*sentence_lines(verdict, screen), *points]


def sentence_lines(verdict: Verdict, screen: Screen) -> list[str]:
    style = _OF_STATES.get(verdict.state or "", Style.STRONG)
    return [body(line, style, screen.paint) for line in screen.wrap(" ", f"{verdict.text}.")]


def point_lines(point: Point, screen: Screen) -> list[str]:
    first, *rest = screen.wrap(f"  {point.mark} ", point.text)
    return [part(first, 2, len(point.mark), of_sign(point.mark), screen.paint), *rest]


def table_of(
    rows: Sequence[Row],
    summary: Summary,
    screen: Screen,
    *,
    most: int = MOST_ROWS,
    rest: str = "summary.json",
    beside: Callable[[Sequence[Row]], Sequence[Column]] = lambda _: (),
) -> list[str]:
    """Lay out the candidates of one evaluator, so many of them; `beside` makes columns beside the means."""
    split = summary.decided_on
    shown = shown_rows(rows, summary, most)
    has_others = len(rows) > 1
    gain, *compared = _difference_columns(shown, summary) if has_others else [None]
    others = [*beside(shown)]
    columns = [
        Column("candidate", [row.candidate for row in shown], is_name=True),
        Column(split, [number(row.splits[split].mean) for row in shown]),
        Column("95 % CI", [ends(row.splits[split].ci) for row in shown]),
        *([gain] if gain else []),
        *others,
        *(reversed(compared) if others else compared),  # what has no room is left out from the end
        *(_wide(shown, split) if has_others and screen.width >= WIDE else []),
        _failed_column(shown),
        *_skipped_columns(shown),
    ]
    title = f"{title_of(rows[0], summary)}: {split}"
    how = ", sorted by mean; Δ against baseline" if has_others else ""
    how += "; intervals by cluster" * (split in summary.clusters)
    lines = [*screen.wrap(" ", title + how), *layout_table(columns, screen)]
    if len(rows) > len(shown):
        more = count(len(rows) - len(shown), "more candidate")
        lines += screen.wrap(" ", f"… and {more}: see {rest}")
    return lines


def _p_values(rows: Sequence[Row], summary: Summary, screen: Screen) -> list[str]:
    """Write the p values that a narrow table has no column for."""
    against = ((row.candidate, row.against_baseline(summary.decided_on)) for row in rows[:MOST_ROWS])
    told = [f"{name} {p_value(d.p_holm)}" for name, d in against if d and d.p_holm is not None]
    return screen.wrap(" ", f"p (Holm): {', '.join(told)}") if told and screen.width < WIDE else []


def _matrix(matrix: Matrix, split: str, screen: Screen) -> list[str]:
    """Lay out means of candidates by models, in as many tables as it takes."""
    names = [Column("candidate", [*matrix.means], is_name=True)]
    columns = [
        Column(cut(model, _LONGEST_MODEL), [_or_none(means[index]) for means in matrix.means.values()])
        for index, model in enumerate(matrix.models)
    ]
    title = f"{matrix.evaluator}: {split}, means of candidates by models"
    tables = tables_beside(names, columns, screen)
    lines = (line for columns in tables for line in layout_table([*names, *columns], screen))
    return [*screen.wrap(" ", title), *lines]


def _or_none(mean: float | None) -> str:
    return "" if mean is None else number(mean)


def _failed_column(rows: Sequence[Row]) -> Column:
    counts = [failed(row) for row in rows]
    styles = [Style.DOUBTFUL if many else None for many in counts]
    return Column("failed", [f"{many:,}" for many in counts], styles=styles, is_kept=any(counts))


def _skipped_columns(rows: Sequence[Row]) -> list[Column]:
    """Count the skipped calls, where there are any."""
    counts = [skipped(row) for row in rows]
    return [Column("skipped", [f"{many:,}" for many in counts])] if any(counts) else []


def _differences(
    title: str, against: Sequence[ScoreDifference | None], none: str, summary: Summary
) -> Column:
    texts = [none if d is None else difference(d, summary) for d in against]
    return Column(title, texts, styles=[of_sign(text) if text[:1] in _SIGNS else None for text in texts])


def _difference_columns(rows: Sequence[Row], summary: Summary) -> list[Column]:
    split = summary.decided_on
    against = [row.against_baseline(split) for row in rows]
    columns = [
        _differences(f"Δ {split}", against, "baseline", summary),
        Column("CI of Δ", [_interval(d, row, summary) for d, row in zip(against, rows, strict=True)]),
    ]
    if "test" in rows[0].splits and split != "test":
        tested = [row.against_baseline("test") for row in rows]
        columns.append(_differences("Δ test", tested, "", summary))
    if {"train", "val"} <= rows[0].splits.keys():
        states = ["" if row.vs_baseline is None else overfit(row) for row in rows]
        styles = [Style.BAD if row.overfit and row.overfit.state == OVERFITS else None for row in rows]
        columns.append(Column("overfit?", states, is_text=True, styles=styles))
    return columns


def _interval(d: ScoreDifference | None, row: Row, summary: Summary) -> str:
    if d is None or d.ci is None:
        return ""
    return short_interval(possible_interval(d.ci, summary.score_ranges[row.evaluator]))


def _wide(rows: Sequence[Row], split: str) -> list[Column]:
    against = [row.against_baseline(split) for row in rows]
    columns = [
        Column("p (Holm)", ["" if d is None else p_value(d.p_holm) for d in against]),
        Column(f"+ = {MINUS}", ["" if d is None else f"{d.wins} {d.ties} {d.losses}" for d in against]),
    ]
    if {"train", "val"} <= rows[0].splits.keys():
        gains = [d.diff if (d := row.against_baseline("train")) else None for row in rows]
        gaps = [row.gap.value if row.gap else None for row in rows]
        columns.append(Column("Δ train", ["" if gain is None else signed(gain) for gain in gains]))
        columns.append(Column("gap", ["" if value is None else signed(value) for value in gaps]))
    return columns


def _groups(best: Row, summary: Summary, screen: Screen) -> list[str]:
    """Show the groups of the best candidate, each against the baseline."""
    split = summary.decided_on
    if not best.groups:
        return []
    has_other = not is_baseline(best, summary)
    groups = [
        (name, group.splits[split], group.vs_baseline.get(split)) for name, group in best.groups.items()
    ]
    columns = [
        Column("group", [name for name, _, _ in groups], is_name=True),
        Column("n", [f"{s.n:,}" for _, s, _ in groups]),
        Column(split, [number(s.mean) for _, s, _ in groups]),
        Column("95 % CI", [ends(s.ci) for _, s, _ in groups]),
        *([Column(f"Δ {split}", [signed(d.diff) if d else "" for _, _, d in groups])] if has_other else []),
        *([Column("CI of Δ", [_interval(d, best, summary) for _, _, d in groups])] if has_other else []),
    ]
    return [
        *screen.wrap(" ", f"{best.candidate} by group, {best.evaluator}: {split}"),
        *layout_table(columns, screen),
    ]


def failures_of(
    summary: Summary, screen: Screen, *, most: int = MOST_FAILURES, longest: int = SHOWN_TEXT
) -> list[str]:
    """Show the most frequent failures: how many, whose calls, and what the first said at which stage."""
    alike = [
        (f"{entry.count:,} × {entry.first.kind}", entry, words_of(entry.first))
        for entry in most_frequent(summary)
    ]
    doubtful = partial(part, style=Style.DOUBTFUL, paint=screen.paint)
    lines = _ended_alike("failures", alike[:most], longest, screen, doubtful)
    return lines + _left_out(lines, len(alike) - most if most > 1 else 0, "more kind", screen)


def _skips(summary: Summary, screen: Screen) -> list[str]:
    alike = [(f"{entry.count:,} ×", entry, why_skipped(entry)) for entry in most_skipped(summary)]
    lines = _ended_alike("skipped", alike[:MOST_FAILURES], SHOWN_TEXT, screen, lambda line, *_: line)
    return lines + _left_out(lines, len(alike) - MOST_FAILURES, "more reason", screen)


def _left_out(lines: Sequence[str], more: int, noun: str, screen: Screen) -> list[str]:
    text = f"… and {count(more, noun)}: see summary.json"
    return screen.wrap(_head("", lines), text) if more > 0 else []


def _ended_alike(
    name: str,
    alike: Sequence[tuple[str, Alike[FailureGroup] | Alike[SkipGroup], str]],
    longest: int,
    screen: Screen,
    painted: Callable[[str, int, int], str],
) -> list[str]:
    """Show the most frequent: how often and what, whose calls these were, and what the first one said."""
    lines: list[str] = []
    for what, entry, words in alike:
        at = [f"{entry.first.split} {line}" for line in entry.first.lines[:1] if line is not None]
        label = evaluator_label(entry.first.evaluator, entry.first.task_model)
        named = [] if entry.candidates == (THE_PROMPT.name,) else [candidates_of(entry)]
        who = " · ".join([label, *named, *at])
        text = f"{who}: {shortened(words, longest)}"
        first, *rest = screen.wrap(f"{_head(name, lines)}{what}  ", text)
        lines += [painted(first, HEAD, len(screen.fit(what))), *rest]
    return lines


def _worst(rows: Sequence[Row], summary: Summary, screen: Screen) -> list[str]:
    """Show where the best candidate, and those that are worse than the baseline, got worse; and why.

    Of the baseline it shows where it is low.
    """
    if none := got_worse_nowhere(rows[0], summary):
        lines = screen.wrap(_head("worst"), none)
    else:
        lines = _worst_of_row(rows[0], summary, screen)
    for row in worse_rows(rows, summary):
        lines += _worst_of_row(row, summary, screen)
    return lines


def _worst_of_row(best: Row, summary: Summary, screen: Screen) -> list[str]:
    lines: list[str] = []
    low = worst_of(best, summary)
    if low:
        what = "" if is_baseline(best, summary) else f" ({summary.baseline} → {best.candidate})"
        lines += screen.wrap(
            _head("worst"), f"{best.candidate} on {evaluator_label(best.evaluator, best.task_model)}{what}"
        )
    for example in low[:_SHOWN_WORST]:
        before = "" if is_baseline(best, summary) else f"{number(example.baseline)} → "
        where = f"{example.split} {' '.join(filter(None, [str(example.line), example.name]))}"
        head = f"{_head('worst', lines)}{where}  {before}{number(example.score)}  "
        lines += screen.wrap(head, shortened(example.text or "", SHOWN_TEXT))
        if example.input:
            lines += screen.wrap(f"{_head('', lines)}  input: ", example.input)
    return lines


def next_lines(steps: Sequence[tuple[str, str]], screen: Screen) -> list[str]:
    room = max(len(what) for what, _ in steps) + 2
    lines: list[str] = []
    for what, how in steps:
        head = f"{_head('next', lines)}{what:<{room}}"
        lines += pasted(head, how, screen) if how.startswith("optimize-eval") else screen.wrap(head, how)
    return lines


def pasted(head: str, command: str, screen: Screen) -> list[str]:
    """Show a command on one line, as it is to be pasted: below a heading that leaves no room."""
    command = screen.fit(command)
    return [head + command] if len(head + command) <= screen.width else [head.rstrip(), f"    {command}"]


def _head(name: str, lines: Sequence[str] = ()) -> str:
    return f" {'' if lines else name:<{HEAD - 1}}"


_NOTHING = "\N{EN DASH}"
_NOTE = "Everything that the run has. Its parts saw different examples, so nothing is compared"


class _Row(NamedTuple):
    cell: Cell
    examples: int
    scored: int
    failed: int
    skipped: int
    mean: float | None


def render_every_cell(run: StoredRun, screen: Screen) -> str:
    """Lay out a row for each cell that has a record."""
    with run.reader() as reader:
        rows = [row for cell in run.layout.cells if (row := _row(reader, cell, run.layout.repeats)).examples]
    return "\n".join([*screen.wrap(" ", _NOTE), *layout_table(_columns(rows), screen)])


def _columns(rows: Sequence[_Row]) -> list[Column]:
    models = [row.cell.task_model or _NOTHING for row in rows]
    return [
        Column("evaluator", [row.cell.evaluator for row in rows], is_name=True),
        Column("candidate", [row.cell.candidate for row in rows], is_name=True),
        *([Column("task model", models, is_name=True)] if any(row.cell.task_model for row in rows) else []),
        Column("split", [row.cell.split for row in rows], is_text=True),
        Column("mean", [_NOTHING if row.mean is None else f"{row.mean:.3f}" for row in rows]),
        Column("examples", [f"{row.examples:,}" for row in rows]),
        Column("scored", [f"{row.scored:,}" for row in rows]),
        Column("failed", [f"{row.failed:,}" for row in rows]),
        *([Column("skipped", [f"{row.skipped:,}" for row in rows])] if any(r.skipped for r in rows) else []),
    ]


def _row(reader: Reader, cell: Cell, repeats: int) -> _Row:
    """Count what a cell has; its mean is over examples, of each the mean of its repeats."""
    outcomes: dict[str, int] = defaultdict(int)
    scores: Mapping[int, list[float]] = defaultdict(list)
    examples = set()
    for place, record in reader.records(cell):
        outcomes[record["outcome"]] += 1
        examples.add(place // repeats)
        if record["outcome"] == "scored" and record["score"] is not None:
            scores[place // repeats].append(record["score"])
    mean = fmean(map(fmean, scores.values())) if scores else None
    return _Row(cell, len(examples), outcomes["scored"], outcomes["failed"], outcomes["skipped"], mean)


_MOST_KEYS = 6
_MOST_MODELS = 8
_FEW = 100  # answers, of which an ECE is told to be too high by chance


def side_info_of(best: Row, summary: Summary, screen: Screen) -> list[str]:
    """Write in a line what was said beside the scores of one candidate, on the deciding split."""
    by_split = {
        entry.where.split: entry.keys
        for entry in summary.side_info
        if (entry.where.candidate, entry.where.evaluator, entry.where.task_model)
        == (best.candidate, best.evaluator, best.task_model)
    }
    here = by_split[summary.decided_on]
    there = by_split.get("train", {}) if summary.decided_on == "val" else {}
    said = [words for key, value in here.items() if (words := _key_words(key, value, there.get(key)))]
    if not said:
        return []
    more = [f"{len(said) - _MOST_KEYS} more"] if len(said) > _MOST_KEYS else []
    who = f"{best.candidate} on {evaluator_label(best.evaluator, best.task_model)}: "
    return screen.wrap(_head("side info"), who + " · ".join([*said[:_MOST_KEYS], *more]))


def _key_words(key: str, values: ValuesAtPath, train: ValuesAtPath | None) -> str:
    """Say in a few words what stood at a key; long texts are shown with the worst examples."""
    if values.booleans:
        there = train.booleans if train else None
        before = f" (train {percent(there.rate)})" if there else ""
        return f"{key} {percent(values.booleans.rate)} true{before}"
    if values.numbers and values.numbers.mean is not None:
        before = f" (train {number(train.numbers.mean)})" if train and train.numbers else ""
        return f"{key} {number(values.numbers.mean)}{before}"
    if texts := values.texts:
        top = ", ".join(f"{text.value} {text.count:,}" for text in texts.top[:3])
        return f"{key}: {top}{', …' * (texts.distinct > 3)}"  # noqa: PLR2004  what stands there
    return ""


def of_row(row: Row, summary: Summary, screen: Screen) -> list[str]:
    """Write what there is about one candidate on the deciding split."""
    who = f"{row.candidate} on {evaluator_label(row.evaluator, row.task_model)}: "
    cell = MeasuredCell(
        candidate=row.candidate,
        evaluator=row.evaluator,
        task_model=row.task_model,
        split=summary.decided_on,
    )
    lines: list[str] = []
    for passed in (entry for entry in summary.passes if entry.where == cell):
        lines += screen.wrap(_head("repeats"), who + passes(passed.by_k[-1]))
    for stated in (entry.stated.calibration for entry in summary.calibration if entry.where == cell):
        lines += screen.wrap(_head("confidence"), f"{who}{_calibration(stated)}")
        lines += [line for text in _bins(stated) for line in screen.wrap(_head(""), text)]
    for bleu in (entry.bleu for entry in summary.corpus_bleu if entry.where == cell):
        text = f"{who}BLEU {number(bleu.score)} over {count(bleu.outputs, 'output')}"
        lines += screen.wrap(_head("corpus"), text)
    return lines


def of_models(models: Sequence[ModelScores], screen: Screen) -> list[str]:
    """Write what there is about the models of a board."""
    shown = models[:_MOST_MODELS]
    lines = []
    if texts := [f"{model.adapter} {passes(model.passes[-1])}" for model in shown if model.passes]:
        lines += screen.wrap(_head("repeats"), "; ".join(texts))
    if texts := [f"{model.adapter} BLEU {by_task}" for model in shown if (by_task := _bleu_by_task(model))]:
        lines += screen.wrap(_head("corpus"), "; ".join(texts))
    return lines


def passes(rates: PassRates) -> str:
    """Write pass@k and pass^k of one k with their intervals."""
    k = rates.k
    return f"pass@{k} {_estimate(rates.any_)}, pass^{k} {_estimate(rates.all_)}"


def _estimate(mean: Estimate) -> str:
    ci = f" ({interval(mean.ci, number)})" if mean.ci else ""
    return f"{number(mean.mean)}{ci}"


def _calibration(stated: Calibration) -> str:
    text = f"states {number(stated.confidence)} on average and scores {number(stated.score)}; "
    text += f"Brier {number(stated.brier)}, ECE {number(stated.ece)} of {count(stated.n, 'answer')}"
    few = ", so few that chance alone raises the ECE" if stated.n < _FEW else ""
    return text + few


def _bins(stated: Calibration) -> Iterator[str]:
    for answers in stated.bins:
        where = f"{answers.low:.1f} to {answers.high:.1f}: {count(answers.n, 'answer')}"
        yield f"{where}, stated {number(answers.confidence)}, scored {number(answers.score)}"


def _bleu_by_task(model: ModelScores) -> str:
    return ", ".join(
        f"{number(task.corpus_bleu.score)} on {task.task}" for task in model.tasks if task.corpus_bleu
    )


_MOST_SPENDERS = 6


def spending_of_models(spent: SpendingTotals | None, screen: Screen) -> list[str]:
    """Tell the totals of each model; failed calls and former attempts included."""
    models = spent.models if spent else {}
    lines = [
        line
        for name, total in list(models.items())[:_MOST_SPENDERS]
        for line in screen.wrap(" ", f"{name}: {total_in_words(total)}")
    ]
    if len(models) > _MOST_SPENDERS:
        lines += screen.wrap(" ", f"… and {count(len(models) - _MOST_SPENDERS, 'more model')}")
    if spent and len(models) > 1:
        lines += screen.wrap(" ", f"all models: {total_in_words(spent.run)}")
    return lines


def spending_in_short(spent: SpendingTotals | None, screen: Screen) -> list[str]:
    """Tell what all models took, or the one that there is."""
    totals = list((spent.models if spent else {}).items())
    if spent and len(totals) > 1:
        totals = [("all models", spent.run)]
    return [line for name, total in totals for line in screen.wrap(" ", f"{name}: {total_in_words(total)}")]


def of_times(summary: Summary, screen: Screen) -> list[str]:
    """Tell how long a call of each evaluator that called models took."""
    names = summary.spent.evaluators if summary.spent else ()
    entries = [entry for entry in summary.latency if entry.evaluator in names]
    return [line for entry in entries[:_MOST_SPENDERS] for line in screen.wrap(" ", _time(entry))]


def _time(entry: LatencyEntry) -> str:
    typical = f"half of the calls within {entry.p50:.2f} s, 95 % within {entry.p95:.2f} s"
    return f"{entry.evaluator} on {entry.split}: {typical}"
