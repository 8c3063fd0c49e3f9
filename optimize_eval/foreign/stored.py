"""A table of another tool's results, written as an ordinary run: run.json and the journal.

What a folder had before is written over; what was tried there, and shown, is kept for the verdict.

Where a system has no result for an example, that is a skip: nothing is owed of such a run, and nobody could
call it. What its files were, and what has to be known of them, stands in its settings under `origin`.
"""

import hashlib
import shlex
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import field, replace
from datetime import UTC, datetime
from pathlib import Path

from optimize_eval.base.documents import JsonDict, JsonMapping, to_dict
from optimize_eval.base.errors import UsageError
from optimize_eval.base.frozen import frozen
from optimize_eval.base.protocol import PROTOCOL_VERSION, ScoreRange
from optimize_eval.base.shipped import VERSION
from optimize_eval.foreign.rows import LONGEST_MESSAGE, Failure, Result, Score, Skip, count_of
from optimize_eval.foreign.sheet import Key, Placed, Sheet, Systems
from optimize_eval.store import journal
from optimize_eval.store.command_units import View
from optimize_eval.store.folder import JOURNAL, MANIFEST, SUMMARY, hold_lock
from optimize_eval.store.layout import MOST_UNITS, Cell, CellName, Layout, Split, key_of
from optimize_eval.store.ledger import OWED, Ledger
from optimize_eval.store.opened_run import StoredRun
from optimize_eval.store.run_document import (
    ENDED,
    ORIGIN,
    OVERLAPS,
    RunDocument,
    StoredCandidate,
    StoredProgram,
    StoredSplit,
    counted_cell,
    layout_of,
    with_overlaps,
)
from optimize_eval.store.run_json import read_document, write_document
from optimize_eval.store.tried import keep_tried

_SPLIT = "test"
_NO_TOOL = "table"
_NOT_THERE = Skip("not in the file")
_AT_ONCE = 1 << 20  # bytes
_SHOWN = 3  # files, systems


@frozen
class Wanted:
    """How a table is stored."""

    as_tool: bool = False  # failures count as their tool counts them
    baseline: str | None = None
    systems: tuple[str, ...] = ()
    metrics: tuple[str, ...] = ()
    named: Mapping[int, str] = field(default_factory=dict)  # of files, by their numbers
    renamed: Mapping[str, str] = field(default_factory=dict)  # systems, by the names that they have
    shown_as: str = ""  # the files as a shell takes them, where no folder stays


