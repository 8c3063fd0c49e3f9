#!/usr/bin/env python3
import json, sys

print(json.dumps({"score": len(json.load(sys.stdin)["example"]["input"]) / 10}))
