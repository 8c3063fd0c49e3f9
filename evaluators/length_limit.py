#!/usr/bin/env python3
"""Length limit: 1 when the candidate is not too long (and, with --min, not too short), else 0.

`--max 280` is the limit for all examples; without it and `--min`, the example's field `limit` is, else its
target. Counted are characters, or with `--variant`: words, lines or bytes.
"""

from _metric import TARGETS, Answer, Asked, Fault, kind, run


def length_of(text: str, unit: str) -> int:
    match unit:
        case "words":
            return len(text.split())
        case "lines":
            return len(text.splitlines())
        case "bytes":
            return len(text.encode())
    return len(text)


def limit_of(asked: Asked) -> int | None:
    if asked.options["max"] is not None or asked.options["min"] is not None:
        most: int | None = asked.options["max"]
        return most
    limit = asked.find(instead="--max N")
    if isinstance(limit, bool) or not isinstance(limit, int):
        raise Fault(f"the limit is no whole number but {kind(limit)}; --max N sets one for all examples")
    return limit


def length_limit(asked: Asked) -> Answer:
    unit, most, least = asked.options["variant"], limit_of(asked), asked.options["min"] or 0
    length = length_of(asked.candidate, unit)
    over = max(0, length - most) if most is not None else 0
    return {
        "score": float(not over and length >= least),
        "length": length,
        "unit": unit,
        "max": most,
        "over": over,
        "under": max(0, least - length),
    }


if __name__ == "__main__":
    run(
        length_limit,
        fields=("limit", *TARGETS),
        variants=("characters", "words", "lines", "bytes"),
        options={
            "--max": {"type": int, "metavar": "N", "help": "the longest that is fine"},
            "--min": {"type": int, "metavar": "N", "help": "the shortest that is fine (0)"},
        },
    )
