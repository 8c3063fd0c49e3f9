#!/usr/bin/env python3
"""A model under test with one trait, named by its first argument; says the last word of its prompt in capitals.

TRAIT applies to prompts that hold "odd", and only where the program is kept alive; `counts` writes each
prompt to the file that is named next.
"""

import os, sys, time
import quick_json as json

trait = (sys.argv[1:] or ["good"])[0]
declared = {
    "window": {"persistent": True, "concurrency": 4},
    "batch": {"persistent": True, "batch": 4},
    "short-batch": {"persistent": True, "batch": 4},
    "batch-once": {"batch": 4},
    "one-shot": {},
}.get(trait, {"persistent": True})


def answer(prompt):
    if "refuse" in prompt:
        return {"error": "no comment"}
    return {"text": prompt.split()[-1].upper(), "tokens": len(prompt.split())}


for line in sys.stdin:
    asked = json.loads(line)
    if trait == "counts":
        open(sys.argv[2], "a").write(json.dumps(asked.get("prompt")) + "\n")
    if "prompts" in asked:
        said = {"results": [answer(prompt) | {"batched": True} for prompt in asked["prompts"]]}
        if trait == "short-batch":
            said["results"].pop()
    else:
        assert asked["messages"] == [{"role": "user", "content": asked["prompt"]}]
        said = answer(asked["prompt"]) | {"_capabilities": declared}
    if "_id" in asked:
        said["_id"] = asked["_id"]
        if "odd" in asked.get("prompt", ""):
            if trait == "dies":
                os._exit(3)
            if trait == "noise":
                print("thinking...", flush=True)
            if trait == "wrong-id":
                said["_id"] = "nobody"
            if trait == "hangs":
                time.sleep(600)
    print(json.dumps(said), flush=True)
