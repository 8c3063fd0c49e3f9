"""Tasks in YAML before a long run: models reply first, and their scorers are looked at with these replies.

A reply is made once, as in a run. Scorers that call models are called few times, for each call costs money.
What a scorer is sent is made of a sample and a reply: so there are no odd candidates, and no batches.
"""

import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

from optimize_eval.base.errors import EvaluationError, UsageError
from optimize_eval.base.evaluator import EvaluatorSpec, Opened
from optimize_eval.base.protocol import Payload
from optimize_eval.evaluators.kinds import Checks, kind_of
from optimize_eval.models.model_kinds import ModelSpec
from optimize_eval.run.preflight.examined import (
    AT_ONCE,
    CheckOutcome,
    CheckStatus,
    CheckTable,
    Examined,
    Material,
    answers,
    live,
    shown,
    speed_check,
    start_of,
)
from optimize_eval.tasks.of_samples import Solving
from optimize_eval.tasks.targets import SampleTask, model_keys, samples_of
from optimize_eval.tasks.templates.template import fields_of
from optimize_eval.tasks.trace import Trace

LEFT_OUT = "kept alive", "batches", "odd candidates"

Replied = Trace | EvaluationError


def examine_replies(target: SampleTask, model: ModelSpec, material: Material, budget: float) -> Examined:
    """Let a model reply to what scorers will be called about; a failure of the first reply ends it."""
    own = {
        split: tuple(payload for payload in payloads if payload.task_model == model.name)
        for split, payloads in material.splits.items()
    }
    calls = material.calls // len(target.models)
    examined = Examined(
        spec=model.as_caller,
        material=replace(material, splits=own, calls=calls),
        until=time.monotonic() + budget,
        parallel=material.slots,
        told="no reply",
    )
    try:
        with Opened() as opened:
            examined.checks += _replies(examined, Solving(target, opened))
    except UsageError as error:
        examined.checks.append(CheckOutcome("replies", CheckStatus.FAIL, f"{error.message}; {error.hint}"))
    return examined


def _replies(on: Examined, solving: Solving) -> Iterator[CheckOutcome]:
    payloads = list(dict.fromkeys([*(first for _, first in on.material.firsts), *on.sample]))
    replies = [_reply(on, solving, payloads[0])]
    if not isinstance(replies[0], EvaluationError):
        with ThreadPoolExecutor(AT_ONCE) as slots:
            replies += slots.map(lambda payload: _reply(on, solving, payload), payloads[1:])
    failed = [reply for reply in replies if isinstance(reply, EvaluationError)]
    if isinstance(first := replies[0], EvaluationError):
        message = f"{first.kind}: {first.message}; {first.hint}".removesuffix("; ")
        yield CheckOutcome("replies", CheckStatus.FAIL, message)
        return
    start = start_of(first.last_text("assistant") or "")
    on.told = f"it replied to {len(replies) - len(failed)} of {len(replies)}, first: {start}"
    if failed:
        message = (
            f"{len(failed)} of {len(replies)} failed, the first by {failed[0].kind}: {failed[0].message}"
        )
        yield CheckOutcome("replies", CheckStatus.WARN, message)
    else:
        yield CheckOutcome("replies", CheckStatus.PASS, on.told)
    yield speed_check(on, "speed")


def _reply(on: Examined, solving: Solving, payload: Payload) -> Replied:
    started = time.monotonic()
    reply: Replied
    try:
        reply = solving.trace(payload, fields_of(payload.example), started + on.spec.timeout)
    except EvaluationError as error:
        reply = error
    on.seconds.append(time.monotonic() - started)
    usages = [usage.to_dict() for usage in reply.spent.usages]
    on.spending.take({"evaluator": on.spec.name, "candidate": ""}, usages)
    return reply


def _again(on: Examined, name: str) -> Iterator[CheckOutcome]:
    """Score the first reply once more."""
    with live(on.spec) as scorer:
        again = on.call(scorer, on.material.firsts[0][1], counts=True)
    if shown(again) == shown(on.first):
        yield CheckOutcome(name, CheckStatus.PASS, f"{shown(again)} both times")
    else:
        message = f"it said {shown(on.first)}, then {shown(again)}: such scores need --repeats"
        yield CheckOutcome(name, CheckStatus.WARN, message)


def _speed_of_scorer(on: Examined, name: str) -> Iterator[CheckOutcome]:
    on.parallel = on.material.slots
    yield speed_check(on, name)


COSTLY_CHECKS: CheckTable = (
    ("answers", 1, answers),  # name, calls that it takes, how it is looked at
    ("same score twice", 1, _again),
    ("speed", 0, _speed_of_scorer),
)


def checks_of(spec: EvaluatorSpec, usual: CheckTable) -> CheckTable:
    """Choose the checks of a scorer: few, where each call costs money."""
    return COSTLY_CHECKS if calls_models(spec) else [check for check in usual if check[0] not in LEFT_OUT]


def calls_models(spec: EvaluatorSpec) -> bool:
    """Return True if a scorer calls models: then each call costs money."""
    target = samples_of(spec)
    if target is None:
        return False
    program = target.program
    return any(model_keys(target.scorer)) or bool(program and kind_of(program).checks is Checks.MODELS)
