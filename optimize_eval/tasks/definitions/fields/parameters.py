"""The fields of parameters, and what their values may be, defaults and given ones alike."""

from collections.abc import Mapping, Sequence
from typing import Any

from optimize_eval.tasks.definitions.fields.context import NOT_KNOWN, Context, NotKnown, Rule
from optimize_eval.tasks.definitions.fields.entities import (
    Anything,
    Between,
    ByType,
    Entity,
    Field,
    field,
    type_field,
)
from optimize_eval.tasks.definitions.fields.nodes import Kind, Spot
from optimize_eval.tasks.definitions.fields.values import (
    Boolean,
    Json,
    Key,
    ListOf,
    Number,
    OneOf,
    Scalar,
    Text,
    What,
)

_DTYPES: Mapping[str, What] = {
    "string": Text(),
    "integer": Number(is_whole=True),
    "float": Number(),
    "boolean": Boolean(),
}
_KINDS: Mapping[str, What] = {
    "float": Number(),
    "int": Number(is_whole=True),
    "boolean": Boolean(),
    "string": Text(),
    "model": Text(least=1),
    "dataset": Text(least=1),
    "dataset_column": Text(least=1),
}


def check_value(parameter: Mapping[str, Any], spot: Spot, context: Context) -> Any:
    """Check a parameter's value by its kind, its range and its list of values."""
    if spot.node.kind is Kind.NULL and parameter["nullable"] is True:
        return None
    match parameter["type"]:
        case "list":
            what = _DTYPES.get(parameter["dtype"]) if isinstance(parameter["dtype"], str) else None
            return ListOf(what=what).read(spot, context) if what else NOT_KNOWN
        case "categorical":
            return _member(parameter, spot, context)
        case kind:
            return _in_range(parameter, _KINDS[kind].read(spot, context), spot, context)


def _in_range(parameter: Mapping[str, Any], value: Any, spot: Spot, context: Context) -> Any:
    least, most = parameter.get("min"), parameter.get("max")
    bounds = [one for one in (least, most, value) if isinstance(one, NotKnown)]
    if parameter["type"] not in {"int", "float"} or bounds:
        return value
    if (least is not None and value < least) or (most is not None and value > most):
        reason = f"must be {_range(least, most)}, this is {value:g}"
        context.wrong(Rule.BAD_VALUE, spot.path, spot.mark, reason)
        return NOT_KNOWN
    return value


def _range(least: float | None, most: float | None) -> str:
    if least is None or most is None:
        return f"at most {most:g}" if least is None else f"at least {least:g}"
    return f"from {least:g} to {most:g}"


def _member(parameter: Mapping[str, Any], spot: Spot, context: Context) -> Any:
    allowed = parameter["allowed_values"]
    if isinstance(allowed, NotKnown) or any(isinstance(one, NotKnown) for one in allowed):
        return NOT_KNOWN
    if parameter["multiple"] is True:
        values = ListOf(what=Scalar()).read(spot, context)
        if isinstance(values, NotKnown):
            return NOT_KNOWN
        spots = spot.items()
    else:
        values, spots = [Scalar().read(spot, context)], [spot]
    known = [_checked(value, one, allowed, context) for value, one in zip(values, spots, strict=True)]
    return known if parameter["multiple"] is True else known[0]


def _checked(value: Any, spot: Spot, allowed: Sequence[Any], context: Context) -> Any:
    if isinstance(value, NotKnown) or any(value == one and type(value) is type(one) for one in allowed):
        return value
    reason = f"must be one of {', '.join(map(str, allowed))}; this is {value}"
    context.wrong(Rule.BAD_VALUE, spot.path, spot.mark, reason)
    return NOT_KNOWN


def _bounds(values: dict[str, Any], spot: Spot, context: Context) -> None:
    least, most = values["min"], values["max"]
    child = spot.child("max")
    if None in {least, most} or isinstance(least, NotKnown) or isinstance(most, NotKnown) or child is None:
        return
    if least > most:
        reason = f"min, {least:g}, must not be above max, {most:g}"
        context.wrong(Rule.BAD_VALUE, child.path, child.mark, reason)
        values["min"] = values["max"] = NOT_KNOWN


def _default(values: dict[str, Any], spot: Spot, context: Context) -> None:
    child = spot.child("default_value")
    if child and child.node.kind is not Kind.NULL:
        values["default_value"] = check_value(values, child, context)


def _distinct(values: dict[str, Any], spot: Spot, context: Context) -> None:
    """Check the values of a list of choices, and what they are mapped to."""
    allowed = values["allowed_values"]
    if isinstance(allowed, NotKnown):
        return
    mapped = spot.child("values_mapping")
    for child in mapped.children() if mapped else ():
        name = child.path.removeprefix(f"{mapped.path}." if mapped else "")
        if not any(str(one) == name for one in allowed):
            reason = f"{name!r} is none of allowed_values"
            context.wrong(Rule.BAD_VALUE, child.path, child.key or child.mark, reason)


def _parameter(*fields: Field, between: Sequence[Between] = ()) -> Entity:
    common = (
        type_field(),
        field("key", Key()),
        field("display_name", Text(least=1)),
        field("description", Text(), None),
        field("default_value", Anything(), None),
        field("nullable", Boolean(), default=False),
        field("examples", Json(), None),
    )
    return Entity(noun="a parameter", fields=(*common, *fields), between=(*between, _default))


def _number(*, is_whole: bool) -> Entity:
    what = Number(is_whole=is_whole)
    return _parameter(field("min", what, None), field("max", what, None), between=(_bounds,))


PARAMETER = ByType(
    noun="a parameter",
    entities={
        "float": _number(is_whole=False),
        "int": _number(is_whole=True),
        "boolean": _parameter(),
        "string": _parameter(
            field("string_kind", OneOf(choices=("freeform", "python", "jinja")), "freeform"),
            field("default_file_content", Text(), None),
        ),
        "model": _parameter(field("usage", Json(), None)),
        "dataset": _parameter(field("usage", Json(), None)),
        "dataset_column": _parameter(field("usage", Json(), None)),
        "list": _parameter(field("dtype", OneOf(choices=tuple(_DTYPES)))),
        "categorical": _parameter(
            field("allowed_values", ListOf(what=Scalar(), least=1)),
            field("multiple", Boolean(), default=False),
            field("values_mapping", Json(), None),
            between=(_distinct,),
        ),
    },
    not_built=("dict", "task_result"),
)
