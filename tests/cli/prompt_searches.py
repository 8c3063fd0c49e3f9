"""What tests of searches for prompts share: a model that counts, a proposer with a list, and examples."""

import json
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from tests.cli.quick import JSON

MODEL = """import os, signal, sys
{json}
for line in sys.stdin:
    asked = json.loads(line)
    with open("called", "a") as file:
        file.write(json.dumps(asked) + "\\n")
    {first}
    letters = (letter if letter.isdigit() else " " for letter in asked["prompt"])
    said = [int(word) for word in "".join(letters).split()]
    right = "sum" in asked["prompt"]
    text = f"That is {{sum(said) if right else said[0]}}"
    kept = {{"_id": asked.get("_id"), "_capabilities": {{"persistent": True}}}}
    print(json.dumps({{"text": text, **kept}}), flush=True)
"""
PROPOSE = (
    JSON
    + """import sys
proposals = json.loads(open("proposals.json").read())
for line in sys.stdin:
    request = json.loads(line)
    with open("asked", "a") as file:
        file.write(line)
    with open("asked") as file:
        text = proposals[min(len(file.readlines()), len(proposals)) - 1]
    kept = {"_id": request.get("_id"), "_capabilities": {"persistent": True}}
    print(json.dumps({"candidate": text, **kept}), flush=True)
"""
)
TYPO, BROKEN, COMMON, BETTER = (
    "Say: {{qestion}}",
    "{{ question",
    "Well: {{question}}",
    "The sum of {{question}}",
)
TRAIN, VAL = 8, 12


def project(folder: Path, proposals: Sequence[Any] = (TYPO, BROKEN, COMMON, BETTER), first: str = "") -> Path:
    for name, numbers in (("train", range(TRAIN)), ("val", range(50, 50 + VAL))):
        rows = [
            {"id": f"{name}-{n}", "question": f"{n} plus {n + 1}", "target": str(2 * n + 1)} for n in numbers
        ]
        (folder / f"{name}.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    (folder / "m.py").write_text(MODEL.format(json=JSON, first=first or "pass"))
    (folder / "propose.py").write_text(PROPOSE)
    (folder / "proposals.json").write_text(json.dumps(proposals))
    (folder / "seed.md").write_text("{{question}}")
    return folder


def requests(folder: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (folder / "asked").read_text().splitlines()]


def prompts_sent(folder: Path) -> Counter[str]:
    lines = (folder / "called").read_text().splitlines()
    return Counter(json.loads(line)["prompt"] for line in lines)


def kills_after(calls: int) -> str:
    """Let the model kill the search that calls it, once."""
    return (
        f"if len(open('called').readlines()) == {calls} and not os.path.exists('killed'):"
        " open('killed', 'w').close(); os.kill(os.getppid(), signal.SIGKILL)"
    )
