"""What was tried on the examples that decide, again: from the journal, run.json and tried.json."""

import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from optimize_eval.audit.axes import Axes, NewestRecords, Record

Where = tuple[str, str | None, str]  # evaluator, task model, split
Texts = dict[str, set[str]]  # by what an example says besides, digests

_MOST_STEPS = 5
_HALF = 0.5  # of the examples
_SETTINGS = ("evaluator", "cluster_by", "on_failure", "margin")


@dataclass
class JournaledTries:
    """All that a folder has of what was tried; candidates are the first 16 letters of their digests."""

    is_run: bool
    digests: dict[str, str]  # of the candidates that are named
    baseline: str
    programs: dict[str, str]
    lines: dict[str, dict[int | None, str]]  # by split: the digests of examples
    now: Record  # settings
    notes: list[tuple[int, Record]]
    scored: dict[Where, list[tuple[int, str, int | None]]] = field(default_factory=dict)
    entries: list[Record] = field(default_factory=list)

    def others(self, where: Where, decides: Where, *, is_strict: bool) -> int:
        """Count the comparisons that enter Holm's method besides those of the command."""
        if not self.is_run:
            return 0
        if where == decides:
            tries = self.count(where)
            return int((comparisons_of(tries) if is_strict else tries["k"]) - tries["named"])
        return len(self._all(where) - {*self.digests.values()})

    def count(self, where: Where) -> Record:
        named = len(self.digests) - 1
        versions = len(self._all(where) - {*self.digests.values()})
        baselines = {self.baseline} | self._each(where, "baseline", "baselines")
        looks = self._each(where, "decided", "looks") - {self._rows(where[2])}
        every = named + versions + 1
        changed, beside = self._changed_settings(where[2]), self._beside()
        return {
            "split": where[2],
            "k": every * (every - 1) if len(baselines) > 1 and named else every - 1,
            "named": named,
            "versions": versions,
            "baselines": len(baselines),
            "steps": len(self._steps(where) - {self.baseline}),
            "look": 1 + len(looks),
            **({"changed": changed} if changed else {}),
            **({"beside": beside} if beside else {}),
        }

    def count_on_test(self, where: Where, winner: str) -> Record:
        """Where val chose, winners alone were ever held against test."""
        winners = {self.digests[winner]} | self._each(where, "confirmed", "confirmed")
        return self.count(where) | {"k": len(winners), "confirmed": len(winners)}

    def _all(self, where: Where) -> set[str]:
        own = {digest for _, digest, _ in self.scored.get(where, ())}
        return own.union(*(entry["candidates"] for entry in self._entries(where)))

    def _each(self, where: Where, key: str, listed: str) -> set[str]:
        own = {note[key] for _, note in self._judged_before(where) if note.get(key)}
        return own.union(*(entry[listed] for entry in self._entries(where)))

    def _judged_before(self, where: Where) -> list[tuple[int, Record]]:
        about = self.programs[where[0]], *where[1:]
        judged = [(offset, note["judged"]) for offset, note in self.notes if note.get("judged")]
        return [
            (offset, note)
            for offset, note in judged
            if (note["evaluator"], note["task_model"], note["split"]) == about
        ]

    def _entries(self, where: Where) -> list[Record]:
        """List the earlier sets that are about the same examples, most of them or what decides."""
        about, split = (self.programs[where[0]], where[1]), where[2]
        entries = [entry for entry in self.entries if (entry["evaluator"], entry["task_model"]) == about]
        shares = [(entry, self._share(entry, split)) for entry in entries]
        return [entry for entry, share in shares if share >= _HALF or (share > 0 and entry["split"] == split)]

    def _share(self, entry: Record, split: str) -> float:
        """Say which share of the examples an earlier set has; a large one keeps its smallest digests."""
        kept = entry["examples"]
        end = kept[-1] if len(kept) < entry["n"] else "~"
        own = {digest[:16] for digest in self.lines[split].values() if digest[:16] <= end}
        return len(own.intersection(kept)) / len(own) if own else 0.0

    def _rows(self, split: str) -> str:
        numbers = sorted(line if line is not None else 0 for line in self.lines[split])
        return _sha256(json.dumps(numbers, separators=(",", ":")))[:16]

    def _steps(self, where: Where) -> set[str]:
        """List who came after a session that showed results of at least half of the examples."""
        scored = self.scored.get(where, [])
        first = {digest: offset for offset, digest, _ in sorted(scored, key=lambda row: row[0], reverse=True)}
        entries = self._entries(where)
        seen = [entry for entry in entries if entry["shown"] and self._share(entry, where[2]) >= _HALF]
        known = {digest for entry in entries for digest in entry["candidates"]}
        steps = {digest for entry in seen for digest in entry["steps"]}
        for shown, _ in self._judged_before(where):
            rows = {line for offset, _, line in scored if offset < shown}
            if len(rows) * 2 >= len(self.lines[where[2]]):
                steps |= {digest for digest, offset in first.items() if offset > shown} - known
        if seen:
            steps |= first.keys() - known
        return steps - {digest for _, note in self.notes for digest in note.get("finalists", ())}

    def _changed_settings(self, split: str) -> list[Record]:
        changed: dict[tuple[str, Any], str] = {}
        for _, record in self.notes:
            note = record.get("judged")
            if note and note["split"] == split:
                date, name = record["shown_at"][:10], self.now["evaluator"]
                changed |= {(key, was): date for key, was in note["settings"].items() if was != self.now[key]}
                if note["settings"]["evaluator"] == name and note["evaluator"] != self.programs[name]:
                    changed["evaluator", "another program"] = date
        return [
            {"setting": name, "was": "none" if was is None else str(was), "until": date}
            for name in _SETTINGS
            for (setting, was), date in changed.items()
            if setting == name
        ]

    def _beside(self) -> list[Record]:
        listed = [note["beside"] for _, note in self.notes if "beside" in note]
        return list(listed[-1]) if listed else []


