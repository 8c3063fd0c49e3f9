"""What a search came to, from its own journals: calls, candidates, their means, counts of proposals."""

import hashlib
import json
import math
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from optimize_eval.audit.journaled import JournaledRun

Record = dict[str, Any]

_CUT_SHORT = {"time", "cost", "interrupted", "evaluator"}
_NONE_GIVEN = "4f53cda18c2baa0c"  # the digest of no further candidates


@dataclass
class SearchJournal:
    """What search.jsonl holds up to one of its ends."""

    about: Record = field(default_factory=dict)
    settings: Record = field(default_factory=dict)
    sessions: int = 0
    steps: list[Record] = field(default_factory=list)
    found: list[Record] = field(default_factory=list)
    replies: list[Record] = field(default_factory=list)
    end: Record = field(default_factory=dict)


def expected_search(folder: Path) -> dict[str, Any]:
    """Compute what search.json has to say; nothing where there is none."""
    if not (folder / "search.json").exists() or not (folder / "search.jsonl").exists():
        return {}
    stored = json.loads((folder / "search.json").read_bytes())
    search = _read(folder / "search.jsonl", stored)
    if not search.end:
        return {}
    evaluations = [*_lines(folder / "evaluations.jsonl")]
    return {"search.json": {**_told(search, evaluations), **_best(stored, search)}}


def means_not_derived(folder: Path) -> tuple[int, int]:
    """Count the candidates whose means are taken as search.jsonl has them, and all."""
    if not expected_search(folder):
        return 0, 0
    search = _read(folder / "search.jsonl", json.loads((folder / "search.json").read_bytes()))
    derived = dict(_means(search, [*_lines(folder / "evaluations.jsonl")]))
    return len(search.found) - len(derived), len(search.found)


def expected_end(folder: Path, run: JournaledRun, summary: Record, calls: Record) -> Record:
    """Compute what search.json has of its final run beside the search's `calls`; nothing of what went on."""
    stored = json.loads((folder / "search.json").read_bytes())
    end = (stored.get("summary") or {}).get("journal", {})
    if any(end.get(key) != value for key, value in run.end.items()):
        return {}
    told: Record = {"summary": summary}
    told |= {"verdict": summary["verdict"]} if summary["verdict"]["state"] is not None else {}
    known = {line["key"] for line in _lines(folder / "evaluations.jsonl") if _is_final(line)}
    records = [line for line in _lines(folder / "journal.jsonl") if "key" in line]
    there = [record for record in records if record["candidate"] in run.candidates]
    known |= {one["key"] for one in there if "reused_from" in one and _is_final(one)}
    final = run.size - len(known.intersection(one["key"] for one in there))
    return told | {"calls": {**calls, "final": final}}


def _is_final(record: Record) -> bool:
    return record.get("outcome") in {"scored", "skipped"}


def _lines(path: Path) -> Iterator[Record]:
    if path.exists():
        for line in path.read_bytes().splitlines(keepends=True):
            if line.endswith(b"\n"):
                yield json.loads(line)


def _read(path: Path, stored: Record) -> SearchJournal:
    """Read up to the last end that the result is of, else up to the last."""
    records = [*_lines(path)]
    ends = [index for index, one in enumerate(records) if "ended_at" in one]
    of_it = [place for place in ends if records[place]["sentence"] == stored.get("ended")]
    search = SearchJournal()
    for record in records[: (of_it or ends or [-1])[-1] + 1]:
        _enter(search, record)
    return search


def _enter(search: SearchJournal, record: Record) -> None:
    if "schema" in record:
        search.about, search.settings = record["about"], record["settings"]
        search.sessions += 1
    elif "pairs" in record:
        search.steps[record["step"] :] = [record]
    elif "found" in record:
        search.found[record["found"] :] = [record]
    elif "request" in record:
        search.replies.append(record)
    elif "ended_at" in record:
        search.end = record


