#!/usr/bin/env python3
"""A proposer: adds a word that the worst example's `target` has and the candidate lacks.

echo '{"candidate":"hi","records":[{"score":0.5,"example":{"target":"hi Ada"}}]}' | python3 missing_word.py
"""

import json
import re
import sys
from typing import Any


def propose(request: dict[str, Any]) -> dict[str, Any]:
    """Change this: answer with a better candidate, or "skip" where there is none to propose."""
    candidate, records = request["candidate"], request["records"]
    known = set(re.findall(r"\w+", candidate.lower()))
    for record in sorted(records, key=lambda record: record["score"] or 0.0):  # a failed example has null
        wanted = re.findall(r"\w+", str(record.get("example", {}).get("target", "")))
        if missing := [word for word in wanted if word.lower() not in known]:
            return {"candidate": f"{candidate} {missing[0]}".strip(), "note": f"added {missing[0]}"}
    return {"skip": "no example wants a word that the candidate lacks"}


for line in sys.stdin.buffer:
    asked = json.loads(line)
    reply = propose(asked) | {
        "_capabilities": {"persistent": True}
    }  # further requests may come as further lines
    if "_id" in asked:
        reply["_id"] = asked["_id"]
    print(json.dumps(reply), flush=True)
