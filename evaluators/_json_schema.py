"""What the metrics beside this file share about JSON: reading a text as JSON, and what a schema finds wrong.

References to other documents are not followed. Schemas need jsonschema; being JSON needs nothing.
"""

from __future__ import annotations

import json
import re
from functools import lru_cache

from _metric import Fault, library, shortened

TYPE_CHECKING = False  # type checkers take it for true
if TYPE_CHECKING:
    from typing import Any, NoReturn


def read_json(text: str) -> Any:
    """Read a text that is JSON; raises ValueError or RecursionError."""
    return _DECODER.decode(text)


def validator_of(schema: Any) -> Any:
    """Read a schema; an unusable one is a Fault, whatever is to fit it."""
    return _validator(json.dumps(schema))


def problems_of(value: Any, validator: Any) -> list[Any]:
    """List what does not fit a schema, in the order of its places."""
    try:
        return sorted(validator.iter_errors(value), key=lambda problem: str(problem.json_path))
    except library("referencing.exceptions").Unresolvable as error:
        raise Fault(f"the schema refers to what is not in it: {error}") from error
    except re.error as error:
        raise Fault(f"a pattern in the schema is no regular expression: {error}") from error


@lru_cache(1024)
def _validator(schema: str) -> Any:
    jsonschema, decoded = library("jsonschema"), json.loads(schema)
    if not isinstance(decoded, dict | bool):
        raise Fault("the schema is no object")
    kind = jsonschema.validators.validator_for(decoded, default=jsonschema.Draft202012Validator)
    try:
        kind.check_schema(decoded)
    except jsonschema.SchemaError as error:
        raise Fault(f"the schema is no JSON Schema: {error.json_path}: {shortened(error.message)}") from error
    return kind(decoded, registry=library("referencing").Registry())  # without one, links are fetched


def _refuse(constant: str) -> NoReturn:
    raise ValueError(f"{constant} is not JSON")


_DECODER = json.JSONDecoder(parse_constant=_refuse)
