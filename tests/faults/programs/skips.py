#!/usr/bin/env python3
"""Skips every third example; `alive` is kept alive, `batch` takes batches too, without a word it does neither."""

import sys

import quick_json as json

MODE = sys.argv[1:]


def answer(example):
    number = example["id"]
    said = {"skip": f"{number} is no prime", "lang": "en"} if number % 3 == 0 else {"score": number / 100}
    capabilities = {"persistent": True, "batch": 4 if MODE == ["batch"] else 1}
    return said | ({"_capabilities": capabilities} if MODE else {})


for line in sys.stdin:
    payload = json.loads(line)
    results = [answer(example) for example in payload.get("examples", [])]
    said = {"results": results} if results else answer(payload["example"])
    print(json.dumps(said | ({"_id": payload["_id"]} if "_id" in payload else {})), flush=True)
