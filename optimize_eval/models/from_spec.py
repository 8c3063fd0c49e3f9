"""A model of a provider made live: with its own headers, whose secrets are put in now."""

from dataclasses import fields, replace
from typing import Any

from optimize_eval.base import secrets
from optimize_eval.base.manners import Manners
from optimize_eval.models.live import Model
from optimize_eval.models.providers import base_of_variable, split
from optimize_eval.models.spec import ModelSpec

_BY_ITSELF = frozenset({"name", "api_base", "temperature", "max_tokens", "seed", "keep_thoughts"})


def live_model(spec: ModelSpec, manners: Manners | None, known_as: str = "") -> Model:
    expanded = secrets.expand(spec.headers) if spec.headers else {}
    hidden = secrets.secrets(spec.headers, "") if spec.headers else ()
    return Model(spec, manners or Manners(), headers=expanded, hidden=hidden, known_as=known_as)


def with_options(spec: ModelSpec | None, name: str, **options: Any) -> ModelSpec:
    """Give a model of a table, or one by its name alone, the options that are said elsewhere, which win."""
    given = {key: value for key, value in options.items() if value is not None and value != ""}
    return replace(spec or ModelSpec(name=name), name=name, **given)


def essence(spec: ModelSpec | None) -> dict[str, Any]:
    """Give what a table says that makes a model another one, beyond what all models have."""
    if spec is None:
        return {}
    usual = ModelSpec(name=spec.name)
    names = [one.name for one in fields(ModelSpec) if one.name not in _BY_ITSELF]
    return {key: getattr(spec, key) for key in names if getattr(spec, key) != getattr(usual, key)}


def base_around(spec: ModelSpec) -> list[dict[str, str]]:
    """Give the base that the environment alone names; without one a model is the one that it was before."""
    base = "" if spec.api_base else base_of_variable(split(spec.name)[0])
    return [{"base": base}] if base else []
