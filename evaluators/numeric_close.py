#!/usr/bin/env python3
"""Numeric close: 1 when the candidate's number is close to a target's, else 0.

The candidate's number is its last one, so that "about 3.2 or 1,234.5 in all" says 1234.5; `--variant whole`
wants nothing else beside it. Close is what Python's math.isclose says: the difference is at most `--rel-tol`
(0.000001) of the larger number, or at most `--abs-tol` (0). Targets are numbers, or texts that are one.
"""

import re
from math import isclose, isfinite

from _metric import Answer, Asked, Fault, kind, run, shortened

_NUMBER = re.compile(
    r"(?<![\d.])[-+]?(?:\d{1,3}(?:,\d{3})+(?!\d)|\d+|(?=\.\d))(?:\.\d+)?(?:[eE][-+]?\d+)?", re.ASCII
)


def said_number(text: str, variant: str) -> float | None:
    whole = _NUMBER.fullmatch(text.strip())
    found = [whole[0]] if whole else _NUMBER.findall(text) if variant == "last" else []
    number = float(found[-1].replace(",", "")) if found else None
    return number if number is not None and isfinite(number) else None


def wanted_number(target: object) -> float:
    if isinstance(target, str):
        number = said_number(target, "whole")
        if number is None:
            raise Fault(f"the target {shortened(target)!r} is no number")
        return number
    if isinstance(target, bool) or not isinstance(target, int | float):
        raise Fault(f"a target is no number but {kind(target)}")
    try:
        return float(target)
    except OverflowError:
        raise Fault("a target is a number that no 64-bit float can hold") from None


def numeric_close(asked: Asked) -> Answer:
    found = asked.find()
    targets = [wanted_number(target) for target in (found if isinstance(found, list) else [found])]
    if not targets:
        raise Fault("the targets are an empty list")
    number = said_number(asked.candidate, asked.options["variant"])
    if number is None:
        return {"score": 0.0, "number": None, "reasoning": "the candidate has no number"}
    nearest = min(targets, key=lambda target: abs(target - number))
    relative, absolute = asked.options["rel_tol"], asked.options["abs_tol"]
    close = any(isclose(number, target, rel_tol=relative, abs_tol=absolute) for target in targets)
    return {"score": float(close), "number": number, "nearest": nearest, "off_by": abs(number - nearest)}


if __name__ == "__main__":
    run(
        numeric_close,
        variants=("last", "whole"),
        options={
            "--rel-tol": {"type": float, "default": 1e-6, "help": "relative to the larger number (0.000001)"},
            "--abs-tol": {"type": float, "default": 0.0, "help": "in the numbers' own unit (0)"},
        },
    )
