"""`optimize-eval preflight`: everything that would go wrong in a long run, found before it."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any

import typer

from optimize_eval.candidates import Candidate
from optimize_eval.cli import output
from optimize_eval.cli.cleanup import owned_processes
from optimize_eval.cli.options import calls
from optimize_eval.cli.options import shared as options
from optimize_eval.engines import SLOTS
from optimize_eval.evaluator import DEFAULT_TIMEOUT, EvaluatorSpec
from optimize_eval.preflight import DEFAULT_BUDGET
from optimize_eval.preflight.checks import examine
from optimize_eval.preflight.examined import SENTINEL, Material
from optimize_eval.protocol import Payload, ScoreRange, check_task_model
from optimize_eval.reports.terminal import preflight as report
from optimize_eval.rows.datasets import Example
from optimize_eval.rows.selection import parse_selection, value_at
from optimize_eval.run.described import manifest_of
from optimize_eval.run.plan import plan_run
from optimize_eval.run.resume import look_at
from optimize_eval.run.splits import Source, check_fields, check_sight, humans_of
from optimize_eval.session.inputs import load_all_candidates, load_splits
from optimize_eval.session.opening import reusable

EXAMPLES = """\b
Examples:
  optimize-eval preflight -e ./judge.sh --dataset train.jsonl --valset val.jsonl
  optimize-eval preflight -e 'python3 judge.py' -e http://127.0.0.1:8000/score --candidate prompt.txt
  optimize-eval preflight sweep.toml

\b
Each failure and warning comes with a shell line that shows it.
Exit codes: 0 ready to run, 1 an evaluator failed a check, 2 wrong option or data.
"""

_FAILED = 1
_FIRST_EXAMPLES = 20
_PLACEHOLDERS = tuple(
    Candidate(name="placeholder", text=text)
    for text in (
        "Answer in one short sentence.",
        "Answer politely, and say why.",
        "Think step by step, then answer.",
    )
)


def preflight(
    context: typer.Context,
    _sweep: options.SweepFile = None,
    evaluator: options.Evaluators = None,
    dataset: Annotated[
        str | None, typer.Option("--dataset", metavar="FILE", help="The train examples.")
    ] = None,
    valset: Annotated[str | None, typer.Option("--valset", metavar="FILE", help="The val examples.")] = None,
    filters: options.Filters = None,
    ids: options.Ids = None,
    candidate: options.CandidateFiles = None,
    candidates: options.CandidateLists = None,
    candidate_field: options.CandidateFields = None,
    task_model: options.TaskModel = None,
    score_range: options.Range = ScoreRange.UNIT,
    timeout: options.Timeout = DEFAULT_TIMEOUT,
    cwd: options.Cwd = None,
    header: options.Headers = None,
    retries: options.Retries = None,
    patience: calls.Patience = calls.PATIENCE,
    rpm: calls.Rpm = None,
    tpm: calls.Tpm = None,
    persistent: options.Persistent = None,
    workers: options.Workers = None,
    judge_model: options.JudgeModels = None,
    objective: options.Objective = None,
    rubric: options.RubricFile = None,
    api_base: options.ApiBase = None,
    budget: Annotated[
        float, typer.Option("--budget", metavar="SECONDS", min=0, help="For each evaluator.")
    ] = DEFAULT_BUDGET,
    as_json: options.Json = False,
) -> None:
    """CheckOutcome evaluators before a long run: right, safe to ask at once, and how fast."""
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
        manners=calls.manners(patience, rpm, tpm),
    )
    fields = candidate_field or ()
    named_specs = options.evaluators(context, evaluator, judge_model, defaults)
    specs = [spec.hiding([*fields, *humans_of(named_specs)]) for spec in named_specs]
    said = options.said_of_runs(context)
    chosen_by = {key: said[key] for key in ("limit", "sample", "seed") if key in said}
    selection = parse_selection(filters, ids)
    files = {"train": dataset, "val": valset}
    sources = load_splits(files, output.say, selection=selection, **chosen_by).sources
    for source in sources:
        check_fields(source, fields)
    check_sight(sources, named_specs)
    splits = {one.name: one.examples for one in sources}
    chosen = load_all_candidates(named, candidate_field)
    is_one = options.is_flag(context, "task_model") or not said.get("task_model")
    models = [check_task_model(name) for name in ([task_model] if is_one else said["task_model"])]
    material = _material(chosen, splits, models)
    times = said.get("repeats", 1) * len(models)
    material = replace(material, calls=material.calls * times, slots=said.get("concurrency", SLOTS))
    if chosen and sources:
        _tell_what_is_known(specs, chosen, sources, models, said)
    with owned_processes():
        examined = [examine(spec, material, budget) for spec in specs]
    if as_json:
        output.emit_json(report.to_dict(examined))
    else:
        output.emit(report.render(examined, _data_line(splits), width=output.width()))
    if not all(one.is_ok for one in examined):
        raise typer.Exit(_FAILED)


def _tell_what_is_known(
    specs: Sequence[EvaluatorSpec],
    candidates: Sequence[Candidate],
    sources: Sequence[Source],
    task_models: Sequence[str | None],
    said: Mapping[str, Any],
) -> None:
    """Say which run has scored some of what a run would call; those in runs/ are looked at."""
    repeats = said.get("repeats", 1)
    plan = plan_run(specs, candidates, sources, task_models=task_models, repeats=repeats)
    if line := reusable(look_at(Path("runs", "new"), plan, manifest_of(plan, {}, {}), fresh=True)):
        output.say(f"note: {line}")


def _material(
    candidates: Sequence[Candidate],
    splits: dict[str, tuple[Example, ...]],
    task_models: Sequence[str | None],
) -> Material:
    """Put together what a run would ask; where there is no candidate, placeholders vary in its place."""
    payloads = {
        split: tuple(
            Payload(candidate=_text(one, example), example=example.raw, task_model=model)
            for place, example in enumerate(examples[:_FIRST_EXAMPLES])
            for one in candidates or [_PLACEHOLDERS[place % len(_PLACEHOLDERS)]]
            for model in task_models
        )
        for split, examples in splits.items()
    } or {
        "single": tuple(
            Payload(candidate=one.text, task_model=model)
            for one in candidates or _PLACEHOLDERS
            for model in task_models
        )
    }
    first = next(iter(payloads.values()))[0]
    examples = sum(len(examples) for examples in splits.values()) or 1
    return Material(
        splits=payloads,
        calls=(len(candidates) or 1) * examples,
        slots=SLOTS,
        sentinel=None if candidates else replace(first, candidate=SENTINEL),
    )


def _text(candidate: Candidate, example: Example) -> str:
    return value_at(example.value, candidate.field) if candidate.field else candidate.text


def _data_line(splits: dict[str, tuple[Example, ...]]) -> str:
    if not splits:
        return "no examples: the evaluator is asked about the candidate alone"
    told = [f"{split} {_lines(len(examples))} ok" for split, examples in splits.items()]
    if len(splits) > 1:
        shared = {e.raw for e in splits["train"]} & {e.raw for e in splits["val"]}
        told.append(f"{len(shared):,} examples in both" if shared else "no example in both")
    return " · ".join(told)


def _lines(count: int) -> str:
    return f"{count:,} line{'s' * (count != 1)}"
