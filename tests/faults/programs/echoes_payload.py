#!/usr/bin/env python3
import os, sys
import quick_json as json

line = sys.stdin.buffer.read().decode()
print(json.dumps({"score": 1, "line": line, "variable": os.environ.get("OPTIMIZE_ANYTHING_TASK_MODEL")}))
