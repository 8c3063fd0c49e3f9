#!/usr/bin/env python3
"""Side info and stderr that would break a table."""

import sys
import quick_json as json

print("x" * 500, "\x1b[31m", "語" * 100, file=sys.stderr)
print(json.dumps({"score": 0.5, "k" * 200: 1, "\x1b[2J" * 20: 2, "語" * 60: 3}))
