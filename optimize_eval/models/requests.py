"""What a request to a model holds: how a reply in JSON is requested, and which fields a server takes."""

import re
from collections.abc import Mapping
from enum import IntEnum
from http import HTTPStatus
from typing import Any

from optimize_eval.models.chat import ChatSpec
from optimize_eval.programs.http_client import Response

NEWER_LIMIT = "max_completion_tokens"  # as OpenAI's models that reason call max_tokens

_LIMIT = "max_tokens"
_REFUSALS = frozenset({400, 404, 415, 422})
_DISPENSABLE = ("temperature", "seed", "top_p", "reasoning_effort")
_UNSUPPORTED = re.compile(
    r"support|unknown|unrecogni[sz]ed|unexpected|extra|not (permitted|allowed|available)|deprecated|cannot be"
)


class Fields:
    """What is known of one model; safe to use from several threads."""

    def __init__(self) -> None:
        self._limit = _LIMIT
        self._left_out: dict[str, None] = {}

    def fitting(self, body: Mapping[str, Any]) -> dict[str, Any]:
        """Give a body as far as the model takes it."""
        if self._limit == _LIMIT and not self._left_out:
            return dict(body)
        fields = ((self._limit if key == _LIMIT else key, value) for key, value in body.items())
        return {key: value for key, value in fields if key not in self._left_out}

    def learn(self, sent: Mapping[str, Any], response: Response) -> bool:
        """Learn from a refusal; true where another request may be taken."""
        if response.status not in _REFUSALS:
            return False
        text = response.body.decode("utf-8", "replace")
        if _LIMIT in sent and NEWER_LIMIT in text:
            self._limit = NEWER_LIMIT
            return True
        refused = next((name for name in _DISPENSABLE if name in sent and _refuses(text, name)), None)
        if refused:
            self._left_out[refused] = None
        return refused is not None

    @property
    def note(self) -> str:
        names = " and ".join(self._left_out)
        return f"it does not take {names}, and was called without" if names else ""


def _refuses(text: str, name: str) -> bool:
    return bool(re.search(rf"\b{name}\b", text) and _UNSUPPORTED.search(text.lower()))


_ITS_WORDS = ("response_format", "json_schema", "json_object", "structured output", "response format")
_BOUNDS = ("minimum", "maximum")
_NAMES_BOUNDS = re.compile(  # as keywords of a schema: any text may hold "maximum context length"
    r"['\"`](minimum|maximum)['\"`]|propert(y|ies) (minimum|maximum)|(minimum|maximum) (is|are) not "
)
_OTHER_FIELDS = (
    "temperature",
    "seed",
    "max_tokens",
    "max_completion_tokens",
    "context_length",
    "context length",
    "context window",
    "context size",
    "too long",
)


class ReplyForm(IntEnum):
    """The forms in the order in which they are tried."""

    SCHEMA = 0
    UNBOUNDED = 1  # without the bounds of its numbers
    OBJECT = 2
    TEXT = 3


def after(form: ReplyForm, response: Response) -> ReplyForm:
    """Choose the form that is tried after a refusal of this one; bounds go alone where it names them."""
    if form is not ReplyForm.SCHEMA:
        return ReplyForm(form + 1)
    text = response.body.decode("utf-8", "replace").lower()
    return ReplyForm.UNBOUNDED if _NAMES_BOUNDS.search(text) else ReplyForm.OBJECT


def fields(form: ReplyForm, schema: Mapping[str, Any] | None) -> dict[str, Any]:
    """Give what a request of this form has beyond a plain one."""
    if form is ReplyForm.TEXT:
        return {}
    if form is ReplyForm.OBJECT:
        return {"response_format": {"type": "json_object"}}
    schema = _without_bounds(schema) if form is ReplyForm.UNBOUNDED else schema
    described = {"name": "answer", "strict": True, "schema": schema}
    return {"response_format": {"type": "json_schema", "json_schema": described}}


def _without_bounds(schema: Any) -> Any:
    if isinstance(schema, Mapping):
        return {key: _without_bounds(value) for key, value in schema.items() if key not in _BOUNDS}
    return schema


def is_refused(response: Response) -> bool:
    """Return True if an answer to a request with a response_format may be a refusal of just that.

    Some servers say no more than 400; one that names another field refuses that.
    """
    if response.status not in _REFUSALS:
        return False
    text = response.body.decode("utf-8", "replace").lower()
    if any(word in text for word in _ITS_WORDS) or _NAMES_BOUNDS.search(text):
        return True
    return response.status == HTTPStatus.BAD_REQUEST and not any(word in text for word in _OTHER_FIELDS)


def given(spec: ChatSpec) -> frozenset[str]:
    """Name the options of a model that a server may refuse."""
    names = {"temperature": spec.temperature, "seed": spec.seed, "max_tokens": spec.max_tokens}
    options = {name for name, value in names.items() if value is not None}
    return frozenset(options | {NEWER_LIMIT} if "max_tokens" in options else options)
