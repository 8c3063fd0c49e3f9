#!/usr/bin/env python3
"""Exact: 1 when the candidate equals one of the targets, both in lower case and their ends stripped, else 0.

Blanks inside count, which @exact_match takes as one.
"""

from _metric import Answer, Asked, equal_to_any, run


def normalise(text: str) -> str:
    return text.strip().lower()


def exact(asked: Asked) -> Answer:
    return equal_to_any(asked, normalise)


if __name__ == "__main__":
    run(exact)
