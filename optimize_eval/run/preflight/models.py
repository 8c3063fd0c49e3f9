"""Prompts and models before a long run: each model replies once, and evaluators are looked at with that.

What evaluators are sent is a reply as the candidate, as in the run, with whichever example comes next.
"""

import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import replace
from functools import partial

from optimize_eval.base.errors import EvaluationError, UsageError
from optimize_eval.base.evaluator import EvaluatorSpec
from optimize_eval.base.protocol import Payload
from optimize_eval.base.retries_and_caps import until_answered
from optimize_eval.base.spent import NOTHING
from optimize_eval.models.live import chat_spec
from optimize_eval.models.model_kinds import ModelSpec, connect_model, parse_model
from optimize_eval.models.under_test import ModelUnderTest
from optimize_eval.run.preflight.checklist import examine
from optimize_eval.run.preflight.examined import (
    CheckOutcome,
    CheckStatus,
    Examined,
    Material,
    key_check,
    speed_check,
    start_of,
)
from optimize_eval.tasks.of_replies import Measure, extraction_of, prompt_for
from optimize_eval.tasks.templates import hosted

_NO_REPLY = "no reply"


def examine_prompted(
    specs: Sequence[EvaluatorSpec],
    models: Sequence[ModelSpec],
    material: Material,
    budget: float,
    *,
    extract: str,
) -> list[Examined]:
    """Look at models, then at evaluators of what they reply; candidates of the material are prompts."""
    longest = max(spec.timeout for spec in specs)
    own = replace(material, calls=material.calls // len(models))
    replies: dict[str | None, str] = {}
    with closing(hosted.Holder()):
        examined = [
            _examine_model(model.with_how(timeout=longest), own, extract, replies) for model in models
        ]
        if replies:
            called = (spec for spec in specs if not isinstance(spec.target, Measure))  # which call nobody
            examined += [examine(spec, _of_replies(spec, material, replies), budget) for spec in called]
    return examined


def _examine_model(
    model: ModelSpec, material: Material, extract: str, replies: dict[str | None, str]
) -> Examined:
    """Send a model its first prompt, and keep what of its reply is scored."""
    on = Examined(spec=model.as_caller, material=material, until=0.0, parallel=material.slots, told=_NO_REPLY)
    try:
        with closing(connect_model(model)) as live:
            on.checks += _key(model)
            on.checks += _reply(on, live, extract, replies)
    except UsageError as error:
        on.checks.append(CheckOutcome("key", CheckStatus.FAIL, f"{error.message}; {error.hint}"))
    return on


def _key(model: ModelSpec) -> Iterator[CheckOutcome]:
    named = parse_model(model.text)
    if not named.kind:
        yield key_check("key", chat_spec(named.rest, model))


def _reply(
    on: Examined, live: ModelUnderTest, extract: str, replies: dict[str | None, str]
) -> Iterator[CheckOutcome]:
    payloads = (payload for payloads in on.material.splits.values() for payload in payloads)
    payload = next(payload for payload in payloads if payload.task_model == on.spec.name)
    started, in_vain = time.monotonic(), NOTHING
    spent = NOTHING
    try:
        output, in_vain, _ = until_answered(
            partial(live.generate, prompt_for(payload)), started + on.spec.timeout, on.spec.retries or 0
        )
        spent = in_vain + output.spent
    except EvaluationError as error:
        spent = error.spent
        message = f"{error.kind}: {error.message}; {error.hint}".removesuffix("; ")
        yield CheckOutcome("reply", CheckStatus.FAIL, message)
        return
    finally:
        on.seconds.append(time.monotonic() - started)
        usages = [usage.to_dict() for usage in spent.usages]
        on.spending.take({"evaluator": on.spec.name, "candidate": ""}, usages)
    on.told = f"it replied: {start_of(output.text) or '(nothing)'}"
    yield CheckOutcome("reply", CheckStatus.PASS, on.told)
    replies[on.spec.name] = output.text
    try:
        replies[on.spec.name] = extraction_of(extract)(output.text)
    except EvaluationError as error:
        yield CheckOutcome("extract", CheckStatus.WARN, f"{error.kind}: {error.message}; {error.hint}")
    yield speed_check(on, "speed")


def _of_replies(spec: EvaluatorSpec, material: Material, replies: Mapping[str | None, str]) -> Material:
    """Make what a run would send an evaluator: replies where the prompts stood."""
    shows_prompt = getattr(spec.target, "shows_prompt", False)  # a judge alone can say so

    def about(payload: Payload) -> Payload:
        prompt = prompt_for(payload).text if shows_prompt else ""
        return replace(payload, candidate=replies[payload.task_model], prompt=prompt)

    splits = {
        split: tuple(dict.fromkeys(about(payload) for payload in payloads if payload.task_model in replies))
        for split, payloads in material.splits.items()
    }
    return replace(material, splits=splits, sentinel=None)
