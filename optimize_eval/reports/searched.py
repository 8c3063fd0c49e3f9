"""What a search adds to the run that it ended: how it went, what it found, and points of its own."""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import orjson

from optimize_eval.base import files, strict_json
from optimize_eval.findings.documents import from_dict, to_dict
from optimize_eval.findings.summary_shape import Point, Summary, Verdict
from optimize_eval.findings.wording import RUNNING, ahead_so_far, how_far
from optimize_eval.store.folder import SEARCH
from optimize_eval.store.listing import STOPPED, StoredSearch

_SCHEMA = "optimize-eval.optimize.v1"
_EDITED = (LookupError, TypeError, ValueError, AttributeError)
_SEED = "seed"  # its name in the search's journal
_OF_A_CANDIDATE = ("name", "parents", "proposer", "note", "calls", "search_mean")


def search_of(folder: Path, summary: Mapping[str, Any]) -> Mapping[str, Any] | None:
    """Read what the search said; None where the run is not, or no more, the one that it ended with.

    Evaluators that scored it since change nothing of that.
    """
    try:
        document = strict_json.loads_own(files.load(folder / SEARCH, files.OF_A_RUN))
        rows = document["summary"]["rows"] if document["schema"] == _SCHEMA else None
    except (OSError, ValueError, LookupError, TypeError):
        return None
    told: Mapping[str, Any] = document
    present = orjson.loads(orjson.dumps(summary["rows"]))
    return told if rows and all(row in present for row in rows) else None


def result_without_run(folder: Path, status: str) -> Mapping[str, Any] | None:
    """Read the result of a search that came to its end with nothing to compare; None where it did not."""
    if status in {*STOPPED, "time", RUNNING}:
        return None
    try:
        document: Any = strict_json.loads_own(files.load(folder / SEARCH, files.OF_A_RUN))
    except (OSError, ValueError):
        return None
    return document if isinstance(document, dict) and document.get("status") == status else None


def with_notes(summary: Summary, document: Mapping[str, Any] | None) -> Summary:
    """Put what a search has to say of itself beside the verdict; edited words are left out."""
    verdict = replace(summary.verdict, points=(*summary.verdict.points, *_notes(document or {})))
    return replace(summary, verdict=verdict)


def _notes(document: Mapping[str, Any]) -> tuple[Point, ...]:
    try:
        return tuple(Point(mark=str(one["mark"]), text=str(one["text"])) for one in document.get("notes", ()))
    except _EDITED:
        return ()


def beside_verdict(document: Mapping[str, Any]) -> dict[str, Any]:
    """Give what a search says beside its verdict and its final sweep's summary."""
    return {name: one for name, one in document.items() if name not in {"schema", "verdict", "summary"}}


def search_on_a_page(folder: Path, summary: Mapping[str, Any]) -> dict[str, Any] | None:
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
            "curve": [[int(one["calls"]), float(one["best"])] for one in document["curve"]],
            "candidates": [_found(candidate) for candidate in document["candidates"]],
        }
    except _EDITED:
        return None


def unfinished_on_a_page(stored: StoredSearch, *, is_running: bool) -> dict[str, Any]:
    """Give what a page shows of a search that has no run yet."""
    status = RUNNING if is_running else stored.status
    result = result_without_run(stored.folder, status)
    means = [float(one["search_mean"]) for one in stored.found]
    return {
        "verdict": to_dict((result and _verdict(result)) or _so_far(stored, status)),
        "calls": stored.calls,
        "budget": stored.budget,
        "goal": str(stored.about.get("goal", "")),
        "lineage": list(_lineage_of_page(stored)),
        "curve": [[one["calls"], max(means[: at + 1])] for at, one in enumerate(stored.found)],
        "candidates": [
            {
                **_found(one),
                "name": stored.name_of(one),
                "parents": [stored.seed if name == _SEED else name for name in one["parents"]],
            }
            for one in stored.found
        ],
    }


def _so_far(stored: StoredSearch, status: str) -> Verdict:
    best, progress = stored.best, how_far(stored.calls, stored.budget, status, stored.sentence)
    if best is None:
        text = "there is no result yet: the search has not scored its seed"
    else:
        name, mean = stored.name_of(best) if best["found"] else None, float(best["search_mean"])
        text = ahead_so_far(name, mean, stored.seed, float(stored.found[0]["search_mean"]))
    return Verdict(text=text, points=(Point(mark="·", text=progress),), state="unfinished")


def _lineage_of_page(stored: StoredSearch) -> Iterator[str]:
    """Walk from the seed to the best by first parents."""
    found = {str(one["name"]): one for one in stored.found}
    path = [stored.best] if stored.best else []
    while path and path[-1]["parents"]:
        path.append(found[path[-1]["parents"][0]])
    return (stored.name_of(one) for one in reversed(path))


def _found(one: Mapping[str, Any]) -> dict[str, Any]:
    return {**{name: one[name] for name in _OF_A_CANDIDATE}, "text": one["candidate"]}


def _verdict(document: Mapping[str, Any]) -> Verdict | None:
    """Read the verdict of a search without a run."""
    try:
        told = document["verdict"]
        return from_dict(Verdict, told)
    except _EDITED:
        return None
