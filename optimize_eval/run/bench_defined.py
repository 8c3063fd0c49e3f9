"""Tasks in YAML as a bench: models over tasks, or datasets that are scored without a model."""

from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from optimize_eval.base.errors import UsageError
from optimize_eval.base.evaluator import EvaluatorSpec
from optimize_eval.config.compared import BoardGateOptions, ComparisonOptions
from optimize_eval.data.candidates import THE_TASK
from optimize_eval.findings.board_models import KnownTasks
from optimize_eval.findings.boards import expected_board
from optimize_eval.models.model_kinds import ModelSpec
from optimize_eval.run.begin_or_resume import (
    NO_GATES,
    Handling,
    gate_settings,
    look_at,
    note_changes,
)
from optimize_eval.run.bench import (
    NO_FILES,
    Benchmark,
    PreparedBench,
    ScoredFiles,
    bench_plan,
    check_models,
    demands_of,
    load_scored,
    prepare_bench,
)
from optimize_eval.run.bench_files import defined_files
from optimize_eval.run.defining import dated_in, kept_in, ways_in
from optimize_eval.run.host import Say
from optimize_eval.run.inputs import Examples, stored_paths
from optimize_eval.run.plan import document_of
from optimize_eval.run.splits import SplitSource
from optimize_eval.run.sweeps import Prepared, SweepInputs, prepare
from optimize_eval.store.folder import refuse_foreign
from optimize_eval.store.opened_run import StoredRun
from optimize_eval.store.run_document import BENCH
from optimize_eval.store.run_json import settings_in
from optimize_eval.tasks.targets import DIALECT
from optimize_eval.tasks.task_files import BoardFile

if TYPE_CHECKING:  # most benches have tasks in JSONL
    from optimize_eval.run.bench_tasks import BenchedTask

_CALLS, _CALLS_NONE, _LOOKS = "calls a model", "calls no model", "is about a system, not a model"
_MOST_NAMED = 5


def prepare_any(
    benchmark: Benchmark,
    handling: Handling,
    say: Say,
    *,
    out: str | None = None,
    gates: BoardGateOptions = NO_GATES,
) -> PreparedBench | Prepared:
    """Prepare a bench of task files in either form; one that calls no model is a run without a board."""
    paths, others = defined_files(benchmark.files, say)
    if not paths:
        _check_jsonl(benchmark)
        return prepare_bench(benchmark, handling, say, out=out, gates=gates)
    from optimize_eval.run.bench_tasks import Part, load_defined  # noqa: PLC0415  it loads templates

    if not others:
        _check(benchmark)
    part = Part(
        selection=benchmark.selection,
        limit=benchmark.limit,
        sample=benchmark.sample,
        seed=benchmark.seed,
    )
    models = benchmark.model_specs(benchmark.folder(out))
    tasks = load_defined(paths, benchmark.how, benchmark.given, part, say, tags=benchmark.tags, models=models)
    what = _what_all_do(tasks)
    if what == _CALLS:
        beside = load_scored(replace(benchmark, files=others), say) if others else NO_FILES
        return _prepare_models(benchmark, tasks, beside, models, handling, say, out=out, gates=gates)
    if others:
        raise UsageError(
            f"the task {tasks[0].definition.key} {what}, and {others[0]} is about models",
            hint="bench them apart",
        )
    if benchmark.models:
        raise UsageError(f"the task {tasks[0].definition.key} {what}", hint="omit --model")
    if what == _LOOKS:
        _check_without_rows(benchmark, tasks[0].definition.key)
    return _prepare_others(benchmark, tasks, handling, say, out=out, gates=gates)


def _check(benchmark: Benchmark) -> None:
    """Refuse options that are for tasks in JSONL alone."""
    foreign = {
        "-e": benchmark.evaluators,
        "--objective or --rubric": benchmark.judge,
        "--format": benchmark.format not in {None, DIALECT},
        "--allow-bad-tasks": benchmark.allow_bad_tasks,
        "--batch-size": benchmark.batch_size,
    }
    for option, is_given in foreign.items():
        if is_given:
            raise UsageError(
                f"{option} is for tasks in JSONL", hint="omit it: a task in YAML names its own scorers"
            )


def _check_jsonl(benchmark: Benchmark) -> None:
    if benchmark.tags:
        raise UsageError(
            "--tag is for tasks in YAML, and none is named", hint="choose others with --filter or --id"
        )


def _check_without_rows(benchmark: Benchmark, key: str) -> None:
    """Refuse what chooses rows where there are none."""
    foreign = {
        "--limit": benchmark.limit,
        "--sample": benchmark.sample,
        "--filter or --id": benchmark.selection,
        "--data": benchmark.given.data,
    }
    for option, is_given in foreign.items():
        if is_given:
            raise UsageError(f"{option} is about rows, and the task {key} has none", hint="omit it")


