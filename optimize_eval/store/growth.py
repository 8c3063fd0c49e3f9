"""A run that grows: what a command names joins what the run has; only what contradicts it is refused.

Nothing is taken away: what a command no longer names, and versions that others have superseded, keep their
records. Whether an evaluator has scored is a question to the ledger. Inputs have names and starts for people;
candidates that are fields of examples have digests, for keys. What is not the same in two runs is said here,
too: evaluators, models and the examples of splits.
"""

import shlex
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from optimize_eval.base.errors import UsageError
from optimize_eval.base.frozen import frozen
from optimize_eval.store.layout import MOST_UNITS, Split
from optimize_eval.store.ledger import Ledger
from optimize_eval.store.run_document import (
    CountedCell,
    Entry,
    RunDocument,
    StoredCandidate,
    StoredProgram,
    StoredSplit,
    counted_cell,
    current,
    shown_as,
)

_TASK = "task:"  # what the text of an evaluator begins with that scores by a task
_EDITED = "its run.json is of another version, or was edited"
_MOST = 10  # changes that are listed
_SHOWN = 3  # lines of changed examples
_IN_YAML = (".yaml", ".yml")


def kind_of(evaluator: StoredProgram) -> str:
    return "scorer" if evaluator.text.startswith(_TASK) else "evaluator"


def contradiction(changes: Mapping[str, str], texts: Iterable[str]) -> UsageError:
    """Refuse changes, by the names of what is another now; `texts` are those of the evaluators among them."""
    options = " ".join(f"--replace {shlex.quote(name)}" for name in changes)
    head, call = _words(list(texts))
    return UsageError(
        "\n".join([head, *list_changes([*changes.values()])]),
        hint=f"{call} {options}, choose another folder with --out, or start over with --fresh",
    )


def _words(texts: list[str]) -> tuple[str, str]:
    if not texts or not all(text.startswith(_TASK) for text in texts):
        return "the run has scores by another program of the same name:", "call the new one with"
    files = dict.fromkeys(map(_file_of, texts))
    named = ", ".join(files)
    what = f"the task {named} has" if len(files) == 1 else f"the tasks {named} have"
    return f"{what} changed since these scores were made:", "score by what is there now with"


def _file_of(text: str) -> str:
    """Name the file of a task, which may have blanks; behind one in YAML stands the key of a scorer."""
    whole = text.removeprefix(_TASK)
    file = whole.rpartition(" ")[0]
    return file if file.endswith(_IN_YAML) else whole


