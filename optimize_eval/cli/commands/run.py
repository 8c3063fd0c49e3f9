"""`optimize-eval run`: candidates × evaluators × examples, asked and journaled; then what is true of them."""

from pathlib import Path
from typing import Annotated

import typer

from optimize_eval.cli import ending, output
from optimize_eval.cli.host import Terminal
from optimize_eval.cli.options import calls, gates
from optimize_eval.cli.options import shared as options
from optimize_eval.engines import SLOTS
from optimize_eval.errors import UsageError
from optimize_eval.evaluator import DEFAULT_TIMEOUT
from optimize_eval.findings.demands import GateOptions
from optimize_eval.protocol import ScoreRange
from optimize_eval.rows.selection import parse_selection
from optimize_eval.run.stop import instant_after
from optimize_eval.session.inputs import load_all_candidates, load_splits
from optimize_eval.session.settings import Handling
from optimize_eval.session.sweeps import Comparison, carry_out, look, prepare

EXAMPLES = """\b
Examples:
  optimize-eval run -e ./judge.sh --candidate 'prompts/*.txt' --dataset train.jsonl --valset val.jsonl
  optimize-eval run -e @exact_match --candidate-field old --candidate-field new --dataset outputs.jsonl
  optimize-eval run -e 'python3 judge.py' --candidate v1.txt --dataset train.jsonl --dry-run
  optimize-eval run sweep.toml --limit 20

\b
The same command again continues the same run: what is scored is not asked again, what failed is.
Exit codes: 0 done, 1 a gate missed, 2 wrong option or data, 3 it could not go on, 4 too many failures
or out of time, 130 interrupted.
"""