def _what_all_do(tasks: "Sequence[BenchedTask]") -> str:
    """Tell whom tasks call; those that do not do the same are not one bench."""
    found: dict[str, list[BenchedTask]] = {}
    for task in tasks:
        found.setdefault(_what_it_does(task), []).append(task)
    first, *others = found
    if others:
        (one, *_), (other, *more) = found[first], found[others[0]]
        paths = " ".join(task.definition.path for task in (other, *more)[:_MOST_NAMED])
        raise UsageError(
            f"the task {one.definition.key} {first}, and {other.definition.key} {others[0]}",
            hint=f"bench them apart, by their tags (--tag) or files: optimize-eval bench {paths}",
        )
    return first


def _what_it_does(task: "BenchedTask") -> str:
    solver = task.definition.solver
    if solver and solver.calls_model:
        return _CALLS
    return _CALLS_NONE if task.source else _LOOKS


def _prepare_models(
    benchmark: Benchmark,
    tasks: "Sequence[BenchedTask]",
    beside: ScoredFiles,
    models: Sequence[ModelSpec],
    handling: Handling,
    say: Say,
    *,
    out: str | None,
    gates: BoardGateOptions,
) -> PreparedBench:
    """Prepare tasks in YAML, and those in JSONL beside them, as one bench."""
    check_models(benchmark)
    files = (*(task.file for task in tasks), *beside.files)
    _check_names(files)
    scorers = _scorers_by_file(benchmark, tasks, beside, models)
    sources = [*_sources(tasks), *beside.sources]
    plan = bench_plan(scorers, models, sources, repeats=benchmark.repeats, seed=benchmark.seed)
    handling.check(plan)
    folder = benchmark.folder(out)
    paths = {source.name: source.file for source in sources}
    settings = {**benchmark.settings, "format": DIALECT}
    refuse_foreign(folder)
    before = settings_in(folder, fresh=handling.fresh)
    kept = {**settings, "paths": stored_paths(paths, ()), **kept_in(plan.specs)}
    kept |= {**ways_in(plan.specs, before, say), **gate_settings(gates)}
    kept |= dated_in(folder, kept, before)
    names = {name: Path(path).name.encode(errors="replace").decode() for name, path in paths.items()}
    document = document_of(plan, names, kept, kind=BENCH)
    known = KnownTasks(document=document)
    demands = demands_of(gates, lambda: expected_board(files, plan.layout, known), [], kept, plan.layout)
    return PreparedBench(
        plan=plan,
        own=(),
        files=files,
        folder=folder,
        document=document,
        handling=handling,
        settings=settings,
        demands=demands,
    )


def _scorers_by_file(
    benchmark: Benchmark, tasks: "Sequence[BenchedTask]", beside: ScoredFiles, models: Sequence[ModelSpec]
) -> dict[str, Sequence[EvaluatorSpec]]:
    scorers: dict[str, Sequence[EvaluatorSpec]] = {task.definition.key: task.scorers for task in tasks}
    there = [file for file in beside.files if file.tasks]
    of_records = zip(there, beside.scorers(benchmark, models), strict=True)
    return scorers | {file.name: [spec] for file, spec in of_records}


def _check_names(files: Sequence[BoardFile]) -> None:
    """Refuse two tasks of one name: on a board nobody would know which is which."""
    paths: dict[str, str] = {}
    for file in files:
        if (first := paths.setdefault(file.name, file.path)) != file.path:
            raise UsageError(
                f"{first} and {file.path} are both called {file.name}", hint="rename one of them"
            )


def _prepare_others(
    benchmark: Benchmark,
    tasks: "Sequence[BenchedTask]",
    handling: Handling,
    say: Say,
    *,
    out: str | None,
    gates: BoardGateOptions,
) -> Prepared:
    sources = tuple(_sources(tasks))
    examples = Examples(
        files={source.name: source.file for source in sources},
        paths=tuple(benchmark.files),
        limit=benchmark.limit,
        sample=benchmark.sample,
        selection=benchmark.selection,
        sources=sources,
    )
    comparison = SweepInputs(
        specs=tuple(spec for task in tasks for spec in task.scorers),
        candidates=(THE_TASK,),
        examples=examples,
        what=ComparisonOptions(repeats=benchmark.repeats, seed=benchmark.seed),
        splits_of={spec.name: (task.source.name,) for task in tasks if task.source for spec in task.scorers},
    )
    return prepare(comparison, handling, say, out=out, stem="bench", gates=gates)


def _sources(tasks: "Iterable[BenchedTask]") -> Iterable[SplitSource]:
    return (task.source for task in tasks if task.source)


def look_at_bench(prepared: PreparedBench, say: Say) -> StoredRun:
    """Find what a bench has scored, as it is to be; writes nothing."""
    how = prepared.handling
    run = look_at(prepared.folder, prepared.plan, prepared.document, fresh=how.fresh, replace=how.replace)
    note_changes(run, say)
    return run
