"""`optimize-eval optimize`: a candidate improved by who proposes, believed only by a final sweep."""

import hashlib
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import orjson
import typer

from optimize_eval.base.errors import UsageError
from optimize_eval.base.evaluator import EvaluatorSpec
from optimize_eval.cli import output
from optimize_eval.cli.ending import kept_command
from optimize_eval.cli.named_evaluators import evaluators_of
from optimize_eval.cli.searches import carry_out
from optimize_eval.cli.sweep_file import SearchedCandidates, SpecFile, SweepOption, is_flag, is_said, sweep_of
from optimize_eval.cli.viewing import viewed
from optimize_eval.config import search
from optimize_eval.config.calling import (
    NoteOptions,
    PricedServerOptions,
    SlotOptions,
    SpendingOptions,
    TimeOptions,
)
from optimize_eval.config.compared import TaskModelOption
from optimize_eval.config.evaluators import (
    JudgeOptions,
    NamedEvaluatorOptions,
    ReachOptions,
    judge_of,
    manners_of,
    refuse_blank,
    starting_spec,
)
from optimize_eval.config.printing import RunPlanOptions, ShownOptions, ViewOptions
from optimize_eval.config.prompts import DefinitionOptions, PromptingOptions, given_of
from optimize_eval.data.candidates import Candidate, CandidatePath, load_candidates
from optimize_eval.run.settings import handling_of

if TYPE_CHECKING:
    from optimize_eval.base.manners import Manners
    from optimize_eval.evaluators.rubric import JudgeSpec
    from optimize_eval.search.optimizing import SearchTask
    from optimize_eval.search.proposers import ProposerSpec
    from optimize_eval.search.search_task import SearchArguments

EXAMPLES = """\b
Examples:
  optimize-eval optimize prompt.txt -e ./judge.sh --dataset d.jsonl --valset v.jsonl --proposer ./propose.sh
  optimize-eval optimize p.txt -e ./judge.sh --dataset d.jsonl --val-share 0.3 --reflection-model ollama/qwen3
  optimize-eval optimize --prompt p.md --model openai/gpt-4o-mini -e @f1 --dataset d.jsonl --proposer ./p.sh
  optimize-eval optimize rules.txt -e @routing --dataset d.jsonl --valset v.jsonl --proposer ./p.sh --dry-run

\b
The same command again continues the same search; a larger --budget goes on
from where it ended.
Exit codes: 0 done, 1 no gain shown (--require-better), 2 wrong option or
data, 3 it could not go on, 4 the evaluator or the proposer failed, 130
interrupted.
"""


def optimize(
    context: typer.Context,
    what: search.SearchOptions,
    first: search.FirstTextOptions,
    prompted: PromptingOptions,
    proposers: search.ProposerOptions,
    proposer_timeout: search.ProposerTimeOptions,
    named: NamedEvaluatorOptions,
    judging: search.SearchJudgeOptions,
    defined: DefinitionOptions,
    reached: ReachOptions,
    model: TaskModelOption,
    slots: SlotOptions,
    limit: TimeOptions,
    spending: SpendingOptions,
    servers: PricedServerOptions,
    noted: NoteOptions,
    place: search.SearchFolderOptions,
    written: search.BestOptions,
    accepted: search.IgnoredOptions,
    planned: RunPlanOptions,
    shown: ShownOptions,
    seen: ViewOptions,
    texts: SearchedCandidates = None,
    _sweep_file: SweepOption = None,
    _spec_file: SpecFile = None,
) -> None:
    """Improve a candidate: the dataset drives the search, val is opened once, at the end."""
    from optimize_eval.cli.named_prompts import improved_of  # noqa: PLC0415  see below
    from optimize_eval.run.defining import scorers_among  # noqa: PLC0415
    from optimize_eval.search.search_task import wanted_of  # noqa: PLC0415  a plain --help needs no search

    refuse_blank("--api-base", judging.api_base)
    if planned.like is not None and not planned.dry_run:
        raise UsageError("--like is for planning a search", hint="add --dry-run, or omit --like")
    if seen.view and planned.dry_run:
        raise UsageError("--view is for calls, and --dry-run makes none", hint="give one of the two")
    if accepted.cache:
        output.say("note: --cache is always on: the journal is the cache, and nothing in it is called again")
    manners = manners_of(servers, seeks_prices=spending.max_cost is not None)
    defaults = starting_spec(reached, _judge(named, judging, what.objective), manners)
    specs, has_tasks = scorers_among(evaluators_of(context, named, defaults), given_of(defined), output.say)
    starts = (*(texts or ()), *first.candidate)
    prompting = improved_of(
        context,
        prompted,
        defaults,
        api_base=judging.api_base,
        task_model=model.task_model,
        is_candidate=bool(starts),
        has_tasks=has_tasks,
    )
    wanted = wanted_of(
        specs,
        _seeds(context, starts),
        _proposers(
            proposers,
            judging.api_base,
            proposer_timeout.proposer_timeout,
            manners,
            is_named=is_said(context, "reflection_model"),
        ),
        output.say,
        what=what,
        from_scratch=first.from_scratch,
        task_model=model.task_model,
        prompting=prompting,
    )
    folder = Path(place.out) if place.out else _default_folder(wanted, what)
    handling = replace(handling_of(slots, limit, spending, noted, place), command=kept_command())
    task = wanted.task(folder, handling)
    if planned.dry_run:
        _show_plan(task, planned.like, shown)
        return
    with viewed(folder, is_wanted=seen.view):
        carry_out(
            task,
            written.output,
            fresh=place.fresh,
            quiet=shown.quiet,
            as_json=shown.as_json,
            require_better=written.require_better,
        )


