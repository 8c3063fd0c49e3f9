"""Why a score is what it is, in the evaluator's own words: which of its texts that is."""

import math
from collections.abc import Mapping, Sequence
from operator import itemgetter
from typing import Any

from optimize_eval.base import strict_json
from optimize_eval.findings.sideinfo import LONGEST_KEPT, flat
from optimize_eval.store.view import JournalRecord

_SPENT = "usage"  # among the metadata of a scorer that calls a model
_KEYS = ("reasoning", "reason", "explanation", "message", "feedback")


def reason_of(side_info: Mapping[str, Any]) -> str | None:
    """Find the reason beside a score, whatever its length: by its usual names, else the longest text.

    >>> reason_of({"label": "a rather long label", "reason": "off topic"})
    'off topic'
    """
    named = (text for key in _KEYS if (text := _text(side_info.get(key))))
    texts = (_text(value) for _, value in sorted(flat(side_info), key=itemgetter(0)))
    return next(named, None) or max(texts, key=len, default="") or None


def fields_said(side_info: Mapping[str, Any]) -> str:
    """List the fields that a scorer of a task in YAML gives, without what it spent; others have none."""
    scores, metadata = side_info.get("scores"), side_info.get("metadata") or {}
    if not isinstance(scores, dict):
        return ""
    fields = {**scores, **{key: one for key, one in metadata.items() if key != _SPENT}}
    texts = {
        key: one if isinstance(one, str) else strict_json.dumps(one).decode() for key, one in fields.items()
    }
    return " · ".join(f"{key}: {text}" for key, text in texts.items())


def reason_of_lowest(records: Sequence[JournalRecord]) -> str | None:
    """Find what was said of the lowest of an example's repeats that anything was said of."""
    scored = sorted(
        (record for record in records if record["outcome"] == "scored"),
        key=_number_of,
    )
    return next((reason for record in scored if (reason := reason_of(record["side_info"]))), None)


def _number_of(record: JournalRecord) -> float:
    """Give a record's score; what has no number comes last."""
    score: float | None = record["score"]
    return math.inf if score is None else score


def _text(value: Any) -> str:
    return value[:LONGEST_KEPT] if isinstance(value, str) and value.strip() else ""
