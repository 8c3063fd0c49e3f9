"""The final sweep: the seed and the best candidates of a search as an ordinary run, which alone is believed.

What the search has scored is not called again: its records are planted into the run's journal where their
keys are the run's own. Failures are not, so they are retried here.
"""

from collections.abc import Mapping, Sequence
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

from optimize_eval.candidates import Candidate
from optimize_eval.run.scribe import Clock
from optimize_eval.search.live import FILE, scored_in
from optimize_eval.search.tree import Found, Node
from optimize_eval.session.finished import Finished
from optimize_eval.session.host import Host
from optimize_eval.session.settings import Handling
from optimize_eval.session.sweeps import Comparison, Prepared, carry_out, opened, prepare
from optimize_eval.store import journal
from optimize_eval.store.folder import JOURNAL, read_manifest


def finalists(found: Found, top: int) -> tuple[Node, ...]:
    """Choose who is compared with the seed at the end: the best means of the search, each text once."""
    chosen: dict[str, Node] = {}
    for node in found.top(len(found.nodes)):
        if node.text != found.seed.text:
            chosen.setdefault(node.text, node)
    return tuple(chosen.values())[:top]


def sweep_finalists(
    comparison: Comparison,
    chosen: Sequence[Node],
    seed: Candidate,
    folder: Path,
    handling: Handling,
    host: Host,
) -> Finished:
    """Compare them with the seed on all examples; a run of others in the folder makes way."""
    candidates = (seed, *(Candidate(name=node.name, text=node.text) for node in chosen))
    comparison = replace(comparison, candidates=candidates, baseline=seed.name)
    prepared = prepare(comparison, handling, out=str(folder))
    if (read_manifest(folder) or {}).get("plan") != prepared.plan.digest:
        _begin(replace(prepared, handling=replace(handling, fresh=True), there={}), host)
        prepared = prepare(comparison, replace(handling, fresh=False), out=str(folder))
    return carry_out(prepared, host)


def final_calls(comparison: Comparison, candidates: int) -> int:
    """Count the calls of a final sweep of so many candidates where none is recorded."""
    examples = sum(len(source.examples) for source in comparison.examples.sources) or 1
    return len(comparison.specs) * candidates * examples * comparison.repeats


def _begin(prepared: Prepared, host: Host) -> None:
    """Make the run, and plant what the search and an earlier final sweep know of its units."""
    known = {**scored_in(prepared.folder / JOURNAL), **scored_in(prepared.folder / FILE)}
    with opened(prepared, host) as stored:
        lines = _planted(prepared, known)
        with closing(journal.Journal(stored.folder / JOURNAL, stored.ledger.end)) as written:
            header = {"schema": journal.SCHEMA, "plan": stored.ledger.plan, "started_at": Clock().now()}
            written.append(journal.sealed(header))
            for line in lines:
                written.append(line)


def _planted(prepared: Prepared, known: Mapping[str, dict[str, Any]]) -> list[bytes]:
    """Write the records that are known of the plan's units, by the names that they have there."""
    if not known:
        return []
    lines: list[bytes] = []
    for number in range(prepared.plan.layout.size):
        unit = prepared.plan.unit(number)
        if record := known.get(unit.key):
            told = {key: value for key, value in record.items() if key not in {*_COORDINATES, "key", "crc"}}
            lines.append(journal.sealed({"key": unit.key, **unit.coordinates, **told}))
    return lines


_COORDINATES = ("evaluator", "candidate", "task_model", "split", "line", "repeat")
