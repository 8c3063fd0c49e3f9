"""Evaluators that are asked later over what a run is about already: named, written to run.json, planned.

They stand beside the plan as additions, so the plan's digest and the numbers of its own units stay what they
are. What a run is about is found again by run.again.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from optimize_eval.errors import UsageError
from optimize_eval.names import distinct
from optimize_eval.reach import EvaluatorSpec
from optimize_eval.run.described import entry_of
from optimize_eval.store.folder import MANIFEST, write_json
from optimize_eval.store.layout import MOST_UNITS, Layout
from optimize_eval.store.manifest import additions_of, evaluators_of, layout_of
from optimize_eval.store.stored import StoredRun, read_run
from optimize_eval.tasks.identity import identify

Entry = Mapping[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    """An evaluator as a command asks for it; `given` is the name that it was given in so many words."""

    spec: EvaluatorSpec
    given: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Settled:
    """Evaluators by the names that they have in the run, and what run.json is to have as additions."""

    specs: tuple[EvaluatorSpec, ...]
    additions: tuple[Entry, ...]
    known: tuple[str, ...]  # of them, those that the run had already


def settle(run: StoredRun, wanted: Iterable[Wanted]) -> Settled:
    """Find which evaluators the run has already, and name the others apart from all that are there."""
    additions = list(additions_of(run.manifest))
    specs: dict[str, EvaluatorSpec] = {}
    known: list[str] = []
    for one in wanted:
        entry = entry_of(identify(one.spec), one.spec.score_range)
        named = [*run.manifest["evaluators"], *additions]
        if name := _same(entry, one.given, named):
            known += [] if name in specs else [name]
        else:
            taken = [
                told["name"] for told in named if told["name"] in specs or not _is_unused(run, told["name"])
            ]
            name = _new_name(one, taken)
            _put(additions, {**entry, "name": name}, run.ledger.end)
        specs[name] = replace(one.spec, name=name)
    return Settled(specs=tuple(specs.values()), additions=tuple(additions), known=tuple(known))


def add(run: StoredRun, additions: Sequence[Entry]) -> StoredRun:
    """Write additions down, before anything is asked of them, and read the run with them."""
    manifest = {**run.manifest, "additions": list(additions)}
    layout, plan = _checked(manifest)
    if manifest["additions"] != additions_of(run.manifest):
        write_json(run.folder / MANIFEST, manifest)
    return read_run(run.folder, manifest, layout, plan)


def _same(entry: Entry, given: str | None, named: Sequence[Entry]) -> str | None:
    """Name the evaluator of a run that is the same one; of several the one with the given name."""

    def essence(one: Entry) -> tuple[Any, ...]:
        return one.get("sha256"), one["score_range"]

    names = [str(one["name"]) for one in named if essence(one) == essence(entry)]
    return given if given in names else next(iter(names), None)


def _new_name(wanted: Wanted, taken: Sequence[str]) -> str:
    if wanted.given in taken:
        raise UsageError(
            f"the run has another evaluator {wanted.given}: the command, its files or the score range differ",
            hint="give this one a name of its own, NAME=…",
        )
    return distinct([*dict.fromkeys(taken), wanted.spec.name])[-1]


def _is_unused(run: StoredRun, name: str) -> bool:
    """Tell whether an addition has never scored anything: its name is free for the program as mended."""
    return any(one["name"] == name for one in additions_of(run.manifest)) and run.is_unused(name)


def _put(additions: list[dict[str, Any]], entry: dict[str, Any], end: int) -> None:
    """Add an entry, or put it in the place of an unused one; what that one failed at is not its own."""
    for place, one in enumerate(additions):
        if one["name"] == entry["name"]:
            additions[place] = {**entry, "since": end}
            return
    additions.append(entry)


def _checked(manifest: dict[str, Any]) -> tuple[Layout, str]:
    own = layout_of({**manifest, "additions": []})[0]
    calls = own.size // len(own.evaluators) * len(evaluators_of(manifest))
    if calls > MOST_UNITS:
        raise UsageError(f"{calls:,} calls are too many for one run", hint=f"at most {MOST_UNITS:,}")
    return layout_of(manifest)
