"""What was recorded, by cell: outcomes of each example, rows left out, what replies say of themselves."""

import hashlib
import json
import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import product
from pathlib import Path
from typing import Any

from optimize_eval.audit.axes import Records, newest_records, read_axes
from optimize_eval.audit.leaks import contents_of, counting, leaked_in, overlaps_again
from optimize_eval.audit.numerics import Labels, average, joined
from optimize_eval.audit.tried import JournaledTries, is_steered, tried_in

Record = dict[str, Any]
RecordsByUnit = dict[tuple[Any, ...], Record]  # by evaluator, task model, split, candidate, line and repeat


_OUTCOMES = r"\b(scores|solver_output)\b"


def skip_excluded(records: RecordsByUnit, manifest: Record, notes: list[Record]) -> bool:
    """Turn the records of rows that are left out; true where rules were not applied yet to some rows."""
    waits = False
    for task in manifest.get("settings", {}).get("tasks", ()):
        if task.get("actions"):
            rules = hashlib.sha256(_json(task["actions"])).hexdigest()
            of_outcomes = {
                one["key"] for one in task["actions"] if re.search(_OUTCOMES, json.dumps(one["filter"]))
            }
            applied = {one["rows"]: one for one in notes if one["rules"] == rules}
            waits = _skip(records, manifest, task, applied, of_outcomes) or waits
    return waits


def _skip(
    records: RecordsByUnit, manifest: Record, task: Record, applied: dict[str, Record], of_outcomes: set[str]
) -> bool:
    waits = False
    keys = {scorer["evaluator"]: scorer["key"] for scorer in task["scorers"]}
    entries = [*manifest["evaluators"], *manifest["additions"]]
    for split in manifest["splits"]:
        for candidate in manifest["candidates"]:
            for model in manifest["task_models"]:
                scorers = [
                    entry
                    for entry in entries
                    if entry["name"] in keys and split["name"] in entry.get("splits", [split["name"]])
                ]
                where = (model, split["name"], candidate["name"])
                digest = _digest(records, where, split, manifest["repeats"], scorers, keys)
                waits = waits or bool(scorers and digest not in applied)
                for rule, places in applied.get(digest, {}).get("excluded_by", {}).items():
                    for line, repeat in places:
                        for scorer in scorers:
                            record = records.get((scorer["name"], *where, line, repeat), {})
                            _turn(record, rule)
                            record["by_outcome"] = record.get("by_outcome", False) or rule in of_outcomes
    return waits


def _turn(record: Record, rule: str) -> None:
    if record.get("outcome") == "scored":
        record |= {"outcome": "skipped", "message": f"left out by {rule}", "excluded_by": [rule]}
    elif record.get("outcome") == "skipped" and record.get("score") is not None:
        record["message"] += f", {rule}"  # of another rule, too
        record["excluded_by"].append(rule)


def _digest(
    records: RecordsByUnit,
    where: tuple[Any, ...],
    split: Record,
    repeats: int,
    scorers: list[Record],
    keys: dict[str, str],
) -> str:
    model, name, candidate = where
    about = [candidate, model, name, [[keys[scorer["name"]], scorer.get("sha256")] for scorer in scorers]]
    digest = hashlib.sha256(_json([about, split["sha256"]]))
    for line in split["lines"]:
        for repeat in range(1, repeats + 1):
            told = dict(_told(records, (*where, line, repeat), scorers, keys))
            if told:
                digest.update(_json([line, repeat, told]))
    return digest.hexdigest()


def _told(
    records: RecordsByUnit, unit: tuple[Any, ...], scorers: list[Record], keys: dict[str, str]
) -> Iterator[tuple[str, Any]]:
    for scorer in scorers:
        if record := records.get((scorer["name"], *unit)):
            yield keys[scorer["name"]], [record["outcome"], record.get("output"), record.get("side_info")]


def _json(value: Any) -> bytes:
    return json.dumps(value, separators=(",", ":")).encode()


_THOUGHTS = ("<think>", "<thinking>", "<|channel|>analysis")


