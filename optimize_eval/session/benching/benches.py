"""Models over task files: a bench prepared, called, summarised, and its models' outputs scored by more.

A bench is a run: its models are the task models, its task files the splits, and each file has an evaluator,
which scores what models reply to the file's tasks and is for that split alone.
"""

from collections.abc import Mapping, Sequence
from dataclasses import field, replace
from pathlib import Path
from typing import Any

from optimize_eval.base.errors import UsageError
from optimize_eval.base.evaluator import EvaluatorSpec
from optimize_eval.base.frozen import frozen
from optimize_eval.base.protocol import check_task_model
from optimize_eval.data.candidates import THE_PROMPT
from optimize_eval.findings.board_models import benched_models
from optimize_eval.findings.board_shapes import Board
from optimize_eval.findings.boards import expected_board
from optimize_eval.findings.demands import NO_GATES, BoardDemands, GateOptions, judged, read_before_calls
from optimize_eval.models.model_kinds import tasks_of
from optimize_eval.run.described import manifest_of
from optimize_eval.run.plan import Plan, plan_run
from optimize_eval.run.splits import SplitSource
from optimize_eval.session.benching.benchmark import Benchmark, check_models
from optimize_eval.session.benching.boards import drop_outdated, make_board, note_unranked, path_of
from optimize_eval.session.benching.own_metrics import with_own_metrics
from optimize_eval.session.benching.task_files import chosen, load_task_files, split_of
from optimize_eval.session.calling import CallSpan, Finished, call, reachable, summarise
from optimize_eval.session.host import Host, Say
from optimize_eval.session.inputs import stored_paths
from optimize_eval.session.opening import folder_of, note_done, opened
from optimize_eval.session.replying.enclosing import level_of
from optimize_eval.session.replying.examining import examine
from optimize_eval.session.replying.identities import identity_of, with_outputs_in
from optimize_eval.session.rescoring import score_by
from optimize_eval.session.settings import Handling
from optimize_eval.store.folder import LEADERBOARD, OUTPUTS, refuse_foreign
from optimize_eval.store.manifest import BENCH, Manifest
from optimize_eval.store.stored import StoredRun
from optimize_eval.tasks import TaskFile
from optimize_eval.tasks.defined import defined_of


@frozen
class PreparedBench:
    """A bench before its first call: nothing is written yet."""

    plan: Plan
    own: tuple[EvaluatorSpec, ...]  # evaluators that score the models' outputs, too
    files: tuple[TaskFile, ...]
    folder: Path
    manifest: Manifest
    handling: Handling
    settings: Mapping[str, Any]
    demands: BoardDemands

    def shown(self, file: TaskFile) -> EvaluatorSpec:
        """Give the evaluator of a file as it is shown about one task: with a model's thoughts."""
        split = split_of(file)
        spec = next(one for one in self.plan.specs if split in self.plan.layout.splits_of[one.name])
        return replace(spec, target=replace(tasks_of(spec), tells_thoughts=True, loaded=_by_record(file)))


@frozen
class ScoredFiles:
    """Task files in JSONL with what takes part of them, and the evaluators of one's own that score them."""

    files: tuple[TaskFile, ...] = ()
    sources: tuple[SplitSource, ...] = ()
    metrics: Mapping[str, EvaluatorSpec] = field(default_factory=dict)  # evaluators of one's own, by these
    others: tuple[EvaluatorSpec, ...] = ()  # those that score all replies besides

    def scorers(self, benchmark: Benchmark, models: Sequence[EvaluatorSpec]) -> list[EvaluatorSpec]:
        """Make the evaluator of each file that has tasks."""
        return benchmark.scorers([file for file in self.files if file.tasks], models, self.metrics)


NO_FILES = ScoredFiles()


def load_scored(benchmark: Benchmark, say: Say) -> ScoredFiles:
    """Load the task files in JSONL of a bench that has tasks in YAML, too; raises DataError."""
    scored = _loaded(benchmark, say)
    if scored.others:
        name = scored.others[0].name
        raise UsageError(
            f"-e {name} would score tasks in JSONL alone",
            hint=f'name it as a metric there ("metric": "evaluator:{name}"), or bench these apart',
        )
    return scored


def _loaded(benchmark: Benchmark, say: Say) -> ScoredFiles:
    loaded = load_task_files(benchmark.files, dialect=benchmark.format, allow_bad=benchmark.allow_bad_tasks)
    named, metrics, others = with_own_metrics(loaded, benchmark.own_evaluators())
    taken, sources = chosen(
        named,
        say,
        limit=benchmark.limit,
        sample=benchmark.sample,
        seed=benchmark.seed,
        selection=benchmark.selection,
    )
    return ScoredFiles(files=tuple(taken), sources=sources, metrics=metrics, others=others)


def prepare_bench(
    benchmark: Benchmark,
    handling: Handling,
    say: Say,
    *,
    out: str | None = None,
    gates: GateOptions = NO_GATES,
) -> PreparedBench:
    """Load the task files, plan the bench and find its folder."""
    if benchmark.given.is_something:
        raise UsageError(
            "--config, --config-file, --model-key and --data are for tasks in YAML, and none is named",
            hint="omit them, or name one: optimize-eval bench task.yaml",
        )
    check_models(benchmark)
    scored = _loaded(benchmark, say)
    plan = _planned(benchmark, scored)
    handling.check(plan)
    folder = folder_of("bench", plan, benchmark.files, out, say)
    paths = {source.name: source.file for source in scored.sources}
    kept = {**benchmark.settings, "paths": stored_paths(paths, ()), **gates.kept()}
    refuse_foreign(folder)
    expected = expected_board(scored.files, plan.layout)
    return PreparedBench(
        plan=plan,
        own=scored.others,
        files=scored.files,
        folder=folder,
        manifest=manifest_of(
            plan,
            {name: Path(path).name.encode(errors="replace").decode() for name, path in paths.items()},
            kept,
            kind=BENCH,
        ),
        handling=handling,
        settings=benchmark.settings,
        demands=read_before_calls(expected, gates, [spec.name for spec in scored.others]),
    )


