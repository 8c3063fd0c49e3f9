"""What tests of runs of YAML tasks share: a task with two scorers, its samples, and a model that counts."""

import json
from pathlib import Path

from tests.cli.benches import model
from tests.cli.prompted import RIGHT

SAMPLES = 6
SOLVED = """\
key: sums
display_name: Sums
description: Sums of two numbers.
definition:
  dataset: {key: sums}
  solver:
    type: single_turn_solver
    input_builder:
      type: chat_completion
      input_messages:
        - {role: user, content: "{{ sample.question }}"}
  scorers:
"""
_SCORERS = """\
    - {key: right, type: string_equals, ground_truth: "{{ sample.target }}"}
    - {key: wording, type: string_equals, purpose: qa, ground_truth: "{{sample.target}}"}
"""  # two evaluators, as their texts differ
TASK = SOLVED + _SCORERS
SAME = """\
    - key: same
      type: model_as_a_judge_classifier
      model_key: judge
      user_prompt: "same? {{ sample.target }} / {{ model_output }}"
      correct_labels: [correct]
      incorrect_labels: [incorrect]
"""
WITH_BLEU = TASK.replace("wording, type: string_equals", "wording, type: bleu")  # sacrebleu is slow to load
SNIPPET = """\
    - key: long
      type: python
      compute_scores_snippet: |
        def compute_scores(sample, solver_output):
            return {"letters": len(solver_output.output)}
"""
FOUND = '{"metrics": {"days": {"value": 40, "reason": "since boot"}, "ok": {"value": True}}}'
SYSTEM = f"""\
key: uptime
display_name: Up time
description: Whether it runs.
tags: [infra]
definition:
  type: system_task
  compute_evidence_snippet: |
    def compute_evidence():
        with open("calls", "a") as calls:
            calls.write("uptime\\n")
        return {FOUND}
"""


def samples(folder: Path, count: int = SAMPLES) -> None:
    rows = [{"id": f"s{n}", "question": f"{n} plus {n + 1}", "target": str(2 * n + 1)} for n in range(count)]
    (folder / "sums.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))


def task(folder: Path, text: str = TASK) -> None:
    """Write the task, its samples, and a model `m` that is right."""
    (folder / "sums.yaml").write_text(text)
    samples(folder)
    model(folder / "m", RIGHT)


def command(*further: str) -> list[str]:
    return ["run", "-e", "task:sums.yaml", "--model", "m=cmd:./m", "--dataset", "sums.jsonl", *further]
