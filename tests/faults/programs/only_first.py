#!/usr/bin/env python3
"""Breaks on every example but the first."""

import json, sys

if json.loads(sys.stdin.readline())["example"]["number"] != 1:
    sys.exit("not the first")
print(json.dumps({"score": 1}))
