"""Runs to look at, of any size, made through the front door; the same each time."""

import json
import random
import shlex
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from tests.front_door import Result, in_this_process

JUDGE = Path(__file__).with_name("judge.py")
CANDIDATES = ("baseline", "v2-fewshot", "v3-structured", "v4-verbose")
HOSTILE = '</script><img src=x onerror="window.__pwned=1"> \u202eevil\u202c {{x}} \u0007'

_TOPICS = ("password reset", "invoice", "DNS", "refund", "domain transfer", "quota", "backup")
_FORMS = (
    "How do I change the {topic} settings for site-{n}?",
    "Who can see my {topic} data after {n} months?",
    "Please cancel order {n}; the {topic} part never worked.",
    "I bought {topic} help {n} days ago and it still fails, can I get my money back?",
    "Is {topic} included in plan {n}, or do I pay extra?",
    "Your {topic} page shows error {n}. What now?",
)
_TEXT = "You answer customer tickets for a hosting company.\nBe polite.\nAnswer the question.\n"
_MORE = {
    "v2-fewshot": "\nQ: Refund after 20 days?\nA: Yes, within 30 days you get the full amount back.\n",
    "v3-structured": "\nAnswer in steps. Quote the policy paragraph that applies.\n",
    "v4-verbose": "\nBe thorough and explain everything at length.\n",
}


def tickets(split: str, many: int) -> list[dict[str, Any]]:
    return [_ticket(split, number) for number in range(1, many + 1)]


def _ticket(split: str, number: int) -> dict[str, Any]:
    chance = random.Random(f"{split}{number}")
    topic, n = chance.choice(_TOPICS), chance.randint(1, 99)
    question = chance.choice(_FORMS).format(topic=topic, n=n)
    return {
        "id": f"{split}-{number:05}",
        "question": f"{HOSTILE if number == 3 else question}{'' if split == 't' else f' #{number}'}",
        "topic": topic,
        "expected_policy": f"§{chance.randint(1, 9)}.{chance.randint(1, 9)}",
        "locale": chance.choice(["en", "en", "en", "de", "fr"]),
    }


def make_run(
    folder: Path,
    *,
    train: int,
    val: int,
    candidates: Sequence[str] = CANDIDATES,
    words: int = 60,
    options: Sequence[str] = (),
) -> Path:
    """Score candidates on tickets by two evaluators; return the run's folder."""
    write_inputs(folder, train=train, val=val, candidates=candidates)
    return call(folder, "tickets", candidates, words, options)


def write_inputs(folder: Path, *, train: int, val: int, candidates: Sequence[str]) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    for name, split, many in (("train", "t", train), ("val", "v", val)):
        write_lines(folder / f"{name}.jsonl", tickets(split, many))
    for name in candidates:
        text = f"# {name}\n{_TEXT}{_MORE.get(name, '')}"
        (folder / "prompts").mkdir(exist_ok=True)
        (folder / "prompts" / f"{name}.md").write_text(text)


def call(
    folder: Path, out: str, candidates: Sequence[str], words: int = 60, options: Sequence[str] = ()
) -> Path:
    """Make a run of what is written in a folder."""
    python = shlex.join([sys.executable, str(JUDGE)])
    given = [
        *("-e", f"judge={python} judge {words}", "-e", f"policy-check={python} policy"),
        *(word for name in candidates for word in ("--candidate", f"prompts/{name}.md")),
        *("--dataset", "train.jsonl", "--valset", "val.jsonl", "--group-by", "topic", "--out", out),
        *("--max-failures", "90%", "--no-preflight", *options),
    ]
    done = in_this_process(folder)("run", *given)
    assert done.status in {0, 4}, done.stderr
    return folder / out


def make_compared(folder: Path, *, train: int, val: int, candidates: Sequence[str]) -> None:
    """Make two runs, before and after: another text of the last candidate, and val in another order."""
    write_inputs(folder, train=train, val=val, candidates=candidates)
    call(folder, "before", candidates)
    write_lines(folder / "val.jsonl", tickets("v", val)[::-1])
    prompt = folder / "prompts" / f"{candidates[-1]}.md"
    prompt.write_text(prompt.read_text().replace(f"# {candidates[-1]}", f"# {candidates[-1]} again"))
    call(folder, "after", candidates, options=["--repeats", "2"])


_LOOKED_FOR = ("refund", "invoice", "domain", "quota", "backup", "password", "plan", "DNS")
_WITH_WORDS = """import json, sys
for line in sys.stdin:
    call = json.loads(line)
    need = call["example"]["need"]
    is_there = need in call["candidate"]
    kept = {"_id": call.get("_id"), "_capabilities": {"persistent": True}}
    print(json.dumps({"score": float(is_there), "missing": "" if is_there else need, **kept}), flush=True)
"""
_ONE_MORE_WORD = """import json, re, sys
for line in sys.stdin:
    call = json.loads(line)
    missing = [one["side_info"]["missing"] for one in call["records"] if one["side_info"]["missing"]]
    rules = int(re.search("Rules so far: ([0-9]+)", call["candidate"])[1]) + 1
    told = re.sub("far: [0-9]+", f"far: {rules}", call["candidate"])
    told += "".join(f"{rules}. Speak of <b>{word}</b>.\\n" for word in missing[:1])
    said = {"candidate": told, "note": f"{missing[0]} was missing"} if missing else {"skip": "nothing to add"}
    print(json.dumps({**said, "_id": call.get("_id"), "_capabilities": {"persistent": True}}), flush=True)
"""


def make_search(folder: Path) -> Path:
    """Improve a text, line by line; return the folder of the search and of the run that it ended."""
    (folder / "evaluate.py").write_text(_WITH_WORDS)
    (folder / "propose.py").write_text(_ONE_MORE_WORD)
    rest = "".join(f"Line {n} stays as it is.\n" for n in range(12))
    (folder / "seed.md").write_text(f"Answer tickets.\nRules so far: 0\n{rest}")
    for name, many in (("train", 16), ("val", 8)):
        write_lines(
            folder / f"{name}.jsonl", [{"id": f"{name}-{n}", "need": _LOOKED_FOR[n % 8]} for n in range(many)]
        )
    programs = ["-e", "words=python3 evaluate.py", "--proposer", "python3 propose.py"]
    data = ["--dataset", "train.jsonl", "--valset", "val.jsonl", "--budget", "160", "--out", "search"]
    done = in_this_process(folder)("optimize", "seed.md", *programs, *data)
    assert done.status == 0, done.stderr
    return folder / "search"


def write_lines(path: Path, records: Sequence[Any]) -> None:
    path.write_text("".join(json.dumps(record) + "\n" for record in records))


def report(run: Path, *options: str) -> Result:
    return in_this_process(run.parent)("report", run.name, "--format", "html", *options)
