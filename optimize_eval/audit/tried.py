"""What was tried on the examples that decide, again: from the journal, run.json and tried.json."""

import hashlib
import json
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

Where = tuple[str, str | None, str]  # evaluator, task model, split
Note = dict[str, Any]
Texts = dict[str, set[str]]  # by what an example says besides, digests

_MOST_STEPS = 5
_SETTINGS = ("evaluator", "cluster_by", "on_failure", "margin")


@dataclass
class JournaledTries:
    """All that a folder has of what was tried; candidates are the first 16 letters of their digests."""

    is_run: bool
    digests: dict[str, str]  # of the candidates that are named
    baseline: str
    programs: dict[str, str]
    lines: dict[str, dict[int | None, str]]  # by split: the digests of examples
    now: dict[str, Any]  # settings
    scored: dict[Where, list[tuple[int, str, int | None]]] = field(default_factory=dict)
    notes: list[tuple[int, Note]] = field(default_factory=list)
    entries: list[Note] = field(default_factory=list)

    def others(self, where: Where, decides: Where, *, is_strict: bool) -> int:
        """Count the comparisons that enter Holm's method besides those of the command."""
        if not self.is_run:
            return 0
        if where == decides:
            told = self.told(where)
            return int((comparisons_of(told) if is_strict else told["k"]) - told["named"])
        return len(self._all(where) - {*self.digests.values()})

    def told(self, where: Where) -> Note:
        named = len(self.digests) - 1
        versions = len(self._all(where) - {*self.digests.values()})
        baselines = {self.baseline} | self._each(where, "baseline", "baselines")
        looks = self._each(where, "decided", "looks") - {self._rows(where[2])}
        every = named + versions + 1
        changed, beside = self._changed(where[2]), self._beside()
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

    def told_on_test(self, where: Where, winner: str) -> Note:
        """Where val chose, winners alone were ever held against test."""
        winners = {self.digests[winner]} | self._each(where, "confirmed", "confirmed")
        return self.told(where) | {"k": len(winners), "confirmed": len(winners)}

    def _all(self, where: Where) -> set[str]:
        own = {digest for _, digest, _ in self.scored.get(where, ())}
        return own.union(*(entry["candidates"] for entry in self._entries(where)))

    def _each(self, where: Where, key: str, listed: str) -> set[str]:
        own = {note[key] for _, note in self._shown(where) if note.get(key)}
        return own.union(*(entry[listed] for entry in self._entries(where)))

    def _shown(self, where: Where) -> list[tuple[int, Note]]:
        about = self.programs[where[0]], *where[1:]
        shown = [(at, one["judged"]) for at, one in self.notes if one.get("judged")]
        return [
            (at, note)
            for at, note in shown
            if (note["evaluator"], note["task_model"], note["split"]) == about
        ]

    def _entries(self, where: Where) -> list[Note]:
        about = self.programs[where[0]], where[1]
        entries = [one for one in self.entries if (one["evaluator"], one["task_model"]) == about]
        shares = [(one, self._share(one, where[2])) for one in entries]
        return [one for one, share in shares if share >= 0.5 or (share > 0 and one["split"] == where[2])]  # noqa: PLR2004

    def _share(self, entry: Note, split: str) -> float:
        """Say which share of the examples an earlier set has; a large one keeps its smallest digests."""
        kept = entry["examples"]
        end = kept[-1] if len(kept) < entry["n"] else "~"
        own = {digest[:16] for digest in self.lines[split].values() if digest[:16] <= end}
        return len(own.intersection(kept)) / len(own) if own else 0.0

    def _rows(self, split: str) -> str:
        numbers = sorted(line if line is not None else 0 for line in self.lines[split])
        return hashlib.sha256(json.dumps(numbers, separators=(",", ":")).encode()).hexdigest()[:16]

    def _steps(self, where: Where) -> set[str]:
        """List who came after a session that showed results of at least half of the examples."""
        first = {digest: at for at, digest, _ in sorted(self.scored.get(where, ()), reverse=True, key=_at)}
        seen = [one for one in self._entries(where) if one["shown"] and self._share(one, where[2]) >= 0.5]  # noqa: PLR2004
        known = {digest for one in self._entries(where) for digest in one["candidates"]}
        steps = {digest for one in seen for digest in one["steps"]}
        for at, _ in self._shown(where):
            rows = {line for offset, _, line in self.scored.get(where, ()) if offset < at}
            if len(rows) * 2 >= len(self.lines[where[2]]):
                steps |= {digest for digest, offset in first.items() if offset > at} - known
        if seen:
            steps |= first.keys() - known
        return steps - {digest for _, one in self.notes for digest in one.get("finalists", ())}

    def _changed(self, split: str) -> list[Note]:
        told: dict[tuple[str, Any], str] = {}
        for _, one in self.notes:
            note = one.get("judged")
            if note and note["split"] == split:
                date, name = one["shown_at"][:10], self.now["evaluator"]
                told |= {(key, was): date for key, was in note["settings"].items() if was != self.now[key]}
                if note["settings"]["evaluator"] == name and note["evaluator"] != self.programs[name]:
                    told["evaluator", "another program"] = date
        return [
            {"setting": name, "was": "none" if was is None else str(was), "until": date}
            for name in _SETTINGS
            for (setting, was), date in told.items()
            if setting == name
        ]

    def _beside(self) -> list[Note]:
        listed = [one["beside"] for _, one in self.notes if "beside" in one]
        return list(listed[-1]) if listed else []


