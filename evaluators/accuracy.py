#!/usr/bin/env python3
"""Accuracy: 1 when the candidate equals one of the targets, the ends of both stripped, else 0.

The same as @exact_match@strict: case and inner blanks count. The mean over a dataset is the accuracy.
"""

from _metric import Answer, Asked, equal_to_any, run


def accuracy(asked: Asked) -> Answer:
    return equal_to_any(asked, str.strip)


if __name__ == "__main__":
    run(accuracy)