def _show_plan(task: "SearchTask", like: str | None, shown: ShownOptions) -> None:
    from optimize_eval.cli import dry_search  # noqa: PLC0415  only here

    dry_search.show_search(task, task.note_leaks(output.say), like=like, as_json=shown.as_json)


def _judge(
    named: NamedEvaluatorOptions, judging: search.SearchJudgeOptions, of_proposers: str | None
) -> "JudgeSpec | None":
    """Make what judges start from: the proposers' objective, too, where they have none of their own."""
    has_judge = bool(named.judge_models) or any("judge:" in text for text in named.evaluators)
    judge = judge_of(
        JudgeOptions(
            objective=judging.judge_objective,
            rubric=judging.rubric,
            api_base=judging.api_base if has_judge else None,  # proposers may be called there alone
        )
    )
    if judging.intake_json is not None:
        judge = _with_intake(judging, judge)
    if not (has_judge and of_proposers) or (judge and judge.objective):
        return judge
    output.say("note: the judge looks for --objective, too (--judge-objective TEXT says otherwise)")
    return replace(judge, objective=of_proposers) if judge else judge_of(JudgeOptions(objective=of_proposers))


def _with_intake(judging: search.SearchJudgeOptions, judge: "JudgeSpec | None") -> "JudgeSpec":
    """Read how a judge judges from --intake-json; what options say wins."""
    from optimize_eval.evaluators.rubric import read_rubric_text  # noqa: PLC0415  few judges have one

    if judging.rubric is not None:
        raise UsageError("--rubric and --intake-json both say how a judge judges", hint="give one of them")
    read = read_rubric_text(judging.intake_json or "", "--intake-json")
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
    named: search.ProposerOptions,
    api_base: str | None,
    timeout: float,
    manners: "Manners | None",
    *,
    is_named: bool,
) -> "tuple[ProposerSpec, ...]":
    """Make who proposes; a model that only the environment names gives way to programs."""
    from optimize_eval.search.proposers import parse_proposer, reflection_proposer  # noqa: PLC0415

    programs = [parse_proposer(text, EvaluatorSpec(timeout=timeout)) for text in named.proposer]
    if not named.reflection_model or (programs and not is_named):
        return tuple(programs)
    from optimize_eval.models.chat import ChatSpec  # noqa: PLC0415  programs need none

    models = [ChatSpec(name=name, api_base=api_base or "") for name in named.reflection_model]
    return (*programs, *(reflection_proposer(model, timeout, manners) for model in models))


def _default_folder(wanted: "SearchArguments", what: search.SearchOptions) -> Path:
    """Name the folder after what is written, so that the same command finds it, also with other limits."""
    stem = wanted.seeds[0].name if wanted.seeds else "new"
    chosen = [[*what.filters], [*what.ids]] if what.filters or what.ids else []
    chosen += [[model.text for model in wanted.prompting.models]] if wanted.prompting else []
    parts = [[one.name for one in wanted.seeds], [spec.text for spec in wanted.specs], what.files, *chosen]
    digest = hashlib.sha256(orjson.dumps(parts, option=orjson.OPT_SORT_KEYS)).hexdigest()
    return Path("runs", f"optimize-{stem.replace('/', '-')}-{digest[:8]}")
