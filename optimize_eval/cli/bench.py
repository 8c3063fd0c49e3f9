"""`optimize-eval bench`: models over task files; then the leaderboard of them."""

from collections.abc import Sequence
from dataclasses import replace
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from optimize_eval.aggregates.board_gates import check_can_decide
from optimize_eval.aggregates.leaderboard import expected_board
from optimize_eval.candidates import Candidate
from optimize_eval.cli import board_gates, gates, options, output, show_task
from optimize_eval.cli.bench_again import score_by
from optimize_eval.cli.carried_out import (
    Session,
    check_reachable,
    check_slots,
    end,
    explain,
    folder_of,
    session,
    settings_of,
    summarise,
    take_over,
    tell_notes,
)
from optimize_eval.cli.leaderboards import drop_outdated, keep, make_board, path_of, tell
from optimize_eval.cli.material import stored_paths
from optimize_eval.cli.task_files import chosen, find_task, load_task_files
from optimize_eval.connect import parse_evaluators, parse_headers, task_spec
from optimize_eval.errors import UsageError
from optimize_eval.names import distinct
from optimize_eval.reach import DEFAULT_TIMEOUT, EvaluatorSpec, TaskSpecification
from optimize_eval.run.described import manifest_of
from optimize_eval.run.plan import Plan, plan_run
from optimize_eval.run.resume import open_run
from optimize_eval.run.reuse import check_reuse
from optimize_eval.run.runner import Settings, Status
from optimize_eval.store.folder import LEADERBOARD, OUTPUTS, locked, refuse_foreign

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
every task or too many calls failed, 130 interrupted.
"""


_NO_CANDIDATE = Candidate(name="the prompt")  # nothing stands before a task's prompt


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
    sandbox: Annotated[
        Sandbox | None,
        typer.Option("--sandbox", metavar="LEVEL", help="For code: strict, best-effort or none."),
    ] = None,
    concurrency: options.Concurrency = options.SLOTS,
    on_failure: options.HowOnFailure = options.OnFailure.EXCLUDE,
    max_failures: options.MaxFailures = None,
    fail_under: board_gates.FailUnder = None,
    no_regression_against: board_gates.NoRegression = None,
    timeout: options.Timeout = DEFAULT_TIMEOUT,
    cwd: options.Cwd = None,
    header: options.Headers = None,
    retries: options.Retries = None,
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
    keep_stderr: options.KeepStderr = False,
    no_preflight: options.NoPreflight = False,
    quiet: options.Quiet = False,
    as_json: options.Json = False,
) -> None:
    """Rank models by tasks: render, ask, post-process, score; an interrupted run goes on where it was."""
    check_slots(concurrency)
    if out == "":
        raise UsageError("--out needs a name", hint="leave the option away, or give it one")
    loaded = load_task_files(files, dialect=format_, allow_bad=allow_bad_tasks)
    taken, sources = chosen(loaded, limit=limit, sample=sample, seed=seed)
    how = EvaluatorSpec(
        timeout=timeout,
        cwd=cwd,
        headers=parse_headers(header or ()),
        retries=retries,
        persistent=persistent,
        workers=workers,
    )
    task = TaskSpecification(
        api_base=api_base or "", temperature=temperature, max_tokens=max_tokens, batch_size=batch_size
    )
    metrics = [one.evaluator for file in taken for one in file.tasks]
    specs = _named_apart([task_spec(text, metrics, how, task, sandbox=sandbox or "") for text in model])
    plan = plan_run(specs, [_NO_CANDIDATE], sources, repeats=repeats, seed=seed)
    folder = folder_of("bench", plan, files, out)
    if show is not None:
        show_task.show(specs, *find_task(taken, show), folder / OUTPUTS, as_json=as_json)
        return
    kept = {
        "format": format_,
        "repeats": repeats,
        "seed": seed,
        "limit": limit,
        "sample": sample,
        "temperature": temperature,
        "max_tokens": max_tokens,
        "batch_size": batch_size,
        "sandbox": sandbox,
        "timeout": timeout,
        "retries": retries,
    }
    paths = {source.name: source.file for source in sources}
    names = {name: Path(path).name for name, path in paths.items()}
    manifest = manifest_of(
        plan,
        names,
        {
            **kept,
            "bench": True,
            "paths": stored_paths(paths, ()),
            **gates.kept(fail_under, None, no_regression_against),
        },
    )

    def settings(plan: Plan) -> Settings:
        return settings_of(
            plan, concurrency, on_failure, max_failures, keep_stderr=keep_stderr, probe=not no_preflight
        )

    check_reuse(reuse or (), fresh=fresh)
    refuse_foreign(folder)
    own = parse_evaluators(evaluator or (), how)
    expected, metrics = expected_board(taken, plan.layout), [spec.name for spec in own]
    wanted = board_gates.demands(expected, fail_under, no_regression_against, metrics)
    if wanted.before:
        check_can_decide(wanted.before, expected)
    check_reachable(replace(plan, specs=(*plan.specs, *own)))
    _note_twice(specs)
    with locked(folder):
        stored = open_run(folder, plan, manifest, fresh=fresh, replace=replaced or ())
        tell_notes(stored)
        take_over(plan, stored, reuse or ())
        for path in (folder / LEADERBOARD, *(path_of(folder, name) for name in metrics)):
            path.unlink(missing_ok=True)  # while calls are made it would tell of another time
        done = session(_writing_outputs(plan, folder), stored, settings(plan), quiet=quiet)
        drop_outdated(folder)
        summarise(stored)
        called = {spec.name: spec.name for spec in specs}
        board = make_board(stored, taken, called, settings=kept, include_per_example=include_per_example)
        keep(board, folder / LEADERBOARD)
        scored = score_by(own if board else (), folder, taken, settings, quiet=quiet)
        others = {name: one.board for name, one in scored.items() if one.board}
        judged = board_gates.judged(wanted, stored, board, others)
        sessions = [(done, plan), *((one.done, one.plan or plan) for one in scored.values())]
        tell(
            {"": board, **others} if board else {},
            folder / LEADERBOARD,
            _status([one for one, _ in sessions]),
            quiet=quiet,
            as_json=as_json,
            beside=gates.to_dict(judged),
        )
    for one, of_session in sessions:
        explain(one, of_session, folder=folder, out=out)
    for one, _ in sessions:
        end(one.ended)
    gates.end(judged)


def _status(sessions: Sequence[Session]) -> str:
    """Say how sessions ended: the first that did not come to its end speaks for all."""
    ends = [one.ended.status for one in sessions]
    return str(next((status for status in ends if status is not Status.DONE), Status.DONE))


def _named_apart(specs: Sequence[EvaluatorSpec]) -> list[EvaluatorSpec]:
    names = distinct(spec.name for spec in specs)
    return [replace(spec, name=name) for spec, name in zip(specs, names, strict=True)]


def _note_twice(specs: Sequence[EvaluatorSpec]) -> None:
    """Say where a comparison of models would be one of a model with what it said itself."""
    first: dict[str, str] = {}
    for spec in specs:
        name = first.setdefault(spec.task.model if spec.task else "", spec.name)
        if name != spec.name:
            output.say(
                f"note: {spec.name} is the same model as {name}: what either said counts for both; "
                "--repeats shows how much it varies"
            )


def _writing_outputs(plan: Plan, folder: Path) -> Plan:
    """Let what models say be written down beside the journal, before it is scored."""
    path = str((folder / OUTPUTS).absolute())
    specs = [
        replace(spec, task=replace(spec.task, outputs=path)) for spec in plan.specs if spec.task is not None
    ]
    return replace(plan, specs=tuple(specs))
