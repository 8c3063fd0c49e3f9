#!/usr/bin/env python3
"""Breaks on every example but the first."""

import sys
import quick_json as json

if json.loads(sys.stdin.readline())["example"]["number"] != 1:
    sys.exit("not the first")
print(json.dumps({"score": 1}))
