#!/usr/bin/env python3
"""Declares a window, but its threads share a variable."""

import json, sys, threading, time
from concurrent.futures import ThreadPoolExecutor

printing, current = threading.Lock(), None


def answer(line):
    global current
    payload = json.loads(line)
    current = payload["example"]["number"]
    time.sleep(0.02)
    said = {"score": current / 100, "_id": payload.get("_id")}
    with printing:
        print(json.dumps({**said, "_capabilities": {"persistent": True, "concurrency": 4}}), flush=True)


with ThreadPoolExecutor(4) as threads:
    for line in sys.stdin:
        threads.submit(answer, line)
