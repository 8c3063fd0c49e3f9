#!/usr/bin/env python3
import sys
import quick_json as json

number = int(json.loads(sys.stdin.read())["candidate"])
if number % 7 == 0:
    sys.exit("crash on a seventh")
print(json.dumps({"score": number / 100}))
