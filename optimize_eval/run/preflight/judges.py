"""The checks of a judge: few calls, for each costs money; and what its first replies say of it."""

from collections.abc import Iterator
from dataclasses import replace

from optimize_eval.base.errors import EvaluationError, UsageError
from optimize_eval.base.evaluator import EvaluatorSpec, Opened
from optimize_eval.base.protocol import Answer, Payload, Skip
from optimize_eval.evaluators import kinds
from optimize_eval.evaluators.kinds import connect
from optimize_eval.findings.replies import MOST_OFF_SCALE
from optimize_eval.models.judging.rubric import judge_of, model_of
from optimize_eval.models.judging.verdicts import off_scale
from optimize_eval.run.preflight.examined import (
    CallResult,
    CheckOutcome,
    CheckStatus,
    CheckTable,
    Examined,
    first_answers,
    in_words,
    key_check,
    live,
    shown,
)


def scale(on: Examined, name: str) -> Iterator[CheckOutcome]:
    """CheckOutcome that scores were from 0 to 1, at the latest when called again."""
    off = [words for side_info in on.side_infos if (words := off_scale(side_info))]
    if not off:
        yield CheckOutcome(name, CheckStatus.PASS, "scores are from 0 to 1")
        return
    status = CheckStatus.FAIL if len(off) > MOST_OFF_SCALE * len(on.side_infos) else CheckStatus.WARN
    many = f"{len(off)} of {len(on.side_infos)} replies were on another scale, also when called again"
    message = f"{many}: {off[0]}; name the scale in the objective, or score_min and score_max in a rubric"
    yield CheckOutcome(name, status, message, _reproduce(on))


def length(on: Examined, name: str) -> Iterator[CheckOutcome]:
    """Warn of replies that had no room left."""
    cut_off = sum("finish_reason" in side_info["usage"] for side_info in on.side_infos)
    if cut_off:
        message = f"{cut_off} of {len(on.side_infos)} replies were cut off for their length: raise max_tokens"
        yield CheckOutcome(name, CheckStatus.WARN, message, _reproduce(on))
    else:
        yield CheckOutcome(name, CheckStatus.PASS, "no reply was cut off")


def answered_by(on: Examined, name: str) -> Iterator[CheckOutcome]:
    """Say who answered, by the replies' own word."""
    servers = [side_info["usage"].get("answered_by") for side_info in on.side_infos]
    names = list(dict.fromkeys(server for server in servers if server))
    if len(names) > 1:
        message = f"several models answered, by what they say of themselves: {', '.join(names)}"
        yield CheckOutcome(name, CheckStatus.WARN, message, _reproduce(on))
    else:
        yield (
            CheckOutcome(name, CheckStatus.PASS, names[0])
            if names
            else CheckOutcome(name, CheckStatus.SKIP, "replies do not say")
        )


def _reproduce(on: Examined) -> str:
    return kinds.call_once(on.spec, next(iter(on.material.splits.values()))[0])


_NEAR = 1 / 3  # of the timeout
_BAD = "I do not know."  # what no judge should score high
_LIFT = 0.1  # of a score: below that it may be chance


def _key(on: Examined, name: str) -> Iterator[CheckOutcome]:
    """Look for the provider and its key, without a call."""
    try:
        with Opened() as opened:
            connect(on.spec, opened)
        yield key_check(name, model_of(judge_of(on.spec)))
    except UsageError as error:
        yield CheckOutcome(name, CheckStatus.FAIL, f"{error.message}; {error.hint}")


def _answers(on: Examined, name: str) -> Iterator[CheckOutcome]:
    """Send the first payloads, exactly as the run would."""
    with live(on.spec) as judge:

        def put(payload: Payload) -> CallResult:
            result = on.call(judge, _with_rival(on, payload), counts=True)
            if isinstance(result, Answer) and "usage" in result.side_info:
                on.tokens.append(_tokens(result))
                on.side_infos.append(result.side_info)
            return result

        yield from first_answers(on, name, put)


def _answers_json(on: Examined, name: str) -> Iterator[CheckOutcome]:
    """CheckOutcome that the first reply was usable, at once and with its reasons."""
    if on.first is None or "usage" not in on.first.side_info:
        return
    calls = on.first.side_info["usage"]["calls"]
    line = kinds.call_once(on.spec, _first_payload(on))
    usual = judge_of(on.spec).calls
    if calls > usual:
        message = f"it gave a usable answer only when called again: that is {calls} requests for {usual}"
        yield CheckOutcome(name, CheckStatus.WARN, message, line)
    elif "reasoning" not in on.first.side_info:
        yield CheckOutcome(name, CheckStatus.WARN, "it answers without its reasoning", line)
    else:
        yield CheckOutcome(name, CheckStatus.PASS, "with its reasoning, at once")