def _told(search: SearchJournal, evaluations: list[Record]) -> Record:
    made = sum("reused_from" not in evaluation for evaluation in evaluations)
    is_cut_short = search.end["status"] in _CUT_SHORT
    calls = made if is_cut_short else sum(step["calls"] for step in search.steps)
    budget = search.about["budget"]
    candidates = _candidates(search, evaluations)
    means = [candidate["search_mean"] for candidate in candidates]
    return {
        "status": search.end["status"],
        "ended": search.end["sentence"],
        "total_metric_calls": calls,
        "calls": {"search": calls},
        "budget": budget,
        "budget_utilization": calls / budget,
        "candidates": candidates,
        "curve": [
            {"calls": one["calls"], "best": max(means[: index + 1])} for index, one in enumerate(candidates)
        ],
        "score_summary": _scores(means),
        "proposals": {"accepted": _accepted(search, evaluations), **_proposals(search)},
        **_plateau(search),
        "goal": {
            name: weight
            for name, weight in zip(
                search.about["plan"]["names"], search.about["plan"]["weights"], strict=True
            )
            if weight
        },
    }


def _plateau(search: SearchJournal) -> Record:
    is_stopped = search.end["status"] == "plateau"
    at = {} if is_stopped else {"stopped_at_iteration": None}
    return {"early_stopped": is_stopped, **at, **({"plateau_detected": True} if is_stopped else {})}


def _accepted(search: SearchJournal, evaluations: list[Record]) -> int:
    """Count the candidates that were better on the minibatch they were kept for; not known counts."""
    recorded: dict[tuple[Any, ...], dict[str, Record]] = {}
    for evaluation in evaluations:
        pair = (evaluation["candidate"], evaluation.get("split"), evaluation.get("line"))
        recorded.setdefault(pair, {}).setdefault(evaluation["evaluator"], evaluation)
    return sum(_is_kept(found, search, recorded) for found in search.found[1:])


def _is_kept(
    found: Record, search: SearchJournal, recorded: dict[tuple[Any, ...], dict[str, Record]]
) -> bool:
    texts = [_text(found), *(_text(search.found[_number(one)]) for one in _earlier(found)[:1])]
    if len(found["parents"]) != 1 or {"rules", "--system"} & search.settings.keys():
        return True
    step = next((one for one in search.steps if one.get("of") == _digest(texts[0])), None)
    if step is None:
        return True
    if len(texts) == 1 or _pairs(texts[0], step["split"], step["lines"]) != step["pairs"]:
        return False
    sums = []
    for text in texts:
        places = [(_digest(text), step["split"], line) for line in step["lines"]]
        values = [_value(recorded.get(place, {}), search.about["plan"]) for place in places]
        if None in values:
            return True
        sums.append(sum(value for value in values if value is not None))
    return sums[0] > sums[1] or (sums[0] == sums[1] and search.settings["--acceptance"] == "equal")


def _scores(means: list[float]) -> Record:
    if not means:
        return {"num_candidates": 0}
    told = {"initial": means[0], "latest": means[-1], "best": max(means), "num_candidates": len(means)}
    gains = {"delta_latest_vs_initial": means[-1] - means[0], "delta_best_vs_initial": max(means) - means[0]}
    return told | gains


def _proposals(search: SearchJournal) -> Record:
    """Count the replies; one session alone, to which no candidates were given, has used each of them."""
    if search.sessions > 1 or search.settings.get("further candidates") != _NONE_GIVEN:
        return {}
    is_from_scratch = search.settings.get("seed candidate") == "from scratch"
    answered = [reply for reply in search.replies if "candidate" in reply]
    told = {
        "calls": len(search.replies),
        "failed": len(search.replies) - len(answered),
        "tokens": sum(one.get("tokens") or 0 for one in answered),
    }
    return told if is_from_scratch else told | {"proposed": len(answered)}


def _best(stored: Record, search: SearchJournal) -> Record:
    """Follow the candidate that came out to the seed, by first parents."""
    names = [_name(one, search) for one in search.found]
    if stored.get("best") not in names:
        return {"best": None, "best_artifact": None, "lineage": []}
    path = [names.index(stored["best"])]
    while parents := _earlier(search.found[path[-1]]):
        path.append(_number(parents[0]))
    return {
        "best_artifact": search.found[path[0]]["candidate"],
        "lineage": [names[number] for number in reversed(path)],
    }


def _name(found: Record, search: SearchJournal) -> str:
    return f"p{found['found']}" if found["found"] else str(search.about["seed"])


def _earlier(found: Record) -> list[str]:
    return [parent for parent in found["parents"] if _number(parent) < found["found"]]


def _number(name: str) -> int:
    return 0 if name == "seed" else int(name[1:])


