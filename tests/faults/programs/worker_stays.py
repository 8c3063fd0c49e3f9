#!/usr/bin/env python3
"""A good worker that does not end when its stdin does, nor by SIGTERM."""

import signal, sys, time
import quick_json as json

signal.signal(signal.SIGTERM, signal.SIG_IGN)
for line in sys.stdin:
    payload = json.loads(line)
    said = {"score": 0.5, "_capabilities": {"persistent": True}}
    if "_id" in payload:
        said["_id"] = payload["_id"]
    print(json.dumps(said), flush=True)
    if "_id" not in payload:
        sys.exit()
time.sleep(600)
