"""What was tried on a run's examples: candidates with a score there, and what was shown of them.

What is current goes by the field's name, also when examples come to it. What an earlier session scored is
another version where a text of an example that says the same was another; it goes by the digest of its texts.

The journal has both: records, and a line for what a session showed of two candidates or more. What an earlier
journal of the folder had (--fresh), and folders that scores were taken from (--reuse), stands in tried.json,
as digests alone: of candidates all, of examples the smallest, by which two sets are compared.
"""

import hashlib
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import closing, suppress
from dataclasses import replace
from datetime import UTC, datetime
from functools import cached_property
from itertools import product
from pathlib import Path
from typing import Any, NamedTuple, Self

import orjson

from optimize_eval.base import files
from optimize_eval.base.documents import JsonDict, JsonMapping
from optimize_eval.base.errors import OptimizeEvalError
from optimize_eval.base.frozen import Remembers, frozen
from optimize_eval.store import journal
from optimize_eval.store.folder import EVALUATIONS, JOURNAL, MANIFEST, TRIED, write_json
from optimize_eval.store.layout import Split
from optimize_eval.store.ledger import SCORED
from optimize_eval.store.opened_run import StoredRun, open_stored
from optimize_eval.store.reusable import documents_beside
from optimize_eval.store.run_document import RunDocument, StoredCandidate, StoredSplit
from optimize_eval.store.run_json import read_document

TEXTS = "texts"  # of an entry of tried.json: by version the texts of each of its examples, as digests

_MOST_TEXTS = 256  # of examples that say the same
_SHORT = 16  # letters of a digest
_LISTED = "candidates", "steps", "baselines", "confirmed"

Texts = Mapping[str, Collection[str]]  # by what an example says


def texts_in(
    document: RunDocument, split: str, lines: Sequence[int | None], values: Sequence[str]
) -> dict[str, Texts]:
    """Give by candidate what some examples of a split have in its field."""
    every = next((entry.lines for entry in document.splits if entry.name == split), ())
    value_of = dict(zip(lines, values, strict=True))
    by_candidate: dict[str, Texts] = {}
    for candidate in document.candidates:
        digests = candidate.texts.get(split, ()) if candidate.field else ()
        texts: dict[str, set[str]] = {}
        for line, digest in zip(every, digests, strict=False):
            if digest and line in value_of:
                texts.setdefault(value_of[line], set()).add(digest[:_SHORT])
        if texts:
            by_candidate[candidate.digest[:_SHORT]] = texts
    return by_candidate


def join_splits(parts: Iterable[Mapping[str, Texts]]) -> dict[str, Texts]:
    """Put together what splits have."""
    whole: dict[str, dict[str, set[str]]] = {}
    for part in parts:
        for name, texts in part.items():
            for value, digests in texts.items():
                whole.setdefault(name, {}).setdefault(value, set()).update(digests)
    return dict(whole)


def in_entry(entry: JsonMapping, fields: Mapping[str, Texts]) -> JsonDict:
    """Call candidates of an entry by their texts, and keep these."""
    kept = {name: _keep_texts(entry["examples"], texts) for name, texts in fields.items()}
    names = {name: _version(name, texts) for name, texts in kept.items()}
    texts = {names[name]: [name, texts] for name, texts in kept.items() if name in entry["candidates"]}
    return _rename(entry, names) | ({TEXTS: texts} if texts else {})


def resolve_versions(entries: Sequence[JsonMapping], now: Mapping[str, Texts]) -> list[JsonDict]:
    """Call versions that are the same by one name; those that are what is there now, by that of the field."""
    known = [(name, name, texts) for name, texts in now.items()]
    names: dict[str, str] = {}
    for entry in reversed(entries):
        for version, field, texts in _versions_in(entry):
            alike = (name for name, other, those in known if other == field and _agree(texts, those))
            names.setdefault(version, next(alike, version))
            known.append((names[version], field, texts))
    return [_rename(entry, names) for entry in entries]


