#!/usr/bin/env python3
import sys
import quick_json as json

print(json.dumps({"score": len(json.loads(sys.stdin.read())["example"]["input"]) / 10}))
