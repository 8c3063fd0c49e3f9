#!/usr/bin/env python3
"""A worker with one trait, named by its first argument; behaves well one-shot, where its payload has no _id.

The candidate is a number; the score is a tenth of it. TRAIT applies to candidates that are divisible by 5.
"""

import os, sys, time
import quick_json as json

trait, concurrency = sys.argv[1], int((sys.argv[2:] or ["1"])[0])
held = []


def answer(payload):
    number = int(payload["candidate"])
    said = {"score": number / 100, "number": number}
    if number % 7 == 3:
        said = {"error": f"no score for {number}"}
    said["_capabilities"] = {"persistent": True, "concurrency": concurrency}
    if "_id" in payload:
        said["_id"] = payload["_id"]
    return said


def say(said, end="\n"):
    sys.stdout.write(json.dumps(said) + end)
    sys.stdout.flush()


def misbehave(payload):
    if trait == "never-flushes":
        sys.stdout.write(json.dumps(answer(payload)) + "\n")
    elif trait == "dies-mid-answer":
        say(answer(payload), end="")
        os._exit(0)
    elif trait == "dies":
        print("out of luck", file=sys.stderr)
        os._exit(3)
    elif trait == "answers-twice":
        say(answer(payload))
        say(answer(payload))
    elif trait == "wrong-id":
        say({**answer(payload), "_id": "nobody"})
    elif trait == "no-id":
        say({"score": 1})
    elif trait == "noise":
        print("progress: 50 %", flush=True)
        say(answer(payload))
    elif trait == "nan":
        say({**answer(payload), "extra": float("nan")})
    elif trait == "overlong-line":
        say({**answer(payload), "padding": "x" * 9_000_000})
    elif trait == "hangs":
        for up in sys.argv[3:]:
            open(up, "w").write("up")
        time.sleep(600)
    elif trait == "closes-stdout":
        os.close(1)
        time.sleep(600)
    elif trait == "big-line":
        say({**answer(payload), "padding": "x" * 65_537})
    elif trait == "stderr-flood":
        sys.stderr.write("x" * 1_000_000)
        say(answer(payload))
    elif trait == "grandchild":
        if os.fork() == 0:
            os.setsid()
            time.sleep(600)
        say(answer(payload))
        time.sleep(600)


for line in sys.stdin:
    payload = json.loads(line)
    number = int(payload["candidate"])
    if "_id" not in payload:
        said = answer(payload)
        if trait == "big-line" and number % 5 == 0:
            said["padding"] = "x" * 65_537
        if trait == "nan" and number % 5 == 0:
            said["extra"] = float("nan")
        if trait == "overlong-line" and number % 5 == 0:
            said["padding"] = "x" * 9_000_000
        if trait == "hangs" and number % 5 == 0:
            time.sleep(600)
        if trait in {"out-of-order", "serial"}:
            time.sleep(0.001)
        say(said)
    elif trait == "out-of-order":
        held.append(payload)
        if len(held) == concurrency:
            for payload in reversed(held):
                say(answer(payload))
            held.clear()
    elif trait == "serial":
        time.sleep(
            float(sys.argv[3])
        )  # one after the other behind a declared window: the last in the queue is late
        say(answer(payload))
    elif trait not in {"good", "out-of-order"} and number % 5 == 0:
        misbehave(payload)
    else:
        say(answer(payload))