def has_sound_texts(entry: JsonMapping) -> bool:
    """Return True if the texts of an entry's versions can be read; most have none."""
    try:
        for _, field, _ in _versions_in(entry):
            hash(field)
    except (AttributeError, TypeError, ValueError):
        return False
    return True


def _versions_in(entry: JsonMapping) -> Iterator[tuple[str, str, Texts]]:
    for version, (field, texts) in entry.get(TEXTS, {}).items():
        yield version, field, dict(zip(entry["examples"], map(set, texts), strict=False))


def _keep_texts(values: Iterable[str], texts: Texts) -> list[list[str]]:
    return [sorted(texts.get(value, ()))[:_MOST_TEXTS] for value in values]


def _version(name: str, texts: Sequence[Sequence[str]]) -> str:
    return hashlib.sha256(f"{name} {texts}".encode()).hexdigest()[:_SHORT]


def _agree(texts: Texts, others: Texts) -> bool:
    """Return True if of examples that both have, and some are, one has no text that the other has not."""
    pairs = [({*those}, {*others[value]}) for value, those in texts.items() if value in others]
    return bool(pairs) and all(some <= more or more <= some for some, more in pairs)


def _rename(entry: JsonMapping, names: Mapping[str, str]) -> JsonDict:
    return {
        **entry,
        **{key: sorted({names.get(str(name), str(name)) for name in entry.get(key, ())}) for key in _LISTED},
    }


SCHEMA = "optimize-eval.tried.v1"
SEVERAL = 2  # candidates, from which on numbers compare something

Values = Mapping[int | None, str]  # what examples say, by line

_MOST_DIGESTS = 256  # of examples
_FOOTER = ("ended_at", "status", "recheck")
_LAST = "g"  # after all digests


class Family(NamedTuple):
    """Who is compared with each other: the candidates of one evaluator and task model on one split."""

    evaluator: str
    task_model: str | None
    split: str


@frozen
class Examples:
    """Those that something is about, by their lines and by what these say, whatever their bytes."""

    lines: Sequence[int | None]
    values: Sequence[str]

    @property
    def digests(self) -> set[str]:
        return {*self.values}

    @classmethod
    def of(cls, split: Split) -> Self:
        """Take those of a split; of what nothing was found out, bytes are all that is known."""
        values = split.values or ("",) * len(split.lines)
        shown = [value or digest[:_SHORT] for value, digest in zip(values, split.sha256, strict=True)]
        return cls(lines=split.lines, values=shown)


class Shown(NamedTuple):
    """What a session showed of a family, and where its line stands in the journal."""

    offset: int
    at: str
    note: JsonMapping


@frozen
class Tried:
    """What was ever tried of a family on some examples; candidates are digests."""

    candidates: frozenset[str]
    steps: frozenset[str]  # those of them that were made after results of these examples were shown
    looks: frozenset[str]  # the sets of examples that something was decided on
    baselines: frozenset[str]
    confirmed: frozenset[str]  # winners that were held against this split
    was_shown: bool