class Table:
    """A sheet with its axes: the systems, evaluators and examples that are kept, with their lines."""

    def __init__(
        self, sheet: Sheet, wanted: Wanted, lines: Mapping[Key, int], *, unit: Iterable[str]
    ) -> None:
        self.sheet = sheet
        self.wanted = wanted
        systems = sheet.systems(wanted.named)
        self.systems: Systems = systems.choose(wanted.systems) if wanted.systems else systems
        self.systems = self.systems.rename(wanted.renamed)
        self.evaluators = _choose(sheet.evaluators, wanted.metrics)
        self.lines = {key: lines[key] for key in sorted(sheet.examples, key=lines.__getitem__)}
        self.unit = {*unit}
        self._check_size()

    def _check_size(self) -> None:
        axes = len(self.evaluators), len(self.systems.candidates), len(self.systems.models), len(self.lines)
        units = self.sheet.repeats
        for many in axes:
            units *= many
        if units > MOST_UNITS:
            shape = " × ".join(f"{many:,}" for many in (*axes, self.sheet.repeats))
            raise UsageError(
                f"the table has {shape} cells, more than {MOST_UNITS:,}",
                hint="choose some with --system or --metric",
            )

    def program(self, evaluator: str) -> StoredProgram:
        text = f"{self.sheet.tool} {evaluator}"
        return StoredProgram(
            name=evaluator,
            text=text,
            files=(),
            sha256=_sha256(text),
            score_range=ScoreRange.UNIT if evaluator in self.unit else ScoreRange.ANY,
        )

    def document(self) -> RunDocument:
        """Make run.json; its cells are counted when the records are written."""
        programs = tuple(map(self.program, self.evaluators))
        digests = tuple(map(_digest_of, self.lines))
        lines = tuple(self.lines.values())
        overlaps = self._overlaps()
        split = Split(
            name=self.split,
            lines=lines,
            sha256=digests,
            names=tuple(self.sheet.example(key).name for key in self.lines),
            inputs=tuple(self.sheet.example(key).input for key in self.lines),
        )
        layout = Layout(
            evaluators=(),
            score_ranges=(),
            candidates=self.systems.candidates,
            task_models=self.systems.models,
            splits=with_overlaps([split], overlaps),
            repeats=self.sheet.repeats,
            baseline=self._baseline(),
            seed=0,
        )
        layout = layout_of(programs, layout, has_models=False)
        now = datetime.now(UTC).isoformat(timespec="seconds")
        return RunDocument(
            id=_sha256("".join(file.sha256 for file in self.sheet.files)),
            version=VERSION,
            protocol=PROTOCOL_VERSION,
            created_at=now,
            evaluators=programs,
            candidates=tuple(map(_stored_candidate, self.systems.candidates, self.systems.texts)),
            task_models=self.systems.models,
            splits=(StoredSplit(name=self.split, lines=lines, sha256=digests),),
            repeats=self.sheet.repeats,
            selection=layout,
            cells=tuple(counted_cell(cell[:4], (0, 0, 0, 0)) for cell in layout.cells),
            settings={ORIGIN: self.origin(), **({OVERLAPS: overlaps} if overlaps else {})},
            words={ENDED: now},
        )

    def _baseline(self) -> str:
        names = self.systems.candidates
        wanted = self.wanted.baseline
        if wanted is not None and wanted not in names:
            raise UsageError(
                f"--baseline: there is no system {wanted!r}", hint=f"name one of {', '.join(names[:12])}"
            )
        return names[0] if wanted is None else wanted

    def _overlaps(self) -> JsonDict:
        """Say which examples stand in the table more than once."""
        copies = [
            [line, self.lines[Key(key.content, 0)]]
            for key, line in self.lines.items()
            if key.occurrence and Key(key.content, 0) in self.lines
        ]
        if not copies:
            return {}
        return {self.split: {"of": _sha256(repr(self.lines)), "leaks": [], "copies": copies, "values": []}}

    def origin(self) -> JsonDict:
        """Say where the numbers came from, and what has to be known of them."""
        sheet = self.sheet
        return {
            "tool": sheet.tool,
            "version": sheet.version,
            "files": [to_dict(file) for file in sheet.files],
            "says": [self._head(), *sheet.notes, *self._by_tool()],
            **({"shown_as": self.wanted.shown_as} if self.wanted.shown_as else {}),
        }

    def _head(self) -> str:
        sheet, systems = self.sheet, len(self.systems.candidates) * len(self.systems.models)
        files = ", ".join(file.name for file in sheet.files[:_SHOWN]) + ", …" * (len(sheet.files) > _SHOWN)
        shape = f"{count_of(len(self.lines), 'test')} × {count_of(systems, 'system')}"
        errors = sheet.says_errors and f"{self._handled}: {sheet.says_errors}"
        tool = "" if sheet.tool == _NO_TOOL else f"{sheet.tool} {sheet.version}".strip()
        parts = [
            tool,
            f"{files}: {shape}",
            count_of(sheet.rows, "result"),
            errors,
        ]
        return " · ".join(filter(None, parts))

    @property
    def _handled(self) -> str:
        return "counted as there" if self.wanted.as_tool else "failures here"

    @property
    def split(self) -> str:
        """Name the one split after the task, where the tool names it."""
        return self.sheet.task or _SPLIT

    def _by_tool(self) -> Iterator[str]:
        """Say what the tool's own numbers are, of systems that have failures."""
        first = self.evaluators[0]
        if self.wanted.as_tool:
            return
        lines = []
        for number, position in enumerate(self.systems.places):
            tally = self.sheet.tallies.get((number, first))
            if tally and tally.failed and not tally.unknown and position[0] >= 0:
                here = f"{tally.total / tally.scored:.2f}" if tally.scored else "no number"
                of = f"{tally.scored:,} of {tally.scored + tally.failed:,}"
                lines.append(f"{self._system_name(position)} {tally.by_tool:.2f}, here {here} over {of}")
        if lines:
            more = f"; and {len(lines) - _SHOWN:,} more" if len(lines) > _SHOWN else ""
            yield f"{first} as {self.sheet.tool} counts: {'; '.join(lines[:_SHOWN])}{more}"

    def _system_name(self, position: tuple[int, int]) -> str:
        return " with ".join(
            filter(None, [self.systems.candidates[position[0]], self.systems.models[position[1]]])
        )


