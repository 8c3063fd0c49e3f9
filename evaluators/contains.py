#!/usr/bin/env python3
"""Contains: 1 when one of the targets stands in the candidate, both in lower case and stripped, else 0.

Blanks inside count, which @substring_contains takes as one.
"""

from _metric import Answer, Asked, inside, run


def normalise(text: str) -> str:
    return text.strip().lower()


def contains(asked: Asked) -> Answer:
    return inside(asked, normalise)


if __name__ == "__main__":
    run(contains)
