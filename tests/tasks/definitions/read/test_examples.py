"""The three examples of the document on task definitions, as they stand there: all are valid."""

from pathlib import Path

import pytest

from optimize_eval.tasks.definitions.loading import load_task
from optimize_eval.tasks.definitions.score import metrics, parts
from optimize_eval.tasks.definitions.solve.parts import Generic, SingleTurn
from optimize_eval.tasks.definitions.task import Entity
from tests.front_door import Cli
from tests.tasks.definitions.read.test_pages import read, written

SINGLE = """\
display_name: "Single-turn Solver Generic Input"
key: "singleturn-generic-input"
description: "Example task that uses a single-turn solver with generic input builder."
config_spec: []
definition:
  dataset:
    key: "qa-single-answers"
  solver:
    type: "single_turn_solver"
    input_builder:
      type: generic
      template: >
        {
          "messages": [
            {
              "role": "system",
              "content": "You are a helpful assistant. Answer with no punctuation."
            },
            {
              "role": "user",
              "content": "{{ sample.question }}"
            }
          ]
        }
  scorers:
    - type: "string_equals"
      ground_truth: "{{ sample.target }}"
"""
UNIQUENESS = """\
display_name: "Uniqueness Task"
key: "uniqueness-task"
description: >
  Evaluates the uniqueness rate of values in a field across samples in a dataset.
tags: ["Data Quality"]
config_spec:
  - type: "string"
    key: "field"
    display_name: "Field"
definition:
  type: "benchmark_task"
  evaluated_entity_type: "dataset"
  scorers:
    - type: "python_all_samples"
      compute_scores_snippet: !include "uniqueness_scorer.py"
      metrics:
        - type: "mean"
          field: "is_unique"
          name: "Uniqueness Rate"
"""
SCORER = """\
from __future__ import annotations
from collections import Counter
from typing import Any


def compute_scores(samples: list[dict[str, Any]]) -> list[dict[str, Any]]:
    field_name = "<< config.field >>"
    values = [
        sample[field_name] if field_name in sample else None for sample in samples
    ]
    counter = Counter(values)
    return [
        {"is_unique": counter[value] == 1 if value is not None else True}
        for value in values
    ]
"""
TRIVIA = """\
display_name: "Harry Potter Trivia Task"
key: "hp-trivia"
description: "Assesses the model knowledge of Harry Potter trivia."
config_spec: []
definition:
  evaluated_entity_type: "model"
  dataset:
    key: "hp-trivia-dataset"
  solver:
    type: "single_turn_solver"
    input_builder:
      type: "chat_completion"
      input_messages:
        - role: "system"
          content: "You are a helpful assistant."
        - role: "user"
          content: "Respond to this question concisely. {{ sample.question }}"
  scorers:
    - type: "model_as_a_judge_classifier"
      model_key: "openai$gpt-4-1-nano"
      system_prompt: |
        You are a helpful assistant and rate whether the ground truth answer and the
        candidate answer are semantically the same. Semantically the same means that
        you do not care about small spelling mistakes, capitalization or whether
        additional information is given. This is all still considered correct.
        Respond only with 'correct' or 'incorrect' and nothing else.
      user_prompt: |
        Ground Truth Answer: {{ sample.gt_answer }}
        Candidate Answer: {{ solver_output.output }}
      correct_labels:
        - "correct"
      incorrect_labels:
        - "incorrect"
      use_structured_outputs: true
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    files = {"single.yaml": SINGLE, "uniqueness.yaml": UNIQUENESS, "trivia.yaml": TRIVIA}
    for name, text in {**files, "uniqueness_scorer.py": SCORER}.items():
        (tmp_path / name).write_text(text)
    return tmp_path


def test_the_page_that_runs_them_has_all_of_each_and_adds_metrics_and_actions_alone() -> None:
    shown = {held["key"]: held for _, _, held in written() if "key" in held}
    for text in (SINGLE, UNIQUENESS, TRIVIA):
        example = read(text)
        added = shown[example["key"]]
        assert added["definition"].pop("actions")
        for scorer, ours in zip(
            example["definition"]["scorers"], added["definition"]["scorers"], strict=True
        ):
            kept = scorer.pop("metrics", [])
            assert ours.pop("metrics")[: len(kept)] == kept
        assert added == example


def test_all_are_valid(cli: Cli, folder: Path) -> None:
    done = cli("validate", *(path.name for path in sorted(folder.glob("*.yaml"))), "--json")
    assert (done.status, done.stderr) == (0, "")
    assert [(one["valid"], one["ids"], one["errors"]) for one in done.json["files"]] == [
        (1, [key], []) for key in ("singleturn-generic-input", "hp-trivia", "uniqueness-task")
    ]


def test_they_become_plain_data(folder: Path) -> None:
    single = load_task(str(folder / "single.yaml"))
    assert isinstance(single.solver, SingleTurn)
    assert isinstance(single.solver.builder, Generic)
    assert '"{{ sample.question }}"' in single.solver.builder.template
    assert (single.entity, single.dataset, single.key) == (Entity.MODEL, "qa-single-answers", single.key)
    assert [(one.key, one.how, one.metrics) for one in single.scorers] == [
        ("string_equals", parts.StringEquals(ground_truth="{{ sample.target }}"), None)
    ]
    unique = load_task(str(folder / "uniqueness.yaml"), {"field": "id"})
    (scorer,) = unique.scorers
    assert (unique.entity, unique.dataset, unique.solver) == (Entity.DATASET, "", None)
    assert scorer.metrics == (metrics.Number(type="mean", field="is_unique", name="Uniqueness Rate"),)
    assert isinstance(scorer.how, parts.AllSamplesScorer)
    assert 'field_name = "id"' in scorer.how.snippet
    assert unique.config == {"field": "id"}
    (judge,) = load_task(str(folder / "trivia.yaml")).scorers
    assert isinstance(judge.how, parts.Classifier)
    assert (judge.how.correct_labels, judge.how.use_structured_outputs) == (["correct"], True)
