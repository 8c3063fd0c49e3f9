#!/usr/bin/env python3
"""An evaluator in Python: which share of the words the candidate and the example's `target` have in common.

echo '{"candidate":"hello Ada","example":{"target":"Hello, dear Ada!"}}' | python3 word_share.py
"""

import json
import re
import sys
from typing import Any


def words(text: str) -> list[bytes]:
    """Find letters and digits in a row, as bytes, so that only A to Z are made small."""
    return re.findall(rb"[a-z0-9\x80-\xff]+", text.encode().lower())


def judge(candidate: str, example: dict[str, Any]) -> dict[str, Any]:
    """Change this: answer a "score" from 0 to 1 and whatever explains it, or an "error", or a "skip"."""
    target = example.get("target")
    wanted = words(target) if isinstance(target, str) else []
    if not wanted:
        return {"error": "the example needs a target, a text with a word in it"}
    said = words(candidate)
    known, longer = set(said), max(len(wanted), len(said))  # whoever says more than is wanted scores less
    found = sum(word in known for word in wanted)
    return {"score": found / longer, "found": found, "words": longer}


for line in sys.stdin.buffer:  # bytes: JSON is UTF-8 whatever the locale is
    payload = json.loads(line)
    answer = judge(payload["candidate"], payload.get("example", {}))
    answer["_capabilities"] = {"persistent": True}  # further payloads may come as further lines
    if "_id" in payload:
        answer["_id"] = payload["_id"]
    print(json.dumps(answer), flush=True)
