#!/usr/bin/env python3
"""Breaks on long candidates."""

import sys
import quick_json as json

candidate = json.loads(sys.stdin.readline())["candidate"]
assert len(candidate) < 1000, "too long"
print(json.dumps({"score": 1}))
