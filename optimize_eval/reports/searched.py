"""What a search says of the run that it ended: its verdict, which knows among how many candidates it chose.

A run's own verdict corrects for the candidates that it has; the search had val see more of them.
"""

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import orjson

from optimize_eval.findings.documents import from_dict, to_dict
from optimize_eval.findings.shapes.summary import Summary, Verdict
from optimize_eval.reading import files
from optimize_eval.store.folder import SEARCH

_SCHEMA = "optimize-eval.optimize.v1"
_EDITED = (LookupError, TypeError, ValueError, AttributeError)
_OF_A_CANDIDATE = ("name", "parents", "proposer", "calls", "search_mean")


def search_of(folder: Path, summary: Mapping[str, Any]) -> Mapping[str, Any] | None:
    """Read what the search said; None where the run is not, or no more, the one that it ended with.

    Evaluators that scored it since change nothing of that.
    """
    try:
        document = orjson.loads(files.load(folder / SEARCH, files.OF_A_RUN))
        rows = document["summary"]["rows"] if document["schema"] == _SCHEMA else None
    except (OSError, orjson.JSONDecodeError, LookupError, TypeError):
        return None
    told: Mapping[str, Any] = document
    present = orjson.loads(orjson.dumps(summary["rows"]))
    return told if rows and all(row in present for row in rows) else None


def with_verdict(summary: Summary, document: Mapping[str, Any] | None) -> Summary:
    """Put a search's verdict in the place of its final sweep's; an edited one leaves that."""
    verdict = document and _verdict(document)
    return replace(summary, verdict=verdict) if verdict else summary


def beside_verdict(document: Mapping[str, Any]) -> dict[str, Any]:
    """Give what a search says beside its verdict and its final sweep's summary."""
    return {name: one for name, one in document.items() if name not in {"schema", "verdict", "summary"}}


def on_a_page(folder: Path, summary: Mapping[str, Any]) -> dict[str, Any] | None:
    """Give what a page shows of the search that a run ended; None where there is none, or it was edited."""
    document = search_of(folder, summary)
    verdict = document and _verdict(document)
    if document is None or not verdict:
        return None
    try:
        return {
            "verdict": to_dict(verdict),
            "calls": int(document["calls"]["search"]),
            "budget": int(document["budget"]),
            "goal": " + ".join(document["goal"]),
            "lineage": [str(name) for name in document["lineage"]],
            "curve": [[int(one["calls"]), float(one["best"])] for one in document["curve"]],
            "candidates": [{name: one[name] for name in _OF_A_CANDIDATE} for one in document["candidates"]],
        }
    except _EDITED:
        return None


def _verdict(document: Mapping[str, Any]) -> Verdict | None:
    """Read the verdict, without what only a search's has."""
    try:
        told = document["verdict"]
        by = told["by"] and {name: told["by"][name] for name in ("diff", "ci", "p", "from")}
        return from_dict(Verdict, {**told, "by": by})
    except _EDITED:
        return None
