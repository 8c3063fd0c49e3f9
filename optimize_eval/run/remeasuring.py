"""The metrics and rules of a stored run changed: its scores become other numbers, and nothing is called."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from types import MappingProxyType

from optimize_eval.base.errors import UsageError
from optimize_eval.base.evaluator import EvaluatorSpec
from optimize_eval.evaluators.kinds import identify, named_apart
from optimize_eval.findings.board_models import ranks_none, said_in
from optimize_eval.findings.stored_boards import has_some_examples, stored_board
from optimize_eval.findings.stored_summary import Findings
from optimize_eval.run.bench_boards import note_unranked, remake_board
from optimize_eval.run.bench_files import defined_files
from optimize_eval.run.calls import Finished, examine, summarise
from optimize_eval.run.defining import scorers_of
from optimize_eval.run.enclosing import kept_in, level_of, ways_in
from optimize_eval.run.host import Say
from optimize_eval.run.inputs import load_candidates_again, read_again
from optimize_eval.run.plan import Plan
from optimize_eval.run.prompting import of_stored
from optimize_eval.run.replan import plan_again
from optimize_eval.store.folder import LEADERBOARD, hold_lock, refuse_foreign
from optimize_eval.store.opened_run import StoredRun, open_stored
from optimize_eval.store.run_json import write_document
from optimize_eval.tasks.stored_tasks import KeptTask, joined, tasks_in
from optimize_eval.tasks.targets import TASKS, Given, definitions_in, samples_of
from optimize_eval.tasks.task_identity import model_keys


def scorers_in(paths: Sequence[str], how: EvaluatorSpec, given: Given, say: Say) -> tuple[EvaluatorSpec, ...]:
    """Read tasks in YAML, also those of folders, and give their scorers; raises DataError with all faults."""
    files, others = defined_files(paths, say)
    if others:
        raise UsageError(
            f"{others[0]} is not a task in YAML", hint="name a file *.yaml, or a folder of tasks"
        )
    from optimize_eval.run.bench_tasks import read_suite  # noqa: PLC0415  it reads YAML

    tasks = read_suite(files, given, ())
    named = ((task, replace(how, name=task.key, text=f"task:{task.path}")) for task in tasks)
    return named_apart(
        spec for task, own in named for spec in scorers_of(task, own, given, say, are_called=False)
    )


def remeasure(
    run: str,
    specs: Sequence[EvaluatorSpec],
    say: Say,
    *,
    splits: Mapping[str, str | None],
    data: Mapping[str, str] = MappingProxyType({}),
    candidates: Sequence[str] = (),
    lists: Sequence[str] = (),
    has_timeout: bool = False,
) -> Finished:
    """Give a run the metrics and rules that these scorers have now, and summarise it again.

    `data` says where datasets are by their keys; `has_timeout`, that one was given for the code of metrics. A
    bench has its board made again.
    """
    folder = open_stored(run).folder  # a folder without a run is not made one by locking it
    refuse_foreign(folder)
    with hold_lock(folder):
        stored = open_stored(folder)
        known = _known(stored, _named_as_in(stored, specs, say), say)
        moved = {**splits, **_moved(known, data)}
        planned = partial(_planned, stored, known, moved, candidates, lists)
        before = stored_board(stored) if stored.document.is_bench else None
        stored = with_tasks_of(stored, known, planned, say, has_timeout=has_timeout)
        findings = summarise(stored, said_in if before and has_some_examples(before) else None)
        board = remake_board(findings, before, stored.folder / LEADERBOARD) if before else None
        if stored.document.is_bench:
            _note_board(findings, say, is_there=board is not None)
    return Finished(stored=stored, summary=findings.summary, calls=(), boards={"": board} if board else {})


def _note_board(findings: Findings, say: Say, *, is_there: bool) -> None:
    note_unranked(findings, say)
    if not (is_there or findings.run.owed or ranks_none(findings)):
        say("note: the bench has no board any more; its own command makes it again and calls no model")


def with_tasks_of(
    stored: StoredRun,
    specs: Sequence[EvaluatorSpec],
    planned: Callable[[], Plan],
    say: Say,
    *,
    has_timeout: bool,
) -> StoredRun:
    """Let a run have the metrics and rules of these scorers, and apply them; most evaluators are none."""
    told = kept_in(specs).get(TASKS)
    if not told:
        return stored
    settings = stored.document.settings
    ways = ways_in(specs, settings, say)
    changed = {**settings, TASKS: joined(settings.get(TASKS, ()), told, has_timeout=has_timeout), **ways}
    stored = replace(stored, document=replace(stored.document, settings=changed))
    examine(stored, planned, say, sandbox=level_of(specs))
    if changed != settings:
        (stored.folder / LEADERBOARD).unlink(missing_ok=True)  # until it is made again, it is out of date
        write_document(stored.folder, stored.document)
    return stored


def _named_as_in(stored: StoredRun, specs: Sequence[EvaluatorSpec], say: Say) -> list[EvaluatorSpec]:
    """Call scorers as the run does, whose tasks of one key are taken in its order; raises UsageError."""
    given: dict[str, dict[str, list[EvaluatorSpec]]] = {}  # by the tasks' keys and files
    for spec in specs:
        if target := samples_of(spec):
            given.setdefault(target.task.key, {}).setdefault(target.task.path, []).append(spec)
    kept = tasks_in(stored.document.settings)
    renamed = []
    for key, files in given.items():
        there = [task for task in kept if task.key == key]
        if there and len(there) != len(files):
            raise _ambiguous(key, [*files], len(there))
        if len(there) > 1:
            order = ", ".join(
                f"{path} as {task.display_name}" for path, task in zip(files, there, strict=True)
            )
            say(f"note: the run has {len(there)} tasks called {key}, which are taken in its order: {order}")
        for index, own in enumerate(files.values()):
            elsewhere = f"{own[0].text}: " if len(there) > 1 else f"{key}."
            renamed += _named_as(there[index], own, elsewhere) if there else own
    return renamed


def _named_as(task: KeptTask, specs: Sequence[EvaluatorSpec], elsewhere: str) -> list[EvaluatorSpec]:
    """Name the scorers of a task; those that the run has not begin with `elsewhere`."""
    names = {scorer.key: scorer.evaluator for scorer in task.scorers}
    keys = [target.scorer.key for spec in specs if (target := samples_of(spec))]
    return [
        replace(spec, name=names.get(key, f"{elsewhere}{key}")) for spec, key in zip(specs, keys, strict=True)
    ]


def _ambiguous(key: str, files: Sequence[str], there: int) -> UsageError:
    if there == 1:
        return UsageError(
            f"{' and '.join(files)} are both called {key}, and the run has one such task",
            hint="name the file of that task",
        )
    return UsageError(
        f"the run has {there} tasks called {key}, and the command names {len(files)}",
        hint="name the files of all of them, in the order in which the run has them",
    )


def _known(stored: StoredRun, specs: Sequence[EvaluatorSpec], say: Say) -> list[EvaluatorSpec]:
    """Find the scorers that the run has."""
    names = stored.layout.evaluators
    known = [spec for spec in specs if spec.name in names]
    adding = "the bench's own command adds" if stored.document.is_bench else "rescore -e task:FILE adds"
    if not known:
        there = ", ".join(names)
        raise UsageError(
            f"the run has no {', '.join(spec.name for spec in specs)}",
            hint=f"it has {there}; {adding} scorers. A task that was renamed is found by its earlier key",
        )
    for spec in specs:
        if spec.name not in names:
            say(f"note: the run has no {spec.name}; {adding} it")
    for spec in known:
        if _scores_otherwise(stored, spec):
            say(f"note: {spec.name} is another scorer in the task now; the run keeps the scores that it has")
    return known


def _scores_otherwise(stored: StoredRun, spec: EvaluatorSpec) -> bool:
    """Return True if a scorer is known not to be the run's; its program and models may be gone."""
    target = samples_of(spec)
    if target is None or target.looks_at_all or target.program:
        return False
    if target.keyed or any(model_keys(target.task.scorers)):
        return False
    now = identify(spec).sha256
    return not any(
        entry.name == spec.name and entry.sha256 == now for entry in stored.document.selected_evaluators
    )


def _moved(specs: Iterable[EvaluatorSpec], data: Mapping[str, str]) -> dict[str, str]:
    """Find the datasets that are elsewhere by the splits of tasks, as benches call them."""
    tasks = definitions_in(specs)
    if unknown := set(data).difference(task.dataset for task in tasks):
        raise UsageError(f"--data {min(unknown)}: no task has this dataset", hint="see `dataset` in the task")
    return {task.key: data[task.dataset] for task in tasks if task.dataset in data}


def _planned(
    stored: StoredRun,
    specs: Sequence[EvaluatorSpec],
    splits: Mapping[str, str | None],
    candidates: Sequence[str],
    lists: Sequence[str],
) -> Plan:
    document = stored.document
    own = of_stored(specs, document, stored.folder)
    texts = load_candidates_again(document, candidates, lists)
    return plan_again(own, document, read_again(document, splits), texts)
