"""The pages on tasks in YAML miss nothing: each type is told, and used in a task that a page runs."""

import re
from collections.abc import Iterator
from typing import Any

import pytest

from optimize_eval.tasks.yaml.parameters import PARAMETER
from optimize_eval.tasks.yaml.part_fields import (
    INPUT_BUILDER,
    MESSAGE_BUILDER,
    METRIC,
    SCORER_OF_TASK,
    SOLVER_OF_TASK,
)
from optimize_eval.tasks.yaml.task_fields import COMPARISONS, MEMBERSHIPS, OPERATORS, UNARIES
from optimize_eval.tasks.yaml_problems import Rule
from tests.paths import ROOT
from tests.tasks.yaml.pages import written

TYPES = {
    "solver": SOLVER_OF_TASK,
    "input_builder": INPUT_BUILDER,
    "message_builders": MESSAGE_BUILDER,
    "scorers": SCORER_OF_TASK,
    "metrics": METRIC,
}
_RUN = re.compile(r"^optimize-eval (?:bench|run) .*", re.MULTILINE)


FILES = list(written())


def mappings(node: Any, place: str = "") -> Iterator[tuple[str, dict[str, Any]]]:
    """List all mappings with the key that they stand below, alone or in a list."""
    if isinstance(node, dict):
        yield place, node
        for key, one in node.items():
            yield from mappings(one, key)
    elif isinstance(node, list):
        for one in node:
            yield from mappings(one, place)


def used(place: str, key: str) -> set[str]:
    found = [pair for _, _, held in FILES for pair in mappings(held)]
    return {mapping[key] for where, mapping in found if where == place and key in mapping}


def test_every_task_of_a_page_is_run_there() -> None:
    tasks = [(name, commands) for name, commands, held in FILES if "definition" in held]
    assert len(tasks) > 8
    assert not [name for name, commands in tasks if name not in " ".join(_RUN.findall(commands)).split()]


@pytest.mark.parametrize("place", TYPES)
def test_every_type_is_used_in_a_task_of_the_pages(place: str) -> None:
    assert not {*TYPES[place].entities} - used(place, "type")


def test_every_operator_is_used_in_a_task_of_the_pages_and_each_kind_in_actions_and_datasets() -> None:
    in_actions, in_datasets = used("filter", "op"), used("filters", "op")
    assert in_actions | in_datasets == {*OPERATORS}
    for kind in (COMPARISONS, MEMBERSHIPS, UNARIES):
        assert in_actions & {*kind}, kind
        assert in_datasets & {*kind}, kind


def test_every_kind_of_task_and_what_ends_a_conversation_are_used_in_the_pages() -> None:
    assert used("definition", "type") == {"benchmark_task", "system_task"}
    assert used("definition", "evaluated_entity_type") == {"model", "dataset"}
    assert used("terminate_if", "includes")


def test_every_rule_and_type_has_its_row() -> None:
    page = (ROOT / "docs" / "tasks.md").read_text(encoding="utf-8")
    fields = (ROOT / "docs" / "reference" / "task-files.md").read_text(encoding="utf-8")
    tables = (SOLVER_OF_TASK, INPUT_BUILDER, MESSAGE_BUILDER, SCORER_OF_TASK, METRIC, PARAMETER)
    assert all(f"| `{rule}` |" in page for rule in Rule)
    assert all(f"`{name}`" in fields for table in tables for name in table.entities)
    assert all(f"`{op}`" in fields for op in OPERATORS)
