"""What a search came to, from its own journals: calls, candidates, their means, counts of proposals."""

import hashlib
import json
import math
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

from optimize_eval.audit.axes import Record
from optimize_eval.audit.journaled import JournaledRun

_CUT_SHORT = {"time", "cost", "interrupted", "evaluator"}
_NONE_GIVEN = "4f53cda18c2baa0c"  # the digest of no further candidates
_OF_PROMPTS = {"rules", "--system"}  # settings with which texts are not what evaluators were given

Outcomes = dict[str, Record]  # of a pair, by evaluator


@dataclass
class JournaledSearch:
    """What search.json says, and what search.jsonl holds up to the end that it is of."""

    stored: Record
    evaluations: list[Record]
    about: Record = field(default_factory=dict)
    settings: Record = field(default_factory=dict)
    sessions: int = 0
    steps: list[Record] = field(default_factory=list)
    found: list[Record] = field(default_factory=list)
    replies: list[Record] = field(default_factory=list)
    end: Record = field(default_factory=dict)

    def enter(self, record: Record) -> None:
        if "schema" in record:
            self.about, self.settings = record["about"], record["settings"]
            self.sessions += 1
        elif "pairs" in record:
            self.steps[record["step"] :] = [record]
        elif "found" in record:
            self.found[record["found"] :] = [record]
        elif "request" in record:
            self.replies.append(record)
        elif "ended_at" in record:
            self.end = record

    @property
    def plan(self) -> Record:
        plan: Record = self.about["plan"]
        return plan

    @property
    def weights(self) -> dict[str, float]:
        """Give what is climbed, with its weights."""
        weights = zip(self.plan["names"], self.plan["weights"], strict=True)
        return {name: weight for name, weight in weights if weight}

    @property
    def seed(self) -> str:
        return str(self.about["seed"])

    @cached_property
    def outcomes(self) -> dict[tuple[str, Any, Any], Outcomes]:
        """Give the first of each evaluator by candidate, split and line."""
        outcomes: dict[tuple[str, Any, Any], Outcomes] = {}
        for record in self.evaluations:
            pair = record["candidate"], record.get("split"), record.get("line")
            outcomes.setdefault(pair, {}).setdefault(record["evaluator"], record)
        return outcomes

    @cached_property
    def means(self) -> dict[int, float]:
        """Compute means where the examples that chose are known for sure; others are taken as they stand."""
        return dict(_means(self))

    def name_of(self, found: Record) -> str:
        return f"p{found['found']}" if found["found"] else self.seed

    def value_of(self, text: str, split: str, line: object) -> float | None:
        """Give what a pair is worth; None where that hangs on others, as skips and failures may."""
        outcomes, total = self.outcomes.get((_digest(text), split, line), {}), 0.0
        ranges = dict(zip(self.plan["names"], self.plan["ranges"], strict=True))
        for name, weight in self.weights.items():
            record = outcomes.get(name, {})
            if record.get("outcome") == "failed" and ranges[name] == "unit":
                return 0.0
            if record.get("outcome") != "scored" or record["score"] is None:
                return None
            total += weight * record["score"]
        return float(total / sum(self.weights.values()))


def read_search(folder: Path) -> JournaledSearch | None:
    """Read a search up to the last end that its result is of, else up to the last; None where none ended."""
    if not (folder / "search.json").exists() or not (folder / "search.jsonl").exists():
        return None
    stored = json.loads((folder / "search.json").read_bytes())
    search = JournaledSearch(stored, [*_lines(folder / "evaluations.jsonl")])
    records = [*_lines(folder / "search.jsonl")]
    ends = [index for index, record in enumerate(records) if "ended_at" in record]
    of_it = [index for index in ends if records[index]["sentence"] == stored.get("ended")]
    for record in records[: (of_it or ends or [-1])[-1] + 1]:
        search.enter(record)
    return search if search.end else None


def _lines(path: Path) -> Iterator[Record]:
    lines = path.read_bytes().splitlines(keepends=True) if path.exists() else []
    return (json.loads(line) for line in lines if line.endswith(b"\n"))


def expected_end(folder: Path, search: JournaledSearch, run: JournaledRun, summary: Record) -> Record:
    """Compute what search.json has of its final run; nothing of what went on since."""
    end = (search.stored.get("summary") or {}).get("journal", {})
    if any(end.get(key) != value for key, value in run.end.items()):
        return {}
    verdict = {"verdict": summary["verdict"]} if summary["verdict"]["state"] is not None else {}
    known = {record["key"] for record in search.evaluations if _is_final(record)}
    records = [record for record in _lines(folder / "journal.jsonl") if "key" in record]
    there = [record for record in records if record["candidate"] in run.candidates]
    known |= {record["key"] for record in there if "reused_from" in record and _is_final(record)}
    final = run.size - len(known.intersection(record["key"] for record in there))
    return {"summary": summary, **verdict, "calls": {"search": _calls(search), "final": final}}


def _is_final(record: Record) -> bool:
    return record.get("outcome") in {"scored", "skipped"}


def expected_search(search: JournaledSearch) -> Record:
    """Compute what search.json has to say of the search itself."""
    calls, budget = _calls(search), search.about["budget"]
    candidates = _candidates(search)
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
            {"calls": candidate["calls"], "best": max(means[: index + 1])}
            for index, candidate in enumerate(candidates)
        ],
        "score_summary": _scores(means),
        "proposals": {"accepted": _count_accepted(search), **_proposals(search)},
        **_plateau(search),
        "goal": search.weights,
        **_best(search),
    }


def _calls(search: JournaledSearch) -> int:
    if search.end["status"] in _CUT_SHORT:
        return sum("reused_from" not in record for record in search.evaluations)
    return sum(step["calls"] for step in search.steps)


