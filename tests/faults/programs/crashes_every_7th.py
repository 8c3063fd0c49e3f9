#!/usr/bin/env python3
import json, sys

number = int(json.load(sys.stdin)["candidate"])
if number % 7 == 0:
    sys.exit("crash on a seventh")
print(json.dumps({"score": number / 100}))
