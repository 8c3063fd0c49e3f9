"""Two runs beside each other: which cells and examples belong together, and what only one of them has.

Pairs by names, and examples by what they are; refuses runs over other inputs or by other
evaluators, unless it is forced. What the pairs say is up to findings.
"""

from array import array
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import product
from pathlib import Path
from typing import Any, NamedTuple

from optimize_eval.base.errors import UsageError
from optimize_eval.base.frozen import frozen
from optimize_eval.base.names import apart, told_apart
from optimize_eval.store.growth import changed_evaluators, changed_splits, list_changes
from optimize_eval.store.layout import Cell, Label, Layout, Split
from optimize_eval.store.opened_run import StoredRun
from optimize_eval.store.run_document import RunDocument, StoredCandidate, StoredProgram

_AXES = ("evaluators", "candidates", "task_models", "splits")
_NAMED = 5


class RunAxes(NamedTuple):
    """A run, or one that is to be: where it is and what its axes are."""

    folder: Path
    layout: Layout


TextOfModel = tuple[str, str | None]
"""The names of a candidate and of a task model."""


class PairedCells(NamedTuple):
    """The calls of an evaluator about a candidate in both runs, and which of their examples are the same."""

    a: Cell
    b: Cell
    examples: "PairedSplit"


@frozen
class PairedSplit:
    """The examples of a split that both runs have: the n-th place in one is the n-th place in the other."""

    name: str
    a: Sequence[int]
    b: Sequence[int]
    clusters: tuple[Label, ...] | None


@frozen
class OnlyIn:
    """What only one run has, by axis; of examples how many there are, by split."""

    evaluators: tuple[str, ...]
    candidates: tuple[str, ...]
    task_models: tuple[str | None, ...]
    splits: tuple[str, ...]
    examples: Mapping[str, int]


@frozen
class Paired:
    """All that two runs have in common; `candidates` are pairs of names."""

    evaluators: tuple[str, ...]
    candidates: tuple[tuple[str, str], ...]
    task_models: tuple[str | None, ...]
    splits: tuple[PairedSplit, ...]
    only_in_a: OnlyIn
    only_in_b: OnlyIn
    caveats: tuple[str, ...]

    def cells(self, a: StoredRun, b: StoredRun) -> Iterator[PairedCells]:
        """Give the cells that belong together, in the order of run b."""
        cells_a, cells_b = ({cell[:4]: cell for cell in run.layout.cells} for run in (a, b))
        for evaluator in self.evaluators:
            for task_model in self.task_models:
                for split in self.splits:
                    for in_a, in_b in self.candidates:
                        ours = cells_a.get((evaluator, in_a, task_model, split.name))
                        theirs = cells_b.get((evaluator, in_b, task_model, split.name))
                        if ours and theirs:
                            yield PairedCells(ours, theirs, split)


def pair_runs(a: StoredRun, b: StoredRun, *, force: bool) -> Paired:
    """Find what belongs together; raises UsageError where nothing does, or not without `force`."""
    evaluators, examples = _changes(a.document, b.document)
    if not force:
        check_comparable(a, b.document, b.folder)
    common, candidates = _in_common(RunAxes(a.folder, a.layout), RunAxes(b.folder, b.layout))
    splits = [_split(a.layout.split(name), b.layout.split(name)) for name in common["splits"]]
    paired = tuple(split for split in splits if len(split.a))
    if not paired:
        raise UsageError(
            f"{a.folder} and {b.folder} have no example in common",
            hint="compare runs over the same data",
        )
    only = [_only(run, common, candidates, splits, index) for index, run in enumerate((a, b))]
    return Paired(
        evaluators=common["evaluators"],
        candidates=candidates,
        task_models=common["task_models"],
        splits=paired,
        only_in_a=only[0],
        only_in_b=only[1],
        caveats=(
            *(f"{line}: the scores come from different programs" for line in evaluators),
            *(f"{line}: only the examples that both runs have are compared" for line in examples),
            *_about_candidates(candidates, common),
            *_about_clusters(a, b),
            *_about_runs(a, b),
        ),
    )


def check_comparable(a: StoredRun, b: RunDocument, folder: Path) -> None:
    """Refuse a run over other inputs or by other evaluators than the other's, or sharing nothing."""
    evaluators, examples = _changes(a.document, b)
    if evaluators or examples:
        changes = list_changes([*evaluators, *examples])
        raise UsageError(
            "\n".join([f"{a.folder} and {folder} were not run on the same inputs; in the second:", *changes]),
            hint="run both on the same inputs; `optimize-eval diff --force` compares what they share",
        )
    _in_common(RunAxes(a.folder, a.layout), RunAxes(folder, b.selection))


def of_same_bytes(a: RunDocument, b: RunDocument) -> frozenset[TextOfModel]:
    """Name the candidates, each with the models, that are the same bytes in both."""
    candidates = _of_same_digest(a.selected_candidates, b.selected_candidates)
    models = _of_same_digest(a.selected_models, b.selected_models)
    called = {model.name for run in (a, b) for model in run.selected_models}
    names = {name for name in b.selection.task_models if name in a.selection.task_models}
    return frozenset(product(candidates, (names - called) | (names & models)))


def _of_same_digest(
    a: Iterable[StoredCandidate | StoredProgram], b: Iterable[StoredCandidate | StoredProgram]
) -> set[str]:
    """Name the entries of both that have the same digest, which is known."""
    before, after = ({entry.name: entry.digest for entry in entries} for entries in (a, b))
    return {name for name, digest in after.items() if digest and before.get(name) == digest}


