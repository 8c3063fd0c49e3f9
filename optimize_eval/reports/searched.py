"""What a search adds to the run that it ended: how it went, what it found, and points of its own."""

import difflib
from collections.abc import Iterator, Mapping
from dataclasses import replace
from itertools import accumulate
from pathlib import Path

import orjson

from optimize_eval.base import files, strict_json
from optimize_eval.base.documents import JsonDict, JsonMapping, from_dict, to_dict
from optimize_eval.findings.summary_shape import Point, Summary, Verdict
from optimize_eval.findings.wording import RUNNING, ahead_so_far, how_far
from optimize_eval.store.folder import SEARCH
from optimize_eval.store.listing import STOPPED, Found, StoredSearch

SCHEMA = "optimize-eval.optimize.v1"

_EDITED = (LookupError, TypeError, ValueError, AttributeError)
_FAILED = frozenset({"evaluator", "proposer"})  # ends of a search that could not go on
_LONGEST_DIFF = 2_000  # lines
_SEED = "seed"  # its name in the search's journal
_OF_A_CANDIDATE = ("name", "parents", "proposer", "note", "calls", "search_mean")


def search_of(folder: Path, summary: JsonMapping) -> JsonMapping | None:
    """Read what the search said; None where the run is not, or no more, the one that it ended with.

    Evaluators that scored it since change nothing of that.
    """
    try:
        document = strict_json.loads_own(files.load(folder / SEARCH, files.OF_A_RUN))
        rows = document["summary"]["rows"] if document["schema"] == SCHEMA else None
    except (OSError, ValueError, LookupError, TypeError):
        return None
    search: JsonMapping = document
    present = orjson.loads(orjson.dumps(summary["rows"]))
    return search if rows and all(row in present for row in rows) else None


def result_without_run(folder: Path, status: str) -> JsonMapping | None:
    """Read the result of a search that came to its end with nothing to compare; None where it did not."""
    if status in {*STOPPED, "time", RUNNING}:
        return None
    try:
        document: object = strict_json.loads_own(files.load(folder / SEARCH, files.OF_A_RUN))
    except (OSError, ValueError):
        return None
    return document if isinstance(document, dict) and document.get("status") == status else None


def with_notes(summary: Summary, document: JsonMapping | None) -> Summary:
    """Put what a search has to say of itself beside the verdict; edited words are left out."""
    verdict = replace(summary.verdict, points=(*summary.verdict.points, *_notes(document or {})))
    return replace(summary, verdict=verdict)


def _notes(document: JsonMapping) -> tuple[Point, ...]:
    try:
        notes = document.get("notes", ())
        return tuple(Point(mark=str(note["mark"]), text=str(note["text"])) for note in notes)
    except _EDITED:
        return ()


def beside_verdict(document: JsonMapping) -> JsonDict:
    """Give what a search says beside its verdict and its final sweep's summary."""
    return {key: value for key, value in document.items() if key not in {"schema", "verdict", "summary"}}


def search_on_a_page(folder: Path, summary: JsonMapping) -> JsonDict | None:
    """Give what a page shows of the search that a run ended; None where there is none, or it was edited."""
    document = search_of(folder, summary)
    if document is None:
        return None
    verdict = summary["verdict"]
    try:
        return {
            "verdict": {**verdict, "points": [*verdict["points"], *map(to_dict, _notes(document))]},
            "calls": int(document["calls"]["search"]),
            "budget": int(document["budget"]),
            "goal": " + ".join(document["goal"]),
            "lineage": [str(name) for name in document["lineage"]],
            "curve": [[int(step["calls"]), float(step["best"])] for step in document["curve"]],
            "candidates": [_on_page(candidate) for candidate in document["candidates"]],
        }
    except _EDITED:
        return None


