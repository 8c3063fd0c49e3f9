#!/usr/bin/env python3
r"""Regex match: 1 when one of the patterns is found in the candidate, else 0.

The patterns are regular expressions as Python has them: the example's field `pattern`, else its targets; or
`--pattern '^\d{4}$'` for all examples. `--variant full` wants the whole candidate to match.
"""

import re

from _metric import TARGETS, Answer, Asked, Fault, run, shortened

_WAYS = {"search": re.search, "full": re.fullmatch}


def find(pattern: str, text: str, variant: str) -> re.Match[str] | None:
    try:
        return _WAYS[variant](pattern, text)
    except (re.error, OverflowError, RecursionError) as error:
        raise Fault(f"the pattern {shortened(pattern)!r} is no regular expression: {error}") from error


def regex_match(asked: Asked) -> Answer:
    patterns = asked.options["pattern"] or asked.texts()
    for pattern in patterns:
        if match := find(pattern, asked.candidate, asked.options["variant"]):
            return {
                "score": 1.0,
                "matched": shortened(pattern),
                "text": shortened(match[0]),
                "at": match.start(),
            }
    return {"score": 0.0, "matched": None, "patterns": len(patterns)}


if __name__ == "__main__":
    run(
        regex_match,
        fields=("pattern", *TARGETS),
        variants=("search", "full"),
        options={"--pattern": {"action": "append", "help": "a pattern for all examples; repeatable"}},
    )