@frozen
class History(Remembers):
    """What a run's folder knows of what was tried."""

    run: StoredRun

    @cached_property
    def digests(self) -> dict[str, str]:
        """Give by their names in cells what candidates are."""
        return {candidate.name_in_cells: short(candidate) for candidate in self.run.document.candidates}

    @cached_property
    def programs(self) -> dict[str, str]:
        return {program.name_in_cells: program.sha256[:_SHORT] for program in self.run.document.evaluators}

    @cached_property
    def entries(self) -> list[JsonDict]:
        return resolve_versions(_entries(self.run.folder), _texts_of(self.run.document))

    def candidates_of(self, entry: JsonMapping, there: RunDocument) -> set[str]:
        """Name candidates of an entry about another run as they are named here."""
        here, entries = _texts_of(self.run.document), _entries(self.run.folder)
        own = in_entry(entry, _texts_of(there))
        return {*resolve_versions([own, *entries], here)[0]["candidates"]}

    @cached_property
    def shown(self) -> list[Shown]:
        """List what sessions showed, in their order."""
        notes = self.run.ledger.ledger.judged
        return [
            Shown(offset, str(record.get("shown_at", "")), record["judged"])
            for offset, record in notes
            if isinstance(record["judged"], dict)
        ]

    @cached_property
    def finalists(self) -> frozenset[str]:
        """Give the candidates of searches that never saw what decides."""
        notes = (record.get("finalists", ()) for _, record in self.run.ledger.ledger.judged)
        return frozenset(str(digest) for listed in notes for digest in listed)

    def about(self, where: Family) -> tuple[Any, ...]:
        return self.programs[where.evaluator], where.task_model, where.split

    def count_tried(self, where: Family, examples: Examples) -> Tried:
        """Put together what is known of a family and some examples."""
        entries = [entry for entry in self.entries if self._concerns(entry, where, examples)]
        shown = [line.note for line in self.shown if about(line.note) == self.about(where)]
        first = self._first_scores(where, examples)

        def every(key: str, listed: str) -> frozenset[str]:
            own = {str(entry[key]) for entry in shown if entry.get(key)}
            return frozenset(own.union(*(map(str, entry.get(listed, ())) for entry in entries)))

        return Tried(
            candidates=frozenset(first.keys()).union(*(entry["candidates"] for entry in entries)),
            steps=self._steps(where, examples, first, entries),
            looks=every("decided", "looks"),
            baselines=every("baseline", "baselines"),
            confirmed=every("confirmed", "confirmed"),
            was_shown=bool(shown) or any(entry.get("shown") for entry in entries),
        )

    def _concerns(self, entry: JsonMapping, where: Family, examples: Examples) -> bool:
        """Return True if an entry is about some of these examples, or about half of them as another split."""
        *program, split = about(entry)
        share, (*own, own_split) = share_of(entry, examples.digests), self.about(where)
        return program == own and (share > 0 if split == own_split else 2 * share >= 1)

    def _first_scores(self, where: Family, examples: Examples) -> dict[str, int]:
        """Find by candidate where its first score on these examples stands."""
        first: dict[str, int] = {}
        for name, digest in self.digests.items():
            offsets = [offset for _, offset in self._scores(where, name, examples)]
            if offsets:
                first[digest] = min(*offsets, first.get(digest, offsets[0]))
        return first

    def _steps(
        self,
        where: Family,
        examples: Examples,
        first: Mapping[str, int],
        entries: Sequence[JsonMapping],
    ) -> frozenset[str]:
        """Find who came after results were shown of at least half of these examples."""
        known = {str(digest) for entry in entries for digest in entry["candidates"]}
        before = [
            entry for entry in entries if entry.get("shown") and 2 * share_of(entry, examples.digests) >= 1
        ]
        steps = {str(digest) for entry in before for digest in entry.get("steps", ())}
        since = -1 if before else self._shown_from(where, examples, first)
        if since is not None:
            steps |= {digest for digest, offset in first.items() if offset > since} - known
        return frozenset(steps - self.finalists)

    def _shown_from(self, where: Family, examples: Examples, first: Mapping[str, int]) -> int | None:
        """Find the first session that showed results of at least half of these examples."""
        shown = [line.offset for line in self.shown if about(line.note) == self.about(where)]
        if not shown or all(offset < shown[0] for offset in first.values()):
            return None
        rows: dict[int, int] = {}
        for name in self.digests:
            for row, offset in self._scores(where, name, examples):
                rows[row] = min(offset, rows.get(row, offset))
        half = len(examples.lines) / 2
        return next((at for at in shown if sum(scored < at for scored in rows.values()) >= half), None)

    def _scores(self, where: Family, name: str, examples: Examples) -> Iterator[tuple[int, int]]:
        """Give the scores of a cell on these examples: each one's example, and where it stands."""
        ledger = self.run.ledger.ledger
        cell = where.evaluator, name, where.task_model, where.split
        if not ledger.has(cell):
            return
        start, repeats, states = ledger.start(cell), ledger.repeats, ledger.states
        numbers = [start + unit for unit in ledger.places(where.split, examples.lines, repeats)]
        for index, offset in ledger.offsets(numbers):
            if states[numbers[index]] == SCORED:
                yield index // repeats, offset