def _planned(benchmark: Benchmark, scored: ScoredFiles) -> Plan:
    """Plan the scorers of files over models; each scorer is for the split of its file alone."""
    models = benchmark.model_specs()
    return bench_plan(
        {spec.name: [spec] for spec in scored.scorers(benchmark, models)},
        models,
        scored.sources,
        repeats=benchmark.repeats,
        seed=benchmark.seed,
    )


def bench_plan(
    scorers: Mapping[str, Sequence[EvaluatorSpec]],
    models: Sequence[EvaluatorSpec],
    sources: Sequence[SplitSource],
    *,
    repeats: int,
    seed: int,
) -> Plan:
    """Plan a bench: models over tasks, each a split with its scorers, of which the first is the board's."""
    splits = [source.name for source in sources]
    pairs = [(spec, split) for split, specs in zip(splits, scorers.values(), strict=True) for spec in specs]
    plan = plan_run(
        [spec for spec, _ in pairs],
        [THE_PROMPT],
        sources,
        task_models=[check_task_model(model.name) for model in models],
        models=[identity_of(model) for model in models],
        repeats=repeats,
        seed=seed,
        splits_of={spec.name: (split,) for spec, split in pairs},
    )
    return replace(plan, model_specs=tuple(models), by_model=True)


def carry_out_bench(prepared: PreparedBench, host: Host, *, include_per_example: bool = False) -> Finished:
    """Call the models, make their board, then score their outputs by the bench's own evaluators."""
    with reachable(replace(prepared.plan, specs=(*prepared.plan.specs, *prepared.own))):
        pass  # what is called has the tasks and the folder, too
    _note_twice(prepared.plan.model_specs, host.say)
    plan, handling = prepared.plan, prepared.handling
    own = [spec.name for spec in prepared.own]
    with opened(prepared.folder, plan, prepared.manifest, handling, host.say, metrics=own) as stored:
        if not own:
            note_done(stored, host.say)
        _drop_boards(prepared)
        called = _call(prepared, stored, host)
        examine(stored, lambda: plan, host.say, sandbox=level_of(plan.specs))
        summary = summarise(stored)
        board = _board(prepared, stored, include_per_example=include_per_example)
        note_unranked(stored, host.say)
        metrics = prepared.own if board else ()
        scored = score_by(metrics, prepared.folder, prepared.files, prepared.handling, host)
    others = {name: own.board for name, own in scored.items() if own.board}
    boards = {"": board, **others} if board else {}
    calls = called, *(metric.called for metric in scored.values())
    gates = judged(prepared.demands, stored, board, others)
    off = tuple(words for metric in scored.values() for words in metric.off_scale)
    return Finished(stored=stored, summary=summary, calls=calls, boards=boards, gates=gates, off_scale=off)


def _drop_boards(prepared: PreparedBench) -> None:
    """Remove the boards that will be made: while calls are made they would be out of date."""
    folder = prepared.folder
    for path in (folder / LEADERBOARD, *(path_of(folder, spec.name) for spec in prepared.own)):
        path.unlink(missing_ok=True)


def _call(prepared: PreparedBench, stored: StoredRun, host: Host) -> CallSpan:
    plan = _with_tasks(prepared.plan, prepared.files, prepared.folder)
    called = call(plan, stored, prepared.handling.settings(plan), host)
    drop_outdated(prepared.folder)
    return called


def _board(prepared: PreparedBench, stored: StoredRun, *, include_per_example: bool) -> Board | None:
    return make_board(
        stored,
        prepared.files,
        benched_models(stored),
        prepared.folder / LEADERBOARD,
        settings=prepared.settings,
        include_per_example=include_per_example,
    )


def _note_twice(specs: Sequence[EvaluatorSpec], say: Say) -> None:
    """Point out models that are the same one: comparing them would compare a model with itself."""
    first: dict[str, str] = {}
    for spec in specs:
        name = first.setdefault(tasks_of(spec).model, spec.name)
        if name != spec.name:
            say(
                f"note: {spec.name} is the same model as {name}: its replies count for both; "
                "--repeats shows how much they vary"
            )


def _with_tasks(plan: Plan, files: Sequence[TaskFile], folder: Path) -> Plan:
    """Hand over the tasks as they were loaded, and where outputs are written before they are scored."""
    if all(map(defined_of, plan.specs)):
        return plan  # their samples are in the plan already
    path = str((folder / OUTPUTS).absolute())
    models = with_outputs_in(path, plan.model_specs)
    there = {split_of(file): file for file in files if file.tasks}
    specs = [
        spec if defined_of(spec) else _with_loaded(spec, there[plan.layout.splits_of[spec.name][0]], models)
        for spec in plan.specs
    ]
    return replace(plan, specs=tuple(specs), model_specs=models)


def _with_loaded(spec: EvaluatorSpec, file: TaskFile, models: tuple[EvaluatorSpec, ...]) -> EvaluatorSpec:
    return replace(spec, target=replace(tasks_of(spec), loaded=_by_record(file), models=models))


def _by_record(file: TaskFile) -> dict[tuple[int | None, bytes], object]:
    return {(task.line, task.raw): task for task in file.tasks}