@dataclass(slots=True, kw_only=True, eq=False, repr=False)
class Growth:
    """What joins a run, step by step."""

    known: RunDocument
    wanted: RunDocument
    past: Callable[[], Ledger]  # what the run has recorded; read only where it matters
    replace: Collection[str] = ()
    notes: list[str] = field(default_factory=list)
    renamed: dict[tuple[str, str | None], str] = field(default_factory=dict)  # versions, by axis and name

    def document(self) -> RunDocument:
        """Put both together; raises UsageError where they contradict each other."""
        known, wanted = self.known, self.wanted
        _check_kind(known.kind, wanted.kind)
        grown = replace(
            known,
            evaluators=self._evaluators(),
            candidates=self._candidates(),
            task_models=tuple(dict.fromkeys([*known.task_models, *wanted.task_models])),
            models=self._models(),
            splits=self._splits(),
            repeats=max(known.repeats, wanted.repeats),
            selection=wanted.selection,
            added=wanted.added,
            settings=wanted.settings,
        )
        _check_names(grown)
        return replace(grown, cells=self._cells(grown))

    def _evaluators(self) -> tuple[StoredProgram, ...]:
        entries = list(self.known.evaluators)
        now = current(entries)
        refused: dict[str, StoredProgram] = {}
        for evaluator in self.wanted.evaluators:
            name = evaluator.name
            old = now.get(name)
            if old is None:
                entries.append(evaluator)
            elif _is_same(old, evaluator) and not self._is_to_be_called_anew(name):
                if self._is_replaced(name):
                    self.notes.append(f"{name} is what the run has already: --replace calls none of it again")
                entries[entries.index(old)] = replace(old, splits=evaluator.splits)
            elif self._is_replaced(name) or self.past().is_unused(name):
                entries = self._with_evaluator(entries, old, evaluator)
            else:
                refused[name] = evaluator
        if refused:
            changes = {
                name: f"{kind_of(entry)} {name} {program_change(now[name], entry)}"
                for name, entry in refused.items()
            }
            raise contradiction(changes, [entry.text for entry in refused.values()])
        return tuple(entries)

    def _is_replaced(self, name: str) -> bool:
        return name in self.replace or f"evaluator:{name}" in self.replace

    def _is_to_be_called_anew(self, name: str) -> bool:
        """Return True if an unchanged evaluator is to be called again: its program changed meanwhile."""
        return self._is_replaced(name) and name in self.past().changed

    def _with_evaluator(
        self, entries: Sequence[StoredProgram], old: StoredProgram, new: StoredProgram
    ) -> list[StoredProgram]:
        """Put an evaluator in another's place; the old one stays if its scores can be told apart."""
        name, ledger = new.name, self.past()
        has_scored, is_other = not ledger.is_unused(name), old.sha256 != new.sha256
        stays = has_scored and is_other and name not in ledger.changed
        others = [entry for entry in entries if entry is not old]
        again = next((entry for entry in others if (entry.name, entry.sha256) == (name, new.sha256)), None)
        if stays:
            others.append(replace(old, superseded=True))
            self.renamed["evaluator", name] = shown_as(name, old.sha256)
        if again:
            others = [entry for entry in others if entry is not again]
            self.renamed["evaluator", shown_as(name, new.sha256)] = name
            if _is_same(again, new):
                self.notes.append(f"{name} is what it was before: its scores from then count again")
                former = replace(again, superseded=False, splits=new.splits, sound_since=ledger.end)
                return [*others, former]
        self.notes.append(_about_evaluator(name, has_scored=has_scored, is_other=is_other))
        if stays and not again:  # keys tell their records apart
            return [*others, replace(new, sound_since=ledger.end)]
        return [*others, replace(new, since=ledger.end)]

    def _candidates(self) -> tuple[StoredCandidate, ...]:
        entries = {(entry.name, entry.digest): entry for entry in self.known.candidates}
        now = current(self.known.candidates)
        for entry in self.wanted.candidates:
            old = now.get(entry.name)
            if old is None:
                entries[entry.name, entry.digest] = entry
            elif old.digest != entry.digest:
                again = self._supersede("candidate", entries, old, entry.digest)
                entries[entry.name, entry.digest] = replace(again, superseded=False) if again else entry
        return tuple(entries.values())

    def _supersede(
        self, axis: str, entries: dict[tuple[str, str], Entry], old: Entry, by: str
    ) -> Entry | None:
        """Let a version of this digest supersede another; give it where it was there before."""
        name, before, what = old.name, old.digest, axis.removeprefix("task_")
        former = shown_as(name, before)
        again = entries.pop((name, by), None)
        self.renamed[axis, name] = former
        if again:
            self.renamed[axis, shown_as(name, by)] = name
            self.notes.append(f"{what} {name} is what it was before: its scores from then count again")
        else:
            self.notes.append(f"{what} {name} has changed: the old one keeps its scores as {former}")
        del entries[name, before]  # it comes to the end
        entries[name, before] = replace(old, superseded=True)
        return again

    def _models(self) -> tuple[StoredProgram, ...]:
        """Let other models of the same name take the place of those that are there, where that is wanted."""
        entries = {(model.name, model.sha256): model for model in self.known.models}
        now, refused = current(self.known.models), dict[str, str]()
        for entry in self.wanted.models:
            old, key = now.get(entry.name), (entry.name, entry.sha256)
            if old is None:
                entries[key] = entry
            elif old.sha256 == entry.sha256:
                if self._is_model_replaced(entry.name):
                    entries[key] = self._sound_again(old)
            elif self._is_model_replaced(entry.name) or not self.past().is_scored(entry.name):
                again = self._supersede("task_model", entries, old, entry.sha256)
                entries[key] = self._sound_again(replace(again, superseded=False) if again else entry)
            else:
                refused[f"model:{entry.name}"] = f"model {entry.name} {program_change(old, entry)}"
        if refused:
            raise contradiction(refused, [])
        return tuple(entries.values())

    def _is_model_replaced(self, name: str) -> bool:
        return name in self.replace or f"model:{name}" in self.replace

    def _sound_again(self, model: StoredProgram) -> StoredProgram:
        """Forget that a model's program changed while it was called: it is another one from here on."""
        past = self.past()
        return replace(model, sound_since=past.end) if model.name in past.changed_models else model

    def _splits(self) -> tuple[StoredSplit, ...]:
        splits = {split.name: split for split in self.known.splits}
        for entry in self.wanted.splits:
            old = splits.get(entry.name)
            if old is None or (old.lines, old.sha256) != (entry.lines, entry.sha256):
                splits[entry.name] = self._with_lines(old, entry) if old else entry
        return tuple(splits.values())

    def _with_lines(self, old: StoredSplit, new: StoredSplit) -> StoredSplit:
        lines = old.by_line
        former = dict.fromkeys(old.superseded)
        changed = []
        for line, digest in new.by_line.items():
            before = lines.get(line, digest)
            lines[line] = digest
            if before != digest:
                former[line, before] = None
                former.pop((line, digest), None)
                changed.append(line)
        if changed:
            self.notes.append(_about_lines(old.name, self.wanted.place_word(old.name), changed))
        return StoredSplit(
            name=old.name, lines=tuple(lines), sha256=tuple(lines.values()), superseded=tuple(former)
        )

    def _cells(self, grown: RunDocument) -> tuple[CountedCell, ...]:
        """List the cells that are there, by the names that versions have now, then those that come."""
        there = {cell.name: cell for cell in map(self._rename, self.known.cells)}
        new = [cell[:4] for cell in grown.selection.cells if cell[:4] not in there]
        sizes = {split.name: len(split.lines) * grown.repeats for split in grown.splits}
        _check_size(sum(sizes[name[3]] for name in (*there, *new)))
        return (*there.values(), *(counted_cell(name, (0, 0, 0, sizes[name[3]])) for name in new))

    def _rename(self, cell: CountedCell) -> CountedCell:
        if not self.renamed:
            return cell
        evaluator, candidate, model, _ = cell.name
        return replace(
            cell,
            evaluator=self.renamed.get(("evaluator", evaluator), evaluator),
            candidate=self.renamed.get(("candidate", candidate), candidate),
            task_model=self.renamed.get(("task_model", model), model),
        )


