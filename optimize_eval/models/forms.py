"""How an answer in JSON is asked for: by a schema, as some JSON, or in words only; what a server refuses."""

from collections.abc import Mapping
from enum import IntEnum
from http import HTTPStatus
from typing import Any

from optimize_eval.http import Response
from optimize_eval.models.spec import ModelSpec

_REFUSALS = frozenset({400, 404, 415, 422})
_ITS_WORDS = ("response_format", "json_schema", "json_object", "structured output", "response format")
_OTHER_FIELDS = (
    "temperature",
    "seed",
    "max_tokens",
    "max_completion_tokens",
    "context_length",
    "context length",
)


NEWER_LIMIT = "max_completion_tokens"  # as OpenAI's models that reason call max_tokens


class Form(IntEnum):
    """The forms in the order in which they are tried."""

    SCHEMA = 0
    OBJECT = 1
    TEXT = 2


def fields(form: Form, schema: Mapping[str, Any] | None) -> dict[str, Any]:
    """Give what a request of this form has beyond a plain one."""
    if form is Form.TEXT:
        return {}
    if form is Form.OBJECT:
        return {"response_format": {"type": "json_object"}}
    described = {"name": "answer", "strict": True, "schema": schema}
    return {"response_format": {"type": "json_schema", "json_schema": described}}


def is_refused(response: Response) -> bool:
    """Tell whether an answer to a request with a response_format may be a refusal of just that.

    Some servers say no more than 400; one that names another field refuses that.
    """
    if response.status not in _REFUSALS:
        return False
    said = response.body.decode("utf-8", "replace").lower()
    if any(word in said for word in _ITS_WORDS):
        return True
    return response.status == HTTPStatus.BAD_REQUEST and not any(word in said for word in _OTHER_FIELDS)


def wants_newer_limit(response: Response) -> bool:
    """Tell whether a server refuses max_tokens because it wants that by its newer name."""
    return response.status in _REFUSALS and NEWER_LIMIT.encode() in response.body


def given(spec: ModelSpec) -> frozenset[str]:
    """Name the options of a model that a server may refuse."""
    names = {"temperature": spec.temperature, "seed": spec.seed, "max_tokens": spec.max_tokens}
    found = {name for name, value in names.items() if value is not None}
    return frozenset(found | {NEWER_LIMIT} if "max_tokens" in found else found)
