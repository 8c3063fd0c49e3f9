#!/usr/bin/env python3
"""Substring: 1 when a target stands in the candidate, in lower case and with runs of blanks as one, else 0.

A target within a word counts: "art" stands in "party".
"""

from _metric import Answer, Asked, inside, run


def normalise(text: str) -> str:
    return " ".join(text.lower().split())


def substring_contains(asked: Asked) -> Answer:
    return inside(asked, normalise)


if __name__ == "__main__":
    run(substring_contains)
