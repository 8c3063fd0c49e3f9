#!/usr/bin/env python3
import sys
import quick_json as json

candidate = json.loads(sys.stdin.read())["candidate"]
print(json.dumps({"score": 1, "characters": len(candidate), "head": candidate[:20]}))
