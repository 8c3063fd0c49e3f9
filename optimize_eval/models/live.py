"""A live model: the request, its form as the server takes it, and one try at a reply.

Retries are left to the callers, except where a server does not take the form of a request: that is
said otherwise at once, and from then on. One of a provider (`openai/gpt-4o-mini`) has its own headers and
their secrets.
"""

import re
import threading
import time
from collections.abc import Mapping, Sequence
from contextlib import closing
from dataclasses import replace
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Never, Protocol

from optimize_eval.base import secrets, strict_json
from optimize_eval.base.documents import JsonDict, JsonMapping
from optimize_eval.base.errors import EvaluationError, FailureKind
from optimize_eval.base.evaluator import Capacity
from optimize_eval.base.retries_and_caps import LETTERS, PATIENCE, Caps, Manners, Queue, until_answered
from optimize_eval.base.secrets import Secrets, redact, to_hide
from optimize_eval.base.spent import Spent, Usage, counts_of, with_cost
from optimize_eval.models import providers, requests
from optimize_eval.models.chat import ChatSpec, Reply, essence, with_options
from optimize_eval.models.outside import ThroughLitellm
from optimize_eval.models.providers import apart, base_around
from optimize_eval.models.refusals import Callee, failed, wrong_scheme
from optimize_eval.models.reply import counts_in, parse_reply
from optimize_eval.models.requests import Fields, ReplyForm
from optimize_eval.models.turns import NoRoom, Turns, known_prices
from optimize_eval.models.under_test import Output, Prompt
from optimize_eval.programs.exchange import call_singly, is_loopback, show_url
from optimize_eval.programs.http_client import SUCCESS, Connections, Response

if TYPE_CHECKING:
    from optimize_eval.models.model_kinds import ModelSpec


_ANSWER_CAP = 8 * 1024 * 1024
_COUNTS = ("prompt_tokens", "completion_tokens", "cost")
_POLITE = Manners()
_SHORTEST_KEY = 8  # what is shorter stands for no key, such as "ollama", and may be a word of an answer


class Way(Protocol):
    """How requests reach a model."""

    @property
    def note(self) -> str:
        """What people should know, said once; mostly nothing."""
        ...

    @property
    def callee(self) -> Callee:
        """Whom they reach, for the words of failures."""
        ...

    def post(self, body: JsonDict, deadline: float) -> Response:
        """Send the body of a chat completion; raises EvaluationError where no answer came."""
        ...

    def close(self) -> None: ...