def _in_common(a: RunAxes, b: RunAxes) -> tuple[dict[str, tuple[Any, ...]], tuple[tuple[str, str], ...]]:
    """List the names that both runs have, by axis, and pair the candidates; raises where there are none."""
    common = {axis: _common(axis, a, b) for axis in _AXES}
    return common, _candidates(common, a, b)


def _changes(a: RunDocument, b: RunDocument) -> tuple[list[str], list[str]]:
    """Say which evaluators and which examples are not the same."""
    return changed_evaluators(a, b), changed_splits(a, b)


def _common(axis: str, a: RunAxes, b: RunAxes) -> tuple[Any, ...]:
    """List the names that both runs have; only candidates may have none."""
    before, after = _names(axis, a.layout), _names(axis, b.layout)
    common = tuple(name for name in after if name in before)
    if not common and axis != "candidates":
        raise _nothing_common(axis, a, b)
    return common


def _names(axis: str, layout: Layout) -> tuple[Any, ...]:
    if axis == "splits":
        return tuple(split.name for split in layout.splits)
    names: tuple[Any, ...] = getattr(layout, axis)
    return names


def _nothing_common(axis: str, a: RunAxes, b: RunAxes) -> UsageError:
    hints = {
        "evaluators": "give them the same name: -e NAME=PROGRAM",
        "candidates": "give them the same name (that of their files), or compare runs of one candidate each",
        "task_models": "give both runs the same --task-model",
        "splits": "give both runs the same --dataset or --valset",
    }
    what = axis.removesuffix("s").replace("_", " ")
    first, second = _names(axis, a.layout), _names(axis, b.layout)
    shown = apart([*filter(None, (*first, *second))])
    before, after = (_some([shown.get(name) for name in names]) for names in (first, second))
    return UsageError(
        f"{a.folder} and {b.folder} have no {what} in common: {before} in the first, {after} in the second",
        hint=hints[axis],
    )


def _some(names: Sequence[str | None]) -> str:
    some = [name or "none" for name in names[:_NAMED]]
    return ", ".join([*some, f"{len(names) - _NAMED:,} more"] if len(names) > _NAMED else some)


def _candidates(common: Mapping[str, tuple[Any, ...]], a: RunAxes, b: RunAxes) -> tuple[tuple[str, str], ...]:
    """Pair candidates by name; where no name is common, the only one of each run."""
    if common["candidates"]:
        return tuple((name, name) for name in common["candidates"])
    if len(a.layout.candidates) == len(b.layout.candidates) == 1:
        return ((a.layout.candidates[0], b.layout.candidates[0]),)
    raise _nothing_common("candidates", a, b)


def _split(a: Split, b: Split) -> PairedSplit:
    places = _same_places(a.sha256, b.sha256)
    clusters = _clusters(a, b, places)
    return PairedSplit(name=b.name, a=places[0], b=places[1], clusters=clusters)


def _same_places(a: Sequence[str], b: Sequence[str]) -> tuple[Sequence[int], Sequence[int]]:
    """Match examples by their digests, the k-th of a kind with the k-th."""
    if a == b:
        return range(len(a)), range(len(b))
    unmatched: dict[str, list[int]] = {}
    for index in reversed(range(len(a))):
        unmatched.setdefault(a[index], []).append(index)
    matched = [(unmatched[digest].pop(), index) for index, digest in enumerate(b) if unmatched.get(digest)]
    return array("I", (index for index, _ in matched)), array("I", (other for _, other in matched))


def _clusters(a: Split, b: Split, places: tuple[Sequence[int], Sequence[int]]) -> tuple[Label, ...] | None:
    """Take the clusters of the second run; where it has none, those of the first."""
    if b.clusters is not None:
        return tuple(b.clusters[index] for index in places[1])
    return None if a.clusters is None else tuple(a.clusters[index] for index in places[0])


def _only(
    run: StoredRun,
    common: Mapping[str, tuple[Any, ...]],
    candidates: Sequence[tuple[str, str]],
    splits: Sequence[PairedSplit],
    place: int,
) -> OnlyIn:
    paired = {**common, "candidates": tuple(pair[place] for pair in candidates)}
    only = {
        axis: tuple(name for name in _names(axis, run.layout) if name not in paired[axis]) for axis in _AXES
    }
    left = {
        split.name: len(run.layout.split(split.name).lines) - len(split.b) for split in splits
    }  # as many in a as in b are paired
    return OnlyIn(**only, examples={name: many for name, many in left.items() if many})


def _about_candidates(
    candidates: Sequence[tuple[str, str]], common: Mapping[str, tuple[Any, ...]]
) -> Iterator[str]:
    if not common["candidates"]:
        before, after = told_apart(candidates[0])
        yield f"no candidate's name is in both runs: {before} of A is compared with {after} of B"


def _about_clusters(a: StoredRun, b: StoredRun) -> Iterator[str]:
    before, after = a.layout.cluster_by, b.layout.cluster_by
    if before != after:
        names = before or "nothing", after or "nothing"
        yield f"clusters are by {names[0]} in A and by {names[1]} in B; {after or before} is what counts"


def _about_runs(a: StoredRun, b: StoredRun) -> Iterator[str]:
    if a.layout.repeats != b.layout.repeats:
        yield (
            f"A has {a.layout.repeats:,} repeats and B {b.layout.repeats:,}: "
            "the means of repeats are compared"
        )
    for name, run in (("A", a), ("B", b)):
        if owed := run.owed:
            yield f"{name} is not finished: {owed:,} of {run.layout.size:,} calls are missing"
        if run.ledger.changed:
            changed = ", ".join(sorted(run.ledger.changed))
            yield f"{changed} changed while being called in {name}: its scores come from different programs"
