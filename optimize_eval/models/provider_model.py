"""A model of a provider (`openai/gpt-4o-mini`), made live with its own headers and their secrets."""

import re
from collections.abc import Sequence
from dataclasses import fields, replace
from typing import TYPE_CHECKING, Any

from optimize_eval.base import secrets
from optimize_eval.base.errors import EvaluationError
from optimize_eval.base.evaluator import Capacity
from optimize_eval.base.retries_and_caps import Manners, Queue
from optimize_eval.models.chat import ChatSpec
from optimize_eval.models.live import Model
from optimize_eval.models.providers import apart, base_of_variable, split
from optimize_eval.models.under_test import Output, Prompt
from optimize_eval.programs.exchange import call_singly

if TYPE_CHECKING:
    from optimize_eval.models.model_kinds import ModelSpec

_FIELD = re.compile(r"\b(?:max_completion_tokens|max_tokens|temperature)\b")
_OPTIONS = {
    "max_completion_tokens": "--max-tokens",
    "max_tokens": "--max-tokens",
    "temperature": "--temperature",
}


class CallerOfModel:
    """Calls one live model, and says of it what there is to say: what it lacks, who waits, how many calls."""

    def __init__(self, model: Model) -> None:
        self._model = model
        self.close = model.close
        self.stop_waiting = model.stop_waiting
        self.meter = model.meter

    @property
    def note(self) -> str:
        return self._model.note

    @property
    def queues(self) -> Sequence[Queue]:
        return self._model.queues

    @property
    def capacity(self) -> Capacity:
        return Capacity(calls=self._model.capacity)


class ProviderModel(CallerOfModel):
    """Calls a provider's model."""

    def __init__(self, model: Model, *, takes_refusals: bool = True) -> None:
        super().__init__(model)
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


_BY_ITSELF = frozenset({"name", "api_base", "temperature", "max_tokens", "seed", "keep_thoughts"})


def live_model(spec: ChatSpec, manners: Manners | None, known_as: str = "") -> Model:
    expanded = secrets.expand(spec.headers) if spec.headers else {}
    hidden = secrets.secrets(spec.headers, "") if spec.headers else ()
    return Model(spec, manners or Manners(), headers=expanded, hidden=hidden, known_as=known_as)


def with_options(spec: ChatSpec | None, name: str, **options: Any) -> ChatSpec:
    """Give a model of a table, or one by its name alone, the options that are said elsewhere, which win."""
    given = {key: value for key, value in options.items() if value is not None and value != ""}
    return replace(spec or ChatSpec(name=name), name=name, **given)


def essence(spec: ChatSpec | None) -> dict[str, Any]:
    """Give what a table says that makes a model another one, beyond what all models have."""
    if spec is None:
        return {}
    usual = ChatSpec(name=spec.name)
    names = [field.name for field in fields(ChatSpec) if field.name not in _BY_ITSELF]
    return {key: getattr(spec, key) for key in names if getattr(spec, key) != getattr(usual, key)}


def base_around(spec: ChatSpec) -> list[dict[str, str]]:
    """Give the base that the environment alone names; without one a model is the one that it was before."""
    base = "" if spec.api_base else base_of_variable(split(spec.name)[0])
    return [{"base": base}] if base else []


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
