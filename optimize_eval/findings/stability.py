"""How stable repeated calls are: pass@k, pass^k, and the pass rate of each example; as gates ask for it.

A failed call counts as not passed, a skipped one is no call. An example below its rate is a suspect:
fresh calls about it, if the run has them, decide alone, so having been chosen by the first costs nothing.
"""

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from fractions import Fraction

from optimize_eval.base.frozen import frozen
from optimize_eval.findings.cells import measured_in
from optimize_eval.findings.leakage import counted_in, with_copies_joined
from optimize_eval.findings.metric_rows import counts_as
from optimize_eval.findings.summary import additions_left_out, without
from optimize_eval.findings.summary_parts import FreshCalls, Stability, Suspect
from optimize_eval.statistics.estimates import mean_of
from optimize_eval.statistics.rates import Repeats, all_of, any_of, at_most, with_enough
from optimize_eval.store.confirmations import Lines, confirmations_of, fresh_calls
from optimize_eval.store.folder import JOURNAL
from optimize_eval.store.layout import Cell, CellName, Layout
from optimize_eval.store.opened_run import StoredRun

EACH = "each"

_FALSE = 0.05
_FINEST = 10_000  # the largest denominator that a rate is taken to have


@frozen
class StabilityBound:
    """The lowest pass@k, pass^k, or pass rate of each example; of what it does not name all of it."""

    name: str
    demand: str  # each, pass@5, pass^5
    least: float
    evaluator: str | None = None  # of a bench: each task's own
    candidate: str | None = None
    model: str | None = None
    split: str | None = None

    @property
    def is_of_each(self) -> bool:
        return self.demand == EACH

    @property
    def k(self) -> int:
        return 1 if self.is_of_each else int(self.demand[len("pass@") :])

    @property
    def rate(self) -> Fraction:
        return Fraction(self.least).limit_denominator(_FINEST)

    def cells(self, layout: Layout) -> list[Cell]:
        """List what it is about: of a run on the split that decides."""
        return [cell for cell in layout.cells if self._concerns(cell, layout)]

    def _concerns(self, cell: Cell, layout: Layout) -> bool:
        evaluator = self.evaluator or own_scorer(cell.split, layout)
        split = self.split or (None if layout.splits_of else layout.deciding_for(cell.evaluator))
        wanted = evaluator, self.candidate, self.model, split
        return all(name in {None, own} for name, own in zip(wanted, cell[:4], strict=True))


def own_scorer(split: str, layout: Layout) -> str | None:
    """Name the evaluator that ranks models on a task of a bench: the first that is for it alone."""
    return next((name for name in layout.evaluators if split in layout.splits_of.get(name, ())), None)


def measure(run: StoredRun, bounds: Iterable[StabilityBound]) -> tuple[Stability, ...]:
    """Say of each cell that a bound is about how stable it is."""
    layout = counted_layout(run)
    read = CallReading(run, layout)
    pairs = [(bound, cell) for bound in bounds for cell in bound.cells(layout)]
    confirmed = FreshReading(run, layout, suspects_in(run, [bound for bound, _ in pairs], read))
    distinct = {(cell[:4], bound.demand, bound.least): (bound, cell) for bound, cell in pairs}
    return tuple(_stability(bound, cell, read, confirmed) for bound, cell in distinct.values())


def counted_layout(run: StoredRun) -> Layout:
    """Give what counts: without additions that are not complete, and without what leaked."""
    return counted_in(without(run.layout, additions_left_out(run))).layout


class CallReading:
    """The calls of cells by example, each cell read once."""

    def __init__(self, run: StoredRun, layout: Layout) -> None:
        self.layout = layout
        self._run = run
        self._view = run.ledger.of(layout)
        self._known: dict[CellName, tuple[list[Repeats], bool]] = {}

    def calls(self, cell: Cell) -> list[Repeats]:
        """Count by example the calls, and those that passed."""
        return self._read(cell)[0]

    def is_graded(self, cell: Cell) -> bool:
        """Return True if there are other scores than 0 and 1."""
        return self._read(cell)[1]

    def _read(self, cell: Cell) -> tuple[list[Repeats], bool]:
        if cell[:4] not in self._known:
            size = len(self.layout.split(cell.split).lines)
            called, passed, scores = [0] * size, [0] * size, set[float | None]()
            for index, score in self._outcomes(cell):
                called[index] += 1
                passed[index] += score == 1
                scores.add(score)
            calls = [Repeats(*pair) for pair in zip(called, passed, strict=True)]
            self._known[cell[:4]] = calls, not scores <= {0, 1}
        return self._known[cell[:4]]

    def _outcomes(self, cell: Cell) -> Iterator[tuple[int, float | None]]:
        """Give the scores of a cell by example; of a failure 0."""
        with self._view.reader(self._run.folder / JOURNAL, counts_as(self._run)) as reader:
            for index, record in reader.for_numbers(cell):
                if record["outcome"] != "skipped":
                    yield index // self.layout.repeats, record.get("score", 0)


