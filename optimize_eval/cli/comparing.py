"""What `run` does with its options: it plans, and then says the plan, shows an example, or calls.

Prompts and models are those that a command line names, or else its sweep file.
"""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import typer

from optimize_eval.base.errors import UsageError
from optimize_eval.base.evaluator import EvaluatorSpec
from optimize_eval.cli import output
from optimize_eval.cli.command_line import candidates_named, evaluators_of, is_flag, kept_command, sweep_of
from optimize_eval.config.commands import RunCommand
from optimize_eval.config.compared import CandidateOptions
from optimize_eval.config.evaluators import judge_of, manners_of, starting_spec
from optimize_eval.config.prompts import ModelOptions, PromptingOptions, check_prompting, given_of
from optimize_eval.data.candidates import CandidatePath
from optimize_eval.run.begin_or_resume import Handling, gate_settings, handling_of
from optimize_eval.run.defining import scorers_among
from optimize_eval.run.prompting import Prompting, load_prompting
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
        from optimize_eval.cli.session_end import carry_out_run  # noqa: PLC0415  a plan neither calls nor summarises

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
    from optimize_eval.cli.named_runs import choose_finished_run  # noqa: PLC0415  as below
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


Named = tuple[tuple[CandidatePath, ...], tuple[str, ...], Prompting | None]

_MODELS_OF_A_SEARCH = (
    "name what is improved: --prompt FILE; --reflection-model MODEL proposes, --judge-model MODEL judges, "
    "--task-model NAME is metadata"
)
_CANDIDATES = ("candidate", "candidates", "candidate_fields")


def compared_of(
    context: typer.Context,
    what: CandidateOptions,
    prompted: PromptingOptions,
    how: EvaluatorSpec,
    *,
    api_base: str | None,
    task_models: Sequence[str],
    has_tasks: bool,
) -> Named:
    """Give candidates' files, the fields that have some, or the prompts; flags win over a sweep file's.

    Tasks in YAML call models, too; --task-model is another name of these.
    """
    files, fields = candidates_named(context, what)
    prompts = prompted.prompts
    by_flag = any(is_flag(context, option) for option in _CANDIDATES)
    if not (by_flag and is_flag(context, "prompts")):
        files, fields = ((), ()) if is_flag(context, "prompts") else (files, fields)
        prompts = () if by_flag else prompts
    models = _models(context, prompted, has_prompts=bool(prompts) or has_tasks)
    check_prompting(
        prompts=prompts,
        models=models,
        others=(*files, *fields),
        task_models=task_models,
        system=prompted.system,
        extract=prompted.extract,
        has_tasks=has_tasks,
    )
    called = models or (task_models if has_tasks else ())
    return files, fields, _load_prompts(context, prompts, called, prompted, how, api_base)


def improved_of(
    context: typer.Context,
    prompted: PromptingOptions,
    how: EvaluatorSpec,
    *,
    api_base: str | None,
    task_model: str | None,
    is_candidate: bool,
    has_tasks: bool,
) -> Prompting | None:
    """Give the prompts that a search improves; a candidate that is named wins over a sweep file's prompts.

    Tasks in YAML call a model, too; --task-model is another name of it.
    """
    prompts = prompted.prompts if is_flag(context, "prompts") or not is_candidate else ()
    models = _models(context, prompted, has_prompts=bool(prompts) or has_tasks)
    if models and not prompts and not has_tasks:
        raise UsageError("--model replies to a prompt, and none is named", hint=_MODELS_OF_A_SEARCH)
    task_models = [task_model] if task_model else []
    check_prompting(
        prompts=prompts,
        models=models,
        others=(),
        task_models=task_models,
        system=prompted.system,
        extract=prompted.extract,
        has_tasks=has_tasks,
    )
    called = models or (task_models if has_tasks else ())
    return _load_prompts(context, prompts, called, prompted, how, api_base)


def _models(context: typer.Context, prompted: ModelOptions, *, has_prompts: bool) -> Sequence[str]:
    """Give the models that are named, else all tables [[model]] that no evaluator judges by."""
    sweep = sweep_of(context)
    if prompted.models and (has_prompts or is_flag(context, "models")):
        return prompted.models
    return [*sweep.models] if sweep and has_prompts else ()


def _load_prompts(
    context: typer.Context,
    prompts: Sequence[str],
    models: Sequence[str],
    prompted: PromptingOptions,
    how: EvaluatorSpec,
    api_base: str | None,
) -> Prompting | None:
    """Load prompts and models; programs that a sweep file names are where it is."""
    sweep = sweep_of(context)
    if sweep and not is_flag(context, "models") and not is_flag(context, "cwd"):
        how = replace(how, cwd=str(Path(sweep.path).parent))
    tables = sweep.models if sweep else {}
    return load_prompting(prompts, models, prompted, how, api_base=api_base, tables=tables)
