#!/usr/bin/env python3
"""Forbidden: 1 when none of the patterns is found in the candidate, 0 when one is.

The patterns are regular expressions as Python has them: the example's field `forbidden`, else its targets; or
`--pattern 'as an AI'` for all examples. `(?i)` at the start of one lets case not count.
"""

import re

from _metric import TARGETS, Answer, Asked, Fault, run, shortened

_SHOWN = 5


def find(pattern: str, text: str) -> re.Match[str] | None:
    try:
        return re.search(pattern, text)
    except (re.error, OverflowError, RecursionError) as error:
        raise Fault(f"the pattern {shortened(pattern)!r} is no regular expression: {error}") from error


def forbidden(asked: Asked) -> Answer:
    patterns = asked.options["pattern"] or asked.texts(least=0)
    found = {pattern: match[0] for pattern in patterns if (match := find(pattern, asked.candidate))}
    return {
        "score": 0.0 if found else 1.0,
        "found": [shortened(pattern) for pattern in found][:_SHOWN],
        "texts": [shortened(text) for text in found.values()][:_SHOWN],
        "patterns": len(patterns),
    }


if __name__ == "__main__":
    run(
        forbidden,
        fields=("forbidden", *TARGETS),
        options={"--pattern": {"action": "append", "help": "a pattern for all examples; repeatable"}},
    )
