#!/usr/bin/env python3
"""Declares to be persistent, but its answers stay in the buffer until it ends."""

import sys
import quick_json as json

for line in sys.stdin:
    payload = json.loads(line)
    sys.stdout.write(
        json.dumps({"score": 0.5, "_id": payload.get("_id"), "_capabilities": {"persistent": True}}) + "\n"
    )
