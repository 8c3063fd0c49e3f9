"""Runs to be removed, or removed, as people and programs read it."""

from collections.abc import Sequence
from typing import Any

from optimize_eval.reports.terminal.runs import size_words
from optimize_eval.store.folder import Removal

SCHEMA = "optimize-eval.removed.v1"

_SHOWN = 5


def question(planned: Sequence[Removal]) -> str:
    """Ask whether it may be done."""
    what = "this run" if len(planned) == 1 else f"these {len(planned):,} runs"
    return "\n".join([*(f" {_on_one_line(_line(one))}" for one in planned), f"remove {what} for good? [y/N]"])


def render(removed: Sequence[Removal]) -> str:
    return "\n".join(f"removed {_on_one_line(_line(one))}" for one in removed)


def to_dict(removed: Sequence[Removal]) -> dict[str, Any]:
    return {
        "schema": SCHEMA,
        "removed": [
            {
                "run": str(one.folder),
                "bytes": one.bytes,
                "files": list(one.files),
                "left": list(one.others),
            }
            for one in removed
        ],
    }


def _line(one: Removal) -> str:
    many = len(one.files)
    return f"{one.folder}: {many:,} file{'s' * (many != 1)}, {size_words(one.bytes)}{_left(one)}"


def _left(one: Removal) -> str:
    if not one.others:
        return ""
    more = f" and {len(one.others) - _SHOWN:,} more" if len(one.others) > _SHOWN else ""
    return f"; not of the run, and left there: {', '.join(one.others[:_SHOWN])}{more}"


def _on_one_line(text: str) -> str:
    return " ".join(text.split())
