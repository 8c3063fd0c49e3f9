#!/usr/bin/env python3
"""Exact match: 1 when the candidate equals one of the example's targets, else 0.

By default both sides are compared @normalised (lower case, runs of blanks as one); `--variant strict` only
strips the ends.
"""

from _metric import Answer, Asked, run


def normalise(text: str, variant: str) -> str:
    return text.strip() if variant == "strict" else " ".join(text.lower().split())


def exact_match(asked: Asked) -> Answer:
    variant, targets = asked.options["variant"], asked.texts()
    said = normalise(asked.candidate, variant)
    matched = [target for target in targets if normalise(target, variant) == said]
    return {
        "score": 1.0 if matched else 0.0,
        "matched": matched[0] if matched else None,
        "targets": len(targets),
    }


if __name__ == "__main__":
    run(exact_match, variants=("normalised", "strict"))
