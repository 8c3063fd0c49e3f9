"""The formats of `report` by their names, what a report is about, its records. A further format is a row."""

import os
import shlex
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import NamedTuple

from optimize_eval.base.documents import JsonDict, JsonMapping
from optimize_eval.base.errors import UsageError
from optimize_eval.cli import gates, leaderboards, output, searches
from optimize_eval.cli.pages import PageOptions, write_page
from optimize_eval.config.printing import FormatName, ReportOptions
from optimize_eval.findings.board_models import name_of
from optimize_eval.findings.board_shapes import Board
from optimize_eval.findings.demands import Demands, recall_board_demands, recall_demands
from optimize_eval.findings.gates import Gate
from optimize_eval.findings.metric_rows import left_out, records_of
from optimize_eval.findings.some_examples import SomeExamples
from optimize_eval.findings.stored_summary import Findings
from optimize_eval.findings.summary_shape import FailureGroup, Summary
from optimize_eval.reports import junit, markdown, row_formats
from optimize_eval.reports.metric_tables import lines_of_rows
from optimize_eval.reports.searched import beside_verdict, search_of, with_notes
from optimize_eval.reports.source import source_of
from optimize_eval.reports.terminal import answer
from optimize_eval.reports.terminal import summary as whole
from optimize_eval.store.opened_run import StoredRun, command_of, note_of
from optimize_eval.store.records import LeftOut, RunRecord


@dataclass(frozen=True, slots=True)
class RecordLayout:
    """How records are laid out."""

    is_wide: bool = False
    fields: tuple[str, ...] = ()


def record_layout(asked: ReportOptions, name: FormatName) -> RecordLayout:
    """Read the options of the table; refuse them in a report that has none."""
    wide, fields = asked.wide, asked.with_fields
    if wide and name not in {FormatName.CSV, FormatName.JSONL}:
        raise UsageError("--wide belongs to --format csv or jsonl", hint="add one of them, or leave it out")
    if fields is not None and not wide:
        raise UsageError("--with belongs to --wide", hint="add --wide")
    named = tuple(dict.fromkeys(field.strip() for field in (fields or "").split(",") if field.strip()))
    if fields is not None and not named:
        raise UsageError("--with names no field", hint="such as --with question,metadata.lang")
    return RecordLayout(is_wide=wide, fields=named)


@dataclass(frozen=True, kw_only=True)
class Reported:
    """A run on disk, and how what is made of it is laid out."""

    stored: StoredRun
    page: PageOptions
    records: RecordLayout
    has_details: bool = False  # of what people read

    @property
    def name(self) -> str:
        """Name the folder as a shell takes it, or the files that it was made of for now."""
        return self.origin.get("shown_as") or shlex.quote(str(self.stored.folder))

    @property
    def origin(self) -> JsonMapping:
        """Give where numbers of another tool came from; nothing for a run of ours."""
        return self.stored.document.origin

    @property
    def note(self) -> str | None:
        return note_of(self.stored.document)

    @property
    def command(self) -> str:
        """Give the words that start its last session again; empty where they are not known."""
        return command_of(self.stored.document, self.stored.folder)

    @property
    def noted(self) -> JsonDict:
        note = {"note": self.note} if self.note else {}
        return {**note, "origin": self.origin} if self.origin else note


@dataclass(frozen=True, kw_only=True)
class RunReport(Reported):
    """A run: its summary, its gates, the search that it ended."""

    demands: Demands | None = None
    some: SomeExamples | None = None
    is_by_cell: bool = False  # its parts were not all called with the same examples
    has_other_numbers: bool = False  # a margin, or a step's summary, is not that of summary.json
    of_a_bench: tuple[Gate, ...] | None = None  # its gates, where it is a bench without a board

    @property
    def part(self) -> StoredRun:
        """Give the run as if it had been about the examples that are reported."""
        return self.some.part(self.stored) if self.some else self.stored

    @property
    def needs_no_numbers(self) -> bool:
        return self.some is None and self.demands is None and not self.has_other_numbers

    @cached_property
    def findings(self) -> Findings:
        return Findings(run=self.stored)

    @cached_property
    def summary(self) -> Summary:
        return self.some.summarise(self.stored) if self.some else self.findings.summary

    @cached_property
    def judged(self) -> Sequence[Gate]:
        """Judge the gates that were given."""
        if self.of_a_bench is not None:
            return self.of_a_bench
        return self.demands.judge(self.part, self.summary) if self.demands else ()

    @property
    def gates(self) -> Sequence[Gate]:
        """Give these gates, else those that the run had; which are about all its examples."""
        if self.judged or self.some or self.of_a_bench is not None:
            return self.judged
        return self.recalled

    @property
    def recalled(self) -> Sequence[Gate]:
        return recall_demands(self.stored, self.summary)

    @property
    def search(self) -> JsonMapping | None:
        """Give what the search said that the run ended."""
        if self.some or self.of_a_bench is not None:
            return None
        return search_of(self.stored.folder, self.summary.to_dict())

    @property
    def told(self) -> Summary:
        """Give the summary with what a search says beside it, where one chose its candidates."""
        return with_notes(self.summary, self.search)


