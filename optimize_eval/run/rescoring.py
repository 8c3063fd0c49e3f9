"""What a run or bench has, scored by another evaluator, or measured by other metrics and rules.

No model is called: replies are read from the run's folder. A bench gets one evaluator, which reads what its
models replied. Its scores join the run's; the run's own evaluators are not called, and may be gone. Where
metrics or rules change, scores become other numbers, and nothing is called at all.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import field, replace
from functools import partial
from pathlib import Path
from types import MappingProxyType
from typing import NamedTuple

from optimize_eval.base.errors import State, UsageError
from optimize_eval.base.evaluator import EvaluatorSpec
from optimize_eval.base.frozen import frozen
from optimize_eval.base.protocol import ScoreRange
from optimize_eval.data.candidates import Candidate
from optimize_eval.evaluators.kinds import identify, named_apart
from optimize_eval.evaluators.task_kind import of_stored as of_stored_replies
from optimize_eval.findings.board_models import models_scored_by, name_of, ranks_none, said_in
from optimize_eval.findings.board_shapes import Board
from optimize_eval.findings.stored_boards import stored_board
from optimize_eval.findings.stored_summary import Findings
from optimize_eval.run.begin_or_resume import Handling
from optimize_eval.run.bench_boards import make_board, note_unranked, path_of, remake_board
from optimize_eval.run.bench_files import defined_files, files_again, readings_of
from optimize_eval.run.calls import CallSpan, Finished, call, examine, live_for, summarise
from optimize_eval.run.defining import kept_in, level_of, scorers_of, ways_in
from optimize_eval.run.host import Host, Say
from optimize_eval.run.inputs import (
    Settled,
    WantedEvaluator,
    add,
    humans_in,
    is_owed,
    load_candidates_again,
    plan_again,
    read_again,
    settle,
)
from optimize_eval.run.plan import Plan
from optimize_eval.run.prompting import of_stored, stored_models
from optimize_eval.run.runner import SessionEnd
from optimize_eval.run.splits import humans_of
from optimize_eval.store.folder import LEADERBOARD, hold_lock, refuse_foreign
from optimize_eval.store.opened_run import StoredRun, keep_words, open_stored
from optimize_eval.store.run_json import write_document
from optimize_eval.tasks import TaskFile
from optimize_eval.tasks.stored_tasks import KeptTask, joined, tasks_in
from optimize_eval.tasks.targets import DIALECT, TASKS, Given, definitions_in, model_keys, samples_of


class Bench:
    """A bench, and another evaluator for its models' replies."""

    def __init__(
        self,
        run: StoredRun,
        wanted: Sequence[WantedEvaluator],
        say: Say,
        files: Sequence[TaskFile] | None = None,
    ) -> None:
        """Take the task files, or load them from where they were."""
        if run.document.settings.get("format") == DIALECT:
            raise UsageError(
                f"{run.folder} is of tasks in YAML, which name their own scorers",
                hint="give the task another scorer, and run the bench again, which calls no model for it",
            )
        if len(wanted) > 1:
            raise UsageError("a bench is rescored by one evaluator at a time", hint="give -e once")
        if wanted[0].spec.score_range is not ScoreRange.UNIT:
            raise UsageError("a leaderboard has scores from 0 to 1", hint="omit --score-range")
        self._settings = run.document.settings
        self._name = wanted[0].spec.name
        self.path = path_of(run.folder, self._name)  # of the board by the new scores
        self._files = files or files_again(run.document)
        spec = of_stored_replies(wanted[0].spec, stored_models(run.document, run.folder))
        self.wanted = [WantedEvaluator(spec=spec, given=None)]
        _note_same_models(run, say)

    def plan(self, run: StoredRun, specs: Sequence[EvaluatorSpec], texts: Iterable[Candidate] = ()) -> Plan:
        """Plan what the bench was about for the new evaluator."""
        readings = readings_of(run.document, self._files)
        return replace(plan_again(specs, run.document, readings, texts), by_model=True)

    def board(self, findings: Findings, evaluator: str) -> Board | None:
        """Make a leaderboard by the new scores, which `evaluator` gave."""
        settings = {**self._settings, "scorer": self._name}
        models = models_scored_by(findings.run, evaluator)
        return make_board(findings, self._files, models, self.path, settings=settings, metric=self._name)


