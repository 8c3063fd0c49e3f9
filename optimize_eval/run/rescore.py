"""Evaluators that are added to a run later: named, written to run.json, planned.

They join what the last command named, and are part of it until another names what it wants. What a run is
about is found again by run.replan.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import field, replace
from typing import Any

from optimize_eval.base.errors import UsageError
from optimize_eval.base.evaluator import EvaluatorSpec
from optimize_eval.base.frozen import frozen
from optimize_eval.base.names import distinct
from optimize_eval.evaluators.kinds import identify
from optimize_eval.run.described import entry_of
from optimize_eval.store.manifest import Manifest, additions_of, evaluators_of, layout_of
from optimize_eval.store.run_document import current
from optimize_eval.store.stored import StoredRun, extend

Entry = Mapping[str, Any]


@frozen
class WantedEvaluator:
    """An evaluator that a command names; `given` is its explicit name, NAME=, if it has one."""

    spec: EvaluatorSpec
    given: str | None


@frozen
class Settled:
    """Evaluators by the names that they have in the run, and what run.json is to have as additions."""

    specs: tuple[EvaluatorSpec, ...]
    additions: tuple[Entry, ...]
    known: tuple[str, ...]  # of them, those that the run had already
    renamed: Mapping[str, str] = field(default_factory=dict)  # those whose names the run has for others


def settle(run: StoredRun, wanted: Iterable[WantedEvaluator]) -> Settled:
    """Find which evaluators the run has already, and name the others apart from all that are there."""
    additions = list(additions_of(run.manifest))
    before = chosen = {evaluator["name"] for evaluator in evaluators_of(run.manifest)}
    specs: dict[str, EvaluatorSpec] = {}
    renamed: dict[str, str] = {}
    present: list[str] = []
    for item in wanted:
        entry = entry_of(identify(item.spec), item.spec.score_range)
        named = {
            **current(run.document["evaluators"]),
            **{added["name"]: added for added in additions},
        }
        if name := _same(entry, item.given or item.spec.name, [*named.values()]):
            present += [] if name in specs else [name]
            additions += [] if name in chosen else [dict(named[name])]
        else:
            taken = [other for other in named if other in specs or not _is_unused(run, other)]
            name = _new_name(item, taken)
            others = [added for added in additions if added["name"] != name]
            additions = [*others, {**entry, "name": name}]
            renamed |= {name: item.spec.name} if name != item.spec.name in before else {}
        chosen = {*chosen, name}
        specs[name] = replace(item.spec, name=name)
    return Settled(
        specs=tuple(specs.values()), additions=tuple(additions), known=tuple(present), renamed=renamed
    )


def add(run: StoredRun, additions: Sequence[Entry]) -> StoredRun:
    """Write additions down, before anything is called, and read the run with them."""
    return extend(run.folder, {**run.manifest, "additions": list(additions)}, None)


def is_owed(run: StoredRun, settled: Settled) -> bool:
    """Return True if there is anything to call: without it no file of the run's is needed."""
    layout = layout_of({**run.manifest, "additions": list(settled.additions)})
    view = run.ledger.of(layout)
    names = [spec.name for spec in settled.specs]
    return any(name not in settled.known or view.owed(layout.units_of(name)) for name in names)


def humans_in(manifest: Manifest) -> list[str]:
    """Give the fields in which people judged, by what the judges of a run say."""
    judges = [evaluator.get("judge") or {} for evaluator in evaluators_of(manifest)]
    return [path for judge in judges for path in judge.get("human") or ()]


def _same(entry: Entry, called: str, named: Sequence[Entry]) -> str | None:
    """Name the evaluator of a run that is the same one; of several the one that is called the same."""

    def essence(one: Entry) -> tuple[Any, ...]:
        return one.get("sha256"), one["score_range"]

    names = [str(name_or_path["name"]) for name_or_path in named if essence(name_or_path) == essence(entry)]
    return called if called in names else next(iter(names), None)


def _new_name(wanted: WantedEvaluator, taken: Sequence[str]) -> str:
    if wanted.given in taken:
        raise UsageError(
            f"the run has another evaluator {wanted.given}: the command, its files or the score range differ",
            hint="give this one a name of its own, NAME=…",
        )
    return distinct([*dict.fromkeys(taken), wanted.spec.name])[-1]


def _is_unused(run: StoredRun, name: str) -> bool:
    """Return True if a name that the run's own command did not give has never scored: another may have it."""
    return all(evaluator["name"] != name for evaluator in run.manifest["evaluators"]) and run.is_unused(name)
