#!/usr/bin/env python3
"""Declares a window, but its threads share a variable."""

import sys, threading, time
import quick_json as json

printing, current = threading.Lock(), None


def answer(line):
    global current
    payload = json.loads(line)
    current = payload["example"]["number"]
    time.sleep(0.02)
    said = {"score": current / 100, "_id": payload.get("_id")}
    with printing:
        print(json.dumps({**said, "_capabilities": {"persistent": True, "concurrency": 4}}), flush=True)


for line in sys.stdin:
    threading.Thread(target=answer, args=(line,)).start()
