#!/usr/bin/env python3
"""Kept alive, in windows and in batches: most of its answers are wrong, and say more than that."""

import sys
import quick_json as json
from zlib import crc32

ANSWERS = [
    {"score": 0.5, "big": 2**100},
    {"score": 1.5, "reasoning": "too good", "n": [1.0, {"x": "\u00fc"}]},
    {"error": "no", "reasoning": "it is empty"},
    {"score": None, "error": "no key", "model": "m"},
    {"error": {"message": "quota", "code": 429}, "big": -(2**70)},
    {"error": {"code": 7}},
    {"score": "0.7", "why": "a text"},
    {"reasoning": "no score at all"},
    {"score": True, "error": "both"},
    {"score": 10**400, "why": "too large"},
    {"skip": "not mine", "lang": "en"},
    {"skip": "", "lang": "en"},
]


def answer(candidate, example):
    said = ANSWERS[crc32((candidate + json.dumps(example)).encode()) % len(ANSWERS)]
    return said | {"_capabilities": {"persistent": True, "concurrency": 2, "batch": 3}}


for line in sys.stdin:
    payload = json.loads(line)
    candidate, examples = payload["candidate"], payload.get("examples")
    if examples is None:
        said = answer(candidate, payload.get("example"))
    else:
        said = {"results": [answer(candidate, example) for example in examples]}
    print(json.dumps(said | ({"_id": payload["_id"]} if "_id" in payload else {})), flush=True)
