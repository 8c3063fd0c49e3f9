"""html: a page in a file of its own, whose path is the result."""

from optimize_eval.cli.formats.reported import BenchReport, RunReport
from optimize_eval.cli.printed.page import write_page


def of_run(run: RunReport) -> None:
    """Write the page of summary.json as it stands, unless other numbers were requested."""
    summary = None if run.needs_no_numbers else run.summary
    chosen = run.some.options if run.some else ""
    write_page(run.part, run.page, summary=summary, chosen=chosen)


def of_bench(bench: BenchReport) -> None:
    write_page(bench.stored, bench.page, boards=bench.boards or None)
