"""Parameters of a task: config_spec checked, and the values that hold: given ones, else defaults."""

import json
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import Any

from optimize_eval.base import files, strict_json, strict_yaml
from optimize_eval.base.documents import JsonDict, JsonMapping
from optimize_eval.base.errors import DataError, Problem
from optimize_eval.base.frozen import frozen
from optimize_eval.tasks.yaml.fields import (
    Anything,
    Between,
    Boolean,
    ByType,
    Entity,
    Field,
    Json,
    Key,
    ListOf,
    Number,
    OneOf,
    Scalar,
    Text,
    What,
    field,
    type_field,
)
from optimize_eval.tasks.yaml.task_fields import check_keys
from optimize_eval.tasks.yaml_problems import (
    NOT_KNOWN,
    Context,
    Kind,
    Mark,
    NotKnown,
    Rule,
    Spot,
    meant,
    node_of,
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


def check_value(parameter: JsonMapping, spot: Spot, context: Context) -> Any:
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


def _in_range(parameter: JsonMapping, value: object, spot: Spot, context: Context) -> Any:
    least, most = parameter.get("min"), parameter.get("max")
    bounds = [entry for entry in (least, most, value) if isinstance(entry, NotKnown)]
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


def _member(parameter: JsonMapping, spot: Spot, context: Context) -> Any:
    allowed = parameter["allowed_values"]
    if isinstance(allowed, NotKnown) or any(isinstance(item, NotKnown) for item in allowed):
        return NOT_KNOWN
    if parameter["multiple"] is True:
        values = ListOf(what=Scalar()).read(spot, context)
        if isinstance(values, NotKnown):
            return NOT_KNOWN
        spots = spot.items()
    else:
        values, spots = [Scalar().read(spot, context)], [spot]
    known = [
        _check_choice(value, entry, allowed, context) for value, entry in zip(values, spots, strict=True)
    ]
    return known if parameter["multiple"] is True else known[0]


def _check_choice(value: object, spot: Spot, allowed: Sequence[Any], context: Context) -> Any:
    if isinstance(value, NotKnown) or any(value == entry and type(value) is type(entry) for entry in allowed):
        return value
    reason = f"must be one of {', '.join(map(str, allowed))}; this is {value}"
    context.wrong(Rule.BAD_VALUE, spot.path, spot.mark, reason)
    return NOT_KNOWN


def _bounds(values: JsonDict, spot: Spot, context: Context) -> None:
    least, most = values["min"], values["max"]
    child = spot.child("max")
    if None in {least, most} or isinstance(least, NotKnown) or isinstance(most, NotKnown) or child is None:
        return
    if least > most:
        reason = f"min, {least:g}, must not be above max, {most:g}"
        context.wrong(Rule.BAD_VALUE, child.path, child.mark, reason)
        values["min"] = values["max"] = NOT_KNOWN


def _default(values: JsonDict, spot: Spot, context: Context) -> None:
    child = spot.child("default_value")
    if child and child.node.kind is not Kind.NULL:
        values["default_value"] = check_value(values, child, context)


def _distinct(values: JsonDict, spot: Spot, context: Context) -> None:
    """Check the values of a list of choices, and what they are mapped to."""
    allowed = values["allowed_values"]
    if isinstance(allowed, NotKnown):
        return
    mapped = spot.child("values_mapping")
    for child in mapped.children() if mapped else ():
        name = child.path.removeprefix(f"{mapped.path}." if mapped else "")
        if not any(str(entry) == name for entry in allowed):
            reason = f"{name!r} is not one of allowed_values"
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


_TEXTS = frozenset({"string", "model", "dataset", "dataset_column"})
_TRUTH = {"true": True, "false": False}


@frozen
class Written:
    """A value as it was written on a command line."""

    text: str


def spoken(text: str, parameter: JsonMapping) -> Any:
    """Read a text as the kind of parameter wants it; what cannot be read stays a text, which is refused."""
    kind = parameter["type"]
    if kind in _TEXTS:
        return text
    if text == "null" and parameter["nullable"] is True:
        return None
    if kind == "categorical" and parameter["multiple"] is not True:
        return _choice(text, parameter["allowed_values"])
    if kind in {"list", "categorical"}:
        return _list(text, parameter)
    return _value_given(text, kind)


def _value_given(text: str, kind: str) -> Any:
    if kind == "boolean":
        return _TRUTH.get(text.lower(), text)
    try:
        value = strict_json.loads(text, unique_keys=True)
    except strict_json.JsonFault:
        return text
    return value if isinstance(value, int | float) and not isinstance(value, bool) else text


def _choice(text: str, allowed: object) -> Any:
    """Find the choice that is written so."""
    known = allowed if isinstance(allowed, list) else []
    return next((entry for entry in known if _show(entry) == text), text)


def _show(value: object) -> str:
    return value if isinstance(value, str) else json.dumps(value, default=repr)


def _list(text: str, parameter: JsonMapping) -> Any:
    """Read a list in JSON, or values between commas."""
    if text.lstrip().startswith("["):
        try:
            return strict_json.loads(text, unique_keys=True)
        except strict_json.JsonFault:
            return text
    parts = [part.strip() for part in text.split(",")] if text.strip() else []
    if parameter["type"] == "categorical":
        return [_choice(part, parameter["allowed_values"]) for part in parts]
    kind = {"integer": "int", "float": "float", "boolean": "boolean"}.get(parameter["dtype"])
    return [_value_given(part, kind) if kind else part for part in parts]


Parameters = Mapping[str, JsonMapping]

_KINDS_OF_NODES = {"int": Kind.NUMBER, "float": Kind.NUMBER, "boolean": Kind.BOOLEAN, "list": Kind.LIST}


def read_parameters(root: Spot, context: Context) -> Parameters:
    """Check config_spec, and give what of it is usable, by key."""
    spot = root.child("config_spec")
    if spot is None:
        return {}
    listed = ListOf(what=PARAMETER).read(spot, context)
    if isinstance(listed, NotKnown):
        return {}
    check_keys(listed, spot, context)
    known: dict[str, JsonMapping] = {}
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


def values_of(parameters: Parameters, given: JsonMapping | None, path: str, context: Context) -> JsonDict:
    """Find the value of each parameter; without `given` those without a default have none yet."""
    for name in given or {}:
        if name not in parameters:
            reason = f"the task has no parameter {name!r}{meant(name, list(parameters))}"
            problem = Problem(path=path, rule=Rule.UNKNOWN_FIELD, reason=reason, field=f"config.{name}")
            context.problems.append(problem)
    return {name: _value(name, parameter, given, path, context) for name, parameter in parameters.items()}


def _value(name: str, parameter: JsonMapping, given: JsonMapping | None, path: str, context: Context) -> Any:
    if parameter["type"] is None:
        return NOT_KNOWN
    if given is not None and name in given:
        return _map_choice(parameter, _read_given(name, parameter, given[name], path, context))
    default = parameter["default_value"]
    if default is not None:
        return _map_choice(parameter, default)
    if given is None:
        return NotKnown(_kinds_of(parameter))
    if parameter["nullable"] is True:
        return None
    spot: Spot = parameter["spot"]
    reason = f"the parameter {name!r} needs {_words_of(parameter)}: --config {name}=…"
    context.wrong(Rule.MISSING_REQUIRED, f"config.{name}", spot.mark, reason)
    return NOT_KNOWN


def _kinds_of(parameter: JsonMapping) -> Collection[Kind]:
    """Say what the value will be, nothing where it may be anything."""
    if parameter["type"] == "categorical":
        return {Kind.LIST} if parameter["multiple"] is True else ()
    return {_KINDS_OF_NODES.get(parameter["type"], Kind.TEXT)}


def _read_given(name: str, parameter: JsonMapping, value: object, path: str, context: Context) -> Any:
    if isinstance(value, Written):
        value = spoken(value.text, parameter)
    spot = Spot(node=node_of(value, Mark(path=path)), path=f"config.{name}")
    return check_value(parameter, spot, context)


def _words_of(parameter: JsonMapping) -> str:
    if parameter["type"] == "categorical" and isinstance(parameter["allowed_values"], list):
        return f"one of {', '.join(map(str, parameter['allowed_values']))}"
    kind = parameter["type"].replace("_", " ")
    return f"{'an' if kind[0] in 'aeiou' else 'a'} {kind}"


def _map_choice(parameter: JsonMapping, value: object) -> Any:
    """Put in what a choice stands for."""
    mapping = parameter.get("values_mapping")
    if not isinstance(mapping, dict):
        return value
    if isinstance(value, list):
        return [mapping.get(str(item), item) for item in value]
    return value if isinstance(value, NotKnown) else mapping.get(str(value), value)


__all__ = ["Written", "config_of"]


def config_of(values: JsonMapping, file: str = "") -> JsonDict:
    """Read a file of values, YAML, JSON or TOML by its suffix; `values` win, of which texts are as written.

    A text of a file is a text; one of a command line may be a number, where the parameter is one.
    """
    written = {
        name: Written(text=value) if isinstance(value, str) else value for name, value in values.items()
    }
    return {**(_of_file(file) if file else {}), **written}


def _of_file(path: str) -> JsonDict:
    data = files.read(path, files.SETTINGS)
    try:
        values = _decoded(Path(path).suffix.lower(), data.decode("utf-8-sig"))
    except UnicodeDecodeError:
        raise _wrong(path, "not UTF-8") from None
    except ValueError as error:
        raise _wrong(path, str(error), getattr(error, "line", None)) from None
    if not isinstance(values, dict):
        raise _wrong(path, "must be a mapping of parameters to values")
    return {str(name): value for name, value in values.items()}


def _decoded(suffix: str, text: str) -> Any:
    if suffix == ".toml":
        return strict_json.loads_toml(text)
    if suffix == ".json":
        return strict_json.loads(text, unique_keys=True)
    return strict_yaml.loads(text)


def _wrong(path: str, reason: str, line: int | None = None) -> DataError:
    return DataError([Problem(path=path, rule="bad_config", reason=reason, line=line)])
