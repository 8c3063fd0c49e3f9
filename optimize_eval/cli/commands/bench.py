"""`optimize-eval bench`: models over task files; then the leaderboard of them."""

from dataclasses import replace
from typing import Annotated

import typer

from optimize_eval.base.errors import State, UsageError
from optimize_eval.cli import gates, leaderboards, output, session_end
from optimize_eval.cli.command_line import kept_command
from optimize_eval.cli.host import Terminal
from optimize_eval.config.commands import BenchCommand
from optimize_eval.config.evaluators import manners_of, refuse_blank, starting_spec
from optimize_eval.config.prompts import given_of
from optimize_eval.run.begin_or_resume import handling_of
from optimize_eval.run.bench import PreparedBench, benchmark_of, carry_out_bench
from optimize_eval.run.bench_defined import look_at_bench, prepare_any
from optimize_eval.run.bench_files import find_task
from optimize_eval.run.sweeps import Prepared, look
from optimize_eval.store.folder import LEADERBOARD, OUTPUTS
from optimize_eval.tasks.targets import definitions_in

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
Run the same command again to resume: scores are kept, failed calls are
retried.
Exit codes: 0 done, 1 a gate missed, 2 wrong option or task file, 3 it could
not go on, 4 a model failed on every task, too many calls failed or the time
is up, 130 interrupted.
"""


def bench(
    files: Annotated[list[str], typer.Argument(metavar="FILE|DIR", help="Task files, or folders of them.")],
    options: BenchCommand,
) -> None:
    """Rank models by tasks: render, call, post-process, score; an interrupted run resumes."""
    prepared = _prepare(files, options)
    if options.dry_run:
        _show_plan(prepared, as_json=options.as_json)
    elif options.show is not None:
        _show_example(prepared, options.show, as_json=options.as_json)
    elif isinstance(prepared, Prepared):  # datasets, or conversations that are recorded: nobody is ranked
        session_end.carry_out_run(prepared, options)
    else:
        _rank(prepared, options)


def _prepare(files: list[str], options: BenchCommand) -> Prepared | PreparedBench:
    if options.out == "":
        raise UsageError("--out needs a name", hint="omit the option, or give it one")
    refuse_blank("--api-base", options.api_base)
    _check(options)
    handling = replace(handling_of(options), command=kept_command())
    manners = manners_of(options, seeks_prices=options.max_cost is not None)
    starting = starting_spec(options, manners=manners)
    benchmark = benchmark_of(files, options.models, starting, options, given_of(options))
    return prepare_any(benchmark, handling, output.say, out=options.out, gates=options)


def _check(options: BenchCommand) -> None:
    """Refuse options that say two things."""
    if options.view and options.show is not None:
        raise UsageError("--view is for calls, and --show makes none", hint="give one of the two")
    if options.dry_run and (options.view or options.show is not None):
        other = "--view" if options.view else "--show"
        raise UsageError(f"{other} and --dry-run are two things", hint="give one of the two")


def _rank(prepared: PreparedBench, options: BenchCommand) -> None:
    with session_end.viewed(prepared.folder, is_wanted=options.view):
        finished = carry_out_bench(
            prepared, Terminal(quiet=options.quiet), include_per_example=options.include_per_example
        )
        leaderboards.tell(
            finished.boards,
            prepared.folder / LEADERBOARD,
            finished.status,
            options,
            beside=gates.gates_to_dict(finished.gates),
            summary=finished.summary,
        )
        if not finished.boards and not options.as_json and finished.status is State.DONE:  # nobody is ranked
            session_end.show(finished, options)
        session_end.end(finished, folder=prepared.folder, out=options.out)


def _show_plan(prepared: Prepared | PreparedBench, *, as_json: bool) -> None:
    """Say what would be called."""
    from optimize_eval.cli.dry_run import show_run  # noqa: PLC0415  calls need no forecast

    if isinstance(prepared, Prepared):
        run = look(prepared, output.say)
    else:
        run = look_at_bench(prepared, output.say)
        if own := ", ".join(spec.name for spec in prepared.own):
            output.say(f"note: {own} will score each reply, too")
    slots, bounds = prepared.handling.concurrency, prepared.demands.of_calls if prepared.demands else ()
    show_run(prepared.plan, run, slots=slots, like=None, as_json=as_json, bounds=bounds)


def _show_example(prepared: Prepared | PreparedBench, wanted: str, *, as_json: bool) -> None:
    from optimize_eval.cli.steps import show_row, show_task  # noqa: PLC0415  it makes models live

    if isinstance(prepared, Prepared):
        show_row(prepared.plan, look(prepared, output.say), wanted, as_json=as_json)
    elif _is_row(prepared, wanted):
        show_row(prepared.plan, look_at_bench(prepared, output.say), wanted, as_json=as_json)
    else:
        task = find_task(prepared.in_jsonl, wanted)
        show_task(prepared.shown(task[0]), *task, prepared.folder / OUTPUTS, as_json=as_json)


def _is_row(prepared: PreparedBench, wanted: str) -> bool:
    """Return True if a row of a task in YAML is wanted, and no task in JSONL."""
    if not definitions_in(prepared.plan.specs):
        return False
    return not any(
        wanted in {task.id, f"{file.name}:{task.id}"} for file in prepared.in_jsonl for task in file.tasks
    )
