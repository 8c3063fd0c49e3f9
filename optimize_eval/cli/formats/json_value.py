"""json: everything that is known, as one value."""

from optimize_eval.cli import output
from optimize_eval.cli.formats.reported import BenchReport, RunReport
from optimize_eval.cli.options import gates
from optimize_eval.cli.printed import leaderboards
from optimize_eval.reports import searched


def of_run(run: RunReport) -> None:
    of_search = {"search": searched.beside_verdict(run.search)} if run.search else {}
    output.emit_json({**run.told.to_dict(), **of_search, **run.noted, **gates.to_dict(run.gates)})


def of_bench(bench: BenchReport) -> None:
    if bench.boards:
        boards = leaderboards.to_dict(bench.boards)
        metrics = leaderboards.metrics_in(bench.summary)
        output.emit_json({**boards, **metrics, **bench.noted, **gates.to_dict(bench.gates)})
    else:
        of_run(bench.as_run())
