"""The key of each unit, and which version of what a run compares a record is of.

A version is needed only where something of a run has been replaced by other bytes of the same name: then a
record counts for the version whose key it has, and for none where its example has other bytes by now.
"""

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from itertools import product
from typing import Any, NamedTuple

import orjson

from optimize_eval.base.frozen import frozen
from optimize_eval.store.layout import CellName
from optimize_eval.store.run_document import RunDocument, StoredCandidate, StoredProgram


class Version(NamedTuple):
    """An evaluator or a candidate of certain bytes, and the name that its cells have."""

    shown: str
    sha256: str  # of a candidate that is a field of examples: empty
    texts: Mapping[str, Mapping[int | None, str]] = {}  # by split and line: the digests of such a candidate


def key_of(
    evaluator: str,
    candidate: str,
    task_model: str | None,
    split: str,
    line: int | None,
    example: str,
    repeat: int,
) -> str:
    """Digest a unit; evaluator, candidate and example are the digests of what they are."""
    parts = evaluator, candidate, task_model, split, line, example, repeat
    return hashlib.sha256(orjson.dumps(parts)).hexdigest()


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

    def concern(self, record: Mapping[str, Any]) -> bool:
        """Return True if a record may be of what was replaced."""
        replaced = self.replaced
        return (
            record["evaluator"] in replaced
            or record["candidate"] in replaced
            or record["split"] in replaced
            or record.get("task_model") in replaced
        )

    def find(self, record: Mapping[str, Any]) -> CellName | None:
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
            if key == key_of(evaluator.sha256, text, digest, split, line, example, record["repeat"]):
                return evaluator.shown, candidate.shown, model and model.shown, split
        return None

    def _models_of(self, record: Mapping[str, Any]) -> Sequence[Version | None]:
        name = record.get("task_model")
        return (None,) if name is None else self.models.get(name, (Version(name, name),))


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
