#!/usr/bin/env python3
"""JSON valid: 1 when the candidate is JSON and fits the schema, if there is one, else 0.

The schema is the example's field `schema` (or that of `--target-field`), or `--schema FILE` for all examples;
without one, being JSON is enough. References to other documents are not followed. Needs jsonschema.
"""

import json
from functools import cache
from typing import Any

from _json_schema import problems_of, read_json, validator_of
from _metric import Answer, Asked, Fault, library, run, shortened


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


def json_valid(asked: Asked) -> Answer:
    schema = schema_for(asked)
    library("jsonschema")
    try:
        value = read_json(asked.candidate)
    except (ValueError, RecursionError) as error:
        return {"score": 0.0, "is_json": False, "problem": shortened(str(error))}
    found = problems_of(value, validator_of(schema))
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
