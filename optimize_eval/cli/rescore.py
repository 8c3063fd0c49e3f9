"""`optimize-eval rescore`: another evaluator over what a run was about, its scores beside those it has."""

from typing import Annotated

import typer

from optimize_eval.cli import options, output
from optimize_eval.cli.bench_again import Bench, nothing_called
from optimize_eval.cli.carried_out import (
    Session,
    check_reachable,
    check_slots,
    end,
    explain,
    session,
    settings_of,
    summarise,
    tell,
)
from optimize_eval.cli.material import load_candidates_again, read_again
from optimize_eval.connect import given_name, parse_evaluator
from optimize_eval.protocol import ScoreRange
from optimize_eval.reach import DEFAULT_TIMEOUT
from optimize_eval.run.again import plan_again
from optimize_eval.run.rescore import Settled, Wanted, add, is_owed, settle
from optimize_eval.run.stop import instant_after
from optimize_eval.store.folder import locked, refuse_foreign
from optimize_eval.store.manifest import is_bench
from optimize_eval.store.note import keep_note
from optimize_eval.store.stored import open_stored

EXAMPLES = """\b
Examples:
  optimize-eval rescore runs/run-1f3a9c02 -e 'python3 second_judge.py'
  optimize-eval rescore runs/run-1f3a9c02 -e strict=./judge.sh --dataset moved/train.jsonl

\b
The run's own evaluators are not asked, and may be gone. The same command again goes on.
Exit codes: 0 done, 2 wrong option or data, 3 it could not go on, 4 too many failures or
out of time, 130 interrupted.
"""

_ANEW = "rescore once more: it is then another evaluator"


def rescore(
    run: Annotated[str, typer.Argument(metavar="RUN", help="The run's folder.")],
    evaluator: options.Evaluators = None,
    dataset: options.TrainAgain = None,
    valset: options.ValAgain = None,
    testset: options.TestAgain = None,
    candidate: Annotated[
        list[str] | None, typer.Option("--candidate", metavar="FILE", help="Where a candidate is now.")
    ] = None,
    candidates: Annotated[
        list[str] | None, typer.Option("--candidates", metavar="FILE", help="Where a list of them is now.")
    ] = None,
    concurrency: options.Concurrency = options.SLOTS,
    on_failure: options.HowOnFailure = options.OnFailure.EXCLUDE,
    max_failures: options.MaxFailures = None,
    max_time: options.MaxTime = None,
    score_range: options.Range = ScoreRange.UNIT,
    timeout: options.Timeout = DEFAULT_TIMEOUT,
    cwd: options.Cwd = None,
    header: options.Headers = None,
    retries: options.Retries = None,
    persistent: options.Persistent = None,
    workers: options.Workers = None,
    judge_model: options.JudgeModels = None,
    objective: options.Objective = None,
    rubric: options.RubricFile = None,
    api_base: options.ApiBase = None,
    note: options.Note = None,
    keep_stderr: options.KeepStderr = False,
    no_preflight: options.NoPreflight = False,
    quiet: options.Quiet = False,
    as_json: options.Json = False,
) -> None:
    """Ask another evaluator about a run's candidates and examples; its scores join the run's."""
    check_slots(concurrency)
    ends_at = instant_after(max_time)
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
    )
    texts = options.texts_of(evaluator, judge_model)
    specs = options.check_meant([parse_evaluator(text, defaults) for text in texts], defaults)
    opened = open_stored(run)
    fields = [one["field"] for one in opened.manifest["candidates"] if one.get("field")]
    wanted = [
        Wanted(spec=spec.hiding(fields), given=given_name(text))
        for spec, text in zip(specs, texts, strict=True)
    ]
    folder = opened.folder  # a folder without a run is not made one by locking it
    refuse_foreign(folder)
    bench = Bench(opened, wanted) if is_bench(opened.manifest) else None
    with locked(folder):
        stored = keep_note(open_stored(folder), note)
        settled = settle(stored, bench.wanted if bench else wanted)
        if not is_owed(stored, settled):
            stored = add(stored, settled.additions)
            done, plan = Session(ended=nothing_called(stored, settled)), None
        else:
            where = {"train": dataset, "val": valset, "test": testset}
            plan = plan_again(
                settled.specs,
                stored.manifest,
                bench.readings() if bench else read_again(stored.manifest, where),
                load_candidates_again(stored.manifest, candidate or (), candidates or ()),
            )
            settings = settings_of(
                plan,
                concurrency,
                on_failure,
                max_failures,
                keep_stderr=keep_stderr,
                probe=not no_preflight,
                ends_at=ends_at,
            )
            check_reachable(plan)
            stored = add(stored, settled.additions)
            done = session(plan, stored, settings, quiet=quiet)
        if plan is None:
            _note_done(settled)
        summary = summarise(stored)
        if bench:
            names = [spec.name for spec in settled.specs]
            bench.tell(stored, names, str(done.ended.status), quiet=quiet, as_json=as_json)
    if not bench:
        tell(summary, done, folder, quiet=quiet, as_json=as_json)
    if plan:
        explain(done, plan)
    end(done.ended, anew=_ANEW)


def _note_done(settled: Settled) -> None:
    for name in settled.known:
        output.say(f"note: the run has {name} already, and nothing of it is owed")