def told_of(where: Record, records: list[Record]) -> Record | None:
    """Count over the scored records of one cell; None where none of them is a reply that says anything."""
    sides = [record["side_info"] for record in records]
    replies = [record.get("replied", {}) for record in records]
    tables = [
        [one for one in (side.get("usage"), reply, side.get("model")) if isinstance(one, dict) and one]
        for side, reply in zip(sides, replies, strict=True)
    ]
    told_of_replies = {
        key: many
        for key in ("refused", "empty")
        if (many := sum(reply.get(key) is True for reply in replies))
    }
    names = [
        next((one["answered_by"] for one in table if isinstance(one.get("answered_by"), str)), None)
        for table in tables
    ]
    cut_off = [any(one.get("finish_reason") == "length" for one in table) for table in tables]
    off = [_beyond(side) for side in sides if isinstance(side.get("usage"), dict)]
    thoughts = [str(side.get("output", "")).strip().lower().startswith(_THOUGHTS) for side in sides]
    counted = Counter(name for name in names if name is not None)
    if not (any(cut_off) or any(off) or any(thoughts) or counted or told_of_replies):
        return None
    told = {"scored": len(records), "cut_off": sum(cut_off), "off_scale": sum(map(bool, off))}
    if any(thoughts):
        told["with_thoughts"] = sum(thoughts)
    told |= told_of_replies
    return {**where, **told, "answered_by": dict(counted)}


def told_of_model(mine: list[Record]) -> Record:
    """Say how many of a model's replies were cut off and who gave them, where any tell."""
    cut_off = sum(one["cut_off"] for one in mine)
    thoughts = sum(one.get("with_thoughts", 0) for one in mine)
    others = {key: sum(one.get(key, 0) for one in mine) for key in ("refused", "empty")}
    names = sum((Counter(one["answered_by"]) for one in mine), Counter[str]())
    told = {"cut_off": cut_off, "with_thoughts": thoughts, **others, "answered_by": dict(names)}
    return {key: said for key, said in told.items() if said}


def _beyond(side: Record) -> list[float]:
    changed = side.get("clamped_from")
    numbers = list(changed.values()) if isinstance(changed, dict) else []
    return [one for one in numbers if isinstance(one, int | float) and (one < -0.001 or one > 1.001)]  # noqa: PLR2004


Values = list[float | None]  # by example
Key = tuple[str, str | None, str, str]  # evaluator, task model, split, candidate


@dataclass
class CellRecords:
    """The outcomes of one cell, by example."""

    scores: list[list[float]]
    failures: list[list[str]]  # their kinds
    skips: list[list[tuple[str, list[str]]]]  # why, and by which rules
    is_unit: bool
    unranked: int = 0  # answers without a number
    whole: list[list[float]] = field(default_factory=list)  # with the scores that rules left out
    ruled: list[int] = field(default_factory=list)  # calls that they left out
    by_outcome: bool = False  # whether such a rule looks at outcomes
    unranked_at: list[int] = field(default_factory=list)  # answers without a number, by example
    repeats: int = 1
    records: list[list[dict[str, Any]]] = field(default_factory=list)  # by example

    @property
    def means(self) -> Values:
        return [average(score) for score in self.scores]

    @property
    def failed(self) -> int:
        return sum(map(len, self.failures))

    @property
    def kinds(self) -> Counter[str]:
        return Counter(kind for kinds in self.failures for kind in kinds)

    @property
    def scored(self) -> int:
        return sum(map(len, self.scores)) + self.unranked

    @property
    def skipped(self) -> int:
        return sum(map(len, self.skips))

    @property
    def coverage(self) -> float | None:
        return self.scored / (self.scored + self.failed) if self.scored + self.failed else None

    @property
    def predictions(self) -> list[dict[str, Any]]:
        """Give what a board tells of repeats, their scores; where some failed, which ones is not known."""
        parts = zip(self.scores, self.failures, self.skips, strict=True)
        return [
            {"predictions": [{"score": score} for score in scores]}
            if len(scores) > 1 and not failures and not skips
            else {}
            for scores, failures, skips in parts
        ]

    def skipped_beside(self, other: "CellRecords") -> list[int]:
        """Count what was skipped more than for the other, by example; nothing where that is hardly ever."""
        own, its = ([sum(not rules for _, rules in skip) for skip in cell.skips] for cell in (self, other))
        pairs = sum(bool(a and b) for a, b in zip(self.scores, other.scores, strict=True))
        if sum(a != b for a, b in zip(own, its, strict=True)) * 100 <= pairs:
            return [0] * len(own)
        return [max(a - b, 0) for a, b in zip(own, its, strict=True)]

    def counted_as(self, score: float, other: "CellRecords") -> Values | None:
        """Count failures, and what was skipped for this side alone, as a score; None without ends."""
        more = self.skipped_beside(other)
        if not any(more):
            return self.with_failures(score)
        if not self.is_unit:
            return None
        rows = zip(self.scores, self.failures, more, strict=True)
        return [average([*scores, *[score] * (len(failed) + many)]) for scores, failed, many in rows]

    def with_failures(self, score: float) -> Values | None:
        """Count each failure as a score; None where scores have no ends."""
        if not self.failed:
            return self.means
        if not self.is_unit:
            return None
        pairs = zip(self.scores, self.failures, strict=True)
        return [average([*scores, *[score] * len(failed)]) for scores, failed in pairs]


