"""`optimize-eval preflight`: everything that would go wrong in a long run, before it."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Annotated, Any

import typer

from optimize_eval.base.evaluator import EvaluatorSpec
from optimize_eval.base.protocol import Payload, check_task_model
from optimize_eval.cli import output
from optimize_eval.cli.cleanup import owned_processes
from optimize_eval.cli.options.evaluators import evaluators_of
from optimize_eval.cli.options.prompts import compared_of
from optimize_eval.cli.options.sweep_file import SweepFile, SweepOption, keys_of
from optimize_eval.config import compared
from optimize_eval.config.calling import SLOTS, ServerOptions
from optimize_eval.config.declared import Heading
from optimize_eval.config.evaluators import ScoringOptions, judge_of, manners_of, starting_spec
from optimize_eval.config.printing import PrintOptions
from optimize_eval.config.prompts import DefinitionOptions, PromptingOptions, given_of
from optimize_eval.data.candidates import Candidate
from optimize_eval.data.example import Example
from optimize_eval.data.selection import parse_selection
from optimize_eval.evaluators.addressed import check_headers
from optimize_eval.reports.terminal import preflight as report
from optimize_eval.run.defining import check_columns, check_definitions, scorers_among
from optimize_eval.run.inputs import check_stdin, load_splits, note_leaks_among
from optimize_eval.run.opening import reusable
from optimize_eval.run.plan import manifest_of, plan_run
from optimize_eval.run.preflight import DEFAULT_BUDGET
from optimize_eval.run.preflight.checklist import examine_all
from optimize_eval.run.preflight.examined import SENTINEL, Examined, Material
from optimize_eval.run.prompting import Prompting, called_in
from optimize_eval.run.resume import look_at
from optimize_eval.run.splits import SplitSource, check_fields, check_sight, humans_of, output_of
from optimize_eval.run.sweeps import candidates_of
from optimize_eval.store.layout import Split
from optimize_eval.store.manifest import KEEP, LEAKS

EXAMPLES = """\b
Examples:
  optimize-eval preflight -e ./judge.sh --dataset train.jsonl --valset val.jsonl
  optimize-eval preflight -e 'python3 judge.py' -e http://127.0.0.1:8000/score --candidate prompt.txt
  optimize-eval preflight -e task:task.yaml --model openai/gpt-4o-mini --dataset train.jsonl
  optimize-eval preflight --prompt 'prompts/*.md' --model openai/gpt-4o-mini -e @f1 --dataset train.jsonl
  optimize-eval preflight sweep.toml

