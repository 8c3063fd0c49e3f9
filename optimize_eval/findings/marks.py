"""Marks of replies that are no usual ones, in one wording for all that shows a reply."""

from collections.abc import Iterator, Mapping
from typing import Any

_CUT_OFF = "length"


def reply_marks(facts: Mapping[str, Any]) -> Iterator[str]:
    """Say what a reader of a reply has to know, and who gave it where its server says so."""
    if facts.get("refused") is True:
        yield "refused"
    if facts.get("finish_reason") == _CUT_OFF:
        yield "cut off"
    if facts.get("empty") is True:
        yield "empty"
    if isinstance(who := facts.get("answered_by"), str):
        yield f"by {who}"
