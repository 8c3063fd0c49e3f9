"""Where each unit of a run stands: owed, or in the journal as scored, failed or skipped, and at which place.

A few bytes a unit, however large its record, so that a run of 200,000 units fits into little memory. What a
command is about is a part of a run: command_units.

A version is needed only where something of a run has been replaced by other bytes of the same name: then a
record counts for the version whose key it has, and for none where its example has other bytes by now.

Where the journal ends is said here, too, so that a stored summary is known to be of all that the run has.
What sessions say of themselves at their begin and end changes no number and is passed over, so that a report
of a run that was killed says the same as one after the next session. A mark is compared, not times: these are
others in a copy, and the same within a tick of the clock.
"""

from array import array
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import accumulate, product
from operator import eq
from pathlib import Path
from sys import float_info
from typing import Any, NamedTuple, Self
from zlib import crc32

from optimize_eval.base import files, strict_json
from optimize_eval.base.documents import JsonDict, JsonMapping
from optimize_eval.base.errors import OptimizeEvalError
from optimize_eval.base.frozen import frozen
from optimize_eval.base.spent import Spending
from optimize_eval.store import journal
from optimize_eval.store.folder import JOURNAL
from optimize_eval.store.layout import CellName, key_of
from optimize_eval.store.run_document import (
    LEAKS,
    OVERLAPS,
    RunDocument,
    StoredCandidate,
    StoredProgram,
    current,
)
from optimize_eval.store.run_json import selected_json

OWED, SCORED, FAILED, SKIPPED = range(4)
CONFIRM = "confirm"  # in the place of `repeat`: a fresh call about one example, which no unit is

_FIRST = "run the command of this run again: it makes this line again from run.json"
_OF_A_ROW = 2  # line and repeat
_LOWER = (1 << 32) - 1
_FORMER = -1  # a record that does not count any more
_NONE: JsonDict = {}
_RARE = frozenset({"stderr", "message", "output", "stage", "usage"})
_TYPED = _RARE | {"attempts", "seconds", "started_at"}
_NAMES = frozenset({"model", "evaluator", "candidate", "of", "output", "estimated"})
_NUMBERS = frozenset({int, float})
_LARGEST = float_info.max
_STATES = {"scored": SCORED, "failed": FAILED, "skipped": SKIPPED}


class Version(NamedTuple):
    """An evaluator or a candidate of certain bytes, and the name that its cells have."""

    shown: str
    sha256: str  # of a candidate that is a field of examples: empty
    texts: Mapping[str, Mapping[int | None, str]] = {}  # by split and line: the digests of such a candidate


@frozen
class Versions:
    """All versions of what has several, by name, the current one first; and the examples of now."""

    evaluators: Mapping[str, Sequence[Version]]
    candidates: Mapping[str, Sequence[Version]]
    models: Mapping[str, Sequence[Version]]  # of task models that are called; others are names alone
    examples: Mapping[str, Mapping[int | None, str]]  # by split and line: digests
    replaced: frozenset[
        str
    ]  # evaluators, candidates and models with more than one version, and splits with changed lines

    def concern(self, record: JsonMapping) -> bool:
        """Return True if a record may be of what was replaced."""
        replaced = self.replaced
        return (
            record["evaluator"] in replaced
            or record["candidate"] in replaced
            or record["split"] in replaced
            or record.get("task_model") in replaced
        )

    def find(self, record: JsonMapping) -> CellName | None:
        """Name the cell that a record is of; None where its example, or all of it, is of former bytes."""
        key = record.get("key")
        split, line = record["split"], record.get("line")
        example = self.examples.get(split, {}).get(line, "")
        for evaluator, candidate, model in product(
            self.evaluators.get(record["evaluator"], ()),
            self.candidates.get(record["candidate"], ()),
            self._models_of(record),
        ):
            text = candidate.texts.get(split, {}).get(line, candidate.sha256)
            digest = model and model.sha256
            if key == key_of(evaluator.sha256, text, digest, split, line, example, repeat_of(record)):
                return evaluator.shown, candidate.shown, model and model.shown, split
        return None

    def _models_of(self, record: JsonMapping) -> Sequence[Version | None]:
        name = record.get("task_model")
        return (None,) if name is None else self.models.get(name, (Version(name, name),))


def repeat_of(record: JsonMapping) -> int | str:
    """Give what a key has of a record's repeat."""
    return f"{CONFIRM} {record[CONFIRM]}" if CONFIRM in record else record["repeat"]