def short(candidate: StoredCandidate) -> str:
    """Digest in short what a candidate of run.json is, without blanks at its end."""
    return (candidate.trimmed or candidate.digest)[:_SHORT] or candidate.name


def about(note: JsonMapping) -> tuple[Any, ...]:
    """Say which family a note or an entry is about."""
    return note.get("evaluator"), note.get("task_model"), note.get("split")


def rows_of(lines: Sequence[int | None]) -> str:
    """Name a set of lines; one that was edited is still the same line."""
    return hashlib.sha256(orjson.dumps(sorted(line or 0 for line in lines))).hexdigest()[:_SHORT]


def share_of(entry: JsonMapping, digests: set[str]) -> float:
    """Estimate the share of some examples that an entry is about, by the smallest of its digests."""
    listed = {str(digest) for digest in entry["examples"]}
    largest = max(listed, default="") if entry["n"] > len(listed) else _LAST
    comparable = {digest for digest in digests if digest <= largest}
    return len(comparable & listed) / len(comparable) if comparable else 0.0


def note_shown(run: StoredRun, notes: Iterable[JsonMapping]) -> None:
    """Write down what a session is about to show, where the last one did not show the same."""
    last = {about(line.note): line.note for line in History(run=run).shown}
    for note in notes:
        if last.get(about(note)) != note:
            _append(run, {"judged": note, "shown_at": datetime.now(UTC).isoformat(timespec="seconds")})


def note_finalists(run: StoredRun, names: Iterable[str]) -> None:
    """Write down who was found by a search that never saw what decides: they are no steps."""
    history = History(run=run)
    digests = [history.digests[name] for name in names]
    if not history.finalists.issuperset(digests):
        _append(run, {"judged": None, "finalists": digests})


def note_beside(run: StoredRun) -> None:
    """Write down which folders beside a run scored other candidates on at least half of what decides."""
    if run.document.is_bench or len(run.layout.candidates) < SEVERAL:
        return
    history, notes = History(run=run), run.ledger.ledger.judged
    beside = [
        {"run": folder.name, "candidates": many}
        for folder, there in sorted(documents_beside(run.folder, run.document))
        if (many := _others_in(there, history))
    ]
    before = [record["beside"] for _, record in notes if "beside" in record]
    if beside != (before[-1] if before else []):
        _append(run, {"judged": None, "beside": beside})


def _others_in(there: RunDocument, own: History) -> int:
    """Count what a run of this run.json scored on at least half of what decides, and what is not counted."""
    layout = own.run.layout
    examples = Examples.of(layout.split(layout.deciding))
    digests, program = examples.digests, own.programs[layout.evaluators[0]]
    decides = own.about(Family(layout.evaluators[0], layout.task_models[0], layout.deciding))
    kept = [entry["candidates"] for entry in own.entries if about(entry) == decides]
    programs = {entry.name_in_cells for entry in there.evaluators if entry.sha256[:_SHORT] == program}
    splits = {
        split.name
        for split in there.splits
        if 2 * len(digests & _examples(there, split).digests) >= len(digests)
    }
    candidates = {candidate.name_in_cells: short(candidate) for candidate in there.candidates}
    scored = {
        candidates[cell.candidate]
        for cell in there.cells
        if cell.scored
        and cell.evaluator in programs
        and cell.split in splits
        and cell.candidate in candidates
    }
    named = own.candidates_of({"examples": sorted(digests), "candidates": sorted(scored)}, there)
    return len(named.difference(own.digests.values(), *kept))


def _texts_of(document: RunDocument) -> dict[str, Texts]:
    """Give what candidates that are fields have in a run's examples."""
    parts = [(split.name, _examples(document, split)) for split in document.splits]
    return join_splits(texts_in(document, name, split.lines, split.values) for name, split in parts)