def _plateau(search: JournaledSearch) -> Record:
    is_stopped = search.end["status"] == "plateau"
    more = {"plateau_detected": True} if is_stopped else {"stopped_at_iteration": None}
    return {"early_stopped": is_stopped, **more}


def _count_accepted(search: JournaledSearch) -> int:
    """Count the candidates that were better on the minibatch they were kept for; not known counts."""
    return sum(_is_kept(candidate, search) for candidate in search.found[1:])


def _is_kept(found: Record, search: JournaledSearch) -> bool:
    texts = [_text(found), *(_text(search.found[_number(name)]) for name in _earlier(found)[:1])]
    if len(found["parents"]) != 1 or _OF_PROMPTS & search.settings.keys():
        return True
    step = next((step for step in search.steps if step.get("of") == _digest(texts[0])), None)
    if step is None:
        return True
    if len(texts) == 1 or _pairs(texts[0], step["split"], step["lines"]) != step["pairs"]:
        return False
    sums = []
    for text in texts:
        values = [search.value_of(text, step["split"], line) for line in step["lines"]]
        if None in values:
            return True
        sums.append(sum(value for value in values if value is not None))
    return sums[0] > sums[1] or (sums[0] == sums[1] and search.settings["--acceptance"] == "equal")


def _scores(means: list[float]) -> Record:
    if not means:
        return {"num_candidates": 0}
    summary = {"initial": means[0], "latest": means[-1], "best": max(means), "num_candidates": len(means)}
    gains = {"delta_latest_vs_initial": means[-1] - means[0], "delta_best_vs_initial": max(means) - means[0]}
    return summary | gains


def _proposals(search: JournaledSearch) -> Record:
    """Count the replies; one session alone, to which no candidates were given, has used each of them."""
    if search.sessions > 1 or search.settings.get("further candidates") != _NONE_GIVEN:
        return {}
    is_from_scratch = search.settings.get("seed candidate") == "from scratch"
    answered = [reply for reply in search.replies if "candidate" in reply]
    counts = {
        "calls": len(search.replies),
        "failed": len(search.replies) - len(answered),
        "tokens": sum(reply.get("tokens") or 0 for reply in answered),
    }
    return counts if is_from_scratch else counts | {"proposed": len(answered)}


def _best(search: JournaledSearch) -> Record:
    """Follow the candidate that came out to the seed, by first parents."""
    names = [*map(search.name_of, search.found)]
    if search.stored.get("best") not in names:
        return {"best": None, "best_artifact": None, "lineage": []}
    path = [names.index(search.stored["best"])]
    while parents := _earlier(search.found[path[-1]]):
        path.append(_number(parents[0]))
    return {
        "best_artifact": search.found[path[0]]["candidate"],
        "lineage": [names[number] for number in reversed(path)],
    }


def _earlier(found: Record) -> list[str]:
    return [parent for parent in found["parents"] if _number(parent) < found["found"]]


def _number(name: str) -> int:
    return 0 if name == "seed" else int(name[1:])


def _candidates(search: JournaledSearch) -> list[Record]:
    """List the candidates with their means as evaluations have them, and the calls as steps have them."""
    spent = {sum(step["calls"] for step in search.steps[: index + 1]) for index in range(len(search.steps))}
    return [
        {
            "name": search.name_of(candidate),
            **{key: candidate[key] for key in ("candidate", "proposer", "note", "failed")},
            "parents": [search.seed if name == "seed" else name for name in _earlier(candidate)],
            "calls": candidate["calls"] if candidate["calls"] in spent else min(spent, default=0),
            "search_mean": search.means.get(number, candidate["search_mean"]),
        }
        for number, candidate in enumerate(search.found)
    ]


def _means(search: JournaledSearch) -> Iterator[tuple[int, float]]:
    split, many = search.plan["choose"]
    if _OF_PROMPTS & search.settings.keys() or not search.found or not search.steps:
        return
    texts = [*map(_text, search.found)]
    of_seed = [line for text, own, line in search.outcomes if (text, own) == (_digest(texts[0]), split)]
    chose = sorted(of_seed[:many])  # the first ones of the seed are those that choose
    if _pairs(texts[0], split, chose) != search.steps[0]["pairs"]:
        return
    for number, text in enumerate(texts):
        pairs = {line: search.outcomes.get((_digest(text), split, line), {}) for line in chose}
        lines = [line for line in chose if not _is_skipped(pairs[line], search)]
        values = [search.value_of(text, split, line) for line in lines]
        known = [value for value in values if value is not None]
        if known and len(known) == len(values):
            has_failed = [_has_failed(pairs[line], search) for line in lines]
            yield number, _with_skips(known, has_failed, len(chose) - len(lines))


def _is_skipped(outcomes: Outcomes, search: JournaledSearch) -> bool:
    """Return True if all that is climbed skipped a pair, which then takes the mean of the others."""
    return all(outcomes.get(name, {}).get("outcome") == "skipped" for name in search.weights)


def _has_failed(outcomes: Outcomes, search: JournaledSearch) -> bool:
    return any(outcomes.get(name, {}).get("outcome") == "failed" for name in search.weights)


def _with_skips(values: list[float], has_failed: list[bool], skipped: int) -> float:
    scored = [value for value, failed in zip(values, has_failed, strict=True) if not failed]
    mean = math.fsum(scored) / len(scored) if scored else 0.0
    return (math.fsum(values) + skipped * mean) / (len(values) + skipped)


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
    pairs = b"".join(
        f"{split}:{line}\0".encode() + (b"" if index else text.encode()) for index, line in enumerate(lines)
    )
    return hashlib.sha256(pairs).hexdigest()[:16]