def _stored_candidate(name: str, text: str) -> StoredCandidate:
    return StoredCandidate(name=name, sha256=_sha256(text or name), bytes=len(text.encode(errors="replace")))


def _sha256(text: str) -> str:
    return hashlib.sha256(text.encode(errors="surrogatepass")).hexdigest()


def _choose(evaluators: Sequence[str], wanted: Sequence[str]) -> list[str]:
    if unknown := [name for name in wanted if name not in evaluators]:
        raise UsageError(
            f"there is no metric {unknown[0]!r}", hint=f"--metric takes one of {', '.join(evaluators[:12])}"
        )
    return list(wanted) or list(evaluators)


def lines_of(sheets: Iterable[Sheet], known: Mapping[str, int] | None = None) -> dict[Key, int]:
    """Give the examples of all sheets numbered; `known` are the lines of those in a run, by digests."""
    lines = known or {}
    following = max(lines.values(), default=0)
    numbered: dict[Key, int] = {}
    for key in (key for sheet in sheets for key in sheet.examples):
        if key not in numbered:
            line = lines.get(_digest_of(key))
            following += line is None
            numbered[key] = following if line is None else line
    return numbered


def known_lines(document: RunDocument) -> dict[str, int]:
    """Give the lines of examples of results that are stored, by their digests."""
    return {
        digest: line
        for split in document.splits
        for line, digest in zip(split.lines, split.sha256, strict=True)
        if line is not None
    }


def _digest_of(key: Key) -> str:
    return _sha256(f"{key.content} {key.occurrence}")


def within_unit(sheets: Iterable[Sheet]) -> set[str]:
    """Name the evaluators whose scores lie between 0 and 1 in all sheets."""
    every: dict[str, bool] = {}
    for sheet in sheets:
        for name, (low, high) in sheet.ranges.items():
            is_unit = low >= 0 and high <= 1  # also where there is no score
            every[name] = every.get(name, True) and is_unit
    return {name for name, is_unit in every.items() if is_unit}


def store(table: Table, folder: Path) -> StoredRun:
    """Write a run, and give it as it was written; a folder that holds one of other origin is refused."""
    with hold_lock(folder):
        known = read_document(folder, is_to_grow=True)
        if known and ORIGIN not in known.settings:
            raise UsageError(
                f"{folder} holds a run of its own",
                hint=f"choose another --out, or remove it: optimize-eval runs rm {shlex.quote(str(folder))}",
            )
        keep_tried(folder, "report")
        (folder / SUMMARY).unlink(missing_ok=True)
        document = table.document()
        ledger = _write_journal(table, document, folder / JOURNAL)
        cells = tuple(counted_cell(cell.name, (*ledger.counts(cell.name), 0)) for cell in document.cells)
        (folder / MANIFEST).unlink(missing_ok=True)
        written = replace(document, cells=cells)
        write_document(folder, written)
        return StoredRun(folder=folder, document=written, ledger=View(ledger, written.selection))


def _write_journal(table: Table, document: RunDocument, path: Path) -> Ledger:
    now = datetime.now(UTC).isoformat(timespec="milliseconds")
    header = journal.seal(journal.header(document.id, now))
    writing = _Records(table, document, len(header))
    with path.open("wb", _AT_ONCE) as stream:
        stream.write(header)
        for placed in table.sheet.rows_in_place():
            for record in writing.of(placed):
                stream.write(record)
        for record in writing.missing():
            stream.write(record)
        stream.write(footer := journal.seal({"ended_at": now, "status": "done"}))
    writing.ledger.note_written(path, writing.end + len(footer))
    return writing.ledger


