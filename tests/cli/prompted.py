"""What tests of prompts share: examples, prompts, and models that count their calls."""

import json
from collections.abc import Sequence
from pathlib import Path

from tests.cli.benches import model

RIGHT = "str(sum(int(word) for word in asked['prompt'].split() if word.isdigit()))"
WORDY = "'It is ' + " + RIGHT


def examples(folder: Path, *, train: int = 8, val: int = 12) -> None:
    """Write sums as a dataset and a valset."""
    for name, size, end in (("train", train, ""), ("val", val, " today")):  # in one split alone
        rows = [
            {"id": f"{name}-{n}", "question": f"{n} plus {n + 1}{end}", "target": str(2 * n + 1)}
            for n in range(size)
        ]
        (folder / f"{name}.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))


def prompts(folder: Path, **texts: str) -> None:
    (folder / "prompts").mkdir(exist_ok=True)
    for name, text in texts.items():
        (folder / "prompts" / f"{name}.md").write_text(text)


def command(*further: str, models: Sequence[str] = ("m=cmd:./m",), out: str = "r") -> list[str]:
    """Compare all prompts by @exact_match, unless `further` says otherwise."""
    named = [word for one in models for word in ("--model", one)]
    data = ("--dataset", "train.jsonl", "--valset", "val.jsonl", "--out", out)
    scorer = () if "-e" in further else ("-e", "@exact_match")
    return ["run", "--prompt", "prompts/*.md", *named, *scorer, *data, *further]


def calls(folder: Path) -> int:
    """Count the calls of models that were started with CALLS=calls."""
    path = folder / "calls"
    return len(path.read_text().splitlines()) if path.exists() else 0


def two_prompts(folder: Path) -> None:
    """Write examples, a model `m` that is right, and two prompts."""
    examples(folder)
    prompts(folder, plain="{{question}}", polite="Please tell: {{question}}")
    model(folder / "m", RIGHT)


COUNTED = {"CALLS": "calls"}