def _is_same(old: StoredProgram, new: StoredProgram) -> bool:
    return (old.sha256, old.score_range) == (new.sha256, new.score_range)


def _about_evaluator(name: str, *, has_scored: bool, is_other: bool) -> str:
    if not has_scored:
        return f"{name} has changed and had scored nothing: what it failed or skipped is called again"
    how = "is another program now" if is_other else "is called again"
    return f"{name} {how}: its earlier scores stay in the journal"


def _about_lines(split: str, what: str, lines: Sequence[int | None]) -> str:
    examples = f"{len(lines):,} example{'s' * (len(lines) != 1)} of {split} changed"
    return f"{examples} ({what} {say_lines(lines)}): what was scored before stays in the journal"


def _check_kind(known: str, wanted: str) -> None:
    if known != wanted:
        raise UsageError(
            f"the folder has a {known}, which a {wanted} cannot extend",
            hint="choose another folder with --out",
        )


def _check_names(document: RunDocument) -> None:
    """Refuse a candidate with the name of what another was: their cells would be the same."""
    now = current(document.candidates)
    for candidate in document.candidates:
        if candidate.superseded and candidate.name_in_cells in now:
            raise UsageError(
                f"candidate {candidate.name_in_cells}: so the run calls what {candidate.name} was earlier",
                hint="give the candidate another name, or choose another folder with --out",
            )


def _check_size(units: int) -> None:
    if units > MOST_UNITS:
        raise UsageError(f"{units:,} calls are too many for one run", hint=f"at most {MOST_UNITS:,}")


@frozen
class ExampleTexts:
    """What run.json has of examples besides their digests, by split; `texts` are digests of candidates."""

    names: Mapping[str, Sequence[str]]
    inputs: Mapping[str, Sequence[str]]
    texts: Mapping[str, Mapping[str, Sequence[str]]]  # by candidate that is a field, then by split


def with_texts(
    document: RunDocument, known: RunDocument | None, describe: Callable[[], ExampleTexts] | None
) -> RunDocument:
    """Put into a document what it has of examples besides digests, made only where that is not known."""
    chosen = document.selection.splits
    if describe is None or all(split.names or split.lines == (None,) for split in chosen):
        return document
    if known and _has_all_texts(known, document):
        return _with_splits(document, known.selection.splits)
    texts = describe()
    named = [
        replace(split, names=tuple(texts.names[split.name]), inputs=tuple(texts.inputs[split.name]))
        for split in chosen
    ]
    candidates = tuple(
        replace(entry, texts=_texts(entry, texts.texts[entry.name], document, known))
        if entry.name in texts.texts and not entry.superseded
        else entry
        for entry in document.candidates
    )
    return replace(_with_splits(document, named), candidates=candidates)


def _with_splits(document: RunDocument, named: Iterable[Split]) -> RunDocument:
    """Let the examples of a selection have the names and inputs that these have."""
    splits = tuple(
        replace(split, names=same.names, inputs=same.inputs)
        for split, same in zip(document.selection.splits, named, strict=True)
    )
    return replace(document, selection=replace(document.selection, splits=splits))