def _append(run: StoredRun, record: JsonMapping) -> None:
    """Append a line to the journal of a run that is held; the last line says how the last session ended."""
    path, ledger = run.folder / JOURNAL, run.ledger.ledger
    if not path.exists():  # no session has begun
        ledger.end = _begin(path, ledger.run)
    line = journal.last_line(path)
    last = journal.decode(line) if line else {}
    record = {**{key: last[key] for key in _FOOTER if key in last}, **record}
    with closing(journal.Journal(path, _end_of(path))) as written:
        ledger.judged.append((written.append(journal.seal(record)), record))
    ledger.end = written.end


def _begin(path: Path, run: str) -> int:
    with closing(journal.Journal(path, 0)) as written:
        written.append(
            journal.seal(journal.header(run, datetime.now(UTC).isoformat(timespec="milliseconds")))
        )
        return written.end


def _end_of(path: Path) -> int:
    """Tell where the last whole line ends: a session may have written more than was read."""
    look = 1 << 16
    with path.open("rb") as stream:
        end = start = stream.seek(0, 2)
        while start:
            start = max(0, end - look)
            stream.seek(start)
            newline = stream.read(end - start).rfind(b"\n")
            if newline >= 0:
                return start + newline + 1
            look *= 8
    return 0


def keep_tried(folder: Path, why: str = "--fresh", values: Mapping[str, Values] | None = None) -> None:
    """Before a run starts over, keep what it tried; of a folder that cannot be read, nothing.

    `values` are what examples say from here on, by split and line, where that is known.
    """
    with suppress(OptimizeEvalError):
        if (folder / MANIFEST).is_file():
            run = open_stored(folder)
            if not run.document.is_bench:
                _keep(folder, _entries_of(run, why, values or {}))


def keep_tried_of_edited(folder: Path, wanted: RunDocument) -> None:
    """Before examples have other bytes, keep what was tried on them: they may say the same as before.

    So they do where a candidate more is one of their fields, and was a part of what they said.
    """
    document = read_document(folder, is_to_grow=True)
    if document is None:
        return
    known = {split.name: split.by_line for split in document.splits}
    new = [(split, known.get(split.name, {})) for split in wanted.selection.splits]
    is_edited = any(
        was.get(line, now) != now
        for split, was in new
        for line, now in zip(split.lines, split.sha256, strict=True)
    )
    if is_edited or ((folder / TRIED).exists() and wanted.hidden_fields != document.hidden_fields):
        values = {split.name: dict(_values_of_same(split, was)) for split, was in new}
        keep_tried(folder, "examples edited", values)


def _values_of_same(split: Split, was: Mapping[int | None, str]) -> Iterator[tuple[int | None, str]]:
    """Give what lines say now whose bytes are as they were."""
    examples = Examples.of(split)
    for line, value, digest in zip(examples.lines, examples.values, split.sha256, strict=True):
        if was.get(line) == digest:
            yield line, value


def keep_tried_elsewhere(run: StoredRun, other: StoredRun) -> None:
    """Keep what was tried in a folder that scores were taken from, on the examples of this run."""
    if not run.document.is_bench:
        _keep(run.folder, _entries_there(History(run=run), History(run=other)))


def _keep(folder: Path, entries: Iterable[JsonDict]) -> None:
    there = _entries(folder)
    new = [entry for entry in entries if entry["candidates"] and entry not in there]
    if new:
        write_json(folder / TRIED, {"schema": SCHEMA, "entries": [*there, *new]})


def _entries(folder: Path) -> list[JsonDict]:
    with suppress(OSError, ValueError, KeyError, TypeError):
        document = orjson.loads(files.load(folder / TRIED, files.OF_A_RUN))
        return [entry for entry in document["entries"] if _is_whole(entry)]
    return []