class Model:
    """A model with its connections; safe to call from several threads."""

    def __init__(
        self,
        spec: ChatSpec,
        manners: Manners = _POLITE,
        *,
        headers: Mapping[str, str] = MappingProxyType({}),
        hidden: Secrets = (),
        known_as: str = "",
    ) -> None:
        """Make one; `headers` are sent besides, and `hidden` are the secrets in them.

        What its calls take is counted for the name that it is `known_as`.
        """
        self.spec = spec
        self._known_as = known_as or spec.name
        self._caps = Caps()
        place = providers.find(spec)
        self._way: Way = (
            _OverHttp(spec, place, headers, hidden) if place else ThroughLitellm(spec, headers, hidden)
        )
        self._turns = Turns(self._way.callee.base, self._way.callee.model, manners)
        self._prices = known_prices([spec.name], manners.prices) if manners.seeks_prices else manners.prices
        self.stop_waiting = self._turns.stop
        self._lock = threading.Lock()
        self._form = ReplyForm.SCHEMA
        self._fields = Fields()
        self._body = {"model": self._way.callee.model, "messages": (), **spec.options}
        self._system = [{"role": "system", "content": spec.system}] if spec.system else []

    def __repr__(self) -> str:
        return f"Model({self.spec!r})"

    def __reduce__(self) -> Never:
        raise TypeError("a Model has connections and a key: send its ChatSpec, and make another Model of it")

    def chat(
        self,
        messages: Sequence[JsonMapping],
        deadline: float,
        *,
        schema: JsonMapping | None = None,
        options: JsonMapping | None = None,
        takes_refusals: bool = False,
    ) -> Reply:
        """Call once, before `deadline` (an instant of time.monotonic); raises EvaluationError.

        With options, even none, a reply may be calls of tools, and has all that the server sent; refusals
        are replies only for those who take them.
        Waiting for a turn, or until a server has room, puts the deadline off; the reply says by how much.
        """
        self._caps.ask()
        body = {**self._body, **(options or {}), "messages": [*self._system, *messages]}
        reply, waited = self._turns.through(
            lambda waited: self._once(
                body,
                schema,
                deadline + waited,
                is_whole=options is not None,
                takes_refusals=takes_refusals,
            ),
            _letters(messages) / LETTERS,
            lambda reply: (reply.prompt_tokens or 0) + (reply.completion_tokens or 0) or None,
        )
        return replace(reply, spent=replace(reply.spent, waited=waited)) if waited else reply

    @property
    def capacity(self) -> int | None:
        """Tell how many calls it is of use to make at the moment; None: any number."""
        return self._turns.capacity

    @property
    def queues(self) -> Sequence[Queue]:
        """Tell who waits for the server at the moment."""
        return self._turns.queues

    @property
    def note(self) -> str:
        """Say what people should know of how it went; mostly nothing."""
        left_out = f"{self.spec.name}: {self._fields.note}" if self._fields.note else ""
        return "; ".join(filter(None, [self._way.note, left_out, self._turns.note]))

    def meter(self, caps: Caps) -> None:
        self._caps = caps
        self._turns.follow(caps)

    def close(self) -> None:
        self._turns.stop()
        self._way.close()

    def _once(
        self,
        body: JsonDict,
        schema: JsonMapping | None,
        deadline: float,
        *,
        is_whole: bool,
        takes_refusals: bool,
    ) -> Reply:
        """Call, and take down what that used, also where it failed."""
        began, callee = time.monotonic(), self._way.callee
        response = self._attempt(body, schema, deadline)
        if isinstance(response, EvaluationError):
            explained = _explain(response, callee)
            explained.spent = self._spent(self._usage(began, counts_of(None)), is_reply=False)
            raise explained
        try:
            reply = parse_reply(
                response,
                callee,
                deadline - time.monotonic(),
                keep_thoughts=self.spec.keep_thoughts,
                is_whole=is_whole,
                takes_refusals=takes_refusals,
            )
        except NoRoom:
            raise
        except EvaluationError as error:
            usage = self._usage(began, counts_in(response))
            error.spent += self._spent(usage, is_reply=response.status in SUCCESS)
            raise
        usage = self._usage(began, {name: getattr(reply, name) for name in _COUNTS})
        said = len(reply.text) + len(reply.reasoning)
        return replace(
            reply, spent=self._spent(self._caps.estimated(usage, _letters(body["messages"]), said))
        )

    def _usage(self, began: float, counts: JsonMapping) -> Usage:
        """Take down one call."""
        counted = {name: counts[name] for name in _COUNTS}
        return Usage(model=self._known_as, seconds=time.monotonic() - began, **counted)

    def _spent(self, usage: Usage, *, is_reply: bool = True) -> Spent:
        price = self._prices.get(self._known_as, self._prices.get(self.spec.name))
        usage = with_cost(usage, price)
        self._caps.take(usage, self.spec.name, is_reply=is_reply)
        return Spent(usages=(usage,))

    def _attempt(
        self, body: JsonDict, schema: JsonMapping | None, deadline: float
    ) -> Response | EvaluationError:
        """Call; a failure comes without its traceback, whose frames hold the key and a connection."""
        try:
            return (
                self._post(body, deadline) if schema is None else self._request_form(body, schema, deadline)
            )
        except EvaluationError as error:
            error.__cause__ = error.__context__ = None
            return error.with_traceback(None)

    def _request_form(self, body: JsonDict, schema: JsonMapping, deadline: float) -> Response:
        """Request JSON in the best form that the server takes; what it took is remembered."""
        form = self._form
        response = self._post(body | requests.fields(form, schema), deadline)
        while form is not ReplyForm.TEXT and requests.is_refused(response):
            form = requests.after(form, response)
            response = self._post(body | requests.fields(form, schema), deadline)
        if response.status in SUCCESS:
            with self._lock:
                self._form = max(self._form, form)
        return response

    def _post(self, body: JsonDict, deadline: float) -> Response:
        """Send; where the server refuses a field, again without it or by its newer name."""
        response = self._way.post(sent := self._fields.fitting(body), deadline)
        while self._fields.learn(sent, response):
            response = self._way.post(sent := self._fields.fitting(body), deadline)
        return response


