"""The formats of `report` by their names: how each writes a run, and how a bench. A further one is a row."""

from collections.abc import Callable, Mapping
from enum import StrEnum
from typing import Any, NamedTuple

from optimize_eval.base.errors import UsageError
from optimize_eval.cli import output
from optimize_eval.cli.formats.reported import BenchReport, Reported, RunReport
from optimize_eval.cli.options import gates
from optimize_eval.cli.printed import leaderboards, records, searched
from optimize_eval.cli.printed.page import write_page
from optimize_eval.findings.metric_rows import records_of
from optimize_eval.reports import junit, markdown
from optimize_eval.reports.board import junit as board_junit
from optimize_eval.reports.board import markdown as board_markdown
from optimize_eval.reports.board import rows as board_rows
from optimize_eval.reports.searched import beside_verdict
from optimize_eval.reports.terminal import summary as terminal
from optimize_eval.reports.terminal.every_cell import render as render_every_cell
from optimize_eval.store.stored import StoredRun


class FormatName(StrEnum):
    """What a report can be written as."""

    TERMINAL = "terminal"
    JSON = "json"
    CSV = "csv"
    JSONL = "jsonl"
    MD = "md"
    JUNIT = "junit"
    HTML = "html"


class ReportFormat(NamedTuple):
    """How runs and benches are written."""

    of_run: Callable[[RunReport], None]
    of_bench: Callable[[BenchReport], None]


def print_run(run: RunReport) -> None:
    """For people: the verdict, its points and tables, as wide as the terminal."""
    if run.is_by_cell and run.needs_no_numbers:
        output.emit(render_every_cell(run.stored, fit=output.fitted, width=output.width()))
        return
    if run.search and searched.show({**run.search, **_as_of_now(run)}):
        return
    summary, note = output.fitted(run.summary), output.fitted(run.note)
    text = terminal.render(
        summary,
        note=note,
        width=output.width(),
        run=output.fitted(run.name),
        command=output.fitted(run.command),
        own=[evaluator["name"] for evaluator in run.stored.manifest["evaluators"]],
        paint=output.paint(),
    )
    output.emit(text)
    if run.some and "tasks" in run.stored.manifest.get("settings", {}):
        from optimize_eval.reports.metrics.rows import lines_of  # noqa: PLC0415  most runs have no task in YAML

        chosen = map(output.fitted, run.some.records(run.stored))
        if lines := [*lines_of(chosen, output.width())]:
            output.emit("\n".join(lines))


def _as_of_now(run: RunReport) -> dict[str, Any]:
    """Give the verdict and the numbers as the journal has them, whatever the search wrote of them."""
    told = run.told.to_dict()
    return {"verdict": told["verdict"], "summary": told}


def print_bench(bench: BenchReport) -> None:
    if bench.boards:
        leaderboards.emit(bench.boards, bench.note, bench.summary)
    else:
        print_run(bench.as_run())


def write_run_as_json(run: RunReport) -> None:
    """Write everything that is known, as one value."""
    of_search = {"search": beside_verdict(run.search)} if run.search else {}
    output.emit_json({**run.told.to_dict(), **of_search, **run.noted, **gates.to_dict(run.gates)})


def write_bench_as_json(bench: BenchReport) -> None:
    if bench.boards:
        boards = leaderboards.to_dict(bench.boards)
        metrics = leaderboards.metrics_in(bench.summary)
        output.emit_json({**boards, **metrics, **bench.noted, **gates.to_dict(bench.gates)})
    else:
        write_run_as_json(bench.as_run())


def write_run_as_csv(run: RunReport) -> None:
    """Write the records of a run for spreadsheets."""
    records.emit(run.part, _chosen(run), run.records, is_jsonl=False, whole=run.stored)


def write_bench_as_csv(bench: BenchReport) -> None:
    """Write the board, or with --wide the records."""
    if bench.records.is_wide:
        records.emit(bench.stored, records_of(bench.stored), bench.records, is_jsonl=False)
    elif bench.boards:
        output.emit_pieces(board_rows.csv_pieces(bench.boards, ci=output.under_ci(), summary=bench.summary))
    else:
        raise UsageError(
            "the csv of a bench is its board, and there is none yet",
            hint="run the bench's command again: it resumes; --format jsonl has the records",
        )


def write_run_as_jsonl(run: RunReport) -> None:
    """Write the records for programs, one a line."""
    _write_jsonl(run, run.part, _chosen(run))


def write_bench_as_jsonl(bench: BenchReport) -> None:
    _write_jsonl(bench, bench.stored, records_of(bench.stored))


def _write_jsonl(reported: Reported, stored: StoredRun, chosen: records.Chosen) -> None:
    records.emit(stored, chosen, reported.records, is_jsonl=True, whole=reported.stored)


def _chosen(run: RunReport) -> records.Chosen:
    return run.some.records(run.stored) if run.some else records_of(run.stored)


def write_run_as_markdown(run: RunReport) -> None:
    """Write a comment on a pull request."""
    output.emit_document(markdown.render(run.told, run.gates, run.name, run.note))


def write_bench_as_markdown(bench: BenchReport) -> None:
    if bench.boards:
        output.emit_document(
            board_markdown.render(bench.boards, bench.gates, bench.name, bench.note, bench.summary)
        )
    else:
        write_run_as_markdown(bench.as_run())


def write_run_as_junit(run: RunReport) -> None:
    """Write XML for systems that show test results."""
    output.emit_document(junit.render(run.told, run.gates, run.name))


def write_bench_as_junit(bench: BenchReport) -> None:
    if bench.boards:
        output.emit_document(board_junit.render(bench.boards, bench.gates, bench.name, bench.summary))
    else:
        write_run_as_junit(bench.as_run())


def write_page_of_run(run: RunReport) -> None:
    """Write the page of summary.json as it stands, unless other numbers were requested; print its path."""
    summary = None if run.needs_no_numbers else run.summary
    chosen = run.some.options if run.some else ""
    write_page(run.part, run.page, summary=summary, chosen=chosen)


def write_page_of_bench(bench: BenchReport) -> None:
    write_page(bench.stored, bench.page, boards=bench.boards or None)


FORMATS: Mapping[FormatName, ReportFormat] = {
    FormatName.TERMINAL: ReportFormat(print_run, print_bench),
    FormatName.JSON: ReportFormat(write_run_as_json, write_bench_as_json),
    FormatName.CSV: ReportFormat(write_run_as_csv, write_bench_as_csv),
    FormatName.JSONL: ReportFormat(write_run_as_jsonl, write_bench_as_jsonl),
    FormatName.MD: ReportFormat(write_run_as_markdown, write_bench_as_markdown),
    FormatName.JUNIT: ReportFormat(write_run_as_junit, write_bench_as_junit),
    FormatName.HTML: ReportFormat(write_page_of_run, write_page_of_bench),
}
