"""json: everything that is known, as one value."""

from optimize_eval.cli import output
from optimize_eval.cli.formats.reported import BenchReport, RunReport
from optimize_eval.cli.options import gates
from optimize_eval.cli.printed import leaderboards


def of_run(run: RunReport) -> None:
    run.note_search()
    output.emit_json({**run.summary.to_dict(), **run.noted, **gates.to_dict(run.gates)})


def of_bench(bench: BenchReport) -> None:
    if bench.boards:
        boards = leaderboards.to_dict(bench.boards)
        output.emit_json({**boards, **bench.noted, **gates.to_dict(bench.gates)})
    else:
        of_run(bench.as_run())