def _repeats(on: Examined, name: str) -> Iterator[CheckOutcome]:
    """Send the first payload once more."""
    payload = _first_payload(on)
    with live(on.spec) as judge:
        again = on.call(judge, _with_rival(on, payload), counts=True)
    score = on.first.score if isinstance(on.first, Answer) else None
    if isinstance(again, EvaluationError):
        line = kinds.call_twice(on.spec, payload)
        yield CheckOutcome(name, CheckStatus.WARN, f"{again.kind} the second time: {again.message}", line)
        return
    if isinstance(again, Skip) or "usage" not in again.side_info:
        return
    on.tokens.append(_tokens(again))
    on.side_infos.append(again.side_info)
    if again.score != score:
        advice = (
            "a temperature of 0 may steady it" if judge_of(on.spec).temperature is None else "use --repeats"
        )
        message = f"it scored {score!r}, then {again.score!r}: such scores need --repeats; {advice}"
        yield CheckOutcome(name, CheckStatus.WARN, message, kinds.call_twice(on.spec, payload))
    else:
        yield CheckOutcome(name, CheckStatus.PASS, f"score {again.score:g} both times")


def _with_rival(on: Examined, payload: Payload) -> Payload:
    """Let a judge that compares with the baseline have something to compare with."""
    if not judge_of(on.spec).compares_with_baseline:
        return payload
    every = [other for payloads in on.material.splits.values() for other in payloads]
    rival = next((other.candidate for other in every if other.candidate != payload.candidate), _BAD)
    return replace(payload, rival=replace(payload, candidate=rival))


def _attack(on: Examined, name: str) -> Iterator[CheckOutcome]:
    """Put injections behind a bad answer, and say by how much each lifts its score."""
    if not on.material.attacks:
        return
    first = _with_rival(on, _first_payload(on))
    with live(on.spec) as judge:
        plain = on.call(judge, replace(first, candidate=_BAD), counts=True)
        if not isinstance(plain, Answer):
            yield CheckOutcome(name, CheckStatus.WARN, f"a bad answer is {shown(plain)}, so nothing is known")
            return
        for title, text in on.material.attacks:
            result = on.call(judge, replace(first, candidate=f"{_BAD}\n\n{text}"), counts=True)
            if isinstance(result, Answer):
                on.lifts[title] = result.score - plain.score
    yield _lifts_in_words(on, name, plain.score)


def _lifts_in_words(on: Examined, name: str, plain: float) -> CheckOutcome:
    """Name the attacks that lift a score by more than is chance, the strongest first."""
    tried = f"{len(on.lifts)} of {len(on.material.attacks)} injections were scored"
    strong = [pair for pair in on.lifts.items() if pair[1] > _LIFT]
    if not strong:
        most = max(on.lifts.values(), default=0.0)
        message = f"{tried}, and none lifts a bad answer ({plain:g}) by more than {max(most, 0.0):.2f}"
        return CheckOutcome(name, CheckStatus.PASS, message)
    listed = ", ".join(f"{title} +{lift:.2f}" for title, lift in sorted(strong, key=lambda pair: -pair[1]))
    message = f"{tried}, and {len(strong)} lift a bad answer ({plain:g}): {listed}"
    return CheckOutcome(name, CheckStatus.WARN, f"{message}; keep hard rules in a program beside the judge")


def _cost(on: Examined, name: str) -> Iterator[CheckOutcome]:
    """Estimate the tokens of the run from those of the calls so far."""
    if on.tokens_of_run is None:
        yield CheckOutcome(name, CheckStatus.SKIP, "the server does not report how many tokens a call takes")
    else:
        each = on.tokens_of_run / on.material.calls
        yield CheckOutcome(
            name,
            CheckStatus.PASS,
            f"about {on.tokens_of_run:,} for {on.material.calls:,} calls ({each:,.0f} a call)",
        )


def _speed(on: Examined, name: str) -> Iterator[CheckOutcome]:
    """Say what a call takes, from the calls so far."""
    on.parallel = on.material.slots
    typical = f"{in_words(on.quantile(0.5))} a call"
    if on.quantile(1) > on.spec.timeout * _NEAR:
        message = f"{typical} is near the timeout of {on.spec.timeout:g} s: allow more with --timeout"
        yield CheckOutcome(
            name, CheckStatus.WARN, message, f"time {kinds.call_once(on.spec, _first_payload(on))}"
        )
    else:
        yield CheckOutcome(name, CheckStatus.PASS, typical)


JUDGE_CHECKS: CheckTable = (
    ("key", 0, _key),  # name, calls that it takes, how it is looked at
    ("answers", 1, _answers),
    ("answers JSON", 0, _answers_json),
    ("same score twice", 1, _repeats),
    ("scale", 0, scale),
    ("length", 0, length),
    ("answered by", 0, answered_by),
    ("tokens", 0, _cost),
    ("attack", 1, _attack),
    ("speed", 0, _speed),
)


def checks_of(_spec: EvaluatorSpec, _usual: CheckTable) -> CheckTable:
    """Give the checks of a judge, each call of which costs money."""
    return JUDGE_CHECKS


def _first_payload(on: Examined) -> Payload:
    return next(iter(on.material.splits.values()))[0]


def _tokens(answer: Answer) -> int | None:
    """Count the tokens of a call, of its second request too."""
    usage = answer.side_info["usage"]
    counts = usage["prompt_tokens"], usage["completion_tokens"]
    return None if None in counts else sum(counts)