def _has_all_texts(known: RunDocument, document: RunDocument) -> bool:
    """Return True if all that a document has of examples is what was known of them already."""
    before, now = (
        [(split.name, split.lines) for split in each.selection.splits] for each in (known, document)
    )
    fields = [entry for entry in document.candidates if entry.field]
    return (
        before == now
        and known.splits == document.splits
        and all(split.names for split in known.selection.splits)
        and all(entry in known.candidates and _has_texts(entry, document) for entry in fields)
    )


def _has_texts(candidate: StoredCandidate, document: RunDocument) -> bool:
    sizes = {split.name: len(split.lines) for split in document.splits}
    return all(len(candidate.texts.get(name, ())) == size for name, size in sizes.items())


def _texts(
    candidate: StoredCandidate,
    new: Mapping[str, Sequence[str]],
    document: RunDocument,
    known: RunDocument | None,
) -> dict[str, tuple[str, ...]]:
    """Give the digests of a candidate's texts by the lines of each split, new ones over those of before."""
    before = {split.name: split.lines for split in (known.splits if known else ())}
    lines = {split.name: split.lines for split in document.selection.splits}
    texts: dict[str, tuple[str, ...]] = {}
    for split in document.splits:
        name = split.name
        by_line = dict(zip(before.get(name, ()), candidate.texts.get(name, ()), strict=False))
        by_line |= dict(zip(lines.get(name, ()), new.get(name, ()), strict=True))
        texts[name] = tuple(by_line.get(line, "") for line in split.lines)
    return texts


def changed_evaluators(old: RunDocument, new: RunDocument) -> list[str]:
    """Say which evaluators of both are not the same, one line each; also of those that were added."""
    if any(entry.files is None for entry in (*old.selected_evaluators, *new.selected_evaluators)):
        return [_EDITED]
    after = {entry.name: entry for entry in new.selected_evaluators}
    pairs = ((entry, after[entry.name]) for entry in old.selected_evaluators if entry.name in after)
    return [
        f"evaluator {entry.name} {program_change(entry, other)}"
        for entry, other in pairs
        if (entry.sha256, entry.score_range) != (other.sha256, other.score_range)
    ]


def changed_splits(old: RunDocument, new: RunDocument) -> list[str]:
    """Say which splits of both have not the same examples, one line each."""
    after = {split.name: split for split in new.selection.splits}
    pairs = ((split, after[split.name]) for split in old.selection.splits if split.name in after)
    return [
        f"split {split.name} {_split_change(split, other, new.place_word(split.name))}"
        for split, other in pairs
        if (split.lines, split.sha256) != (other.lines, other.sha256)
    ]


def list_changes(changes: Sequence[str]) -> list[str]:
    """Lay out changes for an error's text; of a great many the first."""
    lines = [f"  {line}" for line in changes[:_MOST]]
    if len(changes) > _MOST:
        lines.append(f"  … and {len(changes) - _MOST:,} more")
    return lines


def say_lines(lines: Sequence[int | None]) -> str:
    """Name some lines of changed examples."""
    return ", ".join(map(str, lines[:_SHOWN])) + ("…" if len(lines) > _SHOWN else "")


def program_change(old: StoredProgram, new: StoredProgram) -> str:
    """Say what is not the same in an evaluator, or in a model."""
    return "; ".join(filter(None, _changes(old, new))) or "has changed"


def _changes(old: StoredProgram, new: StoredProgram) -> Iterator[str]:
    changed = [file.name for file in new.files or () if file not in (old.files or ())]
    yield _was(old.text, new.text)
    yield f"has changed: {', '.join(changed)}" if changed else ""
    yield f"had the score range {old.score_range}" if old.score_range != new.score_range else ""


def _was(old: str, new: str) -> str:
    """Say what an evaluator was; where --extract alone is new, that is what differs."""
    added = new.removeprefix(f"{old} ")
    without = f" without {added}" if added != new and added.startswith("--extract ") else ""
    return f"was {old}{without}" if old != new else ""


def _split_change(old: Split, new: Split, counted: str) -> str:
    before = dict(zip(old.lines, old.sha256, strict=True))
    after = dict(zip(new.lines, new.sha256, strict=True))
    changed = [line for line in after if line in before and before[line] != after[line]]
    if changed:
        where = f"{counted} {say_lines(changed)}"
        return f"has {len(changed):,} changed example{'s' * (len(changed) != 1)} ({where})"
    if len(after) == len(before):
        return f"has {len(after):,} examples of other lines"
    return f"has {len(after):,} examples, and had {len(before):,}"
