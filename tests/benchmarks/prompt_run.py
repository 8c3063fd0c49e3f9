"""A whole run of a prompt: a kept-alive program replies, its replies are kept, a kept-alive metric scores."""

import json
import sys
import tempfile
from pathlib import Path

from tests.benchmarks.measure import PROGRAMS, Row, median_of
from tests.benchmarks.whole import spend

ROWS = 10_000


def own_cpu_per_row() -> Row:
    """Count everything from the command's start to its verdict."""
    seconds = median_of(_run, rounds=3)
    what = "`run --prompt`, 10,000 rows, kept-alive `cmd:` model, @f1, start to end: own CPU per row"
    return Row(what=what, value=seconds / ROWS * 1e6, bar=450, unit=" µs")


def _run() -> float:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        rows = (
            {"question": f"say {number} and say it again", "target": str(number)} for number in range(ROWS)
        )
        (folder / "train.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
        (folder / "prompt.md").write_text("Please: {{question}}")
        model = f"--model=cmd:{sys.executable} {PROGRAMS / 'model.py'}"
        prompt, data = f"--prompt={folder / 'prompt.md'}", f"--dataset={folder / 'train.jsonl'}"
        spent = spend(["run", prompt, model, "-e", "@f1", data, f"--out={folder / 'run'}", "--quiet"])
        summary = json.loads((folder / "run" / "summary.json").read_bytes())
        assert summary["units"]["scored"] == ROWS, summary["failures"]
        return spent.own
