"""The programs that sessions of the recorder start: what each answers is a function of what it is sent."""

JUDGE = """\
import json, os, signal, sys, time

def written():
    with open(os.environ["JOURNAL"]) as journal:
        return sum('"outcome"' in line for line in journal)

def kill(calls):
    if os.environ.get("JOURNAL") and not os.path.exists("killed"):
        open("killed", "w").close()
        while written() < calls:
            time.sleep(0.01)
        os.kill(os.getppid(), signal.SIGKILL)
        sys.exit()

for calls, line in enumerate(sys.stdin):
    asked = json.loads(line)
    example, candidate = asked.get("example") or {}, asked["candidate"]
    n, does = example.get("n", 0), "" if os.environ.get("MENDED") else example.get("does")
    worse = bool(os.environ.get("WORSE")) * (n % 2) * 3
    score = max(0, (len(candidate) * 7 + n * 13 + len(sys.argv) * 3) % 11 - worse) / 10
    reply = {"score": score, "letters": len(candidate), "kind": "odd" if n % 2 else "even"}
    match does:
        case "kill":
            kill(calls)
        case "skip":
            reply = {"skip": "it is not for this"}
        case "error":
            reply = {"error": "it cannot be judged", "why": "no reason"}
        case "exit":
            print("a note on stderr\\nbroken", file=sys.stderr, flush=True)
            sys.exit(7)
        case "junk":
            print("this is no JSON", flush=True)
            continue
        case "nothing":
            sys.exit()
        case "text":
            reply["score"] = "good"
        case "huge":
            reply["score"] = 70
    if "_id" in asked:
        reply |= {"_id": asked["_id"], "_capabilities": {"persistent": True}}
    print(json.dumps(reply), flush=True)
"""
LETTERS = """\
#!/bin/sh
read -r line
rest=${line#*'"n":'}
n=${rest%%[,\\}]*}
echo "{\\"score\\": 0.$(( (n * 7 + ${#1} * 3 + ${#line}) % 10 )), \\"n\\": $n}"
"""
PROPOSE = """\
import json, sys
for line in sys.stdin:
    asked = json.loads(line)
    former = asked["candidate"]
    is_parts = isinstance(former, dict)
    more = {name: text + " More." for name, text in former.items()} if is_parts else former + " More."
    reply = {"candidate": more, "note": "one more"}
    print(json.dumps(reply | {"_id": asked.get("_id"), "_capabilities": {"persistent": True}}), flush=True)
"""
ADDER = """\
import json, re, sys
for line in sys.stdin:
    asked = json.loads(line)
    numbers = [int(word) for word in re.findall(r"\\\\d+", asked["prompt"])]
    reply = {"text": str(sum(numbers)), "_id": asked.get("_id")}
    print(json.dumps(reply | {"_capabilities": {"persistent": True}}), flush=True)
"""
CLIMB = """\
import json, os, signal, sys, time
for calls, line in enumerate(sys.stdin):
    if str(calls) == os.environ.get("KILL_AT"):
        time.sleep(0)
        os.kill(os.getppid(), signal.SIGKILL)
        sys.exit()
    asked = json.loads(line)
    n = asked["example"].get("n", 0)
    score = min(10, len(str(asked["candidate"])) // 6 + n % 3) / 10
    reply = {"score": score, "hint": f"{n} wants more", "_id": asked.get("_id")}
    print(json.dumps(reply | {"_capabilities": {"persistent": True}}), flush=True)
"""