def _is_whole(entry: Any) -> bool:
    match entry:
        case {"candidates": [*candidates], "examples": [*examples], "n": int()}:
            digests = (*candidates, *examples)
            return all(isinstance(digest, str) for digest in digests) and has_sound_texts(entry)
    return False


def _entries_of(run: StoredRun, why: str, values: Mapping[str, Values]) -> Iterator[JsonDict]:
    history, splits = History(run=run), run.document.splits
    for name, model, split in product(history.programs, run.document.task_models, splits):
        where, examples = Family(name, model, split.name), _examples(run.document, split)
        said = values.get(split.name, {})
        pairs = zip(examples.lines, examples.values, strict=True)
        now = replace(examples, values=[said.get(line, value) for line, value in pairs])
        yield _entry(history, where, (examples, now), history.about(where), why)


def _examples(document: RunDocument, split: StoredSplit) -> Examples:
    """Give all examples that a run ever had of a split, as they were last."""
    return Examples.of(document.whole_split(split))


def _entries_there(own: History, other: History) -> Iterator[JsonDict]:
    """Look for the same programs, task models and examples there, by whatever names."""
    mine, theirs = own.run.document, other.run.document
    for split, there in product(mine.splits, theirs.splits):
        shared, all_there = _examples(mine, split).digests, _examples(theirs, there)
        pairs = [pair for pair in zip(all_there.lines, all_there.values, strict=True) if pair[1] in shared]
        examples = Examples(lines=[line for line, _ in pairs], values=[value for _, value in pairs])
        for name, program, model in product(own.programs, other.programs, theirs.task_models):
            if pairs and own.programs[name] == other.programs[program] and model in mine.task_models:
                about_mine = own.about(Family(name, model, split.name))
                where = Family(program, model, there.name)
                entry = _entry(other, where, (examples, examples), about_mine, other.run.folder.name)
                searched = _read_searched(other.run.folder, other.digests, there.name, program)
                yield entry | {"candidates": sorted({*entry["candidates"], *searched})}


def _entry(
    history: History,
    where: Family,
    as_they_were_and_are: tuple[Examples, Examples],
    named: tuple[Any, ...],
    why: str,
) -> JsonDict:
    before, examples = as_they_were_and_are
    tried = history.count_tried(where, before)
    entry = {
        "from": why,
        **dict(zip(("evaluator", "task_model", "split"), named, strict=True)),
        "n": len(examples.digests),
        "examples": sorted(examples.digests)[:_MOST_DIGESTS],
        "shown": tried.was_shown,
        **{
            key: sorted(getattr(tried, key))
            for key in ("candidates", "steps", "looks", "baselines", "confirmed")
        },
    }
    texts = texts_in(history.run.document, where.split, examples.lines, examples.values)
    return in_entry(entry, texts)


def _read_searched(folder: Path, digests: Mapping[str, str], split: str, evaluator: str) -> set[str]:
    """Give the candidates that a search scored on a split and that its run does not have."""
    if not (folder / EVALUATIONS).is_file():
        return set()
    keys = {
        str(record["key"]): digests.get(str(record["candidate"]), "")
        for record in _scored_records(folder / JOURNAL, split, evaluator)
    }
    searched: dict[str, str] = {}
    for record in _scored_records(folder / EVALUATIONS, split, evaluator):
        name = f"{folder.name}/{record['candidate']}"
        searched[name] = searched.get(name) or keys.get(str(record["key"]), "")
    return {digest or name for name, digest in searched.items()}


def _sound_entries(path: Path) -> Iterator[journal.JournalLine]:
    """Read a search's lines up to one that is damaged: what was scored is copied from the run's alone."""
    with suppress(OptimizeEvalError):
        yield from journal.entries(path)


def _scored_records(path: Path, split: str, evaluator: str) -> Iterator[JsonMapping]:
    for entry in _sound_entries(path):
        record = journal.glance(entry.line)
        is_there = (record.get("evaluator"), record.get("split")) == (evaluator, split)
        if is_there and record.get("outcome") == "scored":
            yield record
