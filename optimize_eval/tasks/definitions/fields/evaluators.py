"""The fields of a scorer that is an evaluator of ours: the keys of a sweep file's [[evaluator]]."""

from collections.abc import Mapping, Sequence
from typing import Any

from optimize_eval.base.checks import Check
from optimize_eval.base.frozen import frozen
from optimize_eval.tasks.definitions.fields.context import NOT_KNOWN, Context, NotKnown, Rule, meant
from optimize_eval.tasks.definitions.fields.entities import Between, Field
from optimize_eval.tasks.definitions.fields.nodes import Kind, Spot, plain
from optimize_eval.tasks.definitions.fields.values import bad_type

TARGETS = ("command", "url", "use", "judge")


@frozen
class Evaluator:
    """Fields that all scorers have; every other key is the evaluator's."""

    common: Sequence[Field]
    between: Sequence[Between]

    def read(self, spot: Spot, context: Context) -> dict[str, Any] | NotKnown:
        if spot.node.kind is not Kind.MAPPING:
            return bad_type(spot, context, "an evaluator: a mapping")
        before = len(context.problems)
        values = {one.name: _read(one, spot, context) for one in self.common}
        keys = self._keys(spot, context)
        _check_target(keys, spot, context)
        for check in self.between:
            check({**values, "type": "evaluator"}, spot, context)
        return {**values, "keys": keys if len(context.problems) == before else NOT_KNOWN}

    def _keys(self, spot: Spot, context: Context) -> dict[str, Any]:
        common = [one.name for one in self.common]
        keys = {name: child for name in spot.entries if name not in common and (child := spot.child(name))}
        for name, child in keys.items():
            _check_key(name, child, common, context)
        return {name: plain(child.node) for name, child in keys.items()}


def _read(one: Field, spot: Spot, context: Context) -> Any:
    child = spot.child(one.name)
    is_there = child and not (child.node.kind is Kind.NULL and one.default is None)
    return one.what.read(child, context) if child and is_there else one.default


def _check_target(keys: Mapping[str, Any], spot: Spot, context: Context) -> None:
    named = [name for name in TARGETS if name in keys]
    if not named:
        reason = f"an evaluator needs one of {', '.join(TARGETS)}"
        context.wrong(Rule.MISSING_REQUIRED, spot.of(TARGETS[0]), spot.mark, reason)
    for name in named[1:]:
        child = spot.child(name) or spot
        reason = f"an evaluator has one of {', '.join(TARGETS)}: this one has {named[0]} already"
        context.wrong(Rule.BAD_VALUE, child.path, child.mark, reason)


def _check_key(name: str, child: Spot, common: Sequence[str], context: Context) -> None:
    known = context.evaluator_keys
    if known is not None and name not in known:
        reason = f"an evaluator has no such key{meant(name, [*common, *known])}"
        context.wrong(Rule.UNKNOWN_FIELD, child.path, child.key or child.mark, reason)
    elif known is not None and not child.node.is_partial and child.node.kind is not Kind.UNKNOWN:
        _check_value(child, known[name], context)


def _check_value(child: Spot, check: Check, context: Context) -> None:
    try:
        check(plain(child.node))
    except ValueError as error:
        context.wrong(Rule.BAD_VALUE, child.path, child.mark, str(error).partition("\n")[0])
