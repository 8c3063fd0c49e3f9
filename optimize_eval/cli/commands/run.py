"""`optimize-eval run`: candidates × evaluators × examples, called and recorded; then what is true of them."""

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from optimize_eval.base.errors import UsageError
from optimize_eval.cli import output
from optimize_eval.cli.named_evaluators import evaluators_of
from optimize_eval.cli.sweep_file import SweepFile, SweepOption, sweep_of
from optimize_eval.config.calling import FolderOptions, HandlingOptions, PricedServerOptions, RecheckOptions
from optimize_eval.config.compared import ComparisonOptions, RunGateOptions
from optimize_eval.config.evaluators import ScoringOptions, judge_of, manners_of, starting_spec
from optimize_eval.config.printing import LastFailedOptions, RunPlanOptions, ShownOptions, ViewOptions
from optimize_eval.config.prompts import DefinitionOptions, PromptingOptions, given_of

if TYPE_CHECKING:
    from optimize_eval.run.settings import Handling
    from optimize_eval.run.sweeps import Prepared

EXAMPLES = """\b
Examples:
  optimize-eval run -e ./judge.sh --candidate 'prompts/*.txt' --dataset train.jsonl --valset val.jsonl
  optimize-eval run -e @exact_match --candidate-field old --candidate-field new --dataset outputs.jsonl
  optimize-eval run -e 'python3 judge.py' --candidate v1.txt --dataset train.jsonl --dry-run
  optimize-eval run --prompt 'prompts/*.md' --model openai/gpt-4o-mini -e @f1 --dataset train.jsonl
  optimize-eval run --prompt a.md --model cmd:./m -e @f1 --dataset train.jsonl --show train-7
  optimize-eval run sweep.toml --limit 20

\b
The same command again continues the same run: what is scored is not called
again, what failed is.
Exit codes: 0 done, 1 a gate missed, 2 wrong option or data, 3 it could not go
on, 4 too many failures or out of time, 130 interrupted.
"""


def run(
    context: typer.Context,
    what: ComparisonOptions,
    prompted: PromptingOptions,
    scoring: ScoringOptions,
    defined: DefinitionOptions,
    servers: PricedServerOptions,
    calls: HandlingOptions,
    again: RecheckOptions,
    demanded: RunGateOptions,
    place: FolderOptions,
    planned: RunPlanOptions,
    chosen: LastFailedOptions,
    shown: ShownOptions,
    seen: ViewOptions,
    _sweep: SweepFile = None,
    _sweep_file: SweepOption = None,
) -> None:
    """Compare candidates over a dataset and a valset; an interrupted run resumes."""
    from optimize_eval.cli.named_prompts import compared_of
    from optimize_eval.run.defining import scorers_among
    from optimize_eval.run.settings import gates_of, handling_of
    from optimize_eval.run.sweeps import load_comparison, prepare

    sweep = sweep_of(context)
    _check(what, place, planned, seen)
    handling = handling_of(calls) if planned.dry_run else _kept(handling_of(calls))
    manners = manners_of(servers, seeks_prices=calls.max_cost is not None)
    defaults = starting_spec(scoring, judge_of(scoring), manners)
    named, has_tasks = scorers_among(evaluators_of(context, scoring, defaults), given_of(defined), output.say)
    files, fields, prompting = compared_of(
        context,
        what,
        prompted,
        defaults,
        api_base=scoring.api_base,
        task_models=what.task_models,
        has_tasks=has_tasks,
    )
    comparison = load_comparison(
        named,
        files,
        fields,
        what,
        output.say,
        margins=demanded.margin,
        prompting=prompting,
    )
    stem, limits, after = Path(sweep.path).stem if sweep else "run", gates_of(demanded), None
    if chosen.last_failed:
        from optimize_eval.cli.last_failed_run import only_last_failed

        comparison, after = only_last_failed(comparison, limits)
    prepared = prepare(
        comparison, handling, output.say, out=place.out, stem=stem, gates=limits, chosen_after=after
    )
    if planned.dry_run:
        _show_plan(prepared, planned, shown)
        return
    if planned.show is not None:
        _show_row(prepared, planned.show, shown)
        return
    from optimize_eval.cli import ending
    from optimize_eval.cli.host import Terminal
    from optimize_eval.cli.viewing import viewed
    from optimize_eval.run.sweeps import carry_out

    with viewed(prepared.folder, is_wanted=seen.view):
        finished = carry_out(prepared, Terminal(quiet=shown.quiet), recheck=again.recheck)
        ending.show(finished, quiet=shown.quiet, as_json=shown.as_json)
        ending.end(finished, folder=prepared.folder, out=place.out)


def _kept(handling: "Handling") -> "Handling":
    """Keep the command's line with the run."""
    from optimize_eval.cli import ending

    return replace(handling, command=ending.kept_command())


def _check(what: ComparisonOptions, place: FolderOptions, planned: RunPlanOptions, seen: ViewOptions) -> None:
    """Refuse options that are wrong by themselves or beside each other."""
    if "" in (place.out, *what.task_models):
        raise UsageError("--out and --task-model need a name", hint="omit the option, or give it one")
    if planned.show is not None and planned.dry_run:
        raise UsageError("--show and --dry-run are two things", hint="give one of the two")
    if planned.like is not None and not planned.dry_run:
        raise UsageError("--like is for planning a run", hint="add --dry-run, or omit --like")
    if seen.view and planned.dry_run:
        raise UsageError("--view is for calls, and --dry-run makes none", hint="give one of the two")


def _show_plan(prepared: "Prepared", planned: RunPlanOptions, shown: ShownOptions) -> None:
    from optimize_eval.cli import dry_run
    from optimize_eval.run.sweeps import look

    run, slots = look(prepared, output.say), prepared.handling.concurrency
    dry_run.show_run(prepared.plan, run, slots=slots, like=planned.like, as_json=shown.as_json)


def _show_row(prepared: "Prepared", wanted: str, shown: ShownOptions) -> None:
    from optimize_eval.tasks.defined import defined_of

    if not prepared.plan.models and not any(map(defined_of, prepared.plan.specs)):
        raise UsageError(
            "--show is for prompts", hint="a run of candidates: optimize-eval report RUN --format jsonl"
        )
    from optimize_eval.cli.steps import show_row
    from optimize_eval.run.sweeps import look_as_recorded

    plan, recorded = look_as_recorded(prepared, output.say)
    show_row(plan, recorded, wanted, as_json=shown.as_json)
