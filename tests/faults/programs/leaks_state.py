#!/usr/bin/env python3
"""Declares to be persistent, but its answer depends on how often it was asked."""

import sys
import quick_json as json

for asked, line in enumerate(sys.stdin):
    payload = json.loads(line)
    said = {"score": asked / 100, "_id": payload.get("_id"), "_capabilities": {"persistent": True}}
    print(json.dumps(said), flush=True)