def one_sided(a: CellRecords, b: CellRecords) -> int:
    """Count the examples that were skipped for one of the two alone, where they matter."""
    return sum(map(bool, a.skipped_beside(b))) + sum(map(bool, b.skipped_beside(a)))


def are_ruled_apart(a: CellRecords, b: CellRecords) -> bool:
    """Return True if rules leave out other rows of one than of the other, or look at outcomes."""
    return a.ruled != b.ruled or a.by_outcome or b.by_outcome


@dataclass
class JournaledSplit:
    """The examples of one split."""

    name: str
    lines: list[int | None]
    contents: list[str]  # digests, of copies that of the first
    own_clusters: list[str] | None
    groups: dict[str, list[str]]
    labels: list[Any] = field(init=False)  # what counts as one unit
    is_clustered: bool = field(init=False)

    def __post_init__(self) -> None:
        many = len(self.lines)
        has_copies = self.copies > many / 100
        self.is_clustered = has_copies or self.own_clusters is not None
        self.labels = list(range(many))
        for texts in [
            *([self.contents] if has_copies else []),
            *([self.own_clusters] if self.own_clusters else []),
        ]:
            self.labels = joined(self.labels, texts)

    @property
    def copies(self) -> int:
        return len(self.contents) - len(set(self.contents))


@dataclass
class JournaledRun:
    """Everything that numbers are made of."""

    evaluators: list[str]
    ranges: dict[str, str]
    candidates: list[str]
    task_models: list[str | None]
    compares_models: bool
    splits: dict[str, JournaledSplit]
    repeats: int
    baseline: str
    seed: int
    group_by: list[str]
    margins: dict[str, float]
    cells: dict[Key, CellRecords]
    replies: list[dict[str, Any]]
    judges: dict[str, str]
    changed: list[str]
    changed_models: list[str]
    known: int
    size: int
    calls: list[dict[str, Any]]  # of models, each with the axes of its record
    end: dict[str, Any]  # where the last line of the journal ends that counts, and its checksum
    own_splits: dict[str, list[str]]  # of evaluators that are for some splits alone
    waits: bool  # for rules of tasks that were not applied yet
    was_chosen: bool  # by results of an earlier run: such examples decide nothing
    searched: dict[str, Any]  # what is known of a search that it ended
    leaks: dict[str, dict[str, Any]]  # by split
    overlaps: dict[str, Any]  # what splits have in common, as run.json has it
    overlaps_again: dict[str, Any]  # the same of data files that are there
    apart: Counter[str]  # the outcomes of rows that are in no number
    checks: set[str]  # scorers of tasks that rank nobody, as these say
    tasks: list[dict[str, Any]]  # with their scorers and rules
    left_out: list[dict[str, Any]]  # evaluators that were added later, and are not complete
    tries: JournaledTries

    def also_tried(self, wheres: list[tuple[str, str | None, str]]) -> tuple[int, bool]:
        """Count the other comparisons that a family is corrected for, and say whether it may confirm."""
        decides, is_strict = (*self.primary, self.deciding), not self.confirms_on_test
        others = sum(self.tries.others(one, decides, is_strict=is_strict) for one in dict.fromkeys(wheres))
        return others, decides not in wheres or not self.is_steered

    @property
    def is_steered(self) -> bool:
        """Return True if too many versions of what decides came after results."""
        if not self.tries.is_run or self.confirms_on_test:
            return False
        return is_steered(self.tries.told((*self.primary, self.deciding)))

    @property
    def compared(self) -> int:
        """Count the comparisons among which the best one was picked."""
        decides = (*self.primary, self.deciding)
        return len(self.candidates) - 1 + self.tries.others(decides, decides, is_strict=False)

    def told_of_tries(self, winner: str | None) -> dict[str, Any] | None:
        if not self.tries.is_run:
            return None
        if winner and self.confirms_on_test:
            return self.tries.told_on_test((*self.primary, "test"), winner)
        return self.tries.told((*self.primary, self.deciding))

    @property
    def confirms_on_test(self) -> bool:
        return "test" in self.splits_for(self.primary[0]) and self.deciding != "test"

    def splits_for(self, evaluator: str) -> list[str]:
        own = self.own_splits.get(evaluator)
        return [name for name in self.splits if own is None or name in own]

    @property
    def wheres(self) -> list[tuple[str, str | None, str]]:
        """List the evaluators, task models and splits that go together."""
        return [
            (evaluator, model, split)
            for evaluator in self.evaluators
            for model in self.task_models
            for split in self.splits_for(evaluator)
        ]

    @property
    def cells_in_order(self) -> list[Key]:
        """List cells by evaluator, candidate, task model and split."""
        return [
            (evaluator, model, split, candidate)
            for evaluator in self.evaluators
            for candidate in self.candidates
            for model in self.task_models
            for split in self.splits_for(evaluator)
        ]

    @property
    def deciding(self) -> str:
        return "val" if "val" in self.splits else next(iter(self.splits))

    @property
    def primary(self) -> tuple[str, str | None]:
        return self.evaluators[0], self.task_models[0]

    @property
    def may_flip(self) -> bool:
        many = len(self.candidates)
        return many * (many - 1) // 2 <= 50  # noqa: PLR2004

    def labels(self, split: str) -> Labels:
        return self.splits[split].labels


