"""A judge of tests that gives the scores that examples or candidates hold, and how it is run."""

_JUDGE = """import sys
null = None  # a payload as Python: to import json is half of a start
for line in sys.stdin:
    payload = eval(line)
    score = SCORE
    said = '"error": "cannot"' if score is None else f'"score": {score!r}'
    known = f', "_id": "{payload["_id"]}"' if "_id" in payload else ""
    print("{" + said + known + ', "_capabilities": {"persistent": true}}', flush=True)
"""
OF_EXAMPLE = _JUDGE.replace("SCORE", "payload['example']['scores'].get(payload['candidate'])")
OF_CANDIDATE = _JUDGE.replace("SCORE", "eval(payload['candidate'])[payload['example']['n']]")
JUDGE = "judge=python3 -S judge.py"
JUDGED = ("run", "-e", JUDGE, "--persistent")