def versions_of(document: RunDocument) -> Versions | None:
    """Read the versions off a run's document; None where nothing was ever replaced."""
    programs = (*document.evaluators, *document.models)
    replaced = {entry.name for entry in programs if entry.superseded}
    replaced |= {entry.name for entry in document.candidates if entry.superseded}
    replaced |= {program.name for program in programs if program.sound_since is not None}
    replaced |= {split.name for split in document.splits if split.superseded}
    if not replaced:
        return None
    lines = {split.name: split.lines for split in document.splits}
    return Versions(
        evaluators=_by_name(document.evaluators, {}),
        candidates=_by_name(document.candidates, lines),
        models=_by_name(document.models, {}),
        examples={split.name: split.by_line for split in document.splits},
        replaced=frozenset(replaced),
    )


def _by_name(
    entries: Iterable[StoredProgram | StoredCandidate], lines: Mapping[str, Sequence[int | None]]
) -> dict[str, list[Version]]:
    versions: dict[str, list[Version]] = {}
    for entry in sorted(entries, key=lambda entry: entry.superseded):  # current ones first
        listed = entry.texts if isinstance(entry, StoredCandidate) else {}
        texts = {
            split: dict(zip(lines.get(split, ()), digests, strict=False)) for split, digests in listed.items()
        }
        sha256 = "" if texts else entry.sha256
        versions.setdefault(entry.name, []).append(Version(entry.name_in_cells, sha256, texts))
    return versions