def unfinished_on_a_page(stored: StoredSearch, *, is_running: bool) -> JsonDict:
    """Give what a page shows of a search that has no run yet."""
    status = RUNNING if is_running else stored.status
    result = result_without_run(stored.folder, status)
    return {
        "verdict": to_dict((result and _verdict(result)) or _verdict_so_far(stored, status)),
        "calls": stored.calls,
        "budget": stored.budget,
        "goal": str(stored.about.get("goal", "")),
        "lineage": list(_lineage_of_page(stored)),
        "curve": [[step["calls"], step["best"]] for step in _curve(stored)],
        "candidates": [
            {
                **_on_page(candidate),
                "name": stored.name_of(candidate),
                "parents": [stored.seed if name == _SEED else name for name in candidate["parents"]],
            }
            for candidate in stored.found
        ],
    }


def result_so_far(stored: StoredSearch, *, is_running: bool) -> JsonDict:
    """Say how far a search came that has no result yet, with the keys of one."""
    status, best = RUNNING if is_running else stored.status, stored.best
    verdict = to_dict(_verdict_so_far(stored, status))
    return {
        "schema": SCHEMA,
        "run": str(stored.folder),
        "run_dir": str(stored.folder),
        "status": status,
        "ended": stored.sentence,
        "resume": None if is_running else stored.command or None,
        "verdict": verdict | ({"state": "failed"} if status in _FAILED else {}),
        "best_artifact": best["candidate"] if best else None,
        "best": stored.name_of(best) if best else None,
        "calls": {"search": stored.calls, "final": 0},
        "budget": stored.budget,
        "candidates": [{**candidate, "name": stored.name_of(candidate)} for candidate in stored.found],
        "lineage": [],
        "curve": list(_curve(stored)),
        "diff": _diff(stored.found[0], best, stored.seed) if best and best["found"] else "",
        "summary": None,
    }


def _verdict_so_far(stored: StoredSearch, status: str) -> Verdict:
    best, progress = stored.best, how_far(stored.calls, stored.budget, status, stored.sentence)
    if best is None:
        text = "No result yet: the search has not scored its seed"
    else:
        name, mean = stored.name_of(best) if best["found"] else None, float(best["search_mean"])
        text = ahead_so_far(name, mean, stored.seed, float(stored.found[0]["search_mean"]))
    return Verdict(text=text, points=(Point(mark="·", text=progress),), state="unfinished")


def _curve(stored: StoredSearch) -> Iterator[JsonDict]:
    """Tell how the best mean grew with the calls."""
    means = accumulate((float(candidate["search_mean"]) for candidate in stored.found), max)
    for candidate, best in zip(stored.found, means, strict=True):
        yield {"calls": candidate["calls"], "best": best}


def _diff(seed: Found, best: Found, name: str) -> str:
    before, after = (
        {"": candidate["candidate"]} if isinstance(candidate["candidate"], str) else candidate["candidate"]
        for candidate in (seed, best)
    )
    return unified_diff(before, after, name, best["name"])


def unified_diff(seed: Mapping[str, str], best: Mapping[str, str], seed_name: str, best_name: str) -> str:
    """Write what changed from the seed to the best, component by component."""
    lines: list[str] = []
    for part, before in seed.items():
        suffix = "" if len(seed) == 1 else f":{part}"
        lines += difflib.unified_diff(
            before.splitlines(), best[part].splitlines(), seed_name + suffix, best_name + suffix, lineterm=""
        )
    cut = [f"… {len(lines) - _LONGEST_DIFF:,} more lines"] if len(lines) > _LONGEST_DIFF else []
    return "\n".join([*lines[:_LONGEST_DIFF], *cut])


def _lineage_of_page(stored: StoredSearch) -> Iterator[str]:
    """Walk from the seed to the best by first parents."""
    by_name = {str(candidate["name"]): candidate for candidate in stored.found}
    path = [stored.best] if stored.best else []
    while path and path[-1]["parents"]:
        path.append(by_name[path[-1]["parents"][0]])
    return (stored.name_of(candidate) for candidate in reversed(path))


def _on_page(candidate: JsonMapping) -> JsonDict:
    return {**{key: candidate[key] for key in _OF_A_CANDIDATE}, "text": candidate["candidate"]}


def _verdict(document: JsonMapping) -> Verdict | None:
    """Read the verdict of a search without a run."""
    try:
        return from_dict(Verdict, document["verdict"])
    except _EDITED:
        return None
