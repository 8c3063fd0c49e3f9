"""What `run` does with its options: it plans, and then says the plan, shows an example, or calls."""

from dataclasses import replace
from pathlib import Path

import typer

from optimize_eval.base.errors import UsageError
from optimize_eval.cli import output
from optimize_eval.cli.command_line import evaluators_of, kept_command, sweep_of
from optimize_eval.cli.named_prompts import compared_of
from optimize_eval.cli.named_runs import choose_finished_run
from optimize_eval.config.commands import RunCommand
from optimize_eval.config.evaluators import judge_of, manners_of, starting_spec
from optimize_eval.config.prompts import given_of
from optimize_eval.run.begin_or_resume import Handling, gate_settings, handling_of
from optimize_eval.run.defining import scorers_among
from optimize_eval.run.sweeps import (
    Prepared,
    SweepInputs,
    load_comparison,
    look,
    look_as_recorded,
    prepare,
)
from optimize_eval.tasks.targets import definitions_in


def compare(context: typer.Context, options: RunCommand) -> None:
    """Do what `run` was asked for."""
    _check(options)
    prepared = _prepare(context, options)
    if options.dry_run:
        from optimize_eval.cli.dry_run import show_run  # noqa: PLC0415  calls need no forecast

        run, slots = look(prepared, output.say), prepared.handling.concurrency
        bounds = prepared.demands.of_calls if prepared.demands else ()
        show_run(prepared.plan, run, slots=slots, like=options.like, as_json=options.as_json, bounds=bounds)
    elif options.show is not None:
        _show_row(prepared, options.show, as_json=options.as_json)
    else:
        from optimize_eval.cli.ending import carry_out_run  # noqa: PLC0415  a plan neither calls nor summarises

        carry_out_run(prepared, options, recheck=options.recheck)


def _check(options: RunCommand) -> None:
    """Refuse options that are wrong by themselves or beside each other."""
    if "" in (options.out, *options.task_models):
        raise UsageError("--out and --task-model need a name", hint="omit the option, or give it one")
    if options.show is not None and options.dry_run:
        raise UsageError("--show and --dry-run are two things", hint="give one of the two")
    if options.like is not None and not options.dry_run:
        raise UsageError("--like is for planning a run", hint="add --dry-run, or omit --like")
    if options.view and options.dry_run:
        raise UsageError("--view is for calls, and --dry-run makes none", hint="give one of the two")


def _prepare(context: typer.Context, options: RunCommand) -> Prepared:
    handling = _handling(options)
    comparison, after = _load(context, options), None
    if options.last_failed:
        comparison, after = _only_last_failed(comparison, options)
    sweep = sweep_of(context)
    return prepare(
        comparison,
        handling,
        output.say,
        out=options.out,
        stem=Path(sweep.path).stem if sweep else "run",
        gates=options,
        chosen_after=after,
    )


def _handling(options: RunCommand) -> Handling:
    """Make how to call; the command's line is kept with the run."""
    handling = handling_of(options)
    return handling if options.dry_run else replace(handling, command=kept_command())


def _load(context: typer.Context, options: RunCommand) -> SweepInputs:
    """Load what is named, by flags or in the sweep file."""
    manners = manners_of(options, seeks_prices=options.max_cost is not None)
    defaults = starting_spec(options, judge_of(options), manners)
    named, has_tasks = scorers_among(evaluators_of(context, options, defaults), given_of(options), output.say)
    files, fields, prompting = compared_of(
        context,
        options,
        options,
        defaults,
        api_base=options.api_base,
        task_models=options.task_models,
        has_tasks=has_tasks,
    )
    return load_comparison(
        named, files, fields, options, output.say, margins=options.margin, prompting=prompting
    )


def _only_last_failed(comparison: SweepInputs, options: RunCommand) -> tuple[SweepInputs, str]:
    """Keep what failed or got worse in the run that was finished last; ends the command where nothing did."""
    from optimize_eval.run.last_failed import choose_last_failed  # noqa: PLC0415  few runs follow on another

    if gate_settings(options):
        raise UsageError(
            "--lf takes examples by their results, which no gate can be about",
            hint="omit the gates (and [gates] of a sweep file), or --lf",
        )
    run = choose_finished_run()
    chosen = choose_last_failed(comparison, run)
    if chosen is None:
        output.say(f"nothing failed or got worse in {run}: nothing is called")
        raise typer.Exit
    output.say(f"note: {chosen.many:,} of the examples failed or got worse in {run}; the others are left out")
    return chosen.inputs, Path(run).name


def _show_row(prepared: Prepared, wanted: str, *, as_json: bool) -> None:
    if not prepared.plan.models and not definitions_in(prepared.plan.specs):
        raise UsageError(
            "--show is for prompts", hint="a run of candidates: optimize-eval report RUN --format jsonl"
        )
    from optimize_eval.cli.steps import show_row  # noqa: PLC0415  it makes models live

    plan, recorded = look_as_recorded(prepared, output.say)
    show_row(plan, recorded, wanted, as_json=as_json)
