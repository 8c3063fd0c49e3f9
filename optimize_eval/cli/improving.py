"""What `optimize` does with its options: it plans a search, and says the plan or carries it out."""

import hashlib
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import orjson
import typer

from optimize_eval.base import errors
from optimize_eval.base.errors import State, UsageError
from optimize_eval.base.evaluator import EvaluatorSpec
from optimize_eval.base.retries_and_caps import Manners
from optimize_eval.cli import output
from optimize_eval.cli.command_line import (
    evaluators_of,
    is_flag,
    is_said,
    kept_command,
    same_command,
    sweep_of,
)
from optimize_eval.cli.comparing import improved_of
from optimize_eval.cli.destination import Destination
from optimize_eval.cli.host import Terminal
from optimize_eval.cli.searches import render
from optimize_eval.cli.session_end import end, leave, viewed
from optimize_eval.config.evaluators import (
    JudgeOptions,
    judge_of,
    manners_of,
    refuse_blank,
    starting_spec,
)
from optimize_eval.config.prompts import given_of
from optimize_eval.config.search import OptimizeCommand
from optimize_eval.data.candidates import Candidate, CandidatePath, load_candidates
from optimize_eval.findings.wording import failed_in_short
from optimize_eval.models.chat import ChatSpec
from optimize_eval.models.judging.rubric import JudgeSpec, read_rubric_text
from optimize_eval.run.begin_or_resume import handling_of
from optimize_eval.run.defining import scorers_among
from optimize_eval.search.candidate_tree import SearchOutcome
from optimize_eval.search.components import Texts, as_value
from optimize_eval.search.optimizing import Optimized, SearchTask, begin_anew, final_calls, optimize_task
from optimize_eval.search.proposers import ProposerSpec, parse_proposer, reflection_proposer
from optimize_eval.search.search_task import SearchInputs, read_inputs


def improve(context: typer.Context, options: OptimizeCommand, texts: Sequence[str]) -> None:
    """Do what `optimize` was asked for."""
    _check_options(options)
    task = _plan(context, options, texts)
    if options.dry_run:
        from optimize_eval.cli.dry_search import show_search  # noqa: PLC0415  a search needs no forecast

        show_search(task, task.note_leaks(output.say), like=options.like, as_json=options.as_json)
        return
    with viewed(task.folder, is_wanted=options.view):
        _carry_out(task, options)


def _check_options(options: OptimizeCommand) -> None:
    refuse_blank("--api-base", options.api_base)
    if options.like is not None and not options.dry_run:
        raise UsageError("--like is for planning a search", hint="add --dry-run, or omit --like")
    if options.view and options.dry_run:
        raise UsageError("--view is for calls, and --dry-run makes none", hint="give one of the two")
    if options.cache:
        output.say("note: --cache is always on: the journal is the cache, and nothing in it is called again")


def _plan(context: typer.Context, options: OptimizeCommand, texts: Sequence[str]) -> SearchTask:
    manners = manners_of(options, seeks_prices=options.max_cost is not None)
    defaults = starting_spec(options, _judge(options), manners)
    specs, has_tasks = scorers_among(evaluators_of(context, options, defaults), given_of(options), output.say)
    starts = (*texts, *options.candidate)
    prompting = improved_of(
        context,
        options,
        defaults,
        api_base=options.api_base,
        task_model=options.task_model,
        is_candidate=bool(starts),
        has_tasks=has_tasks,
    )
    wanted = read_inputs(
        specs,
        _seeds(context, starts),
        _proposers(options, manners, is_named=is_said(context, "reflection_model")),
        output.say,
        what=options,
        from_scratch=options.from_scratch,
        task_model=options.task_model,
        prompting=prompting,
    )
    folder = Path(options.out) if options.out else _default_folder(wanted, options)
    return wanted.task(folder, replace(handling_of(options), command=kept_command()))


def _judge(options: OptimizeCommand) -> JudgeSpec | None:
    """Make what judges start from: the proposers' objective, too, where they have none of their own."""
    of_proposers = options.objective
    has_judge = bool(options.judge_models) or any("judge:" in text for text in options.evaluators)
    judge = judge_of(
        JudgeOptions(
            objective=options.judge_objective,
            rubric=options.rubric,
            api_base=options.api_base if has_judge else None,  # proposers may be called there alone
        )
    )
    if options.intake_json is not None:
        judge = _with_intake(options, judge)
    if not (has_judge and of_proposers) or (judge and judge.objective):
        return judge
    output.say("note: the judge looks for --objective, too (--judge-objective TEXT says otherwise)")
    return replace(judge, objective=of_proposers) if judge else judge_of(JudgeOptions(objective=of_proposers))


def _with_intake(options: OptimizeCommand, judge: JudgeSpec | None) -> JudgeSpec:
    """Read how a judge judges from --intake-json; what options say wins."""
    if options.rubric is not None:
        raise UsageError("--rubric and --intake-json both say how a judge judges", hint="give one of them")
    read = read_rubric_text(options.intake_json or "", "--intake-json")
    if judge is None:
        return read
    return replace(read, objective=judge.objective or read.objective, api_base=judge.api_base)


def _seeds(context: typer.Context, paths: Sequence[str]) -> tuple[Candidate, ...]:
    """Load what is named; a flag that names prompts takes the place of a sweep file's candidates."""
    sweep = sweep_of(context)
    if not paths and sweep and not is_flag(context, "prompts"):
        return load_candidates(sweep.candidates)
    return load_candidates([CandidatePath(path) for path in paths])