def _note_same_models(run: StoredRun, say: Say) -> None:
    """Say which models were given twice: what one replied is scored once."""
    first: dict[str, str] = {}
    for model in run.document.selected_models:
        name = first.setdefault(model.sha256, model.name)
        if name != model.name:
            say(f"note: {model.name} is the same model as {name}, which is scored for both")


@frozen
class Rescoring:
    """Evaluators for a run that is there, and where what it was about is now, if it moved."""

    folder: Path
    wanted: Sequence[WantedEvaluator]
    bench: Bench | None = None  # where the run is one
    splits: Mapping[str, str | None] = field(default_factory=dict)
    candidates: Sequence[str] = ()
    lists: Sequence[str] = ()
    has_timeout: bool = False  # one was given

    def plan(self, run: StoredRun, specs: Sequence[EvaluatorSpec]) -> Plan:
        """Plan what the run was about for other evaluators."""
        texts = load_candidates_again(run.document, self.candidates, self.lists)
        if self.bench:
            return self.bench.plan(run, specs, texts)
        return plan_again(specs, run.document, read_again(run.document, self.splits), texts)


def prepare_rescoring(
    run: str,
    specs: Sequence[EvaluatorSpec],
    given: Sequence[str | None],
    say: Say,
    *,
    splits: Mapping[str, str | None],
    candidates: Sequence[str] = (),
    lists: Sequence[str] = (),
    has_timeout: bool = False,
) -> Rescoring:
    """Open a run; `given` are the names that evaluators were given in so many words."""
    opened = open_stored(run)
    fields = [candidate.field for candidate in opened.document.selected_candidates if candidate.field]
    fields += [*humans_in(opened.document), *humans_of(specs)]
    has_models = not opened.document.is_bench and any(opened.layout.task_models)
    if not opened.document.is_bench:
        specs = of_stored(specs, opened.document, opened.folder)
    wanted = [
        WantedEvaluator(spec=spec.hiding(fields, models=has_models), given=name)
        for spec, name in zip(specs, given, strict=True)
    ]
    folder = opened.folder  # a folder without a run is not made one by locking it
    refuse_foreign(folder)
    bench = Bench(opened, wanted, say) if opened.document.is_bench else None
    return Rescoring(
        folder=folder,
        wanted=bench.wanted if bench else wanted,
        bench=bench,
        splits=splits,
        candidates=candidates,
        lists=lists,
        has_timeout=has_timeout,
    )


def carry_out_rescoring(prepared: Rescoring, handling: Handling, host: Host) -> Finished:
    """Call the evaluators that the run does not have, or not for all it is about."""
    bench = prepared.bench
    with hold_lock(prepared.folder):
        stored = open_stored(prepared.folder)
        settled = settle(stored, prepared.wanted)
        for name, other in settled.renamed.items():
            host.say(f"note: the run has scores by another {other}; this one is called {name}")
        planned = partial(prepared.plan, stored, settled.specs)
        stored, called = _called(stored, settled, planned, handling, host)
        if called.plan is None:
            _note_done(settled, host.say)
        stored = with_tasks_of(stored, settled.specs, planned, host.say, has_timeout=prepared.has_timeout)
        findings = summarise(stored)
        summary = findings.summary
        names = [spec.name for spec in settled.specs]
        board = bench.board(findings, names[0]) if bench else None
        if bench:
            _tell_spent(findings)
    return Finished(
        stored=stored,
        summary=summary,
        calls=(called,),
        boards={"": board} if board else {},
        off_scale=findings.off_scale(names, *([partial(name_of, layout=stored.layout)] if bench else [])),
    )


