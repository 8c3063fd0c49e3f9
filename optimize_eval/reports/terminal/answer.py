"""What a run came to, in one screen: the board, the verdict, what could change it, what to run next.

Pure, as `summary.py`, which lays out all that there is. The answer stands last, where a terminal's eye is.
"""

from collections.abc import Iterable, Sequence

from optimize_eval.findings.doubts import NOTABLE_FAILURES
from optimize_eval.findings.leakage import KEPT, PART
from optimize_eval.findings.summary_parts import Row
from optimize_eval.findings.summary_shape import Point, Summary
from optimize_eval.findings.wording import count, evaluator_label, number
from optimize_eval.reports import metric_tables
from optimize_eval.reports.cells_of_tables import ends, failed, tables_of
from optimize_eval.reports.terminal.summary import (
    HEAD,
    ShownRun,
    failures_of,
    head,
    next_lines,
    pasted,
    point_lines,
    sentence_lines,
    spending_in_short,
    table_of,
)
from optimize_eval.reports.text import Column, Screen, cut, layout_table, tables_beside

MOST_LINES = 24  # of a screen

_MOST_ROWS = 8
MOST_POINTS = 3
DECISIVE = "≈✕!▼?"  # marks of what could change a decision, by severity; what people say comes first
DETAILS = "--details"
_LONGEST_MODEL = 24
_LONGEST_FAILURE = 120


def render(summary: Summary, run: ShownRun, screen: Screen) -> str:
    """Lay out the answer; `summary.render` says the rest."""
    steps = run.steps(summary)
    above = [*head(run.note, screen), *_board(summary, screen)]
    sentence = [*([""] if above else []), *sentence_lines(summary.verdict, screen)]
    again = f"optimize-eval report {run.name}"
    last = ("all of it", f"{again} {DETAILS}") if tables_of(summary) else ("see it again", again)
    below = next_lines([*steps, last], screen) if steps else pasted(f" {'next':<{HEAD - 1}}", last[1], screen)
    room = MOST_LINES - len(above) - len(sentence) - len(below)
    points = _points(summary, screen, room)
    room -= len(points)
    spent = spending_in_short(summary.spent, screen)
    return "\n".join(
        [*above, *_metrics(summary, screen, room - len(spent)), *spent, *sentence, *points, *below]
    )


def _board(summary: Summary, screen: Screen) -> list[str]:
    """Lay out one table: of candidates, of candidates by models, or of evaluators of one candidate."""
    tables = tables_of(summary)
    if not tables:
        return []
    if len(tables) == 1:
        return table_of(tables[0], summary, screen, most=_MOST_ROWS, rest=DETAILS)
    if all(len(rows) == 1 for rows in tables):
        return _of_one_candidate([row for (row,) in tables], summary, screen)
    if len({rows[0].task_model for rows in tables}) > 1:
        return _by_model(tables, summary, screen)

    def others(shown: Sequence[Row]) -> list[Column]:
        return [_means_of(rows, shown, summary) for rows in tables[1:]]

    return table_of(tables[0], summary, screen, most=_MOST_ROWS, rest=DETAILS, beside=others)


def _means_of(rows: Sequence[Row], shown: Sequence[Row], summary: Summary) -> Column:
    means = {row.candidate: _mean(row, summary) for row in rows}
    return Column(cut(rows[0].evaluator, _LONGEST_MODEL), [means.get(row.candidate, "") for row in shown])


def _mean(row: Row, summary: Summary) -> str:
    mean = row.splits[summary.decided_on].mean
    return "" if mean is None else number(mean)


def _of_one_candidate(rows: Sequence[Row], summary: Summary, screen: Screen) -> list[str]:
    """Lay out a row for each evaluator and model."""
    split, shown = summary.decided_on, rows[:_MOST_ROWS]
    columns = [
        Column("evaluator", [evaluator_label(row.evaluator, row.task_model) for row in shown], is_name=True),
        Column(split, [_mean(row, summary) for row in shown]),
        Column("95 % CI", [ends(row.splits[split].ci) for row in shown]),
        Column("failed", [f"{failed(row):,}" for row in shown]),
    ]
    return [*layout_table(columns, screen), *_more(len(rows) - len(shown), "more evaluator", screen)]


def _by_model(tables: Sequence[Sequence[Row]], summary: Summary, screen: Screen) -> list[str]:
    """Lay out a row for each evaluator's candidates, a column for each model."""
    models = list(dict.fromkeys(rows[0].task_model for rows in tables))
    evaluators = list(dict.fromkeys(rows[0].evaluator for rows in tables))
    ranked = list(dict.fromkeys(row.candidate for row in tables[0]))
    keys = [(evaluator, name) for evaluator in evaluators for name in ranked]
    means = {(row.evaluator, row.candidate, row.task_model): _mean(row, summary) for t in tables for row in t}
    shown = keys[:_MOST_ROWS]
    names = [
        Column("candidate", [name for _, name in shown], is_name=True),
        *([Column("evaluator", [name for name, _ in shown], is_name=True)] if len(evaluators) > 1 else []),
    ]
    columns = [
        Column(cut(model or "", _LONGEST_MODEL), [means.get((*key, model), "") for key in shown])
        for model in models
    ]
    title = f"{' and '.join(evaluators[:2])}: {summary.decided_on}, means of candidates by models"
    first, *others = tables_beside(names, columns, screen)
    left = len(others) and len(models) - len(first)
    table = layout_table([*names, *first], screen)
    more = [*_more(len(keys) - len(shown), "more row", screen), *_more(left, "more model", screen)]
    return [*screen.wrap(" ", title), *table, *more]


def _more(left: int, noun: str, screen: Screen) -> list[str]:
    return screen.wrap(" ", f"… and {count(left, noun)}: see {DETAILS}") if left else []


def _points(summary: Summary, screen: Screen, room: int) -> list[str]:
    """Lay out the points that could change the decision and have room, and why calls failed."""
    failures = failures_of(summary, screen, most=1, longest=_LONGEST_FAILURE) if _fails_often(summary) else []
    said = {leak.point(split) for split, leak in summary.leakage.items() if leak.state in {PART, KEPT}}
    decisive = [point for point in most_severe(summary.verdict.points) if point.text not in said]
    lines: list[str] = []
    for point in decisive[: MOST_POINTS - bool(failures)]:
        made = point_lines(point, screen)
        if lines and len(lines) + len(made) + len(failures) > room:
            break
        lines += made
    return [*lines, *failures]


def most_severe(points: Iterable[Point]) -> list[Point]:
    """Give the points that could change a decision, the most severe first."""
    decisive = [point for point in points if point.mark in DECISIVE]
    return sorted(decisive, key=lambda point: DECISIVE.index(point.mark))


def _fails_often(summary: Summary) -> bool:
    units = summary.units
    return units.failed > NOTABLE_FAILURES * (units.scored + units.failed)


def _metrics(summary: Summary, screen: Screen, room: int) -> list[str]:
    """Lay out the metrics of tasks in YAML, where there is room for all of them."""
    if not summary.metrics:
        return []
    lines = [*metric_tables.lines_of_summary(summary, screen)]
    return lines if len(lines) <= room else screen.wrap(" ", f"metrics of tasks: see {DETAILS}")
