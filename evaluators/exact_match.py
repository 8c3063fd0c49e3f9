#!/usr/bin/env python3
"""Exact match: 1 when the candidate equals one of the example's targets, else 0.

Reads payloads, one a line, until stdin ends; runs without optimize-eval installed. By default both sides
are compared @normalised (lower case, runs of blanks as one); `--variant strict` only strips the ends.
"""

import argparse
import json
import sys
from typing import Any


def normalise(text: str, variant: str) -> str:
    return text.strip() if variant == "strict" else " ".join(text.lower().split())


def targets_of(example: dict[str, Any]) -> list[str]:
    targets = example.get("targets") or example.get("target")
    listed = [targets] if isinstance(targets, str) else targets
    return listed if isinstance(listed, list) and all(isinstance(target, str) for target in listed) else []


def answer(payload: dict[str, Any], variant: str) -> dict[str, Any]:
    targets = targets_of(payload.get("example", {}))
    if not targets:
        return {"error": 'exact_match needs an example with "targets" (texts) or "target" (a text)'}
    said = normalise(payload["candidate"], variant)
    matched = [target for target in targets if normalise(target, variant) == said]
    return {
        "score": 1.0 if matched else 0.0,
        "matched": matched[0] if matched else None,
        "targets": len(targets),
    }


def reply(payload: dict[str, Any], variant: str) -> dict[str, Any]:
    if "examples" in payload:  # a batch: one candidate, several examples
        said = {"results": [answer({**payload, "example": one}, variant) for one in payload["examples"]]}
    else:
        said = answer(payload, variant) | {"_capabilities": {"persistent": True, "batch": 64}}
    return said | ({"_id": payload["_id"]} if "_id" in payload else {})


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--variant", choices=["normalised", "strict"], default="normalised")
    variant = parser.parse_args().variant
    for line in sys.stdin.buffer:  # bytes: JSON is UTF-8 whatever the locale is
        print(json.dumps(reply(json.loads(line), variant)), flush=True)


if __name__ == "__main__":
    main()
