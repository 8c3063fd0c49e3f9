"""A run that grows: what a command names joins what the run has; only what contradicts it is refused.

Nothing is taken away: what a command no longer names, and versions that others have superseded, keep their
records. Whether an evaluator has scored is a question to the ledger. Inputs have names and starts for people;
candidates that are fields of examples have digests, for keys.
"""

import shlex
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from optimize_eval.base.errors import UsageError
from optimize_eval.base.frozen import frozen
from optimize_eval.store.layout import MOST_UNITS, digest_of, shown_as
from optimize_eval.store.ledger import Ledger
from optimize_eval.store.manifest import evaluator_change, list_differences, place_word
from optimize_eval.store.run_document import Document, cell_name, cell_of, cells_among, current

_TASK = "task:"  # what the text of an evaluator begins with that scores by a task
_IN_YAML = (".yaml", ".yml")


def kind_of(evaluator: Mapping[str, Any]) -> str:
    return "scorer" if evaluator["text"].startswith(_TASK) else "evaluator"


def contradiction(changes: Mapping[str, str], texts: Iterable[str]) -> UsageError:
    """Refuse changes, by the names of what is another now; `texts` are those of the evaluators among them."""
    options = " ".join(f"--replace {shlex.quote(name)}" for name in changes)
    head, call = _words(list(texts))
    return UsageError(
        "\n".join([head, *list_differences([*changes.values()])]),
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


Entry = Mapping[str, Any]

_SHOWN = 3  # lines of changed examples


@dataclass(slots=True, kw_only=True, eq=False, repr=False)
class Growth:
    """What joins a run, step by step."""

    known: Document
    wanted: Document
    past: Callable[[], Ledger]  # what the run has recorded; read only where it matters
    replace: Collection[str] = ()
    notes: list[str] = field(default_factory=list)
    renamed: dict[tuple[str, str], str] = field(default_factory=dict)  # cells of versions, by axis and name

    def document(self) -> Document:
        """Put both together; raises UsageError where they contradict each other."""
        _check_kind(self.known["kind"], self.wanted["kind"])
        grown = {
            **self.known,
            "evaluators": self._evaluators(),
            "candidates": self._candidates(),
            "task_models": _union(self.known["task_models"], self.wanted["task_models"]),
            **self._models(),
            "splits": self._splits(),
            "repeats": max(self.known["repeats"], self.wanted["repeats"]),
            "selection": self.wanted["selection"],
            "settings": self.wanted["settings"],
        }
        _check_names(grown)
        return {**grown, "cells": self._cells(grown)}

    def _evaluators(self) -> list[Entry]:
        entries = list(self.known["evaluators"])
        now = current(entries)
        refused: dict[str, str] = {}
        for evaluator in self.wanted["evaluators"]:
            name = evaluator["name"]
            old = now.get(name)
            if old is None:
                entries.append(evaluator)
            elif _is_same_evaluator(old, evaluator) and not self._is_to_be_called_anew(name):
                if self._is_replaced(name):
                    self.notes.append(f"{name} is what the run has already: --replace calls none of it again")
                entries[entries.index(old)] = _for_splits_of(old, evaluator)
            elif self._is_replaced(name) or self.past().is_unused(name):
                entries = self._with_evaluator(entries, old, evaluator)
            else:
                refused[name] = f"{kind_of(evaluator)} {name} {evaluator_change(old, evaluator)}"
        if refused:
            texts = [entry["text"] for entry in self.wanted["evaluators"] if entry["name"] in refused]
            raise contradiction(refused, texts)
        return entries

    def _is_replaced(self, name: str) -> bool:
        return name in self.replace or f"evaluator:{name}" in self.replace

    def _is_to_be_called_anew(self, name: str) -> bool:
        """Return True if an unchanged evaluator is to be called again: its program changed meanwhile."""
        return self._is_replaced(name) and name in self.past().changed

    def _with_evaluator(self, entries: Sequence[Entry], old: Entry, one: Entry) -> list[Entry]:
        """Put an evaluator in another's place; the old one stays if its scores can be told apart."""
        name, digest, ledger = one["name"], one["sha256"], self.past()
        has_scored, is_other = not ledger.is_unused(name), old.get("sha256") != digest
        stays = has_scored and is_other and name not in ledger.changed
        others = [entry for entry in entries if entry is not old]
        again = next(
            (entry for entry in others if (entry["name"], entry.get("sha256")) == (name, digest)), None
        )
        if stays:
            others.append({**old, "superseded": True})
            self.renamed["evaluator", name] = shown_as(name, str(old.get("sha256")))
        if again:
            others = [entry for entry in others if entry is not again]
            self.renamed["evaluator", shown_as(name, digest)] = name
            if _is_same_evaluator(again, one):
                self.notes.append(f"{name} is what it was before: its scores from then count again")
                return [*others, {**_for_splits_of(_in_force(again), one), "sound_since": ledger.end}]
        self.notes.append(_about_evaluator(name, has_scored=has_scored, is_other=is_other))
        return [*others, {**one, ("sound_since" if stays and not again else "since"): ledger.end}]

    def _candidates(self) -> list[Entry]:
        entries = {
            (candidate["name"], digest_of(candidate)): candidate for candidate in self.known["candidates"]
        }
        now = current(self.known["candidates"])
        for entry in self.wanted["candidates"]:
            old = now.get(entry["name"])
            if old is None:
                entries[entry["name"], digest_of(entry)] = entry
            elif digest_of(old) != digest_of(entry):
                self._supersede(entries, old, entry)
        return [*entries.values()]

    def _supersede(
        self, entries: dict[tuple[str, str], Entry], old: Entry, one: Entry, axis: str = "candidate"
    ) -> None:
        """Let another candidate or model supersede one; what was there before finds its records again."""
        what = axis.removeprefix("task_")
        name, digest, before = one["name"], digest_of(one), digest_of(old)
        former = shown_as(name, before)
        again = entries.pop((name, digest), None)
        self.renamed[axis, name] = former
        if again:
            self.renamed[axis, shown_as(name, digest)] = name
            again = {**again, **{key: one[key] for key in ("sound_since",) if key in one}}
            self.notes.append(f"{what} {name} is what it was before: its scores from then count again")
        else:
            self.notes.append(f"{what} {name} has changed: the old one keeps its scores as {former}")
        del entries[name, before]  # it comes to the end
        entries[name, before] = {**old, "superseded": True}
        entries[name, digest] = _in_force(again) if again else one

    def _models(self) -> dict[str, list[Entry]]:
        """Let other models of the same name take the place of those that are there, where that is wanted."""
        entries = {(model["name"], model["sha256"]): model for model in self.known.get("models", ())}
        now, refused = current(self.known.get("models", ())), dict[str, str]()
        for entry in self.wanted.get("models", ()):
            old = now.get(entry["name"])
            if old is None:
                entries[entry["name"], entry["sha256"]] = entry
            elif old["sha256"] == entry["sha256"]:
                if self._is_model_replaced(entry["name"]):
                    entries[entry["name"], entry["sha256"]] = {**old, **self._sound_again(entry["name"])}
            elif self._is_model_replaced(entry["name"]) or not self.past().is_scored(entry["name"]):
                self._supersede(entries, old, {**entry, **self._sound_again(entry["name"])}, "task_model")
            else:
                refused[f"model:{entry['name']}"] = f"model {entry['name']} {evaluator_change(old, entry)}"
        if refused:
            raise contradiction(refused, [])
        return {"models": [*entries.values()]} if entries else {}

    def _is_model_replaced(self, name: str) -> bool:
        return name in self.replace or f"model:{name}" in self.replace

    def _sound_again(self, model: str) -> dict[str, int]:
        """Forget that a model's program changed while it was called: it is another one from here on."""
        return {"sound_since": self.past().end} if model in self.past().changed_models else {}

    def _splits(self) -> list[Entry]:
        splits = {split["name"]: split for split in self.known["splits"]}
        for entry in self.wanted["splits"]:
            old = splits.get(entry["name"])
            is_known = old and old["lines"] == entry["lines"] and old["sha256"] == entry["sha256"]
            if not is_known:
                splits[entry["name"]] = self._with_lines(old, entry) if old else entry
        return list(splits.values())

    def _with_lines(self, old: Entry, one: Entry) -> Entry:
        lines, digests = list(old["lines"]), list(old["sha256"])
        places = {line: index for index, line in enumerate(lines)}
        former = dict.fromkeys(map(tuple, old.get("superseded", ())))
        changed = []
        for line, digest in zip(one["lines"], one["sha256"], strict=True):
            index = places.get(line)
            if index is None:
                lines.append(line)
                digests.append(digest)
            elif digests[index] != digest:
                former[line, digests[index]] = None
                former.pop((line, digest), None)
                digests[index] = digest
                changed.append(line)
        if changed:
            self.notes.append(_about_lines(old["name"], place_word(self.wanted, old["name"]), changed))
        superseded = {"superseded": [list(pair) for pair in former]} if former else {}
        return {"name": old["name"], "lines": lines, "sha256": digests, **superseded}

    def _cells(self, grown: Document) -> list[dict[str, Any]]:
        """List the cells that are there, by the names that versions have now, then those that come."""
        there = {cell_name(cell): cell for cell in map(self._renamed, self.known["cells"])}
        chosen = self.wanted["selection"]
        names = [split["name"] for split in chosen["splits"]]
        entries = current(grown["evaluators"])
        axes = chosen["candidates"], chosen["task_models"], names
        evaluators = [entries[name] for name in chosen["evaluators"]]
        new = [name for name in cells_among(evaluators, *axes) if name not in there]
        sizes = {split["name"]: len(split["lines"]) * grown["repeats"] for split in grown["splits"]}
        _check_size(sum(sizes[name[3]] for name in (*there, *new)))
        return [*there.values(), *(cell_of(name, (0, 0, 0, sizes[name[3]])) for name in new)]

    def _renamed(self, cell: dict[str, Any]) -> dict[str, Any]:
        if not self.renamed:
            return cell
        names = {
            axis: self.renamed.get((axis, cell[axis]), cell[axis])
            for axis in ("evaluator", "candidate", "task_model")
        }
        return {**cell, **names}


def _is_same_evaluator(one: Entry, other: Entry) -> bool:
    return (one.get("sha256"), one["score_range"]) == (other.get("sha256"), other["score_range"])


def _for_splits_of(old: Entry, one: Entry) -> dict[str, Any]:
    """Let what is the same be for those splits that were named last; all of them, where none was."""
    kept = {key: value for key, value in old.items() if key != "splits"}
    return kept | {key: one[key] for key in ("splits",) if key in one}


def _in_force(entry: Entry) -> dict[str, Any]:
    return {key: value for key, value in entry.items() if key != "superseded"}


def _union(present: Sequence[Any], wanted: Iterable[Any]) -> list[Any]:
    return [*present, *(item for item in wanted if item not in present)]


def _about_evaluator(name: str, *, has_scored: bool, is_other: bool) -> str:
    if not has_scored:
        return f"{name} has changed and had scored nothing: what it failed or skipped is called again"
    how = "is another program now" if is_other else "is called again"
    return f"{name} {how}: its earlier scores stay in the journal"


def _about_lines(split: str, what: str, lines: Sequence[int | None]) -> str:
    some = ", ".join(map(str, lines[:_SHOWN])) + ("…" if len(lines) > _SHOWN else "")
    examples = f"{len(lines):,} example{'s' * (len(lines) != 1)}"
    return f"{examples} of {split} changed ({what} {some}): what was scored before stays in the journal"


def _check_kind(known: str, wanted: str) -> None:
    if known != wanted:
        raise UsageError(
            f"the folder has a {known}, which a {wanted} cannot extend",
            hint="choose another folder with --out",
        )


def _check_names(document: Document) -> None:
    """Refuse a candidate with the name of what another was: their cells would be the same."""
    now = current(document["candidates"])
    for candidate in document["candidates"]:
        name = shown_as(candidate["name"], digest_of(candidate))
        if candidate.get("superseded") and name in now:
            raise UsageError(
                f"candidate {name}: so the run calls what {candidate['name']} was earlier",
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
    document: Document, known: Document | None, describe: Callable[[], ExampleTexts] | None
) -> Document:
    """Put into a document what it has of examples besides digests, made only where that is not known."""
    chosen = document["selection"]
    if describe is None or all("names" in split for split in chosen["splits"]):
        return document
    if known and _has_all_texts(known, document):
        pairs = zip(chosen["splits"], known["selection"]["splits"], strict=True)
        splits = [{**split, "names": old["names"], "inputs": old["inputs"]} for split, old in pairs]
        return {**document, "selection": {**chosen, "splits": splits}}
    texts = describe()
    splits = [
        {**split, "names": list(texts.names[split["name"]]), "inputs": list(texts.inputs[split["name"]])}
        for split in chosen["splits"]
    ]
    lines = {split["name"]: split["lines"] for split in chosen["splits"]}
    candidates = [
        {
            **candidate,
            "texts": _texts(candidate, texts.texts[candidate["name"]], lines, document["splits"], known),
        }
        if candidate["name"] in texts.texts and not candidate.get("superseded")
        else candidate
        for candidate in document["candidates"]
    ]
    return {**document, "candidates": candidates, "selection": {**chosen, "splits": splits}}


def _has_all_texts(known: Document, document: Document) -> bool:
    """Return True if all that a document has of examples is what was known of them already."""
    before, now = (
        [(split["name"], split["lines"]) for split in each["selection"]["splits"]]
        for each in (known, document)
    )
    return (
        before == now
        and known["splits"] == document["splits"]
        and all("names" in split for split in known["selection"]["splits"])
        and all(
            candidate in known["candidates"] for candidate in document["candidates"] if candidate.get("field")
        )
        and all(
            _has_texts(candidate, document) for candidate in document["candidates"] if candidate.get("field")
        )
    )


def _has_texts(one: Entry, document: Document) -> bool:
    texts = one.get("texts") or {}
    sizes = {split["name"]: len(split["lines"]) for split in document["splits"]}
    return all(len(texts.get(name, ())) == size for name, size in sizes.items())


def _texts(
    one: Entry,
    new: Mapping[str, Sequence[str]],
    lines: Mapping[str, Sequence[int | None]],
    splits: Sequence[Entry],
    known: Document | None,
) -> dict[str, list[str]]:
    """Give the digests of a candidate's texts by the lines of each split, new ones over those of before."""
    before = {split["name"]: split["lines"] for split in (known["splits"] if known else ())}
    texts: dict[str, list[str]] = {}
    for split in splits:
        name = split["name"]
        by_line = dict(zip(before.get(name, ()), (one.get("texts") or {}).get(name, ()), strict=False))
        by_line |= dict(zip(lines.get(name, ()), new.get(name, ()), strict=True))
        texts[name] = [by_line.get(line, "") for line in split["lines"]]
    return texts
