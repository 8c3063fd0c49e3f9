#!/usr/bin/env python3
"""One program that can be reached in every way: $HOW is what it declares, and it takes batches."""

import os, sys
import quick_json as json

capabilities = json.loads(os.environ.get("HOW", "{}"))


def judge(payload, example):
    number = example["id"]
    if number % 13 == 5:
        return {"error": f"no score for {number}"}
    return {"score": (number % 7) / 10 + len(payload["candidate"]) / 100, "id": number}


for line in sys.stdin:
    payload = json.loads(line)
    if "examples" in payload:
        said = {"results": [judge(payload, example) for example in payload["examples"]]}
    else:
        said = judge(payload, payload["example"])
        if capabilities:
            said["_capabilities"] = capabilities
    if "_id" in payload:
        said["_id"] = payload["_id"]
    print(json.dumps(said), flush=True)