def _letters(messages: Sequence[JsonMapping]) -> int:
    """Count the characters of messages, whose content may be a list of parts."""
    contents = [message.get("content") or "" for message in messages]
    return sum(len(content) if isinstance(content, str) else len(repr(content)) for content in contents)


class _OverHttp:
    """The way to a provider of the table."""

    def __init__(
        self, spec: ChatSpec, place: providers.Address, headers: Mapping[str, str], hidden: Secrets
    ) -> None:
        self.note = place.note
        self._is_native = place.is_native
        self._connections = Connections(place.url, _headers_of(place, headers))
        self.callee = Callee(
            name=spec.name,
            model=place.model,
            base=show_url(place.url).removesuffix(providers.PATH).removesuffix(providers.MESSAGES),
            key_variable=place.key_variable,
            sent_key=bool(place.key),
            fields=requests.given(spec),
            hidden=(*hidden, *to_hide([place.key], _SHORTEST_KEY)),
        )

    def post(self, body: JsonDict, deadline: float) -> Response:
        sent = _encoded(requests.request_of(body) if self._is_native else body)
        response = self._connections.post(sent, deadline, _ANSWER_CAP)
        return requests.response_of(response) if self._is_native else response

    def close(self) -> None:
        self._connections.close()


def _headers_of(place: providers.Address, given: Mapping[str, str]) -> dict[str, str]:
    """Put the headers of all requests together."""
    headers = {"Content-Type": "application/json", **given}
    if place.is_native:
        return headers | requests.headers_with(place.key)
    return headers | ({"Authorization": f"Bearer {place.key}"} if place.key else {})


def _is_https_here(base: str) -> bool:
    """Return True where a server that knows no TLS may be waiting for the end of a line."""
    return base.startswith("https:") and is_loopback(base)


def _encoded(body: JsonDict) -> bytes:
    try:
        return strict_json.dumps(body)
    except (TypeError, ValueError) as error:  # UnicodeEncodeError is a ValueError
        raise failed(
            f"the messages cannot be sent as JSON: {error}", "give texts without lone surrogates"
        ) from None


def _explain(error: EvaluationError, callee: Callee) -> EvaluationError:
    """Say in a model's words why no answer came; another call would change nothing but the bill."""
    text = redact(error.message, callee.hidden)
    match error.kind:
        case FailureKind.TIMEOUT:
            error.message = f"no whole answer from {callee.name} before the deadline"
            may_be = "; if it speaks no TLS, write http://" * _is_https_here(callee.base)
            error.hint = f"allow more time with --timeout, or let it write less (max_tokens){may_be}"
            return error
        case FailureKind.HTTP_CONNECT:
            hint = wrong_scheme(text, callee.base) or "is the server running, and is the base URL right?"
            return failed(text, hint, retry_after=0.0)
        case FailureKind.HTTP_PROTOCOL:
            may_be = "; if it speaks TLS, write https://" * callee.base.startswith("http:")
            return failed(text, f"{error.hint}{may_be}", retry_after=0.0)
        case FailureKind.OUTPUT_TOO_LARGE:
            return failed(f"{callee.name} answered too much: {text}", "let it write less (max_tokens)")
    error.message = text
    return error


def chat(
    messages: Sequence[Mapping[str, str]],
    model: str | ChatSpec,
    *,
    timeout: float = 60.0,
    retries: int = 2,
    patience: float = PATIENCE,
    schema: JsonMapping | None = None,
    api_base: str = "",
    temperature: float | None = None,
    max_tokens: int | None = None,
    seed: int | None = None,
) -> Reply:
    """Call a model, over connections of its own; all attempts and their pauses are within `timeout`.

    Where the server has no room, that waits for at most `patience` seconds more.
    Options that are given win over those of a specification.
    """
    options = {"api_base": api_base, "temperature": temperature, "max_tokens": max_tokens, "seed": seed}
    given: JsonDict = {name: value for name, value in options.items() if value not in {None, ""}}
    spec = replace(model if isinstance(model, ChatSpec) else ChatSpec(name=model), **given)
    deadline = time.monotonic() + timeout
    with closing(Model(spec, Manners(patience=patience))) as live:
        reply, in_vain, _ = until_answered(
            lambda until: live.chat(messages, until, schema=schema), deadline, retries
        )
    return replace(reply, spent=in_vain + reply.spent)


