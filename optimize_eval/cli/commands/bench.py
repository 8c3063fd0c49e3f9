"""`optimize-eval bench`: models over task files; then the leaderboard of them."""

from dataclasses import replace
from typing import Annotated

import typer

from optimize_eval.base.endings import State
from optimize_eval.base.errors import UsageError
from optimize_eval.cli import ending, gates, leaderboards, output
from optimize_eval.cli.host import Terminal
from optimize_eval.cli.steps import show_row, show_task
from optimize_eval.cli.viewing import viewed
from optimize_eval.config.calling import FolderOptions, HandlingOptions, PricedServerOptions
from optimize_eval.config.compared import BoardGateOptions
from optimize_eval.config.evaluators import manners_of, refuse_blank, starting_spec
from optimize_eval.config.printing import PlanOptions, ShownOptions, ViewOptions
from optimize_eval.config.prompts import (
    BenchOptions,
    BoardOptions,
    DefinedDataOptions,
    OneTaskOptions,
    given_of,
)
from optimize_eval.run.bench import PreparedBench, benchmark_of, carry_out_bench
from optimize_eval.run.bench_defined import look_at_bench, prepare_any
from optimize_eval.run.bench_files import find_task
from optimize_eval.run.settings import gates_of, handling_of
from optimize_eval.run.sweeps import Prepared, carry_out, look
from optimize_eval.store.folder import LEADERBOARD, OUTPUTS
from optimize_eval.tasks.defined import DIALECT, defined_of

EXAMPLES = """\b
Examples:
  optimize-eval bench tasks.jsonl --model toy
  optimize-eval bench tasks/ --model cmd:./my_model --model openai/gpt-4o-mini --out runs/models
  optimize-eval bench tasks.jsonl --model m=http://127.0.0.1:8000/ --header 'Authorization: Bearer ${KEY}'
  optimize-eval bench tasks/ --model m=cmd:./m --fail-under m=0.8 --no-regression-against runs/before
  optimize-eval bench tasks.jsonl --model cmd:./my_model -e 'polite=./polite.py'
  optimize-eval bench tasks.jsonl --model cmd:./my_model --show arith_001
  optimize-eval bench tasks/ --model openai/gpt-4o-mini --dry-run

\b
The same command again continues the same run: what is scored is not called
again, what failed is.
Exit codes: 0 done, 1 a gate missed, 2 wrong option or task file, 3 it could
not go on, 4 a model failed on every task, too many calls failed or the time
is up, 130 interrupted.
"""


def bench(
    files: Annotated[list[str], typer.Argument(metavar="FILE|DIR", help="Task files, or folders of them.")],
    what: BenchOptions,
    defined: DefinedDataOptions,
    servers: PricedServerOptions,
    calls: HandlingOptions,
    demanded: BoardGateOptions,
    board: BoardOptions,
    one_task: OneTaskOptions,
    place: FolderOptions,
    planned: PlanOptions,
    shown: ShownOptions,
    seen: ViewOptions,
) -> None:
    """Rank models by tasks: render, call, post-process, score; an interrupted run resumes."""
    if place.out == "":
        raise UsageError("--out needs a name", hint="omit the option, or give it one")
    refuse_blank("--api-base", what.api_base)
    _check(one_task, planned, seen)
    handling = replace(handling_of(calls), command=ending.kept_command())
    manners = manners_of(servers, seeks_prices=calls.max_cost is not None)
    starting = starting_spec(what, manners=manners)
    benchmark = benchmark_of(files, what.models, starting, what, given_of(defined))
    prepared = prepare_any(benchmark, handling, output.say, out=place.out, gates=gates_of(demanded))
    if planned.dry_run:
        _show_plan(prepared, shown)
        return
    if isinstance(prepared, Prepared):
        _without_models(prepared, one_task, place, shown, seen)
        return
    if one_task.show is not None and _is_row(prepared, one_task.show):
        show_row(prepared.plan, look_at_bench(prepared, output.say), one_task.show, as_json=shown.as_json)
        return
    if one_task.show is not None:
        task = find_task([file for file in prepared.files if file.dialect != DIALECT], one_task.show)
        show_task(prepared.shown(task[0]), *task, prepared.folder / OUTPUTS, as_json=shown.as_json)
        return
    host = Terminal(quiet=shown.quiet)
    with viewed(prepared.folder, is_wanted=seen.view):
        finished = carry_out_bench(prepared, host, include_per_example=board.include_per_example)
        leaderboards.tell(
            finished.boards,
            prepared.folder / LEADERBOARD,
            finished.status,
            quiet=shown.quiet,
            as_json=shown.as_json,
            beside=gates.gates_to_dict(finished.gates),
            summary=finished.summary,
        )
        if not finished.boards and not shown.as_json and finished.status is State.DONE:  # nobody is ranked
            ending.show(finished, quiet=shown.quiet, as_json=False)
        ending.end(finished, folder=prepared.folder, out=place.out)


def _is_row(prepared: PreparedBench, wanted: str) -> bool:
    """Return True if a row of a task in YAML is wanted, and no task in JSONL."""
    if not any(map(defined_of, prepared.plan.specs)):
        return False
    files = [file for file in prepared.files if file.dialect != DIALECT]
    return not any(wanted in {task.id, f"{file.name}:{task.id}"} for file in files for task in file.tasks)


def _check(one_task: OneTaskOptions, planned: PlanOptions, seen: ViewOptions) -> None:
    """Refuse options that say two things."""
    if seen.view and one_task.show is not None:
        raise UsageError("--view is for calls, and --show makes none", hint="give one of the two")
    if planned.dry_run and (seen.view or one_task.show is not None):
        other = "--view" if seen.view else "--show"
        raise UsageError(f"{other} and --dry-run are two things", hint="give one of the two")


def _show_plan(prepared: Prepared | PreparedBench, shown: ShownOptions) -> None:
    """Say what would be called."""
    from optimize_eval.cli import dry_run  # noqa: PLC0415  only here

    if isinstance(prepared, Prepared):
        run = look(prepared, output.say)
    else:
        run = look_at_bench(prepared, output.say)
        if own := ", ".join(spec.name for spec in prepared.own):
            output.say(f"note: {own} will score each reply, too")
    dry_run.show_run(
        prepared.plan, run, slots=prepared.handling.concurrency, like=None, as_json=shown.as_json
    )


def _without_models(
    prepared: Prepared,
    one_task: OneTaskOptions,
    place: FolderOptions,
    shown: ShownOptions,
    seen: ViewOptions,
) -> None:
    """Score datasets, or conversations that are recorded: nothing is ranked, so there is no board."""
    if one_task.show is not None:
        show_row(prepared.plan, look(prepared, output.say), one_task.show, as_json=shown.as_json)
        return
    with viewed(prepared.folder, is_wanted=seen.view):
        finished = carry_out(prepared, Terminal(quiet=shown.quiet))
        ending.show(finished, quiet=shown.quiet, as_json=shown.as_json)
        ending.end(finished, folder=prepared.folder, out=place.out)
