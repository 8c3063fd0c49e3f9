"""Models over task files: a bench prepared, called, summarised, and its models' outputs scored by more.

A bench is a run: its models are the evaluators, its task files the splits.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

from optimize_eval.candidates import Candidate
from optimize_eval.errors import UsageError
from optimize_eval.evaluator import EvaluatorSpec
from optimize_eval.findings.board.cells import benched_models
from optimize_eval.findings.board.demands import BoardDemands, judged, read_before_calls
from optimize_eval.findings.board.document import expected_board
from optimize_eval.findings.board.shapes import Board
from optimize_eval.findings.demands import NO_GATES, GateOptions
from optimize_eval.frozen import frozen
from optimize_eval.kinds.table import parse_evaluators
from optimize_eval.options.bench import BenchOptions
from optimize_eval.rows.selection import EVERYTHING, Selection, parse_selection
from optimize_eval.run.described import manifest_of
from optimize_eval.run.plan import Plan, plan_run
from optimize_eval.session.boards import drop_outdated, make_board, path_of
from optimize_eval.session.calling import CallSpan, Finished, call, reachable, summarise
from optimize_eval.session.host import Host, Say
from optimize_eval.session.inputs import stored_paths
from optimize_eval.session.opening import folder_of, opened
from optimize_eval.session.replying.models import model_specs
from optimize_eval.session.rescoring import score_by
from optimize_eval.session.settings import Handling
from optimize_eval.session.task_files import chosen, load_task_files
from optimize_eval.store.folder import LEADERBOARD, OUTPUTS, refuse_foreign
from optimize_eval.store.manifest import BENCH, Manifest
from optimize_eval.store.stored import StoredRun
from optimize_eval.tasks import TaskFile
from optimize_eval.tasks.identity import model_of
from optimize_eval.tasks.target import Tasks, tasks_of

_NO_CANDIDATE = Candidate(name="the prompt")  # nothing stands before a task's prompt


@frozen
class Benchmark:
    """What is benched, by the names of options."""

    files: Sequence[str]
    models: Sequence[str]
    evaluators: Sequence[str] = ()
    how: EvaluatorSpec  # timeout and the like, of models and own evaluators
    format: str | None = None
    allow_bad_tasks: bool = False
    selection: Selection = EVERYTHING
    limit: int | None = None
    sample: int | None = None
    seed: int = 0
    repeats: int = 1
    batch_size: int | None = None
    api_base: str | None = None
    temperature: float | None = None
    max_tokens: int | None = None
    keep_thoughts: bool = False
    sandbox: str | None = None

    @property
    def settings(self) -> dict[str, Any]:
        """Give what a board says of how it came about."""
        return {
            "format": self.format,
            "repeats": self.repeats,
            "seed": self.seed,
            "limit": self.limit,
            "sample": self.sample,
            "temperature": self.temperature,
            "max_tokens": self.max_tokens,
            "batch_size": self.batch_size,
            **({"keep_thoughts": True} if self.keep_thoughts else {}),
            "sandbox": self.sandbox,
            "timeout": self.how.timeout,
            "retries": self.how.retries,
            **self.selection.to_dict(),
        }

    def specs(self, files: Iterable[TaskFile]) -> list[EvaluatorSpec]:
        """Make the models that are called about the tasks of files, by names of their own."""
        task = Tasks(
            api_base=self.api_base or "",
            temperature=self.temperature,
            max_tokens=self.max_tokens,
            batch_size=self.batch_size,
            keep_thoughts=self.keep_thoughts,
        )
        metrics = [entry.evaluator for file in files for entry in file.tasks]
        return [*model_specs(self.models, self.how, task, metrics, sandbox=self.sandbox or "")]


def benchmark_of(
    files: Sequence[str], models: Sequence[str], how: EvaluatorSpec, what: BenchOptions
) -> Benchmark:
    """Make of options what is benched."""
    given = {one.name: getattr(what, one.name) for one in fields(Benchmark) if hasattr(what, one.name)}
    selection = parse_selection(what.filters, what.ids)
    return Benchmark(**{**given, "files": files, "models": models, "how": how, "selection": selection})


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


def prepare_bench(
    benchmark: Benchmark,
    handling: Handling,
    say: Say,
    *,
    out: str | None = None,
    gates: GateOptions = NO_GATES,
) -> PreparedBench:
    """Load the task files, plan the bench and find its folder."""
    if not benchmark.models:
        raise UsageError("no model is named", hint='name one: toy, "cmd:./model", "openai/gpt-4o-mini"')
    loaded = load_task_files(benchmark.files, dialect=benchmark.format, allow_bad=benchmark.allow_bad_tasks)
    taken, sources = chosen(
        loaded,
        say,
        limit=benchmark.limit,
        sample=benchmark.sample,
        seed=benchmark.seed,
        selection=benchmark.selection,
    )
    specs = benchmark.specs(taken)
    plan = plan_run(specs, [_NO_CANDIDATE], sources, repeats=benchmark.repeats, seed=benchmark.seed)
    handling.check(plan)
    folder = folder_of("bench", plan, benchmark.files, out, say)
    paths = {source.name: source.file for source in sources}
    kept = {**benchmark.settings, "paths": stored_paths(paths, ()), **gates.kept()}
    refuse_foreign(folder)
    own = parse_evaluators(benchmark.evaluators, benchmark.how)
    expected = expected_board(taken, plan.layout)
    return PreparedBench(
        plan=plan,
        own=own,
        files=tuple(taken),
        folder=folder,
        manifest=manifest_of(plan, {name: Path(path).name for name, path in paths.items()}, kept, kind=BENCH),
        handling=handling,
        settings=benchmark.settings,
        demands=read_before_calls(expected, gates, [spec.name for spec in own]),
    )


def carry_out_bench(prepared: PreparedBench, host: Host, *, include_per_example: bool = False) -> Finished:
    """Call the models, make their board, then score their outputs by the bench's own evaluators."""
    with reachable(replace(prepared.plan, specs=(*prepared.plan.specs, *prepared.own))):
        pass  # what is called has the tasks and the folder, too
    _note_twice(prepared.plan.specs, host.say)
    plan, handling = prepared.plan, prepared.handling
    with opened(prepared.folder, plan, prepared.manifest, handling, host.say) as stored:
        _drop_boards(prepared)
        called = _call(prepared, stored, host)
        summary = summarise(stored)
        board = _board(prepared, stored, include_per_example=include_per_example)
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
    path = str((folder / OUTPUTS).absolute())
    loaded: dict[tuple[int | None, bytes], object] = {
        (task.line, task.raw): task for file in files for task in file.tasks
    }
    targets = [
        replace(tasks_of(spec), outputs=path, loaded=loaded, known_as=model_of(known))
        for spec, known in zip(plan.specs, plan.identities, strict=True)
    ]
    specs = (replace(spec, target=target) for spec, target in zip(plan.specs, targets, strict=True))
    return replace(plan, specs=tuple(specs))