def _candidates(search: SearchJournal, evaluations: list[Record]) -> list[Record]:
    """List the candidates with their means as evaluations have them, and the calls as steps have them."""
    means = dict(_means(search, evaluations))
    spent = {sum(step["calls"] for step in search.steps[: index + 1]) for index in range(len(search.steps))}
    told = []
    for number, found in enumerate(search.found):
        told.append(
            {
                "name": _name(found, search),
                "candidate": found["candidate"],
                "parents": [search.about["seed"] if one == "seed" else one for one in _earlier(found)],
                "proposer": found["proposer"],
                "note": found["note"],
                "calls": found["calls"] if found["calls"] in spent else min(spent, default=0),
                "search_mean": means.get(number, found["search_mean"]),
                "failed": found["failed"],
            }
        )
    return told


def _means(search: SearchJournal, evaluations: list[Record]) -> Iterator[tuple[int, float]]:
    """Compute means where the examples that chose are known for sure; others are taken as they stand."""
    plan = search.about["plan"]
    split, many = plan["choose"]
    if {"rules", "--system"} & search.settings.keys() or not search.found:
        return
    recorded: dict[tuple[str, Any], dict[str, Record]] = {}
    of_text: dict[str, dict[Any, None]] = {}
    for one in evaluations:
        if one.get("split") == split:
            recorded.setdefault((one["candidate"], one.get("line")), {}).setdefault(one["evaluator"], one)
            lines = of_text.setdefault(one["candidate"], {})
            if len(lines) < many:  # the first ones of the seed are those that choose
                lines[one.get("line")] = None
    texts = [*map(_text, search.found)]
    chose = sorted(of_text.get(_digest(texts[0]), ()))
    if not search.steps or _pairs(texts[0], split, chose) != search.steps[0]["pairs"]:
        return
    for number, text in enumerate(texts):
        pairs = [recorded.get((_digest(text), line), {}) for line in chose]
        scored = [pair for pair in pairs if not _is_skipped(pair, plan)]
        values = [_value(pair, plan) for pair in scored]
        known = [value for value in values if value is not None]
        if known and len(known) == len(values):
            yield number, _with_skips(scored, known, len(pairs) - len(scored), _climbed(plan))


def _is_skipped(outcomes: dict[str, Record], plan: Record) -> bool:
    """Return True if all that is climbed skipped a pair, which then takes the mean of the others."""
    return all(outcomes.get(name, {}).get("outcome") == "skipped" for name in _climbed(plan))


def _climbed(plan: Record) -> list[str]:
    return [name for name, weight in zip(plan["names"], plan["weights"], strict=True) if weight]


def _with_skips(
    pairs: list[dict[str, Record]], values: list[float], skipped: int, climbed: list[str]
) -> float:
    has_failed = [any(pair.get(name, {}).get("outcome") == "failed" for name in climbed) for pair in pairs]
    scored = [value for value, failed in zip(values, has_failed, strict=True) if not failed]
    mean = math.fsum(scored) / len(scored) if scored else 0.0
    return (math.fsum(values) + skipped * mean) / (len(values) + skipped)


def _value(outcomes: dict[str, Record], plan: Record) -> float | None:
    """Give what a pair is worth; None where that hangs on others, as skips and failures may."""
    total = weights = 0.0
    for name, weight, bounds in zip(plan["names"], plan["weights"], plan["ranges"], strict=True):
        if not weight:
            continue
        one = outcomes.get(name, {})
        if one.get("outcome") == "failed" and bounds == "unit":
            return 0.0
        if one.get("outcome") != "scored" or one["score"] is None:
            return None
        total, weights = total + weight * one["score"], weights + weight
    return total / weights


def _text(found: Record) -> str:
    """Write a candidate as evaluators were given it."""
    candidate = found["candidate"]
    if isinstance(candidate, str):
        return candidate
    return json.dumps(candidate, ensure_ascii=False, separators=(",", ":"))


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:8]


def _pairs(text: str, split: str, lines: list[Any]) -> str:
    """Write down as the search does what was scored together."""
    told = b"".join(
        f"{split}:{line}\0".encode() + (b"" if index else text.encode()) for index, line in enumerate(lines)
    )
    return hashlib.sha256(told).hexdigest()[:16]
