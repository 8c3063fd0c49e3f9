"""A model that starts a program for each prompt, as promptfoo's provider exec does; what it prints is the reply.

    exec_model.py FOLDER PROGRAM [ARGUMENT…]

The program is started in FOLDER, and the prompt is its last argument but two.
"""

import json
import re
import subprocess
import sys

for line in sys.stdin:
    asked = json.loads(line)
    messages = asked.get("messages", [])
    is_text = not messages or (len(messages) == 1 and messages[0]["role"] == "user")
    prompt = asked["prompt"] if is_text else json.dumps(messages, indent=2, ensure_ascii=False)
    done = subprocess.run(
        [*sys.argv[2:], prompt, "{}", "{}"],
        cwd=sys.argv[1],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
    )
    text = re.sub(r"\x1b(?:\[[0-?]*[ -/]*[@-~]|[@-Z\\-_])", "", done.stdout.strip())
    problem = done.stderr.strip() if not text else ""
    if done.returncode:
        problem = done.stderr.strip() or f"exit code {done.returncode}"
    print(json.dumps({"error": problem} if problem else {"text": text}), flush=True)