def is_steered(tries: Record | None) -> bool:
    return tries is not None and tries["steps"] > _MOST_STEPS


def comparisons_of(tries: Record | None) -> int:
    """Count what a verdict is corrected for; another look is one at all candidates, a step at its own."""
    if not tries:
        return 1
    k, looks, steps = tries["k"], tries["look"] - 1, tries["steps"]
    charge = (looks + steps + 1) * (looks + steps + 2)
    if looks:
        return int(k * charge)
    return max(k, charge) if steps else int(k)


def read_tries(folder: Path, axes: Axes, newest: NewestRecords) -> JournaledTries:
    """Read them: what is scored of each version of a candidate, what was shown, and tried.json."""
    document, settings = axes.document, axes.settings
    first = axes.entries[0]["name"]
    digests = {candidate["name"]: _name_of(candidate) for candidate in axes.candidates}
    tries = JournaledTries(
        is_run=document.get("kind", "run") == "run" and not settings.get("bench"),
        digests=digests,
        baseline=digests[axes.baseline],
        programs={entry["name"]: entry.get("sha256", "")[:16] for entry in axes.entries},
        lines={split["name"]: _values(split, settings) for split in axes.splits},
        now={
            "evaluator": first,
            "cluster_by": axes.cluster_by,
            "on_failure": settings.get("on_failure"),
            "margin": settings.get("margins", {}).get(first),
        },
        notes=newest.notes,
    )
    _enter_scored(tries, newest)
    if (folder / "tried.json").is_file():
        entries = json.loads((folder / "tried.json").read_bytes())["entries"]
        tries.entries = _with_versions_named(entries, _texts_now(document, settings))
    return tries


def _enter_scored(tries: JournaledTries, newest: NewestRecords) -> None:
    units: dict[tuple[Any, ...], tuple[int, bool]] = {}
    for offset, record, version in newest.outcomes:
        if record["evaluator"] in tries.programs and record.get("line") in tries.lines.get(
            record["split"], {}
        ):
            where = record["evaluator"], record.get("task_model"), record["split"]
            unit = where, _name_of(version), record.get("line"), record["repeat"], record["candidate"]
            units[unit] = offset, record["outcome"] == "scored"
    for (where, digest, line, *_), (offset, is_scored) in units.items():
        if is_scored:
            tries.scored.setdefault(where, []).append((offset, digest, line))


def _texts_now(document: Record, settings: Record) -> dict[str, Texts]:
    """Give by field what its examples have there now, by what else these say."""
    now: dict[str, Texts] = {}
    for candidate in document["candidates"]:
        texts = now.setdefault(_name_of(candidate), {}) if candidate.get("field") else {}
        for split in document["splits"]:
            written = candidate.get("texts", {}).get(split["name"], [])
            for value, digest in zip(_values(split, settings).values(), written, strict=False):
                texts.setdefault(value[:16], set()).update([digest[:16]] if digest else [])
    return now


def _with_versions_named(entries: Sequence[Record], now: dict[str, Texts]) -> list[Record]:
    """Let what was tried of a field, where no text of the same example differs, be one candidate."""
    known = [(name, name, texts) for name, texts in now.items()]
    names: dict[str, str] = {}
    for entry in reversed(entries):
        for version, (name, listed) in entry.get("texts", {}).items():
            texts = {value: set(those) for value, those in zip(entry["examples"], listed, strict=True)}
            same = [as_now for as_now, other, those in known if other == name and _agree(texts, those)]
            names.setdefault(version, same[0] if same else version)
            known.append((names[version], name, texts))
    keys = ("candidates", "steps", "baselines", "confirmed")
    return [
        {**entry, **{key: [names.get(digest, digest) for digest in entry[key]] for key in keys}}
        for entry in entries
    ]


def _agree(some: Texts, others: Texts) -> bool:
    shared = some.keys() & others.keys()
    return bool(shared) and all(some[at] <= others[at] or others[at] <= some[at] for at in shared)


def _values(split: Record, settings: Record) -> dict[int | None, str]:
    """Give the digest of what each line says, as run.json has it, else that of its bytes."""
    known = dict(settings.get("overlaps", {}).get(split["name"], {}).get("values", ()))
    return {
        line: known.get(line, digest) for line, digest in zip(split["lines"], split["sha256"], strict=True)
    }


def _name_of(candidate: Record) -> str:
    """Give the first letters of what a candidate is: a field, a text without blanks at its end, or bytes."""
    if candidate.get("field"):
        return _sha256(f"field {candidate['field']}")[:16]
    if "text" in candidate:
        return _sha256(candidate["text"].rstrip())[:16]
    return str(candidate.get("trimmed", candidate.get("sha256", "")))[:16] or str(candidate["name"])


def _sha256(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()
