"""One question to a model, over connections of its own."""

import time
from collections.abc import Mapping, Sequence
from contextlib import closing
from dataclasses import replace
from typing import Any

from optimize_eval.base.manners import PATIENCE, Manners, until_answered
from optimize_eval.models.live import Model
from optimize_eval.models.spec import ModelSpec, Reply


def chat(
    messages: Sequence[Mapping[str, str]],
    model: str | ModelSpec,
    *,
    timeout: float = 60.0,
    retries: int = 2,
    patience: float = PATIENCE,
    schema: Mapping[str, Any] | None = None,
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
    given: dict[str, Any] = {name: value for name, value in options.items() if value not in {None, ""}}
    spec = replace(model if isinstance(model, ModelSpec) else ModelSpec(name=model), **given)
    deadline = time.monotonic() + timeout
    with closing(Model(spec, Manners(patience=patience))) as live:
        reply, in_vain = until_answered(
            lambda until: live.chat(messages, until, schema=schema), deadline, retries
        )
    return replace(reply, spent=in_vain + reply.spent)