@dataclass(frozen=True, kw_only=True)
class BenchReport(Reported):
    """A bench: its leaderboards by the names of its own metrics, its own without one, and their gates."""

    findings: Findings
    boards: Mapping[str, Board] = field(default_factory=dict)
    judged: tuple[Gate, ...] = ()

    @property
    def gates(self) -> Sequence[Gate]:
        """Give the gates that were given, else those that the bench had."""
        others = {**self.boards}
        return self.judged or recall_board_demands(self.findings, others.pop(""), others)

    @property
    def summary(self) -> Summary | None:
        """Give the summary where a task in YAML has metrics; other boards say all that there is."""
        settings = self.stored.document.settings
        return self.findings.summary if "tasks" in settings else None

    def as_run(self) -> RunReport:
        """Look at it as at a run, which it is while it has no board."""
        return RunReport(
            stored=self.stored,
            page=self.page,
            records=self.records,
            has_details=self.has_details,
            of_a_bench=self.judged,
        )


class ReportFormat(NamedTuple):
    """How runs and benches are written."""

    of_run: Callable[[RunReport], None]
    of_bench: Callable[[BenchReport], None]


def print_run(run: RunReport) -> None:
    """For people, as wide as the terminal: the answer, or with --details all that there is."""
    if run.is_by_cell and run.needs_no_numbers:
        output.emit(whole.render_every_cell(run.stored, output.screen()))
        return
    if run.search and searches.show({**run.search, **_as_of_now(run)}, has_details=run.has_details):
        return
    screen = output.screen()
    render = whole.render if run.has_details else answer.render
    shown = whole.ShownRun(
        name=run.name,
        note=run.note,
        command=run.command,
        own=run.stored.document.own_evaluators,
        goes_on=not run.origin,
    )
    output.emit(render(run.summary, shown, screen))
    is_of_tasks = "tasks" in run.stored.document.settings
    if run.some and is_of_tasks and (lines := [*lines_of_rows(run.some.records(run.stored), screen)]):
        output.emit("\n".join(lines))


def _as_of_now(run: RunReport) -> JsonDict:
    """Give the verdict and the numbers as the journal has them, whatever the search wrote of them."""
    told = run.told.to_dict()
    return {"verdict": told["verdict"], "summary": told}


def print_bench(bench: BenchReport) -> None:
    if bench.boards:
        leaderboards.emit(
            bench.boards,
            bench.stored.folder,
            has_details=bench.has_details,
            note=bench.note,
            summary=bench.summary,
        )
    else:
        print_run(bench.as_run())


def write_run_as_json(run: RunReport) -> None:
    """Write everything that is known, as one value."""
    of_search = {"search": beside_verdict(run.search)} if run.search else {}
    output.emit_json({**run.told.to_dict(), **of_search, **run.noted, **gates.gates_to_dict(run.gates)})


def write_bench_as_json(bench: BenchReport) -> None:
    if bench.boards:
        boards = leaderboards.to_dict(bench.boards)
        metrics = leaderboards.metrics_in(bench.summary)
        output.emit_json({**boards, **metrics, **bench.noted, **gates.gates_to_dict(bench.gates)})
    else:
        write_run_as_json(bench.as_run())


Chosen = Iterable[RunRecord]


def write_run_as_csv(run: RunReport) -> None:
    """Write the records of a run for spreadsheets."""
    emit(run.part, _chosen(run), run.records, is_jsonl=False, whole=run.stored)


def _chosen(run: RunReport) -> Chosen:
    return run.some.records(run.stored) if run.some else records_of(run.stored)


