"""Another evaluator over what a run was about, or over what a bench's models said.

Its scores join the run's; the run's own evaluators are not called, and may be gone.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import field
from functools import partial
from pathlib import Path
from typing import NamedTuple

from optimize_eval.base.evaluator import EvaluatorSpec
from optimize_eval.base.frozen import frozen
from optimize_eval.findings.board_shapes import Board
from optimize_eval.run.plan import Plan
from optimize_eval.run.replan import plan_again
from optimize_eval.run.rescore import Settled, WantedEvaluator, add, humans_in, is_owed, settle
from optimize_eval.run.runner import SessionEnd, Status
from optimize_eval.run.splits import humans_of
from optimize_eval.session.benching.rescored import Bench
from optimize_eval.session.calling import CallSpan, Finished, call, off_scale, reachable, summarise
from optimize_eval.session.host import Host, Say
from optimize_eval.session.inputs import load_candidates_again, read_again
from optimize_eval.session.remeasuring import with_tasks_of
from optimize_eval.session.replying.prompting import of_stored
from optimize_eval.session.settings import Handling
from optimize_eval.store.folder import locked, refuse_foreign
from optimize_eval.store.manifest import is_bench
from optimize_eval.store.stored import StoredRun, keep_words, open_stored
from optimize_eval.tasks import TaskFile


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
        texts = load_candidates_again(run.manifest, self.candidates, self.lists)
        if self.bench:
            return self.bench.plan(run, specs, texts)
        return plan_again(specs, run.manifest, read_again(run.manifest, self.splits), texts)


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
    fields = [candidate["field"] for candidate in opened.manifest["candidates"] if candidate.get("field")]
    fields += [*humans_in(opened.manifest), *humans_of(specs)]
    has_models = not is_bench(opened.manifest) and any(opened.manifest["task_models"])
    if not is_bench(opened.manifest):
        specs = of_stored(specs, opened.manifest, opened.folder)
    wanted = [
        WantedEvaluator(spec=spec.hiding(fields, models=has_models), given=name)
        for spec, name in zip(specs, given, strict=True)
    ]
    folder = opened.folder  # a folder without a run is not made one by locking it
    refuse_foreign(folder)
    bench = Bench(opened, wanted, say) if is_bench(opened.manifest) else None
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
    with locked(prepared.folder):
        stored = open_stored(prepared.folder)
        settled = settle(stored, prepared.wanted)
        for name, other in settled.renamed.items():
            host.say(f"note: the run has scores by another {other}; this one is called {name}")
        planned = partial(prepared.plan, stored, settled.specs)
        stored, called = _called(stored, settled, planned, handling, host)
        if called.plan is None:
            _note_done(settled, host.say)
        stored = with_tasks_of(stored, settled.specs, planned, host.say, has_timeout=prepared.has_timeout)
        summary = summarise(stored)
        board = bench.board(stored, [spec.name for spec in settled.specs]) if bench else None
    return Finished(
        stored=stored,
        summary=summary,
        calls=(called,),
        boards={"": board} if board else {},
        off_scale=off_scale(summary, [spec.name for spec in settled.specs], stored.layout if bench else None),
    )


class Own(NamedTuple):
    """What became of a bench's own metric: its board, and how the calls went."""

    board: Board | None
    called: CallSpan
    off_scale: tuple[str, ...]  # see Finished


def score_by(
    metrics: Sequence[EvaluatorSpec],
    folder: Path,
    files: Sequence[TaskFile],
    handling: Handling,
    host: Host,
) -> dict[str, Own]:
    """Score by further evaluators what the models of a bench said, up to a stop; its folder is locked."""
    scored: dict[str, Own] = {}
    for metric in metrics:
        own = scored[metric.name] = _score_by(metric, folder, files, handling, host)
        if own.called.ended.status in {Status.INTERRUPTED, Status.OUT_OF_TIME}:
            break
    return scored


def _score_by(
    metric: EvaluatorSpec, folder: Path, files: Sequence[TaskFile], handling: Handling, host: Host
) -> Own:
    run = open_stored(folder)
    bench = Bench(run, [WantedEvaluator(spec=metric, given=None)], host.say, files)
    settled = settle(run, bench.wanted)
    planned = partial(bench.plan, run, settled.specs)
    run, called = _called(run, settled, planned, handling, host)
    summary, names = summarise(run), [spec.name for spec in settled.specs]
    return Own(bench.board(run, names), called, off_scale(summary, names, run.layout))


def _called(
    stored: StoredRun, settled: Settled, planned: Callable[[], Plan], handling: Handling, host: Host
) -> tuple[StoredRun, CallSpan]:
    """Add the evaluators to the run and call what is owed; without that no file of the run's is needed."""
    if not is_owed(stored, settled):
        stored = _with_words(add(stored, settled.additions), handling)
        return stored, CallSpan(ended=_nothing_called(stored, settled))
    plan = planned()
    settings = handling.settings(plan)
    with reachable(plan) as connecting:
        stored = _with_words(add(stored, settled.additions), handling)
        for note in stored.notes:
            host.say(f"note: {note}")
        return stored, call(plan, stored, settings, host, connecting=connecting)


def _with_words(stored: StoredRun, handling: Handling) -> StoredRun:
    return keep_words(stored, handling.note, handling.command)


def _nothing_called(stored: StoredRun, settled: Settled) -> SessionEnd:
    changed = tuple(name for name in settled.known if name in stored.ledger.changed)
    return SessionEnd(status=Status.DONE, reason="", progress=(), broken=(), notes=(), changed=changed)


def _note_done(settled: Settled, say: Say) -> None:
    for name in settled.known:
        say(f"note: the run already has {name}, and none of its calls is owed")