def read(folder: Path) -> JournaledRun:
    """Read a run; additions that are not complete, or that changed, are left out."""
    manifest = read_axes(folder / "run.json")
    entries = [*manifest["evaluators"], *manifest["additions"]]
    models = [model for model in manifest.get("models", ()) if not model.get("superseded")]
    found = newest_records(folder / "journal.jsonl", entries, models, manifest.get("counts"))
    waits = skip_excluded(found.records, manifest, found.rules)
    settings = manifest.get("settings", {})
    again = overlaps_again(settings)
    if again:
        settings = {**settings, "overlaps": settings["overlaps"] | again}
    leaks = leaked_in(manifest, settings)
    every = {one["name"]: _split(one, list(range(len(one["lines"]))), settings) for one in manifest["splits"]}
    splits = {
        one["name"]: _split(one, counting(one, leaks.get(one["name"])), settings)
        for one in manifest["splits"]
    }
    own_splits = {entry["name"]: entry["splits"] for entry in entries if "splits" in entry}
    done, shares = _standing(manifest, every, entries, found.records)
    of_scores = {key: one for key, one in found.records.items() if one["outcome"] == "scored"}
    scored, _ = _standing(manifest, every, entries, of_scores)
    whole = {name for name in done if done[name] == shares.get(name)} - found.changed
    added = {addition["name"] for addition in manifest["additions"]}
    kept = [entry for entry in entries if entry["name"] not in added or entry["name"] in whole]
    names = [one["name"] for one in kept]
    changed_models = found.changed_models.intersection(manifest["task_models"])
    run = JournaledRun(
        evaluators=names,
        ranges={one["name"]: one["score_range"] for one in kept},
        candidates=[candidate["name"] for candidate in manifest["candidates"]],
        task_models=manifest["task_models"],
        compares_models=bool(manifest.get("models")) and not own_splits,
        splits=splits,
        repeats=manifest["repeats"],
        baseline=manifest["baseline"],
        seed=manifest["seed"],
        group_by=manifest["group_by"],
        margins=manifest.get("settings", {}).get("margins", {}),
        was_chosen=manifest.get("settings", {}).get("chosen_after") is not None,
        searched=manifest.get("settings", {}).get("searched") or {},
        cells={},
        replies=[],
        judges={one["name"]: one["judge"]["model"] for one in kept if one.get("judge")},
        changed=sorted({*found.changed.intersection(names), *changed_models}),
        changed_models=sorted(changed_models),
        known=sum(done[name] for name in names),
        size=sum(shares[name] for name in names),
        calls=found.calls,
        end=found.end,
        own_splits=own_splits,
        waits=waits and kept == entries,
        leaks=leaks,
        overlaps=manifest.get("settings", {}).get("overlaps", {}),
        overlaps_again=again,
        apart=Counter(),
        checks=_checks(settings),
        tasks=settings.get("tasks", []),
        left_out=[
            {
                "evaluator": name,
                "calls": shares[name],
                "done": done[name],
                "scored": scored[name],
                "changed": name in found.changed,
            }
            for name in (entry["name"] for entry in entries if entry not in kept)
        ],
        tries=tried_in(folder, manifest, found.lines),
    )
    _fill(run, found.records)
    _count_apart(run, every, found.records)
    return run