class Ledger:
    """The newest record of each unit of a run; a cell's units stand together, cells as they came."""

    counter = "repeat"  # by which the units of an example are told apart

    def __init__(self, document: RunDocument) -> None:
        self.run = document.id  # which the journal's headers must have
        self.repeats = document.repeats
        self._lines = {
            split.name: {line: n for n, line in enumerate(split.lines)} for split in document.splits
        }
        evaluators = current(document.evaluators)
        self._since = {name: entry.since or 0 for name, entry in evaluators.items()}
        self._sound_since = {
            name: max(entry.since or 0, entry.sound_since or 0) for name, entry in evaluators.items()
        }
        self._models_sound_since = {
            name: model.sound_since or 0 for name, model in current(document.models).items()
        }
        self._versions = versions_of(document)
        names = dict.fromkeys(cell.name for cell in document.cells)
        self._starts = dict(zip(names, accumulate(map(self._size, names), initial=0), strict=False))
        # All at once: what is made larger many times leaves holes in memory that are as large as itself.
        self.states = bytearray(sum(map(self._size, names)))
        # Of records, which a line end follows; these are their lower four bytes.
        self._offsets = array("I", [0]) * len(self.states)
        self._upper = bytearray()  # and these their fifth, once one of them has any
        self.changed: set[str] = set()  # evaluators whose files changed while they were called
        self.changed_models: set[str] = set()  # and models
        self._has_header = False
        self.has_confirmations = False
        self.checked: tuple[int, ...] = ()  # the state of the journal when its lines were
        self.end = 0  # where the last whole line of the journal ends
        self.computed: list[JsonMapping] = []  # what code made of rows: see findings.metrics
        self.judged: list[tuple[int, JsonMapping]] = []  # what sessions showed, and where: see tried
        self.spending = Spending()  # of all records, those that do not count any more included

    @classmethod
    def read(cls, path: Path, document: RunDocument) -> Self:
        """Read a journal; one that is not there is an empty one."""
        ledger = cls(document)
        try:
            ledger.checked = journal.state_of(path.stat())
            for number, offset, length, line in journal.lines(path, _FIRST):
                ledger._enter_line(path, number, offset, length, line)
        except FileNotFoundError:
            pass
        return ledger

    def note_written(self, path: Path, end: int) -> None:
        """Take note of a journal whose records were all entered as they were written."""
        self.checked, self.end, self._has_header = journal.state_of(path.stat()), end, True

    def has(self, cell: CellName) -> bool:
        return cell in self._starts

    def start(self, cell: CellName) -> int:
        """Find where a cell's units begin; one that is not there yet comes to the end, all its units owed."""
        begin = self._starts.get(cell)
        if begin is None:
            begin = self._starts[cell] = len(self.states)
            size = self._size(cell)
            self.states.extend(bytes(size))
            self._offsets.extend(array("I", [0]) * size)
            self._upper.extend(bytes(size if self._upper else 0))
        return begin

    def enter(self, number: int, outcome: str, offset: int) -> None:
        """Note where the newest record of a unit begins."""
        self.states[number] = _STATES[outcome]
        self._offsets[number] = offset & _LOWER
        if offset > _LOWER and not self._upper:
            self._upper = bytearray(len(self.states))
        if self._upper:
            self._upper[number] = offset >> 32

    def offset(self, number: int) -> int | None:
        """Tell where a unit's newest record begins."""
        if self.states[number] == OWED:
            return None
        return self._offsets[number] | (self._upper[number] << 32 if self._upper else 0)

    def offsets(self, numbers: Sequence[int]) -> Iterator[tuple[int, int]]:
        """Tell where the newest records of units begin: each one's place among these, and its offset."""
        lower, upper, states = self._offsets, self._upper, self.states
        known = ((index, number) for index, number in enumerate(numbers) if states[number] != OWED)
        if upper:
            return ((index, lower[number] | upper[number] << 32) for index, number in known)
        return ((index, lower[number]) for index, number in known)

    def counts(self, cell: CellName) -> tuple[int, int, int]:
        """Count the scored, failed and skipped units of a cell."""
        start = self.start(cell)
        stop = start + self._size(cell)
        scored, failed, skipped = (
            self.states.count(state, start, stop) for state in (SCORED, FAILED, SKIPPED)
        )
        return scored, failed, skipped

    def is_unused(self, evaluator: str) -> bool:
        """Return True if an evaluator has scored nothing, be it skipped: another may have its place."""
        return not any(self.counts(cell)[0] for cell in self._starts if cell[0] == evaluator)

    def is_scored(self, task_model: str) -> bool:
        """Return True if something of a model was scored or skipped."""
        counted = [self.counts(cell) for cell in self._starts if cell[2] == task_model]
        return any(scored or skipped for scored, _, skipped in counted)

    def places(self, split: str, lines: Sequence[int | None], repeats: int) -> Sequence[int]:
        """Give the places that examples' units have in a cell, a range if they stand together."""
        every, by_line = self.repeats, self._lines[split]
        if repeats == every and len(lines) == len(by_line) and all(map(eq, lines, by_line)):
            return range(len(lines) * repeats)
        return array("I", (by_line[line] * every + repeat for line in lines for repeat in range(repeats)))

    def _size(self, cell: CellName) -> int:
        return len(self._lines[cell[3]]) * self.repeats

    def _number(self, record: JsonMapping, offset: int) -> int | None:
        """Find the unit that a record is of; _FORMER where it counts no more, None where it is foreign."""
        versions = self._versions
        try:
            cell: CellName | None = (
                record["evaluator"],
                record["candidate"],
                record.get("task_model"),
                record["split"],
            )
            index = self._lines[record["split"]][record.get("line")]
            repeat = record[self.counter]
            if versions and versions.concern(record):
                now = versions.find(record)  # which nobody may have named since it is current again
                cell = now if now in self._starts else None
            start = self._starts[cell] if cell else _FORMER
        except (KeyError, TypeError):
            return None
        if not (isinstance(repeat, int) and 1 <= repeat <= self.repeats):
            return None
        if cell is None or offset < self._since.get(cell[0], 0):
            return _FORMER
        return start + index * self.repeats + repeat - 1

    def _enter_line(self, path: Path, row: int, offset: int, length: int, line: bytes) -> None:
        try:
            record = journal.glance(line)
        except ValueError:
            raise self._foreign(path, row) from None
        self.end = offset + length
        outcome: Any = record.get("outcome")
        if outcome is None and "outcome" not in record:
            self._enter_note(path, row, offset, record)
            return
        if not self._has_header:
            raise journal.Damaged(
                f"{path}:{row}: the first line is missing, which says whose journal it is",
                hint="put it back, or start over with --fresh",
            )
        if is_fresh := CONFIRM in record:
            self.has_confirmations = True
        number = _FORMER if is_fresh else self._number(record, offset)
        if number is None or not _is_whole(record, outcome):
            raise self._foreign(path, row)
        if "usage" in record:
            self.spending.take(record, record["usage"])
        if number != _FORMER:
            self.enter(number, outcome, offset)

    def _enter_note(self, path: Path, row: int, offset: int, record: JsonMapping) -> None:
        """Take what a session said at its begin or its end."""
        journal.check_schema(record, journal.SCHEMA, f"{path}:{row}")
        if record.get("plan", self.run) != self.run:
            raise self._foreign(path, row)
        self._has_header = self._has_header or "plan" in record
        if is_computed(record):
            self.computed.append(record)
        if "judged" in record:
            self.judged.append((offset, record))
        for usage in (
            record["usage"] if _is_usage(record.get("usage")) else ()
        ):  # of a recheck, or of units that were broken off
            self.spending.take(usage, [usage])
        self.changed.update(
            name for name in _names_in(record, "changed") if offset >= self._sound_since.get(name, 0)
        )
        sound = self._models_sound_since
        self.changed_models.update(
            name for name in _names_in(record, "changed_models") if offset >= sound.get(name, 0)
        )

    @staticmethod
    def _foreign(path: Path, row: int) -> journal.Damaged:
        return journal.Damaged(
            f"{path}:{row}: the line belongs to another run",
            hint="put the run's own journal back, or start over with --fresh",
        )


def is_unranked(record: JsonMapping) -> bool:
    """Return True if a label was given, where no number was expected."""
    return record.get("score", 0) is None and record.get("unranked") is True


