"""The fields of a task, of the data that it names, and of rules about rows."""

import re
from collections.abc import Mapping, Sequence
from typing import Any

from optimize_eval.base.documents import JsonDict
from optimize_eval.base.frozen import frozen
from optimize_eval.tasks.yaml.fields import (
    Anything,
    ByType,
    Choice,
    Entity,
    Key,
    ListOf,
    Number,
    OneOf,
    Scalar,
    Text,
    What,
    bad_type,
    field,
    text_of,
    type_field,
)
from optimize_eval.tasks.yaml.part_fields import SCORER_OF_TASK, SOLVER_OF_TASK, check_scores
from optimize_eval.tasks.yaml.snippet_fields import ACTION, ROW, Snippet, Template
from optimize_eval.tasks.yaml_problems import NOT_KNOWN, Context, Kind, NotKnown, Rule, Spot, meant

_PATH = re.compile(r"[A-Za-z_]\w*(?:\.\w+|\[[^\[\]]*\])+")  # a.b["c"]
_EQUALITIES = ("equals", "not_equals")
_ORDERS = ("greater_than", "less_than", "greater_or_equal", "less_or_equal")
COMPARISONS = (*_EQUALITIES, *_ORDERS)
MEMBERSHIPS = ("in", "not_in")
UNARIES = ("exists", "not_exists", "is_true", "is_false")
_ORDERED = Choice(text=Number(), other=Scalar())
OPERATORS = (*COMPARISONS, *MEMBERSHIPS, *UNARIES)


def entities_of(expression: What) -> Mapping[Sequence[str], Entity]:
    """List the entities of filters by their operators."""
    common = (field("op", OneOf(choices=OPERATORS)), field("expression", expression))
    return {
        _EQUALITIES: Entity(noun="a comparison", fields=(*common, field("value", Scalar()))),
        _ORDERS: Entity(noun="a comparison", fields=(*common, field("value", _ORDERED))),
        MEMBERSHIPS: Entity(noun="a membership", fields=(*common, field("values", ListOf(what=Scalar())))),
        UNARIES: Entity(noun="a filter of a value alone", fields=common),
    }


@frozen
class FilterOf:
    """A filter, whose expression is of this kind."""

    expression: What

    def read(self, spot: Spot, context: Context) -> JsonDict | NotKnown:
        if spot.node.kind is not Kind.MAPPING:
            return bad_type(spot, context, "a filter: a mapping with op and expression")
        op = spot.child("op")
        if op is None:
            context.wrong(Rule.MISSING_REQUIRED, spot.of("op"), spot.mark, "op is required")
            return NOT_KNOWN
        name = text_of(op, context)
        if isinstance(name, NotKnown) or op.node.is_partial:
            return NOT_KNOWN
        _note_path(spot.child("expression"), context)
        for operators, entity in entities_of(self.expression).items():
            if name in operators:
                return entity.read(spot, context)
        reason = f"there is no such operator: {name[:60]!r}{meant(name, OPERATORS)}"
        context.wrong(Rule.BAD_VALUE, op.path, op.mark, reason)
        return NOT_KNOWN


def _note_path(expression: Spot | None, context: Context) -> None:
    """Tell of a text that names a value without braces: it is compared as it is written."""
    if expression and expression.node.kind is Kind.TEXT and _PATH.fullmatch(expression.node.value.strip()):
        path = expression.node.value.strip()
        context.note(
            expression.path,
            expression.mark,
            f"this is the text {path!r}, not what it names: {{{{ {path} }}}}",
        )


ACTION_RULE = Entity(
    noun="an action",
    fields=(
        field("key", Key()),
        field("action", OneOf(choices=("exclude_from_metrics",))),
        field("filter", FilterOf(expression=Template(names=ACTION, least=1))),
    ),
)


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


def _distinct(values: JsonDict, spot: Spot, context: Context) -> None:
    for name in ("scorers", "actions"):
        if isinstance(values[name], list):
            check_keys(values[name], spot.child(name), context)


def is_there(spot: Spot | None, name: str) -> bool:
    child = spot.child(name) if spot else None
    return child is not None and child.node.kind is not Kind.NULL


def _fits(values: JsonDict, spot: Spot, context: Context) -> None:
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


_FILTER = FilterOf(expression=Template(names=ROW, least=1))
_LOCAL = Entity(
    noun="a local source",
    fields=(type_field(), field("file_path", Text(least=1)), field("filters", ListOf(what=_FILTER), ())),
)
DATASET_FILE = Entity(
    noun="a dataset",
    fields=(
        field("key", Key()),
        field("display_name", Text(least=1), None),
        field("description", Text(), None),
        field(
            "source",
            ByType(
                noun="a source",
                entities={"local": _LOCAL},
                not_built=(
                    "dataset",
                    "folder",
                    "huggingface",
                    "inspect_ai",
                    "langsmith",
                    "phoenix",
                    "url",
                ),
            ),
        ),
    ),
    not_built=("generator", "generator_specification"),
)
