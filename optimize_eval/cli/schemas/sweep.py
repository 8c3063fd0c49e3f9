"""A sweep file as JSON Schema: the keys of its tables, with the help of the options that they stand for."""

from collections.abc import Iterable, Mapping
from typing import Any

from optimize_eval.base.checks import Keys
from optimize_eval.cli.schemas.checks import NUMBER, OBJECT, TEXT, TEXTS, Schema, describe_check
from optimize_eval.config.declared import all_declared
from optimize_eval.config.evaluators import ReachOptions
from optimize_eval.config.model_tables import model_keys
from optimize_eval.config.sweep_files import (
    GROUPS,
    evaluator_keys,
    gate_keys,
    optimize_keys,
    run_keys,
    target_keys,
)

_HERE = "."
_OF_MODELS: Mapping[str, Schema] = {
    "price": {"type": "object", "properties": dict.fromkeys(("input", "output"), NUMBER), "minProperties": 2},
    "top_p": {"type": "number", "exclusiveMinimum": 0, "maximum": 1},
    "stop": {"anyOf": [TEXT, TEXTS]},
    "extra": OBJECT,
}
_HELP = {"name": "What it is called.", "env": "Variables of its own.", "weight": "Its share of the slots."}


def sweep_schema() -> Schema:
    """Describe a sweep file."""
    evaluator = {**evaluator_table(), "oneOf": [{"required": [target]} for target in target_keys()]}
    model = {**_table(model_keys(), {}), "required": ["name", "model"]}
    model["properties"] |= _OF_MODELS
    helps = _helps(GROUPS)
    return {
        "title": "A sweep file of optimize-eval",
        "type": "object",
        "additionalProperties": False,
        "properties": {
            "run": _table(run_keys(_HERE), helps),
            "evaluator": {"type": "array", "items": evaluator},
            "gates": _table(gate_keys(_HERE), helps),
            "optimize": _table(optimize_keys(_HERE), helps),
            "prices": {**OBJECT, "description": "Dollars for a million tokens, in and out, by model."},
            "model": {"type": "array", "items": model},
        },
    }


def evaluator_table() -> Schema:
    """Describe the keys of an evaluator."""
    return _table(evaluator_keys(_HERE), {**_helps([ReachOptions]), **_HELP})


def _table(keys: Keys, helps: Mapping[str, str]) -> dict[str, Any]:
    properties = {
        key: {**describe_check(check), **({"description": helps[key]} if key in helps else {})}
        for key, check in sorted(keys.items())
    }
    return {"type": "object", "additionalProperties": False, "properties": properties}


def _helps(groups: Iterable[Any]) -> dict[str, str]:
    return {one.key: one.option.help for one in all_declared(groups).values()}
