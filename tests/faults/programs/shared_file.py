#!/usr/bin/env python3
"""Passes its number through a file that all calls share."""

import json, pathlib, sys, time

shared = pathlib.Path(sys.argv[1])
number = json.loads(sys.stdin.readline())["example"]["number"]
shared.write_text(str(number))
time.sleep(0.1)
print(json.dumps({"score": int(shared.read_text()) / 100}))
