"""For people: the verdict, its points and tables, as wide as the terminal."""

from typing import Any

from optimize_eval.cli import output
from optimize_eval.cli.formats.reported import BenchReport, RunReport
from optimize_eval.cli.printed import leaderboards, searched
from optimize_eval.reports.terminal import every_cell
from optimize_eval.reports.terminal import summary as terminal


def of_run(run: RunReport) -> None:
    if run.is_by_cell and run.needs_no_numbers:
        output.emit(every_cell.render(run.stored, fit=output.fitted, width=output.width()))
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

        records = map(output.fitted, run.some.records(run.stored))
        if lines := [*lines_of(records, output.width())]:
            output.emit("\n".join(lines))


def _as_of_now(run: RunReport) -> dict[str, Any]:
    """Give the verdict and the numbers as the journal has them, whatever the search wrote of them."""
    told = run.told.to_dict()
    return {"verdict": told["verdict"], "summary": told}


def of_bench(bench: BenchReport) -> None:
    if bench.boards:
        leaderboards.emit(bench.boards, bench.note, bench.summary)
    else:
        of_run(bench.as_run())
