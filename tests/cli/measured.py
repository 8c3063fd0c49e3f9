"""A task about rows, whose metrics a reader computes by hand, for tests of metrics and rules."""

import json
from pathlib import Path
from typing import Any

from tests.front_door import Cli

# e is excluded, f fails, and the rule cannot be applied to c, which has no number
ROWS: list[dict[str, Any]] = [
    {"id": "a", "gold": "yes", "said": "yes", "n": 2, "lang": "en"},
    {"id": "b", "gold": "yes", "said": "no", "n": 4, "lang": "en"},
    {"id": "c", "gold": "no", "said": "no", "n": None, "lang": "de"},
    {"id": "d", "gold": "no", "said": "no", "n": 6, "lang": "en"},
    {"id": "e", "gold": "no", "said": "yes", "n": 100, "lang": "en"},
    {"id": "f", "gold": "no", "said": "yes", "lang": "en"},
]
TASK = """\
key: answers
display_name: Answers
description: What was answered.
definition:
  evaluated_entity_type: dataset
  scorers:
    - key: fields
      type: python
      display_name: All fields
      compute_scores_snippet: |
        def compute_scores(sample):
            fields = {key: sample[key] for key in ("gold", "said", "n", "lang")}
            return {"is_correct": sample["gold"] == sample["said"], **fields}
      metrics:
        - {type: mean, field: n, name: Mean n}
        - {type: max, field: n}
        - type: binary_classification
          field_gt: gold
          field_pred: said
          positive_answer: "yes"
          negative_answer: "no"
        - {type: frequency, field: lang}
        - type: python
          key: own
          compute_metrics_snippet: |
            def compute_metrics(scores):
                return {"largest": max(one.values["n"] or 0 for one in scores), "rows": len(scores)}
  actions:
    - key: huge
      action: exclude_from_metrics
      filter: {op: greater_than, expression: "{{ scores.fields.n }}", value: 50}
"""
VALUES = {
    "Mean n": 4.0,  # (2 + 4 + 6) / 3
    "n_max": 6.0,
    "accuracy": 0.75,  # a, c and d of four
    "precision": 1.0,  # a is the only yes that was said
    "recall": 0.5,  # of a and b
    "f1_score": 2 / 3,
    "lang_de": 0.25,
    "lang_en": 0.75,
    "largest": 6.0,
    "rows": 4.0,
}


def write(folder: Path, text: str = TASK) -> None:
    (folder / "answers.yaml").write_text(text)
    (folder / "rows.jsonl").write_text("".join(json.dumps(row) + "\n" for row in ROWS))


def command(*further: str) -> list[str]:
    return ["run", "-e", "task:answers.yaml", "--dataset", "rows.jsonl", "--out", "r", *further]


def metrics_of(cli: Cli, *further: str) -> dict[str, Any]:
    (told,) = cli("report", "r", "--json", *further).json["metrics"]
    return dict(told)


def values_of(told: dict[str, Any]) -> dict[str, float]:
    return {name: value for one in told["metrics"] for name, value in one.get("values", {}).items()}
