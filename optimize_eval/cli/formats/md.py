"""md: a comment on a pull request."""

from optimize_eval.cli import output
from optimize_eval.cli.formats.reported import BenchReport, RunReport
from optimize_eval.reports import markdown
from optimize_eval.reports.board import markdown as board_markdown


def of_run(run: RunReport) -> None:
    output.emit_document(markdown.render(run.told, run.gates, run.name, run.note))


def of_bench(bench: BenchReport) -> None:
    if bench.boards:
        output.emit_document(
            board_markdown.render(bench.boards, bench.gates, bench.name, bench.note, bench.summary)
        )
    else:
        of_run(bench.as_run())
