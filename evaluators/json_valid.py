#!/usr/bin/env python3
"""JSON valid: 1 when the candidate is JSON and fits the schema, if there is one, else 0.

The schema is the example's field `schema` (or that of `--target-field`), or `--schema FILE` for all examples;
without one, being JSON is enough. References to other documents are not followed. Needs jsonschema.
"""

import json
import re
from functools import cache, lru_cache
from typing import Any, NoReturn

from _metric import Answer, Asked, Fault, library, run, shortened


def refuse(constant: str) -> NoReturn:
    raise ValueError(f"{constant} is not JSON")


@cache
def schema_in(file: str) -> Any:
    try:
        with open(file, encoding="utf-8") as stream:  # noqa: PTH123  pathlib costs more than the rest
            return json.load(stream)
    except (OSError, ValueError) as error:
        raise Fault(f"--schema {file} cannot be read: {error}") from error


def schema_for(asked: Asked) -> Any:
    if asked.options["schema"]:
        return schema_in(asked.options["schema"])
    is_none = not asked.options["target_field"] and "schema" not in (asked.example or {})
    return True if is_none else asked.find()


@lru_cache
def validator_for(schema: str) -> Any:
    jsonschema, decoded = library("jsonschema"), json.loads(schema)
    if not isinstance(decoded, dict | bool):
        raise Fault("the schema is no object")
    kind = jsonschema.validators.validator_for(decoded, default=jsonschema.Draft202012Validator)
    try:
        kind.check_schema(decoded)
    except jsonschema.SchemaError as error:
        raise Fault(f"the schema is no JSON Schema: {error.json_path}: {shortened(error.message)}") from error
    return kind(decoded, registry=library("referencing").Registry())  # without one, links are fetched


def problems(value: Any, schema: Any) -> list[Any]:
    try:
        return sorted(validator_for(json.dumps(schema)).iter_errors(value), key=lambda one: one.json_path)
    except library("referencing.exceptions").Unresolvable as error:
        raise Fault(f"the schema refers to what is not in it: {error}") from error
    except re.error as error:
        raise Fault(f"a pattern in the schema is no regular expression: {error}") from error


def json_valid(asked: Asked) -> Answer:
    schema = schema_for(asked)
    library("jsonschema")
    try:
        value = json.loads(asked.candidate, parse_constant=refuse)
    except (ValueError, RecursionError) as error:
        return {"score": 0.0, "is_json": False, "problem": shortened(str(error))}
    found = problems(value, schema)
    if not found:
        return {"score": 1.0, "is_json": True, "problems": 0}
    first = {"where": found[0].json_path, "problem": shortened(found[0].message)}
    return {"score": 0.0, "is_json": True, "problems": len(found), **first}


if __name__ == "__main__":
    run(
        json_valid,
        fields=("schema",),
        options={"--schema": {"metavar": "FILE", "help": "a JSON Schema for all examples"}},
    )
