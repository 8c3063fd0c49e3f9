"""A provider's model as it is asked, and its replies, as plain data: nothing is secret or slow to import."""

from collections.abc import Mapping, Sequence
from dataclasses import field, fields, replace
from math import isfinite
from typing import Any, Protocol
from urllib.parse import parse_qsl, urlsplit

from optimize_eval.base.documents import JsonDict, JsonMapping
from optimize_eval.base.errors import UsageError
from optimize_eval.base.frozen import frozen
from optimize_eval.base.secrets import is_confidential
from optimize_eval.base.spent import NOTHING, Spent

CUT_OFF = "length"  # the finish_reason of a reply that had no room left

_BY_ITSELF = frozenset({"name", "api_base", "temperature", "max_tokens", "seed", "keep_thoughts"})
_NO_SUCH_BASE = "write it as http://HOST:PORT/v1"


@frozen
class ChatSpec:
    """A provider's model and how it is asked; keys are read from the environment by what is made of it."""

    name: str  # provider/model, such as "openai/gpt-4o-mini"
    api_base: str = ""  # instead of the base URL of the provider's row
    temperature: float | None = None
    max_tokens: int | None = None
    seed: int | None = None
    key_variable: str = ""  # instead of the provider's
    reasoning_effort: str = ""
    top_p: float | None = None
    stop: tuple[str, ...] = ()
    system: str = ""  # before all other messages
    headers: tuple[tuple[str, str], ...] = field(
        default=(), repr=False
    )  # as written: ${NAME} not yet expanded
    extra: JsonMapping = field(default_factory=dict)  # what requests have besides
    keep_thoughts: bool = False  # take the text as it came, thoughts included

    @property
    def options(self) -> JsonDict:
        """Give what requests have beyond model and messages."""
        named = ("temperature", "seed", "max_tokens", "top_p", "reasoning_effort", "stop")
        given = {name: getattr(self, name) for name in named}
        return {**{name: value for name, value in given.items() if value not in {None, "", ()}}, **self.extra}

    def __post_init__(self) -> None:
        if self.api_base:
            _check_base(self.api_base)
        if self.temperature is not None and not (isfinite(self.temperature) and self.temperature >= 0):
            raise UsageError(f"a temperature of {self.temperature:g} makes no sense", hint="give 0 or more")
        if self.max_tokens is not None and self.max_tokens < 1:
            raise UsageError(f"max_tokens {self.max_tokens} leaves no room to answer", hint="give 1 or more")


def with_options(spec: ChatSpec | None, name: str, **options: Any) -> ChatSpec:
    """Give a model of a table, or one by its name alone, the options that are said elsewhere, which win."""
    given = {key: value for key, value in options.items() if value is not None and value != ""}
    return replace(spec or ChatSpec(name=name), name=name, **given)


def essence(spec: ChatSpec | None) -> JsonDict:
    """Give what a table says that makes a model another one, beyond what all models have."""
    if spec is None:
        return {}
    usual = ChatSpec(name=spec.name)
    names = [field.name for field in fields(ChatSpec) if field.name not in _BY_ITSELF]
    return {key: getattr(spec, key) for key in names if getattr(spec, key) != getattr(usual, key)}


@frozen
class Reply:
    """What a model said, who it was, and what that took; what the server does not tell is None."""

    text: str
    prompt_tokens: int | None
    completion_tokens: int | None
    finish_reason: str | None
    reasoning: str = ""  # its thoughts, apart from the text
    model: str | None = None  # who answered, as the server says
    fingerprint: str | None = None
    cached_tokens: int | None = None  # of the prompt's
    reasoning_tokens: int | None = None  # of the completion's
    cost: float | None = None  # as the server says, in its own currency
    refused: bool = False  # the text says why there is no answer, or is what a filter left of it
    tool_calls: Sequence[JsonMapping] = ()  # where these are a reply, too
    raw: JsonMapping = field(default_factory=dict, repr=False)  # all that was sent, where that is wanted
    spent: Spent = field(default=NOTHING, compare=False)

    @property
    def is_cut_off(self) -> bool:
        """Return True if the model was stopped for the length of what it wrote."""
        return self.finish_reason == CUT_OFF

    @property
    def known(self) -> JsonDict:
        """Give what the server sent besides text and thoughts, by name."""
        fields = {
            "prompt_tokens": self.prompt_tokens,
            "completion_tokens": self.completion_tokens,
            "cached_tokens": self.cached_tokens,
            "reasoning_tokens": self.reasoning_tokens,
            "cost": self.cost,
            "finish_reason": self.finish_reason,
            "answered_by": self.model,
            "fingerprint": self.fingerprint,
            "refused": self.refused or None,
        }
        return {key: value for key, value in fields.items() if value is not None}


def _check_base(base: str) -> None:
    """Refuse a URL that hides a secret (specifications are stored and shown), or a malformed one."""
    try:
        parts = urlsplit(base)
        usable = parts.scheme in {"http", "https"} and bool(parts.hostname) and parts.port != 0
    except ValueError:
        raise UsageError("the base URL of the model is not a URL", hint=_NO_SUCH_BASE) from None
    if parts.username is not None or any(is_confidential(name) for name, _ in parse_qsl(parts.query)):
        raise UsageError(
            "the base URL of the model holds a secret, which would be stored with the run",
            hint="leave it out, and put the key into the provider's variable, such as OPENAI_API_KEY",
        )
    if not usable:
        raise UsageError(  # not repeated: some give the key there
            "the base URL of the model needs http:// or https:// and a host",
            hint=_NO_SUCH_BASE,
        )


Message = Mapping[str, str]


class Chat(Protocol):
    """A model that takes messages."""

    def chat(
        self, messages: Sequence[Message], deadline: float, *, schema: JsonMapping | None = None
    ) -> Reply:
        """Reply before `deadline` (an instant of time.monotonic) or raise EvaluationError."""
        ...
