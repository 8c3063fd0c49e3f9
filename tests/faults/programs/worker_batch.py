#!/usr/bin/env python3
"""Answers batches; its second argument is the trait of a batch that holds an example divisible by 5."""

import os, sys, time
import quick_json as json

persistent, trait = sys.argv[1] == "persistent", sys.argv[2]


def judge(example, size=1):
    number = example["number"]
    return {"error": "a three"} if number == 3 else {"score": number / 100, "number": number, "size": size}


def results(examples):
    found = [judge(example, len(examples)) for example in examples]
    if all(example["number"] % 5 for example in examples):
        return {"results": found}
    if trait == "short":
        return {"results": found[:-1]}
    if trait == "none":
        return {"score": 1}
    if trait == "bad-element":
        return {
            "results": [{"score": "1"} if "score" in one and one["number"] % 5 == 0 else one for one in found]
        }
    if trait == "hangs":
        time.sleep(600)
    if trait == "dies":
        os._exit(1)
    return {"results": found}


for line in sys.stdin:
    payload = json.loads(line)
    if "examples" in payload:
        said = results(payload["examples"])
    else:
        said = judge(payload["example"])
        if trait == "bad-element" and payload["example"]["number"] % 5 == 0:
            said["score"] = "1"
        said["_capabilities"] = {"persistent": persistent, "batch": 4}
    if "_id" in payload:
        said["_id"] = payload["_id"]
    print(json.dumps(said), flush=True)
