"""`optimize-eval rescore`: another evaluator over what a run was about, its scores beside those it has."""

from typing import Annotated

import typer

from optimize_eval.cli import ending, output
from optimize_eval.cli.host import Terminal
from optimize_eval.cli.options import calls
from optimize_eval.cli.options import shared as options
from optimize_eval.cli.shown import leaderboards
from optimize_eval.engines import SLOTS
from optimize_eval.evaluator import DEFAULT_TIMEOUT
from optimize_eval.kinds.table import given_name, parse_evaluator
from optimize_eval.protocol import ScoreRange
from optimize_eval.run.stop import instant_after
from optimize_eval.session.rescoring import carry_out_rescoring, prepare_rescoring
from optimize_eval.session.settings import Handling

EXAMPLES = """\b
Examples:
  optimize-eval rescore runs/run-1f3a9c02 -e 'python3 second_judge.py'
  optimize-eval rescore runs/run-1f3a9c02 -e strict=./judge.sh --dataset moved/train.jsonl

\b
The run's own evaluators are not asked, and may be gone. The same command again goes on.
Exit codes: 0 done, 2 wrong option or data, 3 it could not go on, 4 too many failures or
out of time, 130 interrupted.
"""

_AGAIN = "rescore once more: it is then another evaluator"


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
    concurrency: options.Concurrency = SLOTS,
    on_failure: options.HowOnFailure = options.OnFailure.EXCLUDE,
    max_failures: options.MaxFailures = None,
    max_time: options.MaxTime = None,
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
    note: options.Note = None,
    keep_stderr: options.KeepStderr = False,
    no_preflight: options.NoPreflight = False,
    quiet: options.Quiet = False,
    as_json: options.Json = False,
) -> None:
    """Ask another evaluator about a run's candidates and examples; its scores join the run's."""
    handling = Handling(
        concurrency=concurrency,
        on_failure=on_failure,
        max_failures=max_failures,
        keep_stderr=keep_stderr,
        no_preflight=no_preflight,
        max_cost=max_cost,
        max_tokens_total=max_tokens_total,
        note=note,
        ends_at=instant_after(max_time),
    )
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
    texts = options.texts_of(evaluator, judge_model)
    prepared = prepare_rescoring(
        run,
        options.check_meant([parse_evaluator(text, defaults) for text in texts], defaults),
        [given_name(text) for text in texts],
        output.say,
        splits={"train": dataset, "val": valset, "test": testset},
        candidates=candidate or (),
        lists=candidates or (),
    )
    finished = carry_out_rescoring(prepared, handling, Terminal(quiet=quiet))
    if bench := prepared.bench:
        leaderboards.tell(finished.boards, bench.path, finished.status, quiet=quiet, as_json=as_json)
    else:
        ending.show(finished, quiet=quiet, as_json=as_json)
    ending.end(finished, again=_AGAIN)