\b
Each failure and warning comes with a shell line that shows it.
Exit codes: 0 ready to run, 1 an evaluator failed a check, 2 wrong option or
data.
"""

_FAILED = 1
_FIRST_EXAMPLES = 20
_FIRST_ROWS = 4  # of tasks in YAML, where each may cost a call of a model
_OF_TASKS = (
    "note: models reply once to a few rows, and a task's scorers are called with these replies; checks left "
    "out, as a scorer is sent no candidate: kept alive, batches, odd candidates"
)
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
    candidates: compared.CandidateOptions,
    prompted: PromptingOptions,
    axis: compared.TaskModelOptions,
    files: compared.TrainAndValOptions,
    chosen: compared.ChoiceOptions,
    scoring: ScoringOptions,
    defined: DefinitionOptions,
    servers: ServerOptions,
    printed: PrintOptions,
    seconds: Annotated[
        float,
        typer.Option(
            "--seconds",
            metavar="SECONDS",
            min=0,
            help="Time for each evaluator.",
            rich_help_panel=Heading.STOPPING,
        ),
    ] = DEFAULT_BUDGET,
    budget: Annotated[float | None, typer.Option("--budget", min=0, hidden=True)] = None,
    _sweep: SweepFile = None,
    _sweep_file: SweepOption = None,
) -> None:
    """Check evaluators before a long run: their answers, calls at once, and speed."""
    defaults = starting_spec(scoring, judge_of(scoring), manners_of(servers))
    named_specs, has_tasks = scorers_among(
        evaluators_of(context, scoring, defaults), given_of(defined), output.say
    )
    places, fields, prompting = compared_of(
        context,
        candidates,
        prompted,
        defaults,
        api_base=scoring.api_base,
        task_models=axis.task_models,
        has_tasks=has_tasks,
    )
    specs = [spec.hiding([*fields, *humans_of(named_specs)]) for spec in named_specs]
    keys = keys_of(context)
    part = {key: keys[key] for key in ("limit", "sample", "seed") if key in keys}
    selection = parse_selection(chosen.filters, chosen.ids)
    paths = {"train": files.dataset, "val": files.valset}
    check_stdin(paths.values(), places)
    loaded_splits = load_splits(paths, output.say, selection=selection, **part)
    sources = loaded_splits.sources
    known = note_leaks_among(loaded_splits, output.say, keeps_leaks=keys.get(LEAKS) == KEEP)
    for source in sources:
        check_fields(source, fields)
    check_sight(sources, named_specs)
    splits = {one.name: one.examples for one in sources}
    prompts = prompting if prompting and prompting.prompts else None
    if prompts:
        prompts.check(sources, output.say)
        prompts.note_twice(output.say)
    check_headers([*named_specs, *(prompting.models if prompting else ())])
    check_definitions(specs, [*places, *fields], prompting, sources)
    check_columns(specs, sources, output.say)
    loaded = prompts.candidates if prompts else candidates_of(specs, places, fields)
    names = [model.name for model in prompting.models] if prompting else axis.task_models
    models = [check_task_model(name) for name in names] or [None]
    material = _material(loaded, splits, models, keys, first=_FIRST_ROWS if has_tasks else _FIRST_EXAMPLES)
    if has_tasks:
        output.say(_OF_TASKS)
    with owned_processes(), TemporaryDirectory() as folder:
        scorers = called_in(Path(folder), specs, sources, prompting)
        if loaded and sources:
            _note_reusable(scorers, loaded, sources, models, keys, prompting)
        patience = seconds if budget is None else budget
        examined = (
            _examine_prompted(specs, prompts, material, patience)
            if prompts
            else examine_all(scorers, material, patience)
        )
    if printed.as_json:
        output.emit_json(report.to_dict(examined))
    else:
        output.emit(
            report.render(
                examined, _data_line(splits, known, len(loaded) if prompts else 0), width=output.width()
            )
        )
    if not all(one.is_ok for one in examined):
        raise typer.Exit(_FAILED)


def _examine_prompted(
    specs: Sequence[EvaluatorSpec], prompting: Prompting, material: Material, seconds: float
) -> list[Examined]:
    from optimize_eval.run.preflight.models import examine_prompted  # noqa: PLC0415  most have no models

    return examine_prompted(specs, prompting.models, material, seconds, extract=prompting.extract)


def _note_reusable(
    specs: Sequence[EvaluatorSpec],
    candidates: Sequence[Candidate],
    sources: Sequence[SplitSource],
    task_models: Sequence[str | None],
    keys: Mapping[str, Any],
    prompting: Prompting | None,
) -> None:
    """Note which run in runs/ has scored some of what a run would call."""
    repeats = keys.get("repeats", 1)
    known = prompting.identities if prompting else ()
    plan = plan_run(specs, candidates, sources, task_models=task_models, models=known, repeats=repeats)
    if line := reusable(look_at(Path("runs", "new"), plan, manifest_of(plan, {}, {}), fresh=True)):
        output.say(f"note: of a run like this, {line}")


def _material(
    candidates: Sequence[Candidate],
    splits: dict[str, tuple[Example, ...]],
    task_models: Sequence[str | None],
    keys: Mapping[str, Any],
    *,
    first: int,
) -> Material:
    """Put together what a run would send; where there is no candidate, placeholders vary in its place."""
    payloads = {
        split: tuple(
            Payload(
                candidate=_text(one, example),
                example=example.raw,
                task_model=model,
                line=example.line,
                split=split,
            )
            for place, example in enumerate(examples[:first])
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
    shown = next(iter(payloads.values()))[0]
    examples = sum(len(examples) for examples in splits.values()) or 1
    times = keys.get("repeats", 1) * len(task_models)
    return Material(
        splits=payloads,
        calls=(len(candidates) or 1) * examples * times,
        slots=keys.get("concurrency", SLOTS),
        sentinel=None if candidates else replace(shown, candidate=SENTINEL),
    )


def _text(candidate: Candidate, example: Example) -> str:
    return output_of(example, candidate.field) if candidate.field else candidate.text


def _data_line(splits: dict[str, tuple[Example, ...]], known: Sequence[Split], prompts: int) -> str:
    if not splits:
        return "no examples: the evaluator is called with the candidate alone"
    parts = [f"{split} {_lines(len(examples))} ok" for split, examples in splits.items()]
    if len(splits) > 1:
        shared = sum(len(split.leaks or ()) for split in known)
        words = f"{shared:,} example{'s' * (shared != 1)} in both"
        parts.append(words if shared else "no example in both")
    if prompts:
        parts.append(f"{prompts:,} prompt{'s' * (prompts != 1)} rendered over all of them")
    return " · ".join(parts)


def _lines(count: int) -> str:
    return f"{count:,} line{'s' * (count != 1)}"
