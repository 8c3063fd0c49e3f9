"""csv: the records of a run for spreadsheets; of a bench its board."""

from optimize_eval.cli import output
from optimize_eval.cli.formats.reported import BenchReport, RunReport
from optimize_eval.cli.printed import records
from optimize_eval.errors import UsageError
from optimize_eval.findings.metrics import records_of
from optimize_eval.reports.board import rows as board_rows


def of_run(run: RunReport) -> None:
    chosen = run.some.records(run.stored) if run.some else records_of(run.stored)
    records.emit(run.part, chosen, run.records, is_jsonl=False, whole=run.stored)


def of_bench(bench: BenchReport) -> None:
    if bench.records.is_wide:
        records.emit(bench.stored, records_of(bench.stored), bench.records, is_jsonl=False)
    elif bench.boards:
        output.emit_pieces(board_rows.csv_pieces(bench.boards, ci=output.under_ci(), summary=bench.summary))
    else:
        raise UsageError(
            "the csv of a bench is its board, and there is none yet",
            hint="run the bench's command again: it resumes; --format jsonl has the records",
        )
