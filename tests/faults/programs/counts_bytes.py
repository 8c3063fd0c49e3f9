#!/usr/bin/env python3
import json, sys

candidate = json.load(sys.stdin)["candidate"]
print(json.dumps({"score": 1, "characters": len(candidate), "head": candidate[:20]}))
