"""Examples that pass in one call and not in another, from call to call and from run to run.

Other runs in the same folder count where they have the same evaluator, candidate, model and example, by
their digests. Scores other than 0 and 1 neither pass nor fail: what gives them is named, and left out.
"""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import Annotated, NamedTuple

from optimize_eval.base.documents import FLAT, IF_ANY
from optimize_eval.base.errors import OptimizeEvalError
from optimize_eval.base.frozen import frozen
from optimize_eval.findings.cells import measured_in
from optimize_eval.findings.stability import CallReading, FreshReading, counted_layout
from optimize_eval.findings.summary_parts import FreshCalls, MeasuredCell
from optimize_eval.statistics.rates import Repeats
from optimize_eval.store.layout import Cell, CellName, Layout
from optimize_eval.store.opened_run import StoredRun, read_run
from optimize_eval.store.reusable import Content, content_of_cell, documents_beside

SCHEMA = "optimize-eval.flaky.v1"


@frozen
class CallsOfRun:
    """What became of the calls about an example in one run."""

    run: str
    passed: int
    calls: int


@frozen
class FlakyExample:
    """An example of which some calls passed and some did not; `fresh` are this run's beside its repeats."""

    where: Annotated[MeasuredCell, FLAT]
    line: int | None
    name: str
    input: str
    passed: int  # in all
    calls: int
    runs: tuple[CallsOfRun, ...]  # this one first
    fresh: Annotated[FreshCalls | None, IF_ANY] = None

    @property
    def cell(self) -> CellName:
        return self.where.evaluator, self.where.candidate, self.where.task_model, self.where.split


@frozen
class FlakyExamples:
    """All of them, those nearest to one half first."""

    schema: str = SCHEMA
    run: str
    runs: tuple[str, ...]  # others that were looked into
    examples: int  # of this run, with a call
    flaky: tuple[FlakyExample, ...]
    graded: tuple[str, ...]  # evaluators with other scores than 0 and 1


class _Subject(NamedTuple):
    """What is called, whatever it is called in a run: a cell's content, and an example's digest."""

    content: Content
    example: str


class _Called(NamedTuple):
    """The calls about an example of a run."""

    subject: _Subject
    cell: Cell
    row: int  # of its split
    calls: Repeats


def flaky_in(run: StoredRun) -> FlakyExamples:
    """Look for them in a run and in those beside it."""
    others, elsewhere = [*_others(run)], dict[_Subject, list[CallsOfRun]]()
    for other in others:
        for each in _calls_in(other, CallReading(other, counted_layout(other))):
            elsewhere.setdefault(each.subject, []).append(_calls_of(other, each))
    reading = CallReading(run, counted_layout(run))
    every = [_example(run, reading.layout, each, elsewhere) for each in _calls_in(run, reading)]
    varying = [example for example in every if 0 < example.passed < example.calls]
    graded = [cell.evaluator for cell in reading.layout.cells if reading.is_graded(cell)]
    return FlakyExamples(
        run=str(run.folder),
        runs=tuple(str(other.folder) for other in others),
        examples=len(every),
        flaky=tuple(sorted(_with_fresh(run, reading.layout, varying), key=_distance_from_half)),
        graded=tuple(dict.fromkeys(graded)),
    )


def _others(run: StoredRun) -> Iterator[StoredRun]:
    """Open the other runs in the same folder that name one of its programs; what cannot be read is none."""
    for folder, document in documents_beside(run.folder, run.document):
        with suppress(OptimizeEvalError):
            yield read_run(folder, document)


def _calls_in(run: StoredRun, reading: CallReading) -> Iterator[_Called]:
    """List the examples that have calls."""
    for cell in reading.layout.cells:
        content, digests = content_of_cell(run.document, cell[:4]), reading.layout.split(cell.split).sha256
        for index, calls in enumerate([] if reading.is_graded(cell) else reading.calls(cell)):
            if calls.scored:
                yield _Called(_Subject(content, digests[index]), cell, index, calls)


def _calls_of(run: StoredRun, called: _Called) -> CallsOfRun:
    return CallsOfRun(run=str(run.folder), passed=called.calls.passed, calls=called.calls.scored)


def _example(
    run: StoredRun, layout: Layout, called: _Called, elsewhere: Mapping[_Subject, Sequence[CallsOfRun]]
) -> FlakyExample:
    split, index = layout.split(called.cell.split), called.row
    runs = (_calls_of(run, called), *elsewhere.get(called.subject, ()))
    return FlakyExample(
        where=measured_in(called.cell),
        line=split.lines[index],
        name=split.names[index] if split.names else "",
        input=split.inputs[index] if split.inputs else "",
        passed=sum(each.passed for each in runs),
        calls=sum(each.calls for each in runs),
        runs=runs,
    )


def _with_fresh(run: StoredRun, layout: Layout, varying: Sequence[FlakyExample]) -> Iterator[FlakyExample]:
    """Put to each example the fresh calls about it, if the run has made some."""
    lines: dict[CellName, list[int | None]] = {}
    for example in varying:
        lines.setdefault(example.cell, []).append(example.line)
    fresh = FreshReading(run, layout, lines)
    return (replace(example, fresh=fresh.of(example.cell, example.line)) for example in varying)


def _distance_from_half(example: FlakyExample) -> float:
    return abs(example.passed / example.calls - 0.5)