def run(
    context: typer.Context,
    sweep: options.SweepFile = None,
    evaluator: options.Evaluators = None,
    candidate: options.CandidateFiles = None,
    candidates: options.CandidateLists = None,
    candidate_field: options.CandidateFields = None,
    dataset: Annotated[
        str | None, typer.Option("--dataset", metavar="FILE", help="The train examples, JSONL.")
    ] = None,
    valset: Annotated[
        str | None, typer.Option("--valset", metavar="FILE", help="The val examples: held out.")
    ] = None,
    testset: Annotated[
        str | None, typer.Option("--testset", metavar="FILE", help="A third split, for val's winner.")
    ] = None,
    task_model: Annotated[
        list[str] | None, typer.Option("--task-model", metavar="NAME", help="May be repeated: an axis.")
    ] = None,
    repeats: Annotated[int, typer.Option("--repeats", metavar="N", min=1, help="Calls per example.")] = 1,
    baseline: Annotated[
        str | None, typer.Option("--baseline", metavar="NAME", help="The candidate to beat (first).")
    ] = None,
    filters: options.Filters = None,
    ids: options.Ids = None,
    limit: Annotated[
        int | None, typer.Option("--limit", metavar="N", min=1, help="The first examples of each split.")
    ] = None,
    sample: Annotated[
        int | None, typer.Option("--sample", metavar="N", min=1, help="A random sample of each split.")
    ] = None,
    seed: Annotated[int, typer.Option("--seed", metavar="S", help="For the sample and the tests.")] = 0,
    cluster_by: Annotated[
        str | None, typer.Option("--cluster-by", metavar="PATH", help="Examples that belong together.")
    ] = None,
    group_by: Annotated[
        list[str] | None, typer.Option("--group-by", metavar="PATH", help="The numbers by group, too.")
    ] = None,
    concurrency: options.Concurrency = SLOTS,
    on_failure: options.HowOnFailure = options.OnFailure.EXCLUDE,
    max_failures: options.MaxFailures = None,
    max_time: options.MaxTime = None,
    fail_under: gates.FailUnder = None,
    max_gap: gates.MaxGap = None,
    no_regression_against: gates.NoRegression = None,
    margin: gates.Margin = None,
    score_range: options.Range = ScoreRange.UNIT,
    timeout: options.Timeout = DEFAULT_TIMEOUT,
    cwd: options.Cwd = None,
    header: options.Headers = None,
    retries: options.Retries = None,
    patience: calls.Patience = calls.PATIENCE,
    rpm: calls.Rpm = None,
    tpm: calls.Tpm = None,
    max_cost: calls.MaxCost = None,
    max_tokens_total: calls.MaxTokens = None,
    prices: calls.PriceFile = None,
    persistent: options.Persistent = None,
    workers: options.Workers = None,
    judge_model: options.JudgeModels = None,
    objective: options.Objective = None,
    rubric: options.RubricFile = None,
    api_base: options.ApiBase = None,
    out: Annotated[str | None, typer.Option("--out", metavar="DIR", help="The run's folder.")] = None,
    recheck: Annotated[
        int | None, typer.Option("--recheck", metavar="N", min=1, help="Then ask N scored calls again.")
    ] = None,
    fresh: Annotated[bool, typer.Option("--fresh", help="Start anew, whatever the folder holds.")] = False,
    replaced: options.Replace = None,
    reuse: options.Reuse = None,
    note: options.Note = None,
    keep_stderr: options.KeepStderr = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Show the plan; call nothing.")] = False,
    like: Annotated[
        str | None, typer.Option("--like", metavar="RUN", help="With --dry-run: scores vary as there.")
    ] = None,
    no_preflight: options.NoPreflight = False,
    quiet: options.Quiet = False,
    as_json: options.Json = False,
) -> None:
    """Compare candidates over a dataset and a valset; an interrupted run goes on where it was."""
    if "" in (out, *(task_model or ())):
        raise UsageError("--out and --task-model need a name", hint="leave the option away, or give it one")
    if like is not None and not dry_run:
        raise UsageError("--like is for planning a run", hint="add --dry-run, or omit --like")
    handling = Handling(
        concurrency=concurrency,
        on_failure=on_failure,
        max_failures=max_failures,
        keep_stderr=keep_stderr,
        no_preflight=no_preflight,
        max_cost=max_cost,
        max_tokens_total=max_tokens_total,
        fresh=fresh,
        replace=replaced or (),
        reuse=reuse or (),
        note=note,
        ends_at=instant_after(max_time),
    )
    named, candidate_field = options.candidates_named(context, candidate, candidates, candidate_field)
    defaults = options.defaults(
        timeout=timeout,
        cwd=cwd,
        score_range=score_range,
        header=header,
        retries=retries,
        persistent=persistent,
        workers=workers,
        objective=objective,
        rubric=rubric,
        api_base=api_base,
        manners=calls.manners(patience, rpm, tpm, prices, max_cost),
    )
    splits = {"train": dataset, "val": valset, "test": testset}
    comparison = Comparison(
        specs=options.evaluators(context, evaluator, judge_model, defaults),
        candidates=load_all_candidates(named, candidate_field),
        examples=load_splits(
            splits,
            output.say,
            limit=limit,
            sample=sample,
            seed=seed,
            selection=parse_selection(filters, ids),
            out=None if fresh else out,
        ),
        named=named,
        task_models=task_model or (),
        repeats=repeats,
        baseline=baseline,
        seed=seed,
        cluster_by=cluster_by,
        group_by=group_by or (),
        margins=margin or (),
    )
    demanded = GateOptions(
        fail_under=fail_under or (), max_gap=max_gap, no_regression_against=no_regression_against
    )
    stem = Path(sweep).stem if sweep else "run"
    prepared = prepare(comparison, handling, output.say, out=out, stem=stem, gates=demanded)
    if dry_run:
        from optimize_eval.cli.shown import dry_run as dry  # noqa: PLC0415  only here

        dry.show(prepared.plan, look(prepared, output.say), slots=concurrency, like=like, as_json=as_json)
        return
    finished = carry_out(prepared, Terminal(quiet=quiet), recheck=recheck)
    ending.show(finished, quiet=quiet, as_json=as_json)
    ending.end(finished, folder=prepared.folder, out=out)
    gates.end(finished.gates)
