"""`python search.py CALLS FOLDER`: a search of so many evaluations by functions, and what it took of us."""

import json
import resource
import sys
from hashlib import sha256
from itertools import count
from pathlib import Path
from typing import Any

from optimize_eval import optimize

_NUMBERS = count(1)


def evaluate(candidate: str, example: dict[str, Any]) -> tuple[float, dict[str, str]]:
    noise = int.from_bytes(sha256(f"{candidate} {example}".encode()).digest()[:2], "big") / 65_535
    return 0.4 + 0.2 * noise, {"why": "the sum of its letters"}


def propose(_request: dict[str, Any]) -> str:
    return f"Number {next(_NUMBERS)}"


def main(calls: int, folder: Path) -> None:
    for name, size in (("train", 100), ("val", 50)):
        lines = [json.dumps({"id": f"{name}-{number}"}) for number in range(size)]
        (folder / f"{name}.jsonl").write_text("\n".join(lines))
    done = optimize(
        {"seed": "Number 0"},
        evaluate,
        proposer=propose,
        dataset=folder / "train.jsonl",
        valset=folder / "val.jsonl",
        budget=calls,
        early_stop=False,
        out=folder / "search",
    )
    spent = resource.getrusage(resource.RUSAGE_SELF)
    told = {"calls": sum(done.document["calls"].values()), "cpu": spent.ru_utime + spent.ru_stime}
    print(
        json.dumps({**told, "peak": spent.ru_maxrss * 1024, "candidates": len(done.document["candidates"])})
    )


main(int(sys.argv[1]), Path(sys.argv[2]))
