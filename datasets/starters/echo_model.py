"""A model whose reply is what it was sent: a text, or messages as JSON. promptfoo's provider echo does so."""

import json
import sys

for line in sys.stdin:
    asked = json.loads(line)
    messages = asked.get("messages", [])
    is_text = not messages or (len(messages) == 1 and messages[0]["role"] == "user")
    text = asked["prompt"] if is_text else json.dumps(messages, indent=2, ensure_ascii=False)
    reply = {"text": text, "_id": asked.get("_id"), "_capabilities": {"persistent": True}}
    print(json.dumps(reply), flush=True)
