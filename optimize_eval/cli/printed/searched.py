"""The report of a run that a search ended with: the verdict of the search, which knows all that val saw.

A run's verdict corrects for the candidates that it has; the search had val see more of them.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import orjson

from optimize_eval.cli import output
from optimize_eval.findings.shapes.summary import Summary
from optimize_eval.reading import files

FILE = "search.json"

_SCHEMA = "optimize-eval.optimize.v1"


def search_of(folder: Path, summary: Summary) -> Mapping[str, Any] | None:
    """Read what the search said; None where the run is not, or no more, the one that it ended with."""
    try:
        document = orjson.loads(files.load(folder / FILE, files.OF_A_RUN))
        rows = document["summary"]["rows"] if document["schema"] == _SCHEMA else None
    except (OSError, orjson.JSONDecodeError, LookupError, TypeError):
        return None
    told: Mapping[str, Any] = document
    return told if rows == orjson.loads(orjson.dumps(summary.to_dict()["rows"])) else None


def show(document: Mapping[str, Any]) -> bool:
    """Print it; False where somebody edited it."""
    from optimize_eval.reports.terminal import search  # noqa: PLC0415  few runs are of a search

    try:
        text = search.render(output.fitted(document), width=output.width(), paint=output.paint())
    except (LookupError, TypeError, ValueError, AttributeError):
        return False
    output.emit(text)
    return True


def note(document: Mapping[str, Any]) -> None:
    """Say what formats without the search's verdict do not know."""
    among = (document["verdict"].get("by") or {}).get("among")
    output.say(
        f"note: a search chose these candidates{f', among {among:,}' if among else ''}: "
        f"its verdict is in {FILE}, and in the report for the terminal"
    )
