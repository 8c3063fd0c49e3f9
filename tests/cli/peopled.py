"""Runs whose judge scores what candidates hold, and what people say of them."""

import copy
import json
import random
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from optimize_eval.audit.__main__ import differences
from optimize_eval.audit.journaled import read
from optimize_eval.audit.summary import expected
from tests.fake_model import FakeModel, StartModel
from tests.front_door import Cli, Result

RULES = [{"when": {"user": r"worth (\d\.\d+)"}, "text": '{"reasoning": "r", "score": {1}}'}]
SWEEP = """\
[run]
valset = "d.jsonl"
candidate_fields = {fields}
out = "r"
[[evaluator]]
name = "helps"
judge = "vllm/m"
objective = "It helps."
api_base = "{base}"
{more}
"""


def start(fake_model: StartModel, folder: Path, rows: Sequence[Mapping[str, Any]], more: str) -> FakeModel:
    """Write a sweep file about rows whose fields `old` and, if they have one, `new` are judged."""
    model = fake_model(RULES)
    fields = json.dumps([name for name in ("old", "new") if name in rows[0]])
    (folder / "d.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    (folder / "s.toml").write_text(SWEEP.format(base=model.base, more=more, fields=fields))
    return model


def called(cli: Cli, *options: str) -> Result:
    return cli("run", "s.toml", "--no-preflight", *options)


def judged(text: str, score: float) -> str:
    """Write what the judge is to score so."""
    return f"{text}, worth {score:.2f}"


def pairs(
    many: int, *, bias: float = 0.0, seed: int = 1, labelled: int | None = None
) -> list[dict[str, Any]]:
    """Draw rows of which people like the new one better by .3; the judge favours the old one by `bias`."""
    draw = random.Random(seed)
    rows = []
    for number in range(many):
        old, new = 0.2 + 0.3 * draw.random(), 0.5 + 0.3 * draw.random()
        noise = [0.1 * draw.random() for _ in "ab"]
        rows.append(
            {
                "q": f"question {number}",
                "old": judged(f"old {number}", min(1, old + noise[0] + bias)),
                "new": judged(f"new {number}", new - 0.2 + noise[1]),
                "people": {"old": round(old, 2), "new": round(new, 2)}
                if number < (labelled or many)
                else None,
            }
        )
    return rows


def falsified(summary: dict[str, Any], folder: Path, key: str) -> int:
    """Falsify each number of a part; --check has to name it, and nothing else."""
    again = expected(read(folder))
    assert not list(differences(summary, again, Counter()))
    for way in (ways := [*numbers(summary[key], (key,))]):
        edited: Any = copy.deepcopy(summary)
        *parents, last = way
        inner = edited
        for step in parents:
            inner = inner[step]
        inner[last] += 1
        assert len(list(differences(edited, again, Counter()))) == 1, way
    return len(ways)


def numbers(value: Any, way: tuple[str | int, ...]) -> Iterator[tuple[str | int, ...]]:
    if isinstance(value, int | float) and not isinstance(value, bool):
        yield way
    elif isinstance(value, dict | list):
        for key, item in value.items() if isinstance(value, dict) else enumerate(value):
            yield from numbers(item, (*way, key))
