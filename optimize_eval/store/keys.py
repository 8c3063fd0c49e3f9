"""What determines a unit's result, as one digest; and of which version of a candidate or evaluator it is.

A version is needed only where something of a run has been replaced by other bytes of the same name: then a
record counts for the version whose key it has, and for none where its example has other bytes by now.
"""

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from itertools import product
from typing import Any, NamedTuple

import orjson

from optimize_eval.base.frozen import frozen

CellName = tuple[str, str, str | None, str]  # evaluator, candidate, task model, split

TRIMMED = "trimmed"  # of a candidate with blanks at its end: the digest without them

_SHOWN = 8  # of a digest


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


def shown_as(name: str, digest: str) -> str:
    """Name a version that was superseded."""
    return f"{name}@{digest[:_SHOWN]}"


def name_in_cells(entry: Mapping[str, Any]) -> str:
    """Name an evaluator or candidate of run.json as cells do: a superseded one has a name of its own."""
    name = str(entry["name"])
    return shown_as(name, digest_of(entry)) if entry.get("superseded") else name


def digest_of(entry: Mapping[str, Any]) -> str:
    """Digest what an evaluator or candidate of run.json is: its program, its text, or which field has it."""
    if entry.get("field"):
        return hashlib.sha256(f"field {entry['field']}".encode()).hexdigest()
    return str(entry.get("sha256", ""))


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


def versions_of(document: Mapping[str, Any]) -> Versions | None:
    """Read the versions off a run's document; None where nothing was ever replaced."""
    axes = [*document["evaluators"], *document["candidates"], *document.get("models", ())]
    replaced = {str(axis["name"]) for axis in axes if axis.get("superseded") or "sound_since" in axis}
    replaced |= {str(split["name"]) for split in document["splits"] if split.get("superseded")}
    if not replaced:
        return None
    examples = {
        split["name"]: dict(zip(split["lines"], split["sha256"], strict=True)) for split in document["splits"]
    }
    lines = {split["name"]: split["lines"] for split in document["splits"]}
    return Versions(
        evaluators=_by_name(document["evaluators"], {}),
        candidates=_by_name(document["candidates"], lines),
        models=_by_name(document.get("models", ()), {}),
        examples=examples,
        replaced=frozenset(replaced),
    )


def _by_name(entries: Sequence[Mapping[str, Any]], lines: Mapping[str, Any]) -> dict[str, Any]:
    versions: dict[str, list[Version]] = {}
    for entry in sorted(entries, key=lambda one: bool(one.get("superseded"))):  # current ones first
        texts = dict(_texts(entry, lines))
        sha256 = "" if texts else str(entry.get("sha256", ""))
        versions.setdefault(str(entry["name"]), []).append(Version(name_in_cells(entry), sha256, texts))
    return versions


def _texts(entry: Mapping[str, Any], lines: Mapping[str, Any]) -> Iterator[tuple[str, dict[int | None, str]]]:
    for split, digests in (entry.get("texts") or {}).items():
        yield split, dict(zip(lines.get(split, ()), digests, strict=False))
