"""What tests of searches share: an evaluator that climbs, a proposer that adds one, commands."""

import json
from collections import Counter
from pathlib import Path

from tests.cli.quick import JSON
from tests.front_door import Result, in_this_process

EVALUATE = """import sys
null, true, false = None, True, False  # a payload as Python: to import json is half of a start
for line in sys.stdin:
    asked = eval(line)
    example, number = asked.get("example", {}), int(asked["candidate"])
    with open("called", "a") as file:
        file.write(f"{asked['candidate']}:{example.get('id', '')}\\n")
    score = min(1, number / 10 * example.get("worth", 1))
    kept = f'"_id": "{asked["_id"]}", ' if "_id" in asked else ""
    hint = f'"hint": "SIDE of {example.get("id")}", '
    print(f'{{"score": {score}, {hint}{kept}"_capabilities": {{"persistent": true}}}}', flush=True)
"""
PROPOSE = (
    JSON
    + """import sys
for line in sys.stdin:
    request = json.loads(line)
    with open("asked", "a") as file:
        file.write(line)
    kept = {"_id": request.get("_id"), "_capabilities": {"persistent": True}}
    proposed = str(int(request["candidate"]) + 1)
    print(json.dumps({"candidate": proposed, "note": "one more", **kept}), flush=True)
"""
)
TRAIN, VAL = 6, 12
_COMMAND = ("optimize", "seed.txt", "-e", "e=python3 -S evaluate.py", "--dataset", "train.jsonl")
_PROPOSED = ("--persistent", "--proposer", "python3 -S propose.py", "--out", "r")
COMMAND = (*_COMMAND, "--persistent")
WITH_VAL = (*_COMMAND, "--valset", "val.jsonl", *_PROPOSED)


def project(folder: Path) -> Path:
    (folder / "evaluate.py").write_text(EVALUATE)
    (folder / "propose.py").write_text(PROPOSE)
    (folder / "seed.txt").write_text("0")
    for split, size in (("train", TRAIN), ("val", VAL)):
        lines = [
            json.dumps({"id": f"{split}-{n}", "of": split, "worth": 0.5 + n / 20}) for n in range(1, size + 1)
        ]
        (folder / f"{split}.jsonl").write_text("\n".join(lines) + "\n")
    return folder


def searched(folder: Path) -> tuple[Path, Result]:
    """Search in a new project, and come to a good end."""
    done = in_this_process(project(folder))(*WITH_VAL, "--budget", "200", "-o", "best.txt", "--json")
    assert done.status == 0, done.stderr
    return folder, done


def joined(done: Result) -> str:
    return " ".join(done.stdout.split())


def called(folder: Path) -> Counter[str]:
    return Counter((folder / "called").read_text().split())
