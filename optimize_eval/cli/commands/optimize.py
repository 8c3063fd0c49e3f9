"""`optimize-eval optimize`: a candidate improved by who proposes, believed only by a final sweep."""

import hashlib
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import orjson
import typer

from optimize_eval.candidates import Candidate, Named, load_candidates
from optimize_eval.cli import output
from optimize_eval.cli.options import search as of_search
from optimize_eval.cli.options import shared as options
from optimize_eval.cli.shown.search_ending import carry_out
from optimize_eval.engines import SLOTS
from optimize_eval.errors import UsageError
from optimize_eval.evaluator import DEFAULT_TIMEOUT, EvaluatorSpec
from optimize_eval.protocol import ScoreRange
from optimize_eval.run.stop import instant_after
from optimize_eval.session.inputs import load_splits
from optimize_eval.session.settings import Handling

if TYPE_CHECKING:
    from optimize_eval.search.proposing.proposers import ProposerSpec
    from optimize_eval.search.task import Wanted

EXAMPLES = """\b
Examples:
  optimize-eval optimize prompt.txt -e ./judge.sh --dataset d.jsonl --valset v.jsonl --proposer ./propose.sh
  optimize-eval optimize p.txt -e ./judge.sh --dataset d.jsonl --val-share 0.3 --reflection-model ollama/qwen3
  optimize-eval optimize rules.txt -e @routing --dataset d.jsonl --valset v.jsonl --proposer ./p.sh --dry-run

\b
The same command again continues the same search; a larger --budget goes on from where it ended.
Exit codes: 0 done, 1 no gain shown (--require-better), 2 wrong option or data, 3 it could not go on,
4 the evaluator or the proposer failed, 130 interrupted.
"""


def optimize(
    context: typer.Context,
    candidate: of_search.Candidate = None,
    evaluator: options.Evaluators = None,
    judge_model: options.JudgeModels = None,
    dataset: of_search.Dataset = None,
    valset: of_search.Valset = None,
    testset: of_search.Testset = None,
    val_share: of_search.ValShare = None,
    proposer: of_search.Proposer = None,
    reflection_model: of_search.ReflectionModel = None,
    objective: of_search.Objective = None,
    background: of_search.Background = None,
    from_scratch: of_search.FromScratch = False,
    components: of_search.Components = False,
    budget: of_search.Budget = None,
    max_time: options.MaxTime = None,
    early_stop: of_search.EarlyStop = None,
    early_stop_window: of_search.EarlyStopWindow = 10,
    early_stop_threshold: of_search.EarlyStopThreshold = 0.005,
    climb: of_search.Climb = None,
    goal: of_search.Goal = None,
    minibatch: of_search.Minibatch = None,
    proposals: of_search.Proposals = 1,
    acceptance: of_search.Acceptance = of_search.AcceptanceRule.STRICT,
    selection: of_search.Selection = of_search.SelectionRule.PARETO,
    merge: of_search.Merge = False,
    search_val: of_search.SearchVal = None,
    max_candidate_chars: of_search.MaxCandidateChars = None,
    top: of_search.Top = 3,
    repeats: of_search.Repeats = 1,
    seed: of_search.Seed = 0,
    task_model: options.TaskModel = None,
    concurrency: options.Concurrency = SLOTS,
    score_range: options.Range = ScoreRange.UNIT,
    timeout: options.Timeout = DEFAULT_TIMEOUT,
    proposer_timeout: of_search.ProposerTimeout = 300.0,
    cwd: options.Cwd = None,
    header: options.Headers = None,
    retries: options.Retries = None,
    persistent: options.Persistent = None,
    workers: options.Workers = None,
    judge_objective: of_search.JudgeObjective = None,
    rubric: of_search.Rubric = None,
    api_base: options.ApiBase = None,
    out: of_search.Out = None,
    file: of_search.File = None,
    require_better: of_search.RequireBetter = False,
    fresh: of_search.Fresh = False,
    spec_file: of_search.SpecFile = None,
    cache: of_search.Cache = False,
    diff: of_search.Diff = False,
    dry_run: of_search.DryRun = False,
    quiet: options.Quiet = False,
    as_json: options.Json = False,
) -> None:
    """Improve a candidate: train drives the search, val decides, a final sweep is believed."""
    from optimize_eval.search.plan import selection_of  # noqa: PLC0415  a plain --help needs no search
    from optimize_eval.search.stopping import EarlyStop  # noqa: PLC0415
    from optimize_eval.search.task import Wanted  # noqa: PLC0415

    if cache:
        output.say("note: --cache is always on: the journal is the cache, and nothing in it is called again")
    del spec_file, diff  # a sweep file, taken already; what changed is always shown
    has_judge = bool(judge_model) or _names_judge(evaluator)
    judge_told = judge_objective or (objective if has_judge else None)
    defaults = options.defaults(
        timeout=timeout,
        cwd=cwd,
        score_range=score_range,
        header=header,
        retries=retries,
        persistent=persistent,
        workers=workers,
        objective=judge_told,
        rubric=rubric,
        api_base=api_base if has_judge else None,  # proposers may be asked there alone
    )
    if judge_told and not judge_objective:
        output.say("note: the judge looks for --objective, too (--judge-objective TEXT says otherwise)")
    splits = {"train": dataset, "val": valset, "test": testset}
    wanted = Wanted(
        specs=options.evaluators(context, evaluator, judge_model, defaults),
        seeds=_seeds(context, candidate),
        examples=load_splits(splits, output.say, seed=seed),
        proposers=_proposers(proposer, reflection_model, api_base, proposer_timeout),
        components=components,
        from_scratch=from_scratch,
        objective=objective or "",
        background=background or "",
        climb=climb,
        goal=_weights(goal),
        budget=budget,
        early_stop=EarlyStop(window=early_stop_window, threshold=early_stop_threshold)
        if early_stop
        else None,
        no_early_stop=early_stop is False,
        minibatch=minibatch,
        proposals=proposals,
        acceptance=str(acceptance),
        merge=merge,
        selection=selection_of(str(selection)),
        search_val=search_val,
        val_share=val_share,
        max_candidate_chars=max_candidate_chars,
        top=top,
        repeats=repeats,
        seed=seed,
        task_model=task_model,
    )
    handling = Handling(concurrency=concurrency, ends_at=instant_after(max_time))
    folder = Path(out) if out else _default_folder(wanted, splits)
    task = wanted.task(folder, handling)
    if dry_run:
        from optimize_eval.cli.shown import dry_search  # noqa: PLC0415  only here

        dry_search.show(task, as_json=as_json)
        return
    carry_out(task, file, fresh=fresh, quiet=quiet, as_json=as_json, require_better=require_better)


