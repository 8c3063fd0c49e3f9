"""The fields of rules about rows: filters of three kinds, told apart by their `op`, and actions."""

import re
from collections.abc import Mapping, Sequence
from typing import Any

from optimize_eval.base.frozen import frozen
from optimize_eval.tasks.definitions.fields.context import NOT_KNOWN, Context, NotKnown, Rule, meant
from optimize_eval.tasks.definitions.fields.entities import Entity, field
from optimize_eval.tasks.definitions.fields.nodes import Kind, Spot
from optimize_eval.tasks.definitions.fields.templates import ACTION
from optimize_eval.tasks.definitions.fields.templates import Template as TemplateOf
from optimize_eval.tasks.definitions.fields.values import (
    Choice,
    Key,
    ListOf,
    Number,
    OneOf,
    Scalar,
    What,
    bad_type,
    text_of,
)

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

    def read(self, spot: Spot, context: Context) -> dict[str, Any] | NotKnown:
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
        field("filter", FilterOf(expression=TemplateOf(names=ACTION, least=1))),
    ),
)