def _proposers(
    options: OptimizeCommand, manners: Manners | None, *, is_named: bool
) -> tuple[ProposerSpec, ...]:
    """Make who proposes; a model that only the environment names gives way to programs."""
    timeout = options.proposer_timeout
    programs = [parse_proposer(text, EvaluatorSpec(timeout=timeout)) for text in options.proposer]
    if not options.reflection_model or (programs and not is_named):
        return tuple(programs)
    models = [ChatSpec(name=name, api_base=options.api_base or "") for name in options.reflection_model]
    return (*programs, *(reflection_proposer(model, timeout, manners) for model in models))


def _default_folder(wanted: SearchInputs, what: OptimizeCommand) -> Path:
    """Name the folder after what is written, so that the same command finds it, also with other limits."""
    stem = wanted.seeds[0].name if wanted.seeds else "new"
    chosen = [[*what.filters], [*what.ids]] if what.filters or what.ids else []
    chosen += [[model.text for model in wanted.prompting.models]] if wanted.prompting else []
    parts = [[seed.name for seed in wanted.seeds], [spec.text for spec in wanted.specs], what.files, *chosen]
    digest = hashlib.sha256(orjson.dumps(parts, option=orjson.OPT_SORT_KEYS)).hexdigest()
    return Path("runs", f"optimize-{stem.replace('/', '-')}-{digest[:8]}")


def _carry_out(task: SearchTask, options: OptimizeCommand) -> None:
    file = options.output
    _check_output(file, task.folder, as_json=options.as_json)
    if options.fresh:
        begin_anew(task.folder)
    _tell_plan(task)
    done = optimize_task(task, Terminal(quiet=options.quiet))
    written = _write(done, task, file, require_better=options.require_better)
    document = {**done.document, "output_file": written}
    if options.as_json:
        output.emit_json(document)
    elif written and Destination(written).is_stdout:  # which is the candidate's alone
        output.say(document["verdict"]["text"])
    elif options.quiet:
        failed = failed_in_short(done.finished.summary.rows) if done.finished else ""
        output.emit(f"{document['verdict']['text']}{failed}\n{task.folder}")
    else:
        shown = {**document, "resume": ""}  # which stderr says at the end
        output.emit(render(shown, has_details=options.details))
    _end(done, task, require_better=options.require_better)


def _check_output(file: str | None, folder: Path, *, as_json: bool) -> None:
    """Refuse at once what the best candidate cannot be written to at the end."""
    if file is None:
        return
    Destination(file).check(folder)
    if as_json and Destination(file).is_stdout:
        raise UsageError(
            "--json and -o - would both write to stdout", hint="name a file with -o, or omit --json"
        )


def _tell_plan(task: SearchTask) -> None:
    """Say before the first call what it costs, and what the budget has room for."""
    needs = task.plan.needs
    most = final_calls(task.comparison, 1 + task.plan.finalists)
    output.say(
        f"search: at most {task.limits.budget:,} calls (one accepted proposal takes up to "
        f"{needs.calls(1) - needs.calls(0):,} after {needs.calls(0):,} for the seed); "
        f"final sweep: at most {most:,} more"
    )


def _write(done: Optimized, task: SearchTask, file: str | None, *, require_better: bool) -> str | None:
    """Write the best; where a gain is required and none is shown, the seed, and the other beside it."""
    if file is None or done.result is None:
        return None
    best, is_shown = done.result.best, done.result.is_better
    destination = Destination(file)
    if require_better and not is_shown:
        if destination.is_file:  # beside a device there is no place for another
            _write_file(Destination(f"{file}.unproven"), _encode(task, best.texts))
        _write_file(destination, _encode(task, done.outcome.seed.texts))
    else:
        _write_file(destination, _encode(task, best.texts))
    return file


def _encode(task: SearchTask, texts: Texts) -> bytes:
    """Write a candidate in the form of the seed's file."""
    if task.plan.prompt:
        return task.plan.prompt.as_file(texts).encode()
    value = as_value(texts)
    return (
        value.encode() if isinstance(value, str) else orjson.dumps(value, option=orjson.OPT_INDENT_2) + b"\n"
    )


def _write_file(destination: Destination, data: bytes) -> None:
    try:
        destination.write([data])
    except OSError as error:
        raise UsageError(
            f"{destination.text} cannot be written: {error.strerror}", hint="choose another -o"
        ) from None


def _end(done: Optimized, task: SearchTask, *, require_better: bool) -> None:
    if code := errors.of_search(done.outcome.why, has_sweep=bool(done.finished)):
        output.say(f"{_why(done.outcome)}\n  {same_command()}")
        leave(code)
    if done.finished:
        end(done.finished, folder=task.folder, out=str(task.folder))
    if require_better and not (done.result and done.result.is_better):
        output.say("no clear gain (--require-better)")
        raise typer.Exit(errors.MISSED)


def _why(outcome: SearchOutcome) -> str:
    """Say why a search did not come to its end, up to the command that goes on."""
    so_far = f"{outcome.counts.calls:,} of at most {outcome.counts.budget:,} calls are done; to resume:"
    match errors.SEARCH_STATES[outcome.why]:
        case State.INTERRUPTED:
            return f"interrupted: {so_far}"
        case State.OVER_BUDGET:
            return f"over budget: {outcome.sentence}; {so_far}"
        case State.OUT_OF_TIME:
            return f"out of time (--max-time): {so_far}"
    return f"error: {outcome.sentence}\n  after fixing it, run:"