_FIELD = re.compile(r"\b(?:max_completion_tokens|max_tokens|temperature)\b")
_OPTIONS = {
    "max_completion_tokens": "--max-tokens",
    "max_tokens": "--max-tokens",
    "temperature": "--temperature",
}


class CallerOfModels:
    """Calls live models, and says of them what there is to say: what they lack, who waits, how many calls."""

    def __init__(self, *models: Model) -> None:
        self._models = models

    @property
    def note(self) -> str:
        return "; ".join(dict.fromkeys(model.note for model in self._models if model.note))

    @property
    def queues(self) -> Sequence[Queue]:
        return [queue for model in self._models for queue in model.queues]

    @property
    def capacity(self) -> Capacity:
        limits = [model.capacity for model in self._models]
        return Capacity(calls=min((limit for limit in limits if limit is not None), default=None))

    def meter(self, caps: Caps) -> None:
        for model in self._models:
            model.meter(caps)

    def stop_waiting(self) -> None:
        for model in self._models:
            model.stop_waiting()

    def close(self) -> None:
        for model in self._models:
            model.close()


class ProviderModel(CallerOfModels):
    """Calls a provider's model."""

    def __init__(self, model: Model, *, takes_refusals: bool = True) -> None:
        super().__init__(model)
        self._model = model
        self._takes_refusals = takes_refusals
        self.chat = model.chat  # with messages as they are, held to a schema

    def generate(self, prompt: Prompt, deadline: float) -> Output:
        options = prompt.options if prompt.is_whole else None
        try:
            reply = self._model.chat(
                prompt.messages, deadline, options=options, takes_refusals=self._takes_refusals
            )
        except EvaluationError as error:
            if not options:  # else the task says them
                error.hint = _FIELD.sub(lambda field: _OPTIONS[field[0]], error.hint or "")
            raise
        return Output(
            text=reply.text,
            side=reply.known,
            reasoning=reply.reasoning,
            spent=reply.spent,
            tool_calls=reply.tool_calls,
            completion=reply.raw,
        )

    def generate_many(self, prompts: Sequence[Prompt], timeout: float) -> list[Output | EvaluationError]:
        return call_singly(prompts, timeout, self.generate)


def live_model(spec: ChatSpec, manners: Manners | None, known_as: str = "") -> Model:
    expanded = secrets.expand(spec.headers) if spec.headers else {}
    hidden = secrets.secrets(spec.headers, "") if spec.headers else ()
    return Model(spec, manners or Manners(), headers=expanded, hidden=hidden, known_as=known_as)


def chat_spec(name: str, model: "ModelSpec") -> ChatSpec:
    """Describe how a model under test is asked."""
    called, base = apart(name)
    return with_options(
        model.table,
        called,
        api_base=base or model.api_base,
        temperature=model.temperature,
        max_tokens=model.max_tokens,
        seed=model.seed,
        keep_thoughts=model.keep_thoughts or None,
    )


def connect_provider(name: str, model: "ModelSpec") -> ProviderModel:
    live = live_model(chat_spec(name, model), model.how.manners, model.name)
    return ProviderModel(live, takes_refusals=not model.fails_refusals)


def essence_of(name: str, model: "ModelSpec") -> list[Any]:
    """Give what makes a model under test another one: its name and settings, not those that are as usual."""
    table = model.table or ChatSpec(name=name)
    temperature = table.temperature if model.temperature is None else model.temperature
    seed = table.seed if model.seed is None else model.seed
    # without these a model is the one that it was in older runs
    kept = ["keep_thoughts"] * model.keep_thoughts + ["fails_refusals"] * model.fails_refusals
    of_table = [essence(table)] if essence(table) else []
    settings = [model.api_base, temperature, model.max_tokens or table.max_tokens, seed]
    return ["", name, *settings, *kept, *of_table, *base_around(chat_spec(name, model))]