def write_bench_as_csv(bench: BenchReport) -> None:
    """Write the board, or with --wide the records."""
    if bench.records.is_wide:
        emit(bench.stored, records_of(bench.stored), bench.records, is_jsonl=False)
    elif bench.boards:
        output.emit_pieces(
            row_formats.board_csv_pieces(bench.boards, ci=output.under_ci(), summary=bench.summary)
        )
    else:
        raise UsageError(
            "the csv of a bench is its board, and there is none yet",
            hint="run the bench's command again: it resumes; --format jsonl has the records",
        )


def emit(
    stored: StoredRun,
    records: Chosen,
    laid_out: RecordLayout,
    *,
    is_jsonl: bool,
    whole: StoredRun | None = None,
) -> None:
    """Write a row for each, as they are read; no number is made of them.

    `whole` is the run of which `stored` is a part: rules of tasks are about all its rows.
    """
    if laid_out.is_wide:
        _emit_wide(stored, laid_out.fields, left_out(whole or stored), is_jsonl=is_jsonl)
        return
    if is_jsonl:
        output.emit_pieces(row_formats.jsonl_pieces(records))
        return
    columns = row_formats.find_columns(records)
    if columns.has_rest:
        output.say(
            f"note: side information beyond {row_formats.MOST_COLUMNS} keys, or with keys of more than "
            f"{row_formats.LONGEST_NAME} letters, is in the last column, side_info, as JSON; "
            "--format jsonl has every key"
        )
    output.emit_pieces(row_formats.csv_pieces(records, columns, ci=output.under_ci()))


def _emit_wide(stored: StoredRun, fields: tuple[str, ...], left: LeftOut, *, is_jsonl: bool) -> None:
    rows = row_formats.rows_of(source_of(stored, summary={}), stored.layout, fields, left)
    if is_jsonl:
        output.emit_pieces(row_formats.wide_jsonl_pieces(rows))
        return
    columns = row_formats.columns_of(stored.layout, fields)
    output.emit_pieces(row_formats.wide_csv_pieces(rows, columns, ci=output.under_ci()))


def write_run_as_jsonl(run: RunReport) -> None:
    """Write the records for programs, one a line."""
    _write_jsonl(run, run.part, _chosen(run))


def write_bench_as_jsonl(bench: BenchReport) -> None:
    _write_jsonl(bench, bench.stored, records_of(bench.stored))


def _write_jsonl(reported: Reported, stored: StoredRun, chosen: Chosen) -> None:
    emit(stored, chosen, reported.records, is_jsonl=True, whole=reported.stored)


def write_run_as_markdown(run: RunReport) -> None:
    """Write a comment on a pull request."""
    output.emit_document(markdown.render(run.told, run.gates, run.name, run.note))


def write_bench_as_markdown(bench: BenchReport) -> None:
    if bench.boards:
        output.emit_document(
            markdown.render_boards(bench.boards, bench.gates, bench.name, bench.note, bench.summary)
        )
    else:
        write_run_as_markdown(bench.as_run())


def write_run_as_junit(run: RunReport) -> None:
    """Write XML for systems that show test results."""
    output.emit_document(junit.render(run.told, run.gates, run.name))


def write_bench_as_junit(bench: BenchReport) -> None:
    if bench.boards:
        output.emit_document(junit.render_boards(bench.boards, bench.gates, bench.name, bench.summary))
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


VARIABLE = "GITHUB_STEP_SUMMARY"


def check(wanted: bool) -> None:
    """Refuse where GitHub does not say where its summary is; before anything is computed."""
    if wanted and not os.environ.get(VARIABLE):
        raise UsageError(
            f"--step-summary needs ${VARIABLE}, which GitHub Actions sets", hint="elsewhere: --format md"
        )


def write(run: RunReport) -> None:
    """Append a run's report to the step's summary, and write the annotations to stderr."""
    shown = run.judged or run.recalled
    _append(markdown.render(run.told, shown, run.name, run.note))
    output.annotate(junit.lines(run.told, shown))


def write_board(bench: BenchReport) -> None:
    """Do the same for a bench; one without a board is a run."""
    if not bench.boards:
        write(bench.as_run())
        return
    _append(markdown.render_boards(bench.boards, bench.gates, bench.name, bench.note, bench.summary))
    layout = bench.stored.layout

    def model(failures: FailureGroup) -> str:
        return name_of(failures.evaluator, failures.task_model, layout)

    output.annotate(junit.lines(bench.findings.summary, bench.gates, model))


def _append(text: str) -> None:
    with open(os.environ[VARIABLE], "ab") as file:  # noqa: PTH123  named by the runner, appended to
        file.write(text.encode(errors="backslashreplace") + b"\n\n")