def is_steered(told: Note | None) -> bool:
    return told is not None and told["steps"] > _MOST_STEPS


def comparisons_of(told: Note | None) -> int:
    """Count what a verdict is corrected for; another look is one at all candidates, a step at its own."""
    if not told:
        return 1
    k, looks, steps = told["k"], told["look"] - 1, told["steps"]
    charge = (looks + steps + 1) * (looks + steps + 2)
    if looks:
        return int(k * charge)
    return max(k, charge) if steps else int(k)


def _at(scored: tuple[int, str, int | None]) -> int:
    return scored[0]


def tried_in(folder: Path, manifest: dict[str, Any], lines: Iterable[tuple[int, Note]]) -> JournaledTries:
    """Read them; records of what has other bytes by now are told by their keys."""
    document = json.loads((folder / "run.json").read_bytes())
    settings = document.get("settings", {})
    names = [*manifest["evaluators"], *manifest["additions"]]
    first = names[0]["name"]
    digests = {one["name"]: _digest(one)[:16] or one["name"] for one in manifest["candidates"]}
    tries = JournaledTries(
        is_run=document.get("kind", "run") == "run" and not settings.get("bench"),
        digests=digests,
        baseline=digests[manifest["baseline"]],
        programs={entry["name"]: entry.get("sha256", "")[:16] for entry in names},
        lines={split["name"]: _values(split, settings) for split in manifest["splits"]},
        now={
            "evaluator": first,
            "cluster_by": manifest["cluster_by"],
            "on_failure": settings.get("on_failure"),
            "margin": settings.get("margins", {}).get(first),
        },
    )
    since = {entry["name"]: entry.get("since", 0) for entry in names}
    version_of = _versions(document, {entry["name"]: entry for entry in names})
    newest: dict[tuple[Any, ...], tuple[int, bool]] = {}
    for offset, record in lines:
        if {"judged", "finalists", "beside"}.intersection(record):
            tries.notes.append((offset, record))
        if "outcome" not in record or offset < since.get(record["evaluator"], offset + 1):
            continue
        digest = version_of(record)
        if digest is not None and record.get("line") in tries.lines.get(record["split"], {}):
            where = record["evaluator"], record.get("task_model"), record["split"]
            unit = where, digest, record.get("line"), record["repeat"], record["candidate"]
            newest[unit] = offset, record["outcome"] == "scored"
    for (where, digest, line, *_), (offset, is_scored) in newest.items():
        if is_scored:
            tries.scored.setdefault(where, []).append((offset, digest, line))
    if (folder / "tried.json").is_file():
        entries = json.loads((folder / "tried.json").read_bytes())["entries"]
        tries.entries = _with_versions_named(entries, _texts_now(document, settings))
    return tries


