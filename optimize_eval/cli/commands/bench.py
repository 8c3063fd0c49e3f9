"""`optimize-eval bench`: models over task files; then the leaderboard of them."""

from enum import StrEnum
from typing import Annotated

import typer

from optimize_eval.cli import ending, output
from optimize_eval.cli.host import Terminal
from optimize_eval.cli.options import board_gates, calls, gates
from optimize_eval.cli.options import shared as options
from optimize_eval.cli.shown import leaderboards, show_task
from optimize_eval.engines import SLOTS
from optimize_eval.errors import UsageError
from optimize_eval.evaluator import DEFAULT_TIMEOUT, EvaluatorSpec
from optimize_eval.findings.demands import GateOptions
from optimize_eval.kinds.table import parse_headers
from optimize_eval.rows.selection import parse_selection
from optimize_eval.run.stop import instant_after
from optimize_eval.session.benches import Benchmark, carry_out_bench, prepare_bench
from optimize_eval.session.settings import Handling
from optimize_eval.session.task_files import find_task
from optimize_eval.store.folder import LEADERBOARD, OUTPUTS

EXAMPLES = """\b
Examples:
  optimize-eval bench tasks.jsonl --model toy
  optimize-eval bench tasks/ --model cmd:./my_model --model openai/gpt-4o-mini --out runs/models
  optimize-eval bench tasks.jsonl --model m=http://127.0.0.1:8000/ --header 'Authorization: Bearer ${KEY}'
  optimize-eval bench tasks/ --model m=cmd:./m --fail-under m=0.8 --no-regression-against runs/before
  optimize-eval bench tasks.jsonl --model cmd:./my_model -e 'polite=./polite.py'
  optimize-eval bench tasks.jsonl --model cmd:./my_model --show arith_001

\b
The same command again continues the same run: what is scored is not asked again, what failed is.
Exit codes: 0 done, 1 a gate missed, 2 wrong option or task file, 3 it could not go on, 4 a model failed on
every task, too many calls failed or the time is up, 130 interrupted.
"""


class Sandbox(StrEnum):
    """How closed off the code that models wrote has to be."""

    STRICT = "strict"
    BEST_EFFORT = "best-effort"
    NONE = "none"


def bench(
    files: Annotated[list[str], typer.Argument(metavar="FILE|DIR", help="Task files, or folders of them.")],
    model: Annotated[
        list[str], typer.Option("--model", metavar="MODEL", help="cmd:…, URL, replay:…, PROVIDER/…")
    ],
    evaluator: Annotated[
        list[str] | None,
        typer.Option("-e", "--evaluator", metavar="SPEC", help="Score what models said by this, too."),
    ] = None,
    format_: Annotated[
        str | None, typer.Option("--format", metavar="FORMAT", help="spec or examples, if not as it looks.")
    ] = None,
    allow_bad_tasks: Annotated[
        bool, typer.Option("--allow-bad-tasks", help="Leave bad lines out; the board says so.")
    ] = False,
    filters: options.Filters = None,
    ids: options.Ids = None,
    limit: Annotated[
        int | None, typer.Option("--limit", metavar="N", min=1, help="The first tasks of each file.")
    ] = None,
    sample: Annotated[
        int | None, typer.Option("--sample", metavar="N", min=1, help="A random sample of each file.")
    ] = None,
    seed: Annotated[int, typer.Option("--seed", metavar="S", help="For the sample and the tests.")] = 0,
    repeats: Annotated[int, typer.Option("--repeats", metavar="N", min=1, help="Calls per task.")] = 1,
    batch_size: Annotated[
        int | None, typer.Option("--batch-size", metavar="N", min=1, help="Prompts in one call, at most.")
    ] = None,
    api_base: options.ApiBase = None,
    temperature: Annotated[
        float | None, typer.Option("--temperature", metavar="T", help="For models of providers.")
    ] = None,
    max_tokens: Annotated[
        int | None, typer.Option("--max-tokens", metavar="N", min=1, help="For models of providers.")
    ] = None,
    keep_thoughts: Annotated[
        bool, typer.Option("--keep-thoughts", help="Score a model's text with its thoughts.")
    ] = False,
    sandbox: Annotated[
        Sandbox | None,
        typer.Option("--sandbox", metavar="LEVEL", help="For code: strict, best-effort or none."),
    ] = None,
    concurrency: options.Concurrency = SLOTS,
    on_failure: options.HowOnFailure = options.OnFailure.EXCLUDE,
    max_failures: options.MaxFailures = None,
    max_time: options.MaxTime = None,
    fail_under: board_gates.FailUnder = None,
    no_regression_against: board_gates.NoRegression = None,
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
    include_per_example: Annotated[
        bool, typer.Option("--include-per-example", help="Put each prediction on the board.")
    ] = False,
    show: Annotated[
        str | None, typer.Option("--show", metavar="ID", help="Show one task, step by step, instead.")
    ] = None,
    out: Annotated[str | None, typer.Option("--out", metavar="DIR", help="The run's folder.")] = None,
    fresh: Annotated[bool, typer.Option("--fresh", help="Start anew, whatever the folder holds.")] = False,
    replaced: options.Replace = None,
    reuse: options.Reuse = None,
    note: options.Note = None,
    keep_stderr: options.KeepStderr = False,
    no_preflight: options.NoPreflight = False,
    quiet: options.Quiet = False,
    as_json: options.Json = False,
) -> None:
    """Rank models by tasks: render, ask, post-process, score; an interrupted run goes on where it was."""
    if out == "":
        raise UsageError("--out needs a name", hint="leave the option away, or give it one")
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
    benchmark = Benchmark(
        files=files,
        models=model,
        evaluators=evaluator or (),
        how=EvaluatorSpec(
            timeout=timeout,
            cwd=cwd,
            headers=parse_headers(header or ()),
            retries=retries,
            persistent=persistent,
            workers=workers,
            manners=calls.manners(patience, rpm, tpm, prices, max_cost),
        ),
        format=format_,
        allow_bad_tasks=allow_bad_tasks,
        selection=parse_selection(filters, ids),
        limit=limit,
        sample=sample,
        seed=seed,
        repeats=repeats,
        batch_size=batch_size,
        api_base=api_base,
        temperature=temperature,
        max_tokens=max_tokens,
        keep_thoughts=keep_thoughts,
        sandbox=sandbox,
    )
    demanded = GateOptions(fail_under=fail_under or (), no_regression_against=no_regression_against)
    prepared = prepare_bench(benchmark, handling, output.say, out=out, gates=demanded)
    if show is not None:
        found = find_task(prepared.files, show)
        show_task.show(prepared.plan.specs, *found, prepared.folder / OUTPUTS, as_json=as_json)
        return
    host = Terminal(quiet=quiet)
    finished = carry_out_bench(prepared, host, include_per_example=include_per_example)
    leaderboards.tell(
        finished.boards,
        prepared.folder / LEADERBOARD,
        finished.status,
        quiet=quiet,
        as_json=as_json,
        beside=gates.to_dict(finished.gates),
    )
    ending.end(finished, folder=prepared.folder, out=out)
    gates.end(finished.gates)