def _seeds(context: typer.Context, paths: Sequence[str] | None) -> tuple[Candidate, ...]:
    sweep = options.sweep_of(context)
    if not paths and sweep:
        return load_candidates(sweep.candidates)
    return load_candidates([Named(path) for path in paths or ()])


def _proposers(
    programs: Sequence[str] | None, models: Sequence[str] | None, api_base: str | None, timeout: float
) -> "tuple[ProposerSpec, ...]":
    from optimize_eval.search.proposing.proposers import parse_proposer, reflection_proposer  # noqa: PLC0415

    found = [parse_proposer(text, EvaluatorSpec(timeout=timeout)) for text in programs or ()]
    if models and not found:  # from the environment, too: a program that is named wins over it
        from optimize_eval.models import ModelSpec  # noqa: PLC0415  programs need none

        found += [
            reflection_proposer(ModelSpec(name=name, api_base=api_base or ""), timeout) for name in models
        ]
    return tuple(found)


def _weights(texts: Sequence[str] | None) -> dict[str, float] | None:
    if not texts:
        return None
    found: dict[str, float] = {}
    for text in texts:
        name, equals, weight = text.rpartition("=")
        try:
            found[name] = float(weight)
        except ValueError:
            equals = ""
        if not (name and equals):
            raise UsageError(f"--goal {text!r} is not NAME=WEIGHT", hint="such as --goal judge=2")
    return found


def _names_judge(texts: Sequence[str] | None) -> bool:
    return any("judge:" in text for text in texts or ())


def _default_folder(wanted: "Wanted", splits: dict[str, str | None]) -> Path:
    """Name the folder after what is written, so that the same command finds it, also with other limits."""
    stem = wanted.seeds[0].name if wanted.seeds else "new"
    parts = [[one.name for one in wanted.seeds], [spec.text for spec in wanted.specs], splits]
    digest = hashlib.sha256(orjson.dumps(parts, option=orjson.OPT_SORT_KEYS)).hexdigest()
    return Path("runs", f"optimize-{stem}-{digest[:8]}")
