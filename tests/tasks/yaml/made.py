"""Task files, right but for what a test changes, and what `validate` says of many of them at once."""

import textwrap
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from tests.front_door import Cli

HEAD = """\
key: capitals
display_name: Capitals
description: Knows capitals.
"""
SOLVER = """\
solver:
  type: single_turn_solver
  input_builder:
    type: chat_completion
    input_messages:
      - {role: user, content: "{{ sample.question }}"}
"""
DATASET = "dataset: {key: capitals}\n"
SCORER = """\
scorers:
  - type: string_equals
    ground_truth: "{{ sample.answer }}"
"""
SNIPPET = """\
compute_scores_snippet: |
  def compute_scores(sample, solver_output):
      return {"ok": True}
"""
JUDGE = "model_key: m\nuser_prompt: x\n"
CLASSES = f"{JUDGE}correct_labels: [a]\nincorrect_labels: [b]\n"
FILTER = "actions:\n  - {key: a, action: exclude_from_metrics, filter: %s}\n"


def definition(*parts: str, head: str = HEAD) -> str:
    """Write a task with these parts in its definition."""
    return f"{head}definition:\n{textwrap.indent(''.join(parts), '  ')}"


def task(*, head: str = HEAD, dataset: str = DATASET, solver: str = SOLVER, scorers: str = SCORER) -> str:
    """Write a task of a model."""
    return definition(dataset, solver, scorers, head=head)


def of_dataset(scorers: str = "", *, more: str = "") -> str:
    """Write a task of a dataset."""
    return definition("evaluated_entity_type: dataset\n", scorers, more)


def scorer(text: str) -> str:
    """Write a task of a model with one scorer."""
    lines = textwrap.dedent(text).strip().split("\n")
    return task(scorers="scorers:\n  - " + "\n    ".join(lines) + "\n")


def solver(text: str) -> str:
    """Write a task with a solver."""
    return task(solver="solver:\n" + textwrap.indent(textwrap.dedent(text), "  "))


def builders(text: str) -> str:
    """Write a task with a conversation."""
    listed = textwrap.indent(textwrap.dedent(text), "    ")
    return task(solver=f"solver:\n  type: multi_turn_solver\n  message_builders:\n{listed}")


def metrics(text: str, scorer_type: str = "string_equals", more: str = 'ground_truth: "x"') -> str:
    """Write a task with metrics."""
    listed = textwrap.indent(textwrap.dedent(text), "  ")
    return scorer(f"type: {scorer_type}\n{more}\nmetrics:\n{listed}")


def parameter(text: str) -> str:
    """Write a task with a parameter."""
    return task(head=f"{HEAD}config_spec:\n  - {{key: p, display_name: P, {text}}}\n")


def validated(cli: Cli, folder: Path, files: Mapping[str, str | bytes]) -> dict[str, Any]:
    """Write files, have all *.yaml checked in one call, and give what is said of each, by name."""
    for name, text in files.items():
        (folder / name).parent.mkdir(exist_ok=True, parents=True)
        (folder / name).write_bytes(text if isinstance(text, bytes) else text.encode())
    names = [name for name in files if "/" not in name and name.endswith((".yaml", ".yml"))]
    done = cli("validate", *names, "--json")
    assert done.status in {0, 2}, done.stderr
    return {one["path"]: one for one in done.json["files"]}


def rules(one: Mapping[str, Any]) -> list[tuple[str, str]]:
    """List the rules that a file breaks, each with the field."""
    return [(error["rule"], error["field"]) for error in one["errors"]]
