"""The final sweep: the seed and the best of a search as an ordinary run, which grows and alone is believed.

What the search has scored is not called again: its records are planted into the run's journal where units are
owed. Failures are not, so they are retried here.
"""

from collections.abc import Mapping, Sequence
from contextlib import closing, suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

from optimize_eval.base.errors import OptimizeEvalError
from optimize_eval.data.candidates import Candidate
from optimize_eval.evaluators.kinds import connect
from optimize_eval.run.calls import Finished, call, reachable, summarise
from optimize_eval.run.enclosing import level_of
from optimize_eval.run.examining import examine
from optimize_eval.run.host import Host
from optimize_eval.run.live import Connecting
from optimize_eval.run.opening import opened
from optimize_eval.run.plan import Plan
from optimize_eval.run.runner import Clock
from optimize_eval.run.settings import Handling
from optimize_eval.run.sweeps import SweepInputs, prepare
from optimize_eval.search.result.tree import Node, SearchOutcome
from optimize_eval.search.scores.recorded import OF_ITS_PLACE, scored_in
from optimize_eval.store import journal
from optimize_eval.store.folder import EVALUATIONS, JOURNAL, MANIFEST
from optimize_eval.store.manifest import SearchedRun
from optimize_eval.store.reusable import folders_of
from optimize_eval.store.stored import StoredRun, open_stored
from optimize_eval.store.tried import keep_tried_elsewhere, note_finalists


def finalists(outcome: SearchOutcome, top: int) -> tuple[Node, ...]:
    """Choose who is compared with the seed at the end: the best means of the search, each text once."""
    chosen: dict[str, Node] = {}
    for node in outcome.top(len(outcome.nodes)):
        if node.text != outcome.seed.text:
            chosen.setdefault(node.text, node)
    return tuple(chosen.values())[:top]


def sweep_finalists(
    comparison: SweepInputs,
    candidates: Sequence[Candidate],
    folder: Path,
    handling: Handling,
    host: Host,
    connecting: Connecting = connect,
    *,
    searched: SearchedRun,
) -> Finished:
    """Compare them with the first, the seed, on all examples; records of an earlier sweep stay."""
    comparison = replace(comparison, candidates=tuple(candidates), baseline=candidates[0].name)
    prepared = prepare(comparison, handling, host.say, out=str(folder), searched=searched)
    with (
        reachable(prepared.plan, connecting) as handing_over,
        opened(folder, prepared.plan, prepared.manifest, handling, _say_nothing) as stored,
    ):
        if not searched.get("steered_by"):
            note_finalists(stored, [candidate.name for candidate in candidates])
        _keep_tried(stored, handling.reuse)
        _plant(stored, prepared.plan, folder / EVALUATIONS)
        # a search may well begin with a candidate that fails on everything
        settings = replace(handling.settings(prepared.plan), demands_each=False)
        called = call(prepared.plan, stored, settings, host, connecting=handing_over)
        examine(stored, lambda: prepared.plan, host.say, sandbox=level_of(prepared.plan.specs))
        summary = summarise(stored)
    return Finished(stored=stored, summary=summary, calls=(called,))


def _keep_tried(stored: StoredRun, reuse: Sequence[str]) -> None:
    """Keep what was tried in folders that the search took scores from, be it none of this sweep's."""
    names = {record.get("reused_from") for _, record in scored_in(stored.folder / EVALUATIONS)}
    for folder, _ in folders_of(stored.folder, reuse):
        if folder.name in names and (folder / MANIFEST).is_file():
            with suppress(OptimizeEvalError):
                keep_tried_elsewhere(stored, open_stored(folder))


def final_calls(comparison: SweepInputs, candidates: int) -> int:
    """Count the calls of a final sweep of so many candidates where none is recorded."""
    examples = sum(len(source.examples) for source in comparison.examples.sources) or 1
    return len(comparison.specs) * candidates * examples * comparison.repeats


def _say_nothing(_note: str) -> None:
    """Be silent: what an earlier sweep compared is of no interest to who searches on."""


def _plant(stored: StoredRun, plan: Plan, evaluations: Path) -> None:
    """Write what is known of owed units into the journal, by the names that they have there."""
    view = stored.ledger
    owed = [plan.unit(number) for number in view.owed(range(plan.layout.size))]
    records = dict(scored_in(evaluations, {unit.key for unit in owed}))
    planted = [unit for unit in owed if unit.key in records]
    if not planted:
        return
    with closing(journal.Journal(stored.folder / JOURNAL, view.ledger.end)) as written:
        written.append(journal.sealed(journal.header(view.ledger.table.run, Clock().now())))
        for unit in planted:
            line = journal.sealed({"key": unit.key, **unit.coordinates, **_record_of(records[unit.key])})
            view.enter(unit.number, records[unit.key]["outcome"], written.append(line), len(line))
    view.ledger.end = written.end


def _record_of(record: Mapping[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in record.items() if key not in OF_ITS_PLACE}
