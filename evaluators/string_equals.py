#!/usr/bin/env python3
"""String equals: 1 when the candidate is one of the targets, letter for letter, else 0.

Nothing is stripped or lowered: a line feed at the end counts.
"""

from _metric import TARGETS, Answer, Asked, equal_to_any, run


def string_equals(asked: Asked) -> Answer:
    said = equal_to_any(asked, str)
    return said | {"is_correct": said["score"] == 1.0}


if __name__ == "__main__":
    run(string_equals, fields=("ground_truth", *TARGETS))