def _checks(settings: dict[str, Any]) -> set[str]:
    scorers = [scorer for task in settings.get("tasks", ()) for scorer in task["scorers"]]
    return {scorer["evaluator"] for scorer in scorers if scorer.get("purpose") == "qa"}


def _standing(
    manifest: dict[str, Any],
    splits: dict[str, JournaledSplit],
    entries: list[dict[str, Any]],
    records: Records,
) -> tuple[Counter[str], dict[str, int]]:
    """Count by evaluator what is recorded of the last command's units, and how many these are."""
    repeats = manifest["repeats"]
    axes = (
        {candidate["name"] for candidate in manifest["candidates"]},
        set(manifest["task_models"]),
        {(split.name, line) for split in splits.values() for line in split.lines},
    )
    done = Counter(key[0] for key in records if _is_named(key, axes, repeats))
    return done, {entry["name"]: _share(axes, entry.get("splits")) * repeats for entry in entries}


def _split(entry: dict[str, Any], places: list[int], settings: dict[str, Any]) -> JournaledSplit:
    contents, clusters = contents_of(entry, settings), entry["clusters"]
    return JournaledSplit(
        name=entry["name"],
        lines=[entry["lines"][place] for place in places],
        contents=[contents[place] for place in places],
        own_clusters=clusters and [clusters[place] for place in places],
        groups={path: [labels[place] for place in places] for path, labels in entry["groups"].items()},
    )


def _count_apart(run: JournaledRun, every: dict[str, JournaledSplit], records: Records) -> None:
    for where in run.wheres:
        for line in set(every[where[2]].lines).difference(run.splits[where[2]].lines):
            units = product(run.candidates, [line], range(1, run.repeats + 1))
            outcomes = (records.get((*where, *unit), {}).get("outcome") for unit in units)
            run.apart.update(outcome for outcome in outcomes if outcome)


def _share(axes: tuple[set[Any], ...], own: list[str] | None) -> int:
    """Count what one evaluator is called about, in one repeat."""
    candidates, models, lines = axes
    return len(candidates) * len(models) * sum(own is None or split in own for split, _ in lines)


def _is_named(key: tuple[Any, ...], axes: tuple[set[Any], ...], repeats: int) -> bool:
    """Return True if the last command was about a unit."""
    _, task_model, split, candidate, line, repeat = key
    candidates, models, lines = axes
    return candidate in candidates and task_model in models and (split, line) in lines and repeat <= repeats


def _fill(run: JournaledRun, records: Records) -> None:
    for where in run.wheres:
        for candidate in run.candidates:
            key, split = (*where, candidate), run.splits[where[2]]
            run.cells[key] = _cell(run, key, split, records)
            _count_replies(run, key, split, records)


def _cell(run: JournaledRun, key: Key, split: JournaledSplit, records: Records) -> CellRecords:
    cell = CellRecords([], [], [], is_unit=run.ranges[key[0]] == "unit", repeats=run.repeats)
    for line in split.lines:
        theirs = [records.get((*key, line, repeat + 1), {}) for repeat in range(run.repeats)]
        cell.records.append([one for one in theirs if one])
        answered = [one["score"] for one in theirs if one.get("outcome") == "scored"]
        cell.scores.append([score for score in answered if score is not None])
        cell.unranked += answered.count(None)
        cell.unranked_at.append(answered.count(None))
        cell.failures.append([one["kind"] for one in theirs if one.get("outcome") == "failed"])
        skipped = [one for one in theirs if one.get("outcome") == "skipped"]
        cell.skips.append([(one.get("message", ""), one.get("excluded_by", [])) for one in skipped])
        ruled = [one for one in skipped if one.get("excluded_by")]
        cell.ruled.append(len(ruled))
        cell.by_outcome = cell.by_outcome or any(one["by_outcome"] for one in ruled)
        cell.whole.append([*cell.scores[-1], *(one["score"] for one in ruled if one["score"] is not None)])
    return cell


def _count_replies(run: JournaledRun, key: Key, split: JournaledSplit, records: Records) -> None:
    units = [(*key, line, repeat + 1) for line in split.lines for repeat in range(run.repeats)]
    scored = [one for unit in units if (one := records.get(unit, {})).get("outcome") == "scored"]
    where = dict(zip(("evaluator", "task_model", "split", "candidate"), key, strict=True))
    if told := told_of(where, scored):
        run.replies.append(told)