def suspects_in(
    run: StoredRun, bounds: Iterable[StabilityBound], read: CallReading | None = None
) -> dict[CellName, Lines]:
    """List by cell the examples that pass less often than a bound demands of each."""
    reading = read or CallReading(run, counted_layout(run))
    indices: dict[CellName, set[int]] = {}
    for bound in bounds:
        for cell in bound.cells(reading.layout) if bound.is_of_each else ():
            if below := [] if reading.is_graded(cell) else _below(reading.calls(cell), bound):
                indices.setdefault(cell[:4], set()).update(below)
    lines = {split.name: split.lines for split in reading.layout.splits}
    return {name: [lines[name[3]][index] for index in sorted(below)] for name, below in indices.items()}


def _below(calls: Sequence[Repeats], bound: StabilityBound) -> list[int]:
    rate = bound.rate
    return [index for index, own in enumerate(calls) if own.passed < math.ceil(rate * own.scored)]


class FreshReading:
    """The fresh calls about suspects."""

    def __init__(self, run: StoredRun, layout: Layout, suspects: Mapping[CellName, Lines]) -> None:
        self._most = fresh_calls(layout.repeats)
        self._found: dict[tuple[CellName, int | None], FreshCalls] = {}
        view = confirmations_of(run, suspects, layout.repeats)
        with view.reader(run.folder / JOURNAL) as reader:
            for cell in view.layout.cells if view.has_some else ():
                lines = view.layout.split(cell.split).lines
                for index, record in reader.for_numbers(cell):
                    self._take(cell[:4], lines[index // self._most], record.get("score"), record["outcome"])

    def _take(self, name: CellName, line: int | None, score: float | None, outcome: str) -> None:
        before = self._found.get((name, line), FreshCalls(made=0, passed=0, calls=0))
        self._found[name, line] = FreshCalls(
            made=before.made + 1,
            passed=before.passed + (score == 1),
            calls=before.calls + (outcome != "skipped"),
        )

    def of(self, cell: CellName, line: int | None) -> FreshCalls | None:
        return self._found.get((cell, line))

    def suffices(self, fresh: FreshCalls | None) -> bool:
        return fresh is not None and fresh.made == self._most and fresh.calls > 0


def _stability(bound: StabilityBound, cell: Cell, read: CallReading, confirmed: FreshReading) -> Stability:
    calls = [] if read.is_graded(cell) else read.calls(cell)
    if bound.is_of_each:
        return Stability(
            where=measured_in(cell),
            demand=EACH,
            least=bound.least,
            examples=sum(own.scored > 0 for own in calls),
            is_graded=read.is_graded(cell),
            suspects=tuple(_suspects(bound, cell, read, confirmed)),
        )
    enough = with_enough(bound.k, calls)
    way = all_of if "^" in bound.demand else any_of
    clusters = with_copies_joined(read.layout.split(cell.split)).clusters
    labels = clusters and [clusters[index] for index in enough]
    return Stability(
        where=measured_in(cell),
        demand=bound.demand,
        least=bound.least,
        examples=len(enough),
        is_graded=read.is_graded(cell),
        value=mean_of([way(bound.k, calls[index]) for index in enough], labels, is_unit=True),
    )


def _suspects(
    bound: StabilityBound, cell: Cell, read: CallReading, confirmed: FreshReading
) -> Iterator[Suspect]:
    calls, lines = read.calls(cell), read.layout.split(cell.split).lines
    below = [] if read.is_graded(cell) else _below(calls, bound)
    for index in below:
        fresh = confirmed.of(cell[:4], lines[index])
        chance = None
        if fresh and confirmed.suffices(fresh):
            chance = at_most(fresh.passed, fresh.calls, float(bound.rate))
        yield Suspect(
            line=lines[index],
            passed=calls[index].passed,
            calls=calls[index].scored,
            fresh=fresh,
            chance=chance,
            is_below=chance is None or chance <= _FALSE / len(below),
        )
