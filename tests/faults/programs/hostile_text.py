#!/usr/bin/env python3
import json, sys

evil = "\x1b[2J\x1b]0;owned\x07\u202e::error::x ##[error]y \x9b31m"
print(evil, file=sys.stderr)
if "fail" in sys.argv:
    sys.exit(1)
print(json.dumps({"score": 1, "note": evil}, ensure_ascii=False))
