#!/usr/bin/env python3
import sys
import quick_json as json

for line in sys.stdin:
    payload = json.loads(line)
    score = 1 / (1 + len(payload.get("example", {}).get("input", "")))
    print(
        json.dumps({"score": score, "_id": payload.get("_id"), "_capabilities": {"persistent": True}}),
        flush=True,
    )