def is_computed(note: JsonMapping) -> bool:
    """Return True if a line is of what code made of rows, and is as it was written."""
    match note:
        case {"rules": str(), "rows": str(), "excluded_by": dict(excluded)}:
            listed = [places for places in excluded.values() if isinstance(places, list)]
            is_whole = all(
                isinstance(row, list) and len(row) == _OF_A_ROW for places in listed for row in places
            )
            return is_whole and len(listed) == len(excluded)
        case {"metric": str(), "snippet": str(), "rows": str()}:
            return "error" in note or "value" in note
    return False


def _names_in(record: JsonMapping, key: str) -> list[str]:
    names = record.get(key)
    return [name for name in names if isinstance(name, str)] if isinstance(names, list) else []


def _is_whole(record: JsonMapping, outcome: object) -> bool:
    """Return True if a record has what its outcome needs."""
    get = record.get
    match outcome:
        case "scored":
            is_whole = (_is_number(get("score")) or is_unranked(record)) and type(get("side_info")) is dict
            if is_whole and _TYPED.isdisjoint(record):
                return True
        case "failed":
            is_whole = type(get("kind")) is type(get("message")) is str
        case _:
            is_whole = outcome == "skipped"
    return is_whole and _is_as_written(record)


def _is_as_written(record: JsonMapping) -> bool:
    """Return True if what any outcome may have is of its type; spelled out, as each line is checked."""
    get = record.get
    return (
        type(get("attempts", 1)) is int
        and _is_number(get("seconds", 0))  # which other tools may not tell
        and type(get("started_at", "")) is str
        and type(get("side_info", _NONE)) is dict
        and (
            _RARE.isdisjoint(record)
            or (
                type(get("stderr", "")) is str
                and type(get("message", "")) is str
                and type(get("output", "")) is str
                and type(get("stage", "")) is str
                and _is_usage(get("usage", ()))
            )
        )
    )


def _is_usage(listed: object) -> bool:
    """Return True if a list of calls is one; most records have none."""
    return listed == () or (
        type(listed) is list
        and all(
            type(row) is dict
            and type(row.get("model")) is str
            and all(_is_number(value) for key, value in row.items() if key not in _NAMES)
            for row in listed
        )
    )


def _is_number(value: Any) -> bool:
    return type(value) in _NUMBERS and abs(value) <= _LARGEST


_AXES = ("evaluators", "additions", "candidates", "task_models", "models", "splits")
_CHOSEN = ("plan", "repeats", "baseline", "seed", "cluster_by", "group_by")
_SAID = frozenset(
    {"outcome", "changed", "changed_models", "usage", "beside"}
)  # of which a line has one that counts
_FIRST_LOOK = 1 << 16  # bytes at the journal's end


@frozen
class JournalEnd:
    """Where the last line ends that counts, the checksum of that line, and that of what the run is about."""

    end: int
    crc: str
    run: str


def journal_end(folder: Path, document: RunDocument) -> JournalEnd:
    """Read where a run's journal ends; raises OSError, ValueError or Damaged where that cannot be told."""
    end, crc = _last_that_counts(folder / JOURNAL)
    return JournalEnd(end=end, crc=crc, run=f"{crc32(strict_json.dumps_own(_about(document))):08x}")


def fits(summary: JsonMapping, folder: Path, document: RunDocument) -> bool:
    """Return True if a stored summary is of all that a run has now."""
    try:
        end = journal_end(folder, document)
    except (OSError, ValueError, OptimizeEvalError):
        return False
    return bool(summary.get("journal") == {"end": end.end, "crc": end.crc, "run": end.run})


def _about(document: RunDocument) -> list[Any]:
    selected, settings = selected_json(document), document.settings
    in_common = [settings[key] for key in (OVERLAPS, LEAKS) if key in settings]
    return [*(selected.get(key) for key in (*_AXES, *_CHOSEN)), settings.get("margins"), *in_common]


def _last_that_counts(path: Path) -> tuple[int, str]:
    """Look from the journal's end, further back where a line is long."""
    with files.open_file(path) as stream:
        size, look = path.stat().st_size, _FIRST_LOOK
        while True:
            start = max(0, size - look)
            stream.seek(start)
            before, newline, _torn = stream.read(size - start).rpartition(b"\n")
            skipped = before.find(b"\n") + 1 if start else 0  # the first line may have begun before
            end = start + len(before) + len(newline)
            if start == 0 or skipped:
                for line in reversed((before + newline)[skipped:].split(b"\n")[:-1]):
                    if _counts(journal.glance(line)):
                        return end, line[-10:-2].decode("ascii", "replace")
                    end -= len(line) + 1
            if not start:
                return 0, ""
            look *= 8


def _counts(line: JsonMapping) -> bool:
    return not _SAID.isdisjoint(line) or is_computed(line)
