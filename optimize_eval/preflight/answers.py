"""The first checks: whether an evaluator answers what a run would send it, and what its replies carry."""

import os
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING

from optimize_eval.base.errors import EvaluationError, FailureKind
from optimize_eval.base.protocol import Answer, Payload, Skip
from optimize_eval.base.wrong_answers import own_words
from optimize_eval.evaluators import reproduce
from optimize_eval.preflight.examined import (
    AT_ONCE,
    CallResult,
    CheckOutcome,
    CheckStatus,
    Examined,
    call,
    in_words,
    live,
    score_of,
)

_BOTH = "error with score"
_NO_CANDIDATE = "the candidate was a placeholder: name a real one with --candidate FILE"

if TYPE_CHECKING:
    from optimize_eval.models.spec import ModelSpec

_NEAR = 1 / 3  # of the timeout
_LONGEST = 60  # letters of a reply


def answers(on: Examined, name: str) -> Iterator[CheckOutcome]:
    """Send the sentinel where there is no candidate, then the first payloads, exactly as the run would."""
    with live(on.spec, persistent=False) as evaluator:

        def put(payload: Payload) -> CallResult:
            return call(evaluator, payload, on.spec.timeout, on.seconds)

        if on.material.sentinel:
            where, _ = on.material.firsts[0]
            result = put(on.material.sentinel)
            if isinstance(result, EvaluationError):
                yield _failed(on, f"{name} {where}".strip(), on.material.sentinel, result)
                return
            on.seconds.clear()  # which many answer at once, without doing their work
            on.took_sentinel = True
        yield from first_answers(on, name, put)
        on.is_held = bool(evaluator.note)
        if on.is_held:
            line = f"{reproduce.call_once(on.spec, on.sample[0])} | timeout 2 cat"
            yield CheckOutcome("background child", CheckStatus.WARN, evaluator.note, line)


def first_answers(on: Examined, name: str, put: Callable[[Payload], CallResult]) -> Iterator[CheckOutcome]:
    """Send the first payload of each split and task model; the first failure ends it."""
    for where, payload in on.material.firsts:
        result = put(payload)
        title = f"{name} {where}".strip()
        if isinstance(result, EvaluationError):
            yield _failed(on, title, payload, result)
            return
        on.first = on.first or result
        message = f"skipped: {result.why}" if isinstance(result, Skip) else score_of(result)
        yield CheckOutcome(title, CheckStatus.PASS, message)
        yield from _error_with_score(on, [(payload, result)])


def more_answers(on: Examined, name: str) -> Iterator[CheckOutcome]:
    """Send some more of what the run would send, one by one."""
    with live(on.spec, persistent=False) as evaluator:
        on.one_by_one = on.ask_all(evaluator)
    pairs = list(zip(on.sample, on.one_by_one, strict=True))
    yield from _error_with_score(on, pairs)
    failed = [(payload, result) for payload, result in pairs if isinstance(result, EvaluationError)]
    if not failed:
        yield _scored_or_skipped(on, name, [result for _, result in pairs if isinstance(result, Skip)])
        return
    payload, first = failed[0]
    is_real = any(payload in payloads for payloads in on.material.splits.values())
    is_told = all(result.kind is FailureKind.REPORTED for _, result in failed)
    status = CheckStatus.FAIL if is_real and not is_told else CheckStatus.WARN
    message = f"{len(failed)} of {AT_ONCE} failed, the first by {first.kind}: {first.message}"
    yield CheckOutcome(name, status, message + _advice(on, payload), reproduce.call_once(on.spec, payload))


def _scored_or_skipped(on: Examined, name: str, skipped: Sequence[Skip]) -> CheckOutcome:
    """Warn of an evaluator that skips everything: a run would have no mean."""
    if len(skipped) == AT_ONCE:
        message = (
            f"all {AT_ONCE} were skipped, the first: {skipped[0].why}; a run without a score has no mean"
        )
        return CheckOutcome(name, CheckStatus.WARN, message, reproduce.call_once(on.spec, on.sample[0]))
    told = f", {len(skipped)} skipped" if skipped else ""
    return CheckOutcome(name, CheckStatus.PASS, f"{AT_ONCE - len(skipped)} of {AT_ONCE} scored{told}")


def _failed(on: Examined, title: str, payload: Payload, error: EvaluationError) -> CheckOutcome:
    message = f"{error.kind}: {error.message}; {error.hint}{_advice(on, payload)}"
    return CheckOutcome(title, CheckStatus.FAIL, message, reproduce.call_once(on.spec, payload))


def _advice(on: Examined, payload: Payload) -> str:
    """Say of an evaluator that answered the sentinel that it was not given a real candidate."""
    return f"; {_NO_CANDIDATE}" if on.took_sentinel and payload != on.material.sentinel else ""


def _error_with_score(on: Examined, pairs: Sequence[tuple[Payload, CallResult]]) -> Iterator[CheckOutcome]:
    """Warn, once, of a reply that has a score and an error: the score counts."""
    in_replies = ((p, own_words(r.side_info)) for p, r in pairs if isinstance(r, Answer))
    payload, words = next(((p, words) for p, words in in_replies if words), (None, ""))
    if payload and all(check.name != _BOTH for check in on.checks):
        message = (
            f"the score counts, though the reply carries error: {words}; without a score it is a failure"
        )
        yield CheckOutcome(_BOTH, CheckStatus.WARN, message, reproduce.call_once(on.spec, payload))


def key_check(name: str, model: "ModelSpec") -> CheckOutcome:
    """Look for a model's key, which may be missing where its provider needs none."""
    from optimize_eval.models import providers  # noqa: PLC0415  most evaluators call no model

    provider = providers.find(model)
    variable = provider.key_variable if provider else model.key_variable
    if os.environ.get(variable):
        return CheckOutcome(name, CheckStatus.PASS, f"{variable} is set")
    if provider is None:
        return CheckOutcome(name, CheckStatus.PASS, "through litellm, which looks for it itself")
    return CheckOutcome(name, CheckStatus.PASS, f"none is needed; {provider.key_variable} is not set")


def speed_check(on: Examined, name: str) -> CheckOutcome:
    """Say what a call takes, from the calls so far."""
    typical = f"{in_words(on.quantile(0.5))} a call"
    if on.quantile(1) > on.spec.timeout * _NEAR:
        message = f"{typical} is near the timeout of {on.spec.timeout:g} s: allow more with --timeout"
        return CheckOutcome(name, CheckStatus.WARN, message)
    return CheckOutcome(name, CheckStatus.PASS, typical)


def start_of(reply: str) -> str:
    """Give the start of a reply on one line."""
    text = " ".join(reply.split())
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 1]}…"
