"""Benches of models that think: the answer is scored, the thoughts are kept apart and shown."""

import json
from pathlib import Path
from typing import Any

from optimize_eval.audit.__main__ import main as rederive
from tests.cli.benches import board_in
from tests.fake_model import StartModel
from tests.front_door import Cli

TASKS = [
    {
        "task_id": f"choice-{number}",
        "category": "mcq",
        "prompt": f"{number}: A or B?",
        "targets": ["B"],
        "metric_name": "exact_match",
        "few_shot_examples": [],
        "post_process": "extract_letter",
    }
    for number in range(3)
]
RULES: list[dict[str, Any]] = [
    {"when": {"user": "^1:"}, "text": "Option A … So B.\n</think>\n\nB"},
    {"when": {"user": "^2:"}, "text": "B", "message": {"reasoning_content": "Option A … So B."}},
    {"text": "<think>Option A … So B.</think>\n\nB"},
]


def test_a_model_that_thinks_of_a_and_answers_b_answered_b(
    cli: Cli, fake_model: StartModel, tmp_path: Path
) -> None:
    (tmp_path / "tasks.jsonl").write_text("".join(json.dumps(task) + "\n" for task in TASKS))
    model = fake_model(RULES)
    bench = ("bench", "tasks.jsonl", "--model", "m=openai/m", "--api-base", model.base)
    assert cli(*bench, "--out", "r").status == 0
    (told,) = board_in(tmp_path / "r")["models"]
    assert told["overall_score"] == 1.0
    outputs = [json.loads(line) for line in (tmp_path / "r" / "outputs.jsonl").read_bytes().splitlines()[1:]]
    assert {(one["output"], one["reasoning"]) for one in outputs} == {("B", "Option A … So B.")}
    assert "Option A" not in (tmp_path / "r" / "journal.jsonl").read_text()
    assert cli(*bench, "--out", "r").status == 0
    shown = cli(*bench, "--out", "r", "--show", "choice-0")
    assert len(model.requests()) == 3, "thoughts are read back with the outputs"
    assert "  thoughts  │ Option A … So B.\n  output    │ B\n" in shown.stdout
    replayed = cli(
        "bench", "tasks.jsonl", "--model", "replay:r/outputs.jsonl", "--show", "choice-0", "--json"
    )
    assert replayed.json["models"][0]["thoughts"] == "Option A … So B."
    raw = cli(*bench, "--out", "raw", "--keep-thoughts", "--json").json
    assert (raw["models"][0]["overall_score"], raw["models"][0]["with_thoughts"]) == (1 / 3, 1)
    told = "m: 1 of 3 scored outputs begin with thoughts, which were scored as a part of the answer"
    assert told in [point["text"] for point in raw["verdict"]["points"]]
    assert rederive(tmp_path / "raw") == 0
