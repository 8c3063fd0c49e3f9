"""The fields of a task and of its definition, and what has to hold between them."""

from collections.abc import Mapping, Sequence
from typing import Any

from optimize_eval.tasks.definitions.fields.context import Context, NotKnown, Rule
from optimize_eval.tasks.definitions.fields.entities import Anything, ByType, Entity, field, type_field
from optimize_eval.tasks.definitions.fields.filters import ACTION_RULE
from optimize_eval.tasks.definitions.fields.nodes import Kind, Spot
from optimize_eval.tasks.definitions.fields.scorers import SCORER_OF_TASK
from optimize_eval.tasks.definitions.fields.scores import check_scores
from optimize_eval.tasks.definitions.fields.snippets import Snippet
from optimize_eval.tasks.definitions.fields.solvers import SOLVER_OF_TASK
from optimize_eval.tasks.definitions.fields.values import Choice, Key, ListOf, Number, OneOf, Text

BENCHMARK, SYSTEM = "benchmark_task", "system_task"
MODEL, DATASET = "model", "dataset"
OLD_NAME = "declarative_task"

_ENTITY_TYPE = OneOf(choices=(DATASET, MODEL))


def check_keys(listed: Sequence[Any] | None, spot: Spot | None, context: Context) -> None:
    """Check that no key is taken twice."""
    taken: dict[str, str] = {}
    for values, item in zip(listed or (), spot.items() if spot else (), strict=False):
        key = None if isinstance(values, NotKnown) else values.get("key")
        child = item.child("key")
        if not isinstance(key, str) or child is None:
            continue
        if key in taken:
            reason = f"{taken[key]} has the key {key!r} already"
            context.wrong(Rule.DUPLICATE_KEY, child.path, child.mark, reason)
        taken.setdefault(key, item.path)


def _distinct(values: dict[str, Any], spot: Spot, context: Context) -> None:
    for name in ("scorers", "actions"):
        if isinstance(values[name], list):
            check_keys(values[name], spot.child(name), context)


def is_there(spot: Spot | None, name: str) -> bool:
    child = spot.child(name) if spot else None
    return child is not None and child.node.kind is not Kind.NULL


def _fits(values: dict[str, Any], spot: Spot, context: Context) -> None:
    """Check a definition against what the task evaluates."""
    outer, definition, child = values["evaluated_entity_type"], values["definition"], spot.child("definition")
    if child is None or isinstance(definition, NotKnown) or definition["type"] != BENCHMARK:
        return
    inner = definition["evaluated_entity_type"]
    if isinstance(outer, str) and isinstance(inner, str) and outer != inner:
        place = child.child("evaluated_entity_type") or child
        reason = f"this is {inner}, and evaluated_entity_type at the top is {outer}"
        context.wrong(Rule.BAD_VALUE, place.path, place.mark, reason)
        return
    _check_parts(inner or outer, child, context)


def _check_parts(entity: str | None, spot: Spot, context: Context) -> None:
    solver = spot.child("solver")
    if entity == DATASET and solver and is_there(spot, "solver"):
        reason = "a task of a dataset has no solver: nothing is sent to a model"
        context.wrong(Rule.BAD_VALUE, solver.path, solver.key or solver.mark, reason)
    elif entity == MODEL or (entity is None and is_there(spot, "solver")):
        for name in ("dataset", "solver"):
            if not is_there(spot, name):
                reason = f"{name} is required in a task of a model"
                context.wrong(Rule.MISSING_REQUIRED, spot.of(name), spot.mark, reason)


DATASET_OF_TASK = Entity(
    noun="a dataset",
    fields=(
        field("key", Text(least=1)),
        field("fast_subset_size", Choice(text=Text(), other=Number(is_whole=True)), None),
        field("source", OneOf(choices=("dataset",)), None),
    ),
    not_built=("keys",),
)
_BENCHMARK = Entity(
    noun="a benchmark_task",
    fields=(
        type_field(),
        field("evaluated_entity_type", _ENTITY_TYPE, None),
        field("dataset", DATASET_OF_TASK, None),
        field("solver", SOLVER_OF_TASK, None),
        field("scorers", ListOf(what=SCORER_OF_TASK), ()),
        field("actions", ListOf(what=ACTION_RULE), None),
    ),
    not_built=("trials", "postprocessor"),
    between=(_distinct, check_scores),
)
_SYSTEM = Entity(
    noun="a system_task",
    fields=(
        type_field(),
        field("compute_evidence_snippet", Snippet(function="compute_evidence", arguments=((),))),
    ),
)
_DEFINITIONS: Mapping[str, Entity] = {BENCHMARK: _BENCHMARK, SYSTEM: _SYSTEM}
TASK = Entity(
    noun="a task",
    fields=(
        field("key", Key()),
        field("display_name", Text(least=1)),
        field("description", Text()),
        field("long_description", Text(), None),
        field("tasks", ListOf(what=OneOf(choices=("chat_completion", "embeddings", "custom"))), ()),
        field("evaluated_entity_type", _ENTITY_TYPE, None),
        field("config_spec", Anything(), ()),
        field(
            "definition",
            ByType(
                noun="a definition",
                entities=_DEFINITIONS,
                default=BENCHMARK,
                other_names={OLD_NAME: BENCHMARK},
            ),
        ),
        field("tags", ListOf(what=Text()), ()),
    ),
    not_built=("trials",),
    between=(_fits,),
)