class Own(NamedTuple):
    """What became of a bench's own metric: its board, how the calls went, and the bench with its scores."""

    board: Board | None
    called: CallSpan
    run: StoredRun
    off_scale: tuple[str, ...]  # see Finished


def score_by(
    metrics: Sequence[EvaluatorSpec],
    run: StoredRun,
    files: Sequence[TaskFile],
    handling: Handling,
    host: Host,
) -> dict[str, Own]:
    """Score by further evaluators what the models of a bench said, up to a stop; its folder is locked."""
    scored: dict[str, Own] = {}
    for metric in metrics:
        own = scored[metric.name] = _score_by(metric, run, files, handling, host)
        run = own.run
        if own.called.ended.status in {State.INTERRUPTED, State.OUT_OF_TIME}:
            break
    return scored


def _score_by(
    metric: EvaluatorSpec, run: StoredRun, files: Sequence[TaskFile], handling: Handling, host: Host
) -> Own:
    bench = Bench(run, [WantedEvaluator(spec=metric, given=None)], host.say, files)
    settled = settle(run, bench.wanted)
    planned = partial(bench.plan, run, settled.specs)
    run, called = _called(run, settled, planned, handling, host)
    findings, names = summarise(run), [spec.name for spec in settled.specs]
    off = findings.off_scale(names, partial(name_of, layout=run.layout))
    board = bench.board(findings, names[0])
    _tell_spent(findings)
    return Own(board, called, run, off)


def _tell_spent(findings: Findings) -> None:
    """Let the bench's first board tell what judges of its replies spent, too."""
    run = findings.run
    board = stored_board(run)
    if board and board.spent != run.ledger.ledger.spending.totals:
        shown = summarise(run, said_in) if board.has_some_examples else findings
        remake_board(shown, board, run.folder / LEADERBOARD)


def _called(
    stored: StoredRun, settled: Settled, planned: Callable[[], Plan], handling: Handling, host: Host
) -> tuple[StoredRun, CallSpan]:
    """Add the evaluators to the run and call what is owed; without that no file of the run's is needed."""
    if not is_owed(stored, settled):
        stored = _with_words(add(stored, settled.additions), handling)
        return stored, CallSpan(ended=_nothing_called(stored, settled))
    plan = planned()
    settings = handling.settings(plan)
    with live_for(plan, settings, host) as live:
        stored = _with_words(add(stored, settled.additions), handling)
        for note in stored.notes:
            host.say(f"note: {note}")
        return stored, call(plan, stored, settings, host, live)


def _with_words(stored: StoredRun, handling: Handling) -> StoredRun:
    return keep_words(stored, handling.note, handling.command)


def _nothing_called(stored: StoredRun, settled: Settled) -> SessionEnd:
    changed = tuple(name for name in settled.known if name in stored.ledger.changed)
    return SessionEnd(status=State.DONE, reason="", progress=(), broken=(), notes=(), changed=changed)


def _note_done(settled: Settled, say: Say) -> None:
    for name in settled.known:
        say(f"note: the run already has {name}, and none of its calls is owed")


def scorers_in(paths: Sequence[str], how: EvaluatorSpec, given: Given, say: Say) -> tuple[EvaluatorSpec, ...]:
    """Read tasks in YAML, also those of folders, and give their scorers; raises DataError with all faults."""
    files, others = defined_files(paths, say)
    if others:
        raise UsageError(
            f"{others[0]} is not a task in YAML", hint="name a file *.yaml, or a folder of tasks"
        )
    from optimize_eval.run.bench_tasks import read_suite  # noqa: PLC0415  it reads YAML

    tasks = read_suite(files, given, ())
    return named_apart(spec for task in tasks for spec in scorers_of(task, how, given, say, are_called=False))


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
        findings = summarise(stored, said_in if before and before.has_some_examples else None)
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
