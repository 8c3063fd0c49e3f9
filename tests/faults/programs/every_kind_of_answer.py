#!/usr/bin/env python3
"""Kept alive: answers as the example says, {"do": …, "score": …}, rightly or with a wrong object."""

import sys
import quick_json as json

WRONG = {
    "error": {"error": "no score for this"},
    "text": {"score": "0.7"},
    "null": {"score": None, "note": "x"},
    "above": {"score": 1.5},
    "missing": {"points": 3, "_capabilities": {}},
}

for line in sys.stdin:
    payload = json.loads(line)
    example = payload["example"]
    good = {"score": example["score"], "big": 2**100, "n": [1.0, {"x": "\u00fc"}]}
    answer = WRONG.get(example["do"], good | {"_capabilities": {"persistent": True, "concurrency": 2}})
    print(json.dumps(answer | ({"_id": payload["_id"]} if "_id" in payload else {})), flush=True)