def _texts_now(document: Note, settings: Note) -> dict[str, Texts]:
    """Give by field what its examples have there now, by what else these say."""
    now: dict[str, Texts] = {}
    for candidate in document["candidates"]:
        texts = now.setdefault(_digest(candidate)[:16], {}) if candidate.get("field") else {}
        for split in document["splits"]:
            written = candidate.get("texts", {}).get(split["name"], [])
            for value, digest in zip(_values(split, settings).values(), written, strict=False):
                texts.setdefault(value[:16], set()).update([digest[:16]] if digest else [])
    return now


def _with_versions_named(entries: list[Note], now: dict[str, Texts]) -> list[Note]:
    """Let what was tried of a field, where no text of the same example differs, be one candidate."""
    known = [(name, name, texts) for name, texts in now.items()]
    names: dict[str, str] = {}
    for entry in reversed(entries):
        for version, (name, listed) in entry.get("texts", {}).items():
            texts = {value: set(those) for value, those in zip(entry["examples"], listed, strict=True)}
            same = [one for one, other, those in known if other == name and _agree(texts, those)]
            names.setdefault(version, same[0] if same else version)
            known.append((names[version], name, texts))
    keys = ("candidates", "steps", "baselines", "confirmed")
    return [{**one, **{key: [names.get(it, it) for it in one[key]] for key in keys}} for one in entries]


def _agree(some: Texts, others: Texts) -> bool:
    shared = some.keys() & others.keys()
    return bool(shared) and all(some[one] <= others[one] or others[one] <= some[one] for one in shared)


def _values(split: Note, settings: Note) -> dict[int | None, str]:
    """Give the digest of what each line says, as run.json has it, else that of its bytes."""
    known = dict(settings.get("overlaps", {}).get(split["name"], {}).get("values", ()))
    return {
        line: known.get(line, digest) for line, digest in zip(split["lines"], split["sha256"], strict=True)
    }


def _digest(candidate: Note) -> str:
    if candidate.get("field"):
        return hashlib.sha256(f"field {candidate['field']}".encode()).hexdigest()
    if "text" in candidate:
        return hashlib.sha256(candidate["text"].rstrip().encode()).hexdigest()
    return str(candidate.get("trimmed", candidate.get("sha256", "")))


def _versions(document: Note, evaluators: dict[str, Note]) -> Callable[[Note], str | None]:
    """Find of which version of a candidate a record is; None where its example or model is a former one."""
    axes = (
        *document["evaluators"],
        *document["candidates"],
        *document["splits"],
        *document.get("models", ()),
    )
    former = {one["name"] for one in axes if one.get("superseded") or "sound_since" in one}
    models = {one["name"]: one["sha256"] for one in document.get("models", ()) if not one.get("superseded")}
    rows = {
        split["name"]: {
            line: (n, digest)
            for n, (line, digest) in enumerate(zip(split["lines"], split["sha256"], strict=True))
        }
        for split in document["splits"]
    }

    def version_of(record: Note) -> str | None:
        split, line, model = record["split"], record.get("line"), record.get("task_model")
        named = [one for one in document["candidates"] if one["name"] == record["candidate"]]
        if not former.intersection((record["evaluator"], record["candidate"], split, model)):
            return _digest(named[0])[:16] or str(named[0]["name"]) if named else None
        place, example = rows[split][line]
        for one in named:
            texts = one.get("texts", {}).get(split, [])
            text = texts[place] if place < len(texts) else one.get("sha256", "")
            program = evaluators.get(record["evaluator"], {}).get("sha256")
            unit = [program, text, models.get(model, model), split, line, example, record["repeat"]]
            written = json.dumps(unit, ensure_ascii=False, separators=(",", ":"))
            if hashlib.sha256(written.encode()).hexdigest() == record["key"]:
                return _digest(one)[:16]
        return None

    return version_of
