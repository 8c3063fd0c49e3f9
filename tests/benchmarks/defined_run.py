"""A whole bench of a task in YAML: a kept-alive program replies, two shipped scorers share each reply."""

import json
import sys
import tempfile
from pathlib import Path

from tests.benchmarks.measure import PROGRAMS, Row, median_of
from tests.benchmarks.whole import spend

SAMPLES = 10_000
_TASK = """\
key: said
display_name: Said
description: What was said?
definition:
  dataset: {key: said}
  solver:
    type: single_turn_solver
    input_builder:
      type: chat_completion
      input_messages:
        - {role: user, content: "Please: {{ sample.question }}"}
  scorers:
    - {key: same, type: string_equals, ground_truth: "{{ sample.target }}"}
    - {key: choice, type: string_equals_mcqa, ground_truth_choice: "{{ sample.target }}", choices: [a, b]}
"""


def own_cpu_per_sample() -> Row:
    """Count everything from the command's start to its board."""
    seconds = median_of(_run, rounds=3)
    what = (
        "`bench task.yaml`, 10,000 samples, kept-alive `cmd:` model, two shipped scorers: own CPU per sample"
    )
    return Row(what=what, value=seconds / SAMPLES * 1e6, bar=800, unit=" µs")


def _run() -> float:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        rows = (
            {"question": f"say {number} and say it again", "target": "ab"[number % 2]}
            for number in range(SAMPLES)
        )
        (folder / "said.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
        (folder / "said.yaml").write_text(_TASK)
        model = f"--model=cmd:{sys.executable} {PROGRAMS / 'model.py'}"
        spent = spend(["bench", str(folder / "said.yaml"), model, f"--out={folder / 'run'}", "--quiet"])
        board = json.loads((folder / "run" / "leaderboard.json").read_bytes())
        assert board["models"][0]["scored"] == SAMPLES, board["models"][0]["errors"]
        return spent.own
