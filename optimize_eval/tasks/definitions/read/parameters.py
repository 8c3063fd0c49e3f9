"""Parameters of a task: config_spec checked, and the values that hold: given ones, else defaults."""

from collections.abc import Collection, Mapping
from typing import Any

from optimize_eval.base.errors import Problem
from optimize_eval.tasks.definitions.fields.context import NOT_KNOWN, Context, NotKnown, Rule, meant
from optimize_eval.tasks.definitions.fields.nodes import Kind, Mark, Spot, node_of
from optimize_eval.tasks.definitions.fields.parameters import PARAMETER, check_value
from optimize_eval.tasks.definitions.fields.task import check_keys
from optimize_eval.tasks.definitions.fields.values import ListOf
from optimize_eval.tasks.definitions.read.given import Written, spoken

Parameters = Mapping[str, Mapping[str, Any]]

_KINDS = {"int": Kind.NUMBER, "float": Kind.NUMBER, "boolean": Kind.BOOLEAN, "list": Kind.LIST}


def read_parameters(root: Spot, context: Context) -> Parameters:
    """Check config_spec, and give what of it is usable, by key."""
    spot = root.child("config_spec")
    if spot is None:
        return {}
    listed = ListOf(what=PARAMETER).read(spot, context)
    if isinstance(listed, NotKnown):
        return {}
    check_keys(listed, spot, context)
    known: dict[str, Mapping[str, Any]] = {}
    for parameter, item in zip(listed, spot.items(), strict=True):
        key = None if isinstance(parameter, NotKnown) else parameter["key"]
        if isinstance(key, str):
            known.setdefault(key, {**parameter, "spot": item})
        elif isinstance(written := _written_key(item), str):
            known.setdefault(written, {"spot": item, "type": None})
    return known


def _written_key(spot: Spot) -> str | None:
    """Find the key of a parameter that is wrong otherwise: naming it is no second problem."""
    child = spot.child("key")
    return child.node.value if child and child.node.kind is Kind.TEXT else None


def values_of(
    parameters: Parameters, given: Mapping[str, Any] | None, path: str, context: Context
) -> dict[str, Any]:
    """Find the value of each parameter; without `given` those without a default have none yet."""
    for name in given or {}:
        if name not in parameters:
            reason = f"the task has no parameter {name!r}{meant(name, list(parameters))}"
            problem = Problem(path=path, rule=Rule.UNKNOWN_FIELD, reason=reason, field=f"config.{name}")
            context.problems.append(problem)
    return {name: _value(name, one, given, path, context) for name, one in parameters.items()}


def _value(
    name: str, parameter: Mapping[str, Any], given: Mapping[str, Any] | None, path: str, context: Context
) -> Any:
    if parameter["type"] is None:
        return NOT_KNOWN
    if given is not None and name in given:
        return _mapped(parameter, _given(name, parameter, given[name], path, context))
    default = parameter["default_value"]
    if default is not None:
        return _mapped(parameter, default)
    if given is None:
        return NotKnown(_kinds_of(parameter))
    if parameter["nullable"] is True:
        return None
    spot: Spot = parameter["spot"]
    reason = f"the parameter {name!r} needs {_words_of(parameter)}: --config {name}=…"
    context.wrong(Rule.MISSING_REQUIRED, f"config.{name}", spot.mark, reason)
    return NOT_KNOWN


def _kinds_of(parameter: Mapping[str, Any]) -> Collection[Kind]:
    """Say what the value will be, nothing where it may be anything."""
    if parameter["type"] == "categorical":
        return {Kind.LIST} if parameter["multiple"] is True else ()
    return {_KINDS.get(parameter["type"], Kind.TEXT)}


def _given(name: str, parameter: Mapping[str, Any], value: Any, path: str, context: Context) -> Any:
    if isinstance(value, Written):
        value = spoken(value.text, parameter)
    spot = Spot(node=node_of(value, Mark(path=path)), path=f"config.{name}")
    return check_value(parameter, spot, context)


def _words_of(parameter: Mapping[str, Any]) -> str:
    if parameter["type"] == "categorical" and isinstance(parameter["allowed_values"], list):
        return f"one of {', '.join(map(str, parameter['allowed_values']))}"
    kind = parameter["type"].replace("_", " ")
    return f"{'an' if kind[0] in 'aeiou' else 'a'} {kind}"


def _mapped(parameter: Mapping[str, Any], value: Any) -> Any:
    """Put in what a choice stands for."""
    mapping = parameter.get("values_mapping")
    if not isinstance(mapping, dict):
        return value
    if isinstance(value, list):
        return [mapping.get(str(one), one) for one in value]
    return value if isinstance(value, NotKnown) else mapping.get(str(value), value)
