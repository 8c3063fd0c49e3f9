"""What notebooks show, in HTML: a run's verdict, its points and a table per evaluator; or a bench's boards.

Pure: summary, or boards → text. Foreign text is escaped and made inert.
"""

from collections.abc import Mapping, Sequence
from html import escape

from optimize_eval.findings.board_shapes import Board, ModelScores
from optimize_eval.findings.summary_parts import Row
from optimize_eval.findings.summary_shape import Conclusion, Summary, Verdict
from optimize_eval.findings.wording import interval, number
from optimize_eval.reports.cells_of_tables import difference, failed, shown_rows, skipped, tables_of, title_of
from optimize_eval.reports.inert import inert, shortened

_NAME = 100


def render(summary: Summary, run: str, notes: Sequence[str] = ()) -> str:
    """Lay out what matters first; `run` is the folder as people name it."""
    tables = "".join(_table(rows, summary) for rows in tables_of(summary))
    return f"{_verdict(summary.verdict)}{tables}{_notes(notes)}{_report(run)}"


def render_boards(boards: Mapping[str, Board], run: str, notes: Sequence[str] = ()) -> str:
    """Lay out a bench's leaderboards by their metrics' names, the bench's own without one."""
    shown = (f"{_verdict(board.verdict, metric)}{_models(board)}" for metric, board in boards.items())
    return f"{''.join(shown)}{_notes(notes)}{_report(run)}"


def _notes(notes: Sequence[str]) -> str:
    lines = "\n".join(notes)
    return f"<pre>{_safe(lines)}</pre>" if notes else ""


def _verdict(verdict: Verdict | Conclusion, metric: str = "") -> str:
    points = "".join(f"<li>{point.mark} {_safe(point.text)}</li>" for point in verdict.points)
    text = f"by {metric}: {verdict.text}" if metric else verdict.text
    return f"<p><b>{_safe(text)}.</b></p>{f'<ul>{points}</ul>' if points else ''}"


def _report(run: str) -> str:
    return f"<p><code>optimize-eval report {_safe(run)}</code></p>"


def _models(board: Board) -> str:
    """Give each model a line: its overall score, and that on each task."""
    tasks = [shortened(task.name, _NAME) for task in board.models[0].tasks]
    has_skips = any(model.skipped for model in board.models)
    titles = ["model", "overall", "95 % CI", *tasks, "failed", *["skipped"] * has_skips]
    cells = [[*_model_cells(model), *[f"{model.skipped:,}"] * has_skips] for model in board.models]
    lines = [_line("th", titles), *(_line("td", cell) for cell in cells)]
    return f"<table>{''.join(lines)}</table>"


def _model_cells(model: ModelScores) -> list[str]:
    scores = [number(task.score) if task.score is not None else "" for task in model.tasks]
    overall = model.overall_score
    return [
        shortened(model.adapter, _NAME),
        "" if overall is None else number(overall),
        interval(model.ci, number) if model.ci else "",
        *scores,
        f"{model.failed:,}",
    ]


def _table(rows: Sequence[Row], summary: Summary) -> str:
    split = summary.decided_on
    shown = shown_rows(rows, summary)
    caption = _safe(f"{title_of(rows[0], summary)}: {split}")
    has_skips = any(map(skipped, shown))
    titles = ["candidate", split, "95 % CI", f"Δ {split}", "failed", *["skipped"] * has_skips]
    cells = [[*_cells(row, summary), *[f"{skipped(row):,}"] * has_skips] for row in shown]
    lines = [_line("th", titles), *(_line("td", cell) for cell in cells)]
    return f"<table><caption>{caption}</caption>{''.join(lines)}</table>"


def _cells(row: Row, summary: Summary) -> list[str]:
    split = summary.decided_on
    s, d = row.splits[split], row.against_baseline(split)
    return [
        shortened(row.candidate, _NAME),
        number(s.mean),
        interval(s.ci, number) if s.ci else "",
        difference(d, summary) if d else "",
        f"{failed(row):,}",
    ]


def _line(tag: str, cells: Sequence[str]) -> str:
    return f"<tr>{''.join(f'<{tag}>{_safe(cell)}</{tag}>' for cell in cells)}</tr>"


def _safe(text: str) -> str:
    return escape(inert(text, ci=False))
