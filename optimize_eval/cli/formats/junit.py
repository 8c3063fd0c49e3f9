"""junit: XML for systems that show test results."""

from optimize_eval.cli import output
from optimize_eval.cli.formats.reported import BenchReport, RunReport
from optimize_eval.reports import junit
from optimize_eval.reports.board import junit as board_junit


def of_run(run: RunReport) -> None:
    output.emit_document(junit.render(run.told, run.gates, run.name))


def of_bench(bench: BenchReport) -> None:
    if bench.boards:
        output.emit_document(board_junit.render(bench.boards, bench.gates, bench.name, bench.summary))
    else:
        of_run(bench.as_run())
