"""Assertions over many outputs at once, as functions: match a gold set, an allow-list, forbidden patterns.

For a program that has all outputs in hand. As evaluators, one output at a time with every failure kept apart,
they are @exact, @contains, @label_in_set and @forbidden.
"""

import re
from collections.abc import Iterable, Sequence

from optimize_eval.base.errors import UsageError

_PLACES = 4


def evaluate(predictions: Sequence[str], gold: Sequence[str], mode: str) -> float:
    """Average over all pairs, to 4 places, whether a prediction is (`exact`) or `contains` its gold answer.

    Both are compared in lower case and with their ends stripped; nothing to compare is 0.0.

    >>> evaluate(["The capital is Paris.", "Rome"], ["paris", "rome"], "contains")
    1.0
    """
    if mode not in {"exact", "contains"}:
        raise ValueError(f"unknown mode: {mode!r} is neither 'exact' nor 'contains'")
    if len(predictions) != len(gold):
        raise ValueError(f"{len(predictions)} predictions cannot be compared with {len(gold)} gold answers")
    pairs = [(_plain(output), _plain(wanted)) for output, wanted in zip(predictions, gold, strict=True)]
    right = sum(wanted == output if mode == "exact" else wanted in output for output, wanted in pairs)
    return round(right / len(pairs), _PLACES) if pairs else 0.0


def label_in_set(outputs: Iterable[str], allowed: Iterable[str]) -> dict[str, int]:
    """Count the outputs that are an allowed label, their ends stripped, and those that are not.

    >>> label_in_set(["yes", " no ", "maybe"], {"yes", "no"})
    {'passed': 2, 'failed': 1}
    """
    labels = set(_several(allowed, "the allowed labels are"))
    verdicts = [output.strip() in labels for output in _several(outputs, "the outputs are")]
    return {"passed": sum(verdicts), "failed": len(verdicts) - sum(verdicts)}


def has_forbidden(text: str, patterns: Iterable[str]) -> bool:
    """Return True if any of the regular expressions is found in a text.

    >>> has_forbidden("Sorry, as an AI I cannot.", ["as an AI"])
    True
    """
    compiled = [_compiled(pattern) for pattern in _several(patterns, "the patterns are")]  # all, before any
    return any(pattern.search(text) for pattern in compiled)


def _plain(text: str) -> str:
    return text.strip().lower()


def _several(texts: Iterable[str], what: str) -> Iterable[str]:
    """Refuse one text, whose letters would be taken for texts."""
    if isinstance(texts, str):
        raise UsageError(f"{what} several texts, not one: {texts!r}", hint="put it into a list")
    return texts


def _compiled(pattern: str) -> re.Pattern[str]:
    try:
        return re.compile(pattern)
    except (re.error, OverflowError, RecursionError) as error:
        raise UsageError(
            f"{pattern!r} is not a regular expression: {error}", hint="re.escape(text) makes a plain text one"
        ) from error