class _Records:
    """Records of units; each unit has one, and the ledger knows where it stands."""

    def __init__(self, table: Table, document: RunDocument, end: int) -> None:
        self.ledger = Ledger(document)
        self.end = end  # of what is written
        self._table = table
        self._layout = document.selection
        self._split = self._layout.splits[0]
        self._numbers = {key: number for number, key in enumerate(table.lines)}
        self._cells = {cell[:3]: _CellRecords(cell, document) for cell in self._layout.cells}

    def of(self, placed: Placed) -> Iterator[bytes]:
        candidate, model = self._table.systems.places[placed.column]
        if candidate < 0:
            return
        names = self._table.systems.candidates[candidate], self._table.systems.models[model]
        example = self._numbers[placed.example]
        said, took = placed.side_info or {}, _took(placed)
        for evaluator in self._layout.evaluators:
            if (result := placed.results.get(evaluator)) is not None:
                outcome = {**_outcome_of(self._as_asked(result), said), **took}
                yield self._record(self._cells[evaluator, *names], example, placed.repeat, outcome)
                said, took = {}, {}  # what took time, and what was said, is told once

    def missing(self) -> Iterator[bytes]:
        """Make skips of what is in no file: a unit without a record would be owed."""
        for number, state in enumerate(self.ledger.states):
            if state == OWED:
                where = self._layout.place(number)
                cell = self._cells[self._layout.cells[where.cell][:3]]
                yield self._record(cell, where.example, where.repeat + 1, _outcome_of(_NOT_THERE, {}))

    def _as_asked(self, result: Result) -> Result:
        """Make a failure the number that its tool counts, where somebody asks for that."""
        if self._table.wanted.as_tool and isinstance(result, Failure) and result.counted_as is not None:
            return Score(result.counted_as)
        return result

    def _record(self, cell: "_CellRecords", example: int, repeat: int, outcome: JsonMapping) -> bytes:
        number = cell.start + example * self._layout.repeats + repeat - 1
        if self.ledger.states[number] != OWED:
            raise UsageError(
                f"{cell.name[1]} has two results of {cell.name[0]} for one test and repeat",
                hint="give each file once, and of several evaluations one file each",
            )
        line, digest = self._split.lines[example], self._split.sha256[example]
        key = key_of(*cell.digests, *cell.name[2:], line, digest, repeat)
        record = journal.seal({"key": key, **cell.coordinates, "line": line, "repeat": repeat, **outcome})
        self.ledger.enter(number, outcome["outcome"], self.end)
        self.end += len(record)
        if usage := outcome.get("usage"):
            self.ledger.spending.take(cell.coordinates, usage)
        return record


class _CellRecords:
    """What all records of a cell have, and how many there are of each outcome."""

    def __init__(self, cell: Cell, document: RunDocument) -> None:
        self.name: CellName = cell[:4]
        self.start = cell.start
        self.digests = (
            next(entry.sha256 for entry in document.evaluators if entry.name == cell.evaluator),
            next(entry.sha256 for entry in document.candidates if entry.name == cell.candidate),
        )
        of_model = {} if cell.task_model is None else {"task_model": cell.task_model}
        coordinates = {"evaluator": cell.evaluator, "candidate": cell.candidate, **of_model}
        self.coordinates = {**coordinates, "split": cell.split}


def _took(placed: Placed) -> JsonDict:
    usage = {"usage": [placed.usage]} if placed.usage else {}
    return usage if placed.seconds is None else {**usage, "seconds": placed.seconds}


def _outcome_of(result: Result, said: JsonMapping) -> JsonDict:
    if isinstance(result, Score):
        if result.value is None:
            side = {"label": result.said, **said}
            return {"outcome": "scored", "score": None, "unranked": True, "side_info": side}
        return {"outcome": "scored", "score": result.value, "side_info": said}
    if isinstance(result, Failure):
        failed = {"outcome": "failed", "kind": result.kind, "message": result.message[:LONGEST_MESSAGE]}
        more = {key: value for key, value in said.items() if key != "reason"}
        return {**failed, "side_info": more} if more else failed
    return {"outcome": "skipped", "message": result.why}
