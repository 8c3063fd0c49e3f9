"""Scores that are on disk: those of a search, read back, and those that other folders have.

What is recorded is not called again, a recorded failure neither: inside a search it is final. From elsewhere,
as for runs (run.begin_or_resume): only scored records, of the same program with the same score range; of
URLs only where the run is named.
"""

from collections import Counter, deque
from collections.abc import Container, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from math import nan
from pathlib import Path
from typing import Any

from optimize_eval.base.documents import JsonDict, JsonMapping
from optimize_eval.base.errors import FailureKind
from optimize_eval.base.evaluator import EvaluatorSpec
from optimize_eval.base.outcome import Failed, Outcome, Scored, Skipped
from optimize_eval.base.protocol import validate_evaluator_payload
from optimize_eval.evaluators.kinds import is_served
from optimize_eval.models.outputs import copy_outputs
from optimize_eval.programs.identity import Identity
from optimize_eval.run.begin_or_resume import replies_reused
from optimize_eval.store import journal
from optimize_eval.store.folder import EVALUATIONS, JOURNAL, MANIFEST, OUTPUTS
from optimize_eval.store.ledger import is_unranked
from optimize_eval.store.listing import read_search
from optimize_eval.store.reusable import damage_noted, folders_of, opened_for_reuse, programs_of

OF_ITS_PLACE = frozenset(  # and what it took, which the search has counted
    ("key", "evaluator", "candidate", "task_model", "split", "line", "repeat", "crc", "usage", "waited")
)


def scored_in(path: Path, keys: Container[str] | None = None) -> Iterator[tuple[str, JsonDict]]:
    """Read the final records of a journal, what was scored or skipped, with their keys: all or the wanted."""
    with suppress(FileNotFoundError):
        for entry in journal.entries(path):
            record = journal.glance(entry.line)
            is_final = record.get("outcome") in {"scored", "skipped"}
            if is_final and (keys is None or record["key"] in keys):
                yield record["key"], journal.decode(entry.line)


def outcome_of(record: JsonMapping) -> Outcome:
    """Read what became of a call."""
    output = record.get("output", "")
    match record["outcome"]:
        case "scored":
            has_label = is_unranked(record)
            return Scored(
                score=nan if has_label else float(record["score"]),
                side_info=record["side_info"],
                seconds=record["seconds"],
                output=output,
                is_unranked=has_label,
            )
        case "failed":
            return Failed(
                kind=FailureKind(record["kind"]),
                message=record["message"],
                hint="",
                stderr=record.get("stderr", ""),
                side_info=record.get("side_info", {}),
                seconds=record["seconds"],
                output=output,
            )
    return Skipped(message=record.get("message", ""), side_info=record.get("side_info", {}), output=output)


Program = tuple[str, str]  # the digest of an evaluator, and its score range


@dataclass(frozen=True, slots=True)
class _PlaceElsewhere:
    """Where a record stands."""

    started_at: str
    path: Path
    offset: int
    length: int


class Elsewhere:
    """What other folders have scored, by key."""

    def __init__(
        self, own: Path, named: Sequence[str], specs: Sequence[EvaluatorSpec], identities: Sequence[Identity]
    ) -> None:
        self._notes: list[str] = []
        self._own = own
        self._looked_into: list[Path] = []
        self._places: dict[str, _PlaceElsewhere] = {}
        self._copied: Counter[Path] = Counter()
        self._ranges = [spec.score_range for spec in specs]
        for folder, is_named in folders_of(own, named):
            wanted = {
                (identity.sha256, str(spec.score_range))
                for spec, identity in zip(specs, identities, strict=True)
                if is_named or not is_served(spec)
            }
            with damage_noted(folder, self._notes, is_named=is_named):
                self._index(folder, wanted, is_named=is_named)

    def copy_replies(self, model: str) -> None:
        """Copy what a model replied there: it teaches here, too, and other evaluators may score it."""
        for folder in self._looked_into:
            if (folder / OUTPUTS).is_file() and (many := copy_outputs(self._own, folder, {model})):
                self._notes.append(replies_reused(many, folder))

    def record(self, key: str, evaluator: int) -> JsonDict | None:
        """Read the record of a call; None where there is none, or its score is none here."""
        where = self._places.get(key)
        if where is None:
            return None
        with where.path.open("rb") as stream:
            stream.seek(where.offset)
            record = journal.decode(stream.read(where.length))
        answer = {**record.get("side_info", {}), "score": record.get("score")}
        if not is_unranked(record) and validate_evaluator_payload(answer, self._ranges[evaluator]):
            return None
        self._copied[where.path.parent] += 1
        return record | {"reused_from": where.path.parent.name}

    def notes(self) -> Iterator[str]:
        """Say what was not looked into, and how much was taken from where."""
        yield from self._notes
        for folder, many in self._copied.items():
            yield f"{many:,} scored call{'s' * (many != 1)} of {folder} reused"

    def _index(self, folder: Path, wanted: set[Program], *, is_named: bool) -> None:
        """Remember where the newest record of each key stands, and nothing of a folder that is damaged."""
        places: dict[str, _PlaceElsewhere] = {}
        sources = list(self._sources(folder, wanted, is_named=is_named))
        if sources and (folder / OUTPUTS).is_file():
            deque(journal.entries(folder / OUTPUTS), maxlen=0)  # replies are copied later
        for path, names in sources:
            for entry in journal.entries(path):
                record = journal.glance(entry.line)
                if record.get("outcome") != "scored" or record["evaluator"] not in names:
                    continue
                key, started_at = str(record["key"]), str(record.get("started_at", ""))
                before = places.get(key) or self._places.get(key)
                if before is None or before.started_at < started_at:
                    places[key] = _PlaceElsewhere(started_at, path, entry.offset, entry.length)
        self._places.update(places)
        self._looked_into += [folder] * bool(sources)

    def _sources(
        self, folder: Path, wanted: set[Program], *, is_named: bool
    ) -> Iterator[tuple[Path, set[str]]]:
        """Give a run's journal and a search's, each with the names of the evaluators that are meant."""
        if (folder / MANIFEST).exists():
            run = opened_for_reuse(folder, self._notes, is_named=is_named)
            if run is None:
                return
            yield folder / JOURNAL, _ours_among(dict(programs_of(run)), wanted)
        search = read_search(folder)
        if search and (folder / EVALUATIONS).is_file():
            evaluators = search.about.get("programs", {})
            yield (
                folder / EVALUATIONS,
                _ours_among({name: [tuple(program)] for name, program in evaluators.items()}, wanted),
            )


def _ours_among(programs: Mapping[str, Sequence[Any]], wanted: set[Program]) -> set[str]:
    """Name the evaluators of another folder that are ours; keys tell their programs apart."""
    return {name for name, ones in programs.items() if wanted & {*ones}}
