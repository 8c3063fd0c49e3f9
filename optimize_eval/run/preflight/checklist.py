"""The checks themselves. CHECKS is the table of what is looked at, in which order, and what it costs.

Judges are looked at otherwise, in judges.
"""

import re
import shutil
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

from optimize_eval.base.errors import EvaluationError
from optimize_eval.base.evaluator import Evaluator, EvaluatorSpec
from optimize_eval.base.protocol import NO_CAPABILITIES, Payload
from optimize_eval.evaluators import kinds
from optimize_eval.evaluators.kinds import Checks, kind_of
from optimize_eval.programs.command import LEAKS
from optimize_eval.programs.exchange import argv_of
from optimize_eval.programs.worker import FAREWELL
from optimize_eval.run.preflight import DEFAULT_BUDGET
from optimize_eval.run.preflight.examined import (
    AT_ONCE,
    STARTED_ANEW,
    BudgetSpent,
    CallResult,
    CheckOutcome,
    CheckStatus,
    CheckTable,
    Examined,
    Material,
    Sameness,
    answers,
    call,
    in_words,
    is_crash,
    is_late,
    leave_out,
    live,
    more_answers,
    say_noted,
    shown,
)
from optimize_eval.run.preflight.golds import Known
from optimize_eval.run.preflight.trial import stand_trial
from optimize_eval.tasks.targets import samples_of

SOMETHING_FAILED = "something before it failed"

_TRIAL = "trial"
_MOST_CALLS, _MOST_SECONDS = 12, 1.0  # that say how long a call takes; slow ones need fewer
_LONG = 1_000_000
_NOT_ASCII = "Zażółć gęślą jaźń, 日本語, 🙂"
_SHIM = re.compile(r"/\.(pyenv|asdf|rbenv|nodenv)/shims/")
_NOTABLE_START = 0.005
_OURS = 0.0001  # seconds that a run itself spends on a call
_ROUNDS = 3  # in which one by one must stay the same before a difference is blamed on concurrency


def examine(spec: EvaluatorSpec, material: Material, budget: float = DEFAULT_BUDGET) -> Examined:
    """Look at one evaluator, as far as the budget of seconds goes; a failure ends it."""
    known = material.known.get(spec.name)
    examined = Examined(
        spec=spec, material=material.of(known) if known else material, until=time.monotonic() + budget
    )
    for name, calls, look in _with_trial(_table_of(spec), known):
        if not examined.is_ok or (examined.seconds and not examined.affords(calls)):
            spent = examined.is_ok
            examined.checks.append(_say_spent(name, budget) if spent else leave_out(name, SOMETHING_FAILED))
            continue
        try:
            for check in look(examined, name):
                _forget_pass(examined.checks, check)
                examined.checks.append(check)
        except BudgetSpent:
            examined.checks.append(_say_spent(name, budget))
    return examined


def _forget_pass(checks: list[CheckOutcome], said: CheckOutcome) -> None:
    """Take back that a check has passed, of which more is known now."""
    checks[:] = [check for check in checks if (check.name, check.status) != (said.name, CheckStatus.PASS)]


def _say_spent(name: str, budget: float) -> CheckOutcome:
    """Say that there was no time for a check; of a trial that is worth a warning."""
    if name != _TRIAL:
        return leave_out(name, "the budget is used up")
    message = f"its {budget:g} s were over before all was tried: allow more with --seconds"
    return CheckOutcome(name, CheckStatus.WARN, message)


def examine_all(
    specs: Sequence[EvaluatorSpec], material: Material, budget: float = DEFAULT_BUDGET
) -> list[Examined]:
    """Look at evaluators, and before the scorers of a task in YAML at the models that reply."""
    from optimize_eval.run.preflight.tasks_checked import examine_replies  # noqa: PLC0415  programs need no model

    examined: list[Examined] = []
    replied: dict[int, bool] = {}  # by task
    for spec in specs:
        target = samples_of(spec)
        if target and id(target.task) not in replied:
            models = [examine_replies(target, model, material, budget) for model in target.models]
            replied[id(target.task)] = all(model.is_ok for model in models)
            examined += models
        if target is None or replied[id(target.task)]:
            examined.append(examine(spec, material, budget))
    return examined


def _with_trial(table: CheckTable, known: Known | None) -> CheckTable:
    """Put an evaluator on trial as soon as it answers."""
    if known is None:
        return table
    after = 1 + next(number for number, (name, *_) in enumerate(table) if name == "answers")
    rest = [check for check in table[after:] if check[0] != "at once"]  # which is tried there
    return [*table[:after], (_TRIAL, 1, lambda on, _: stand_trial(on, known)), *rest]


def _table_of(spec: EvaluatorSpec) -> CheckTable:
    checks = kind_of(spec).checks
    if checks is Checks.PROGRAMS:
        return CHECKS
    from optimize_eval.run.preflight import judges, tasks_checked  # noqa: PLC0415  programs need no model

    chosen = judges if checks is Checks.MODELS else tasks_checked
    table: CheckTable = chosen.checks_of(spec, CHECKS)
    return table


def _repeats(on: Examined, name: str) -> Iterator[CheckOutcome]:
    """Send the same again, and remember how much of the answers that changes."""
    with live(on.spec, persistent=False) as evaluator:
        again = on.ask_all(evaluator)
    on.learn(again)
    if on.sameness in {Sameness.OUTCOME, Sameness.NOTHING}:
        yield _by_chance(on, name, again)
    else:
        yield CheckOutcome(name, CheckStatus.PASS, f"same {on.sameness}")


def _by_chance(on: Examined, name: str, again: Sequence[CallResult]) -> CheckOutcome:
    pairs = zip(on.sample, on.one_by_one, again, strict=True)
    payload, before, after = next(
        (p, a, b) for p, a, b in pairs if shown(a) != shown(b) or p is on.sample[-1]
    )
    message = f"it scored {shown(before)}, then {shown(after)}: such scores need --repeats"
    return CheckOutcome(name, CheckStatus.WARN, message, kinds.call_twice(on.spec, payload))


def _at_once(on: Examined, name: str) -> Iterator[CheckOutcome]:
    """Send different payloads all at once, to see whether calls get in each other's way."""
    with live(on.spec, persistent=False) as evaluator, ThreadPoolExecutor(AT_ONCE) as slots:
        started = time.monotonic()
        results = list(slots.map(lambda payload: on.call(evaluator, payload), on.sample))
        on.take_time_at_once(AT_ONCE, time.monotonic() - started)
        for _ in range(_ROUNDS if on.differing(results) else 0):
            on.learn(on.ask_all(evaluator))
    if differing := on.differing(results):
        what = f"{differing} of {AT_ONCE} answers differ when all are called at the same time"
        message = f"{what}, for instance {_first_difference(on, results)}: do calls share a file or a port?"
        only_side_info = on.sameness is Sameness.ALL and not _differing_scores(on, results)
        status = CheckStatus.WARN if only_side_info else CheckStatus.FAIL
        yield CheckOutcome(name, status, message, kinds.call_at_once(on.spec, on.sample))
    else:
        yield CheckOutcome(
            name, CheckStatus.PASS, f"{AT_ONCE} calls at the same time are answered as one by one"
        )


def _kept_alive(on: Examined, name: str) -> Iterator[CheckOutcome]:
    """Call a process that stays, in order and in reverse: the answers must be those of a process per call."""
    declared = on.first.capabilities if on.first else NO_CAPABILITIES
    if not _is_kept(on):
        yield CheckOutcome(name, CheckStatus.SKIP, "it does not declare to be persistent")
        return
    if not on.one_by_one:  # these calls would be compared with others that were too dear
        raise BudgetSpent
    patient = min(on.spec.timeout, max(1.0, 20 * on.quantile(1)))
    line = kinds.call_one_process(on.spec, on.sample[:3], seconds=2)
    with live(on.spec, timeout=patient) as evaluator:
        call(evaluator, on.sample[0], patient)  # declares
        pairs = list(zip(on.sample, on.one_by_one, strict=True))
        unlike = _first_unlike(on, evaluator, patient, [*pairs, *reversed(pairs)])
        window = declared.concurrency or 1
        if unlike is None and window > 1:
            unlike = _crowd(on, evaluator, patient, window)
        elif evaluator.note and not on.is_held:  # it broke: a run soon starts it for each call
            on.kept.clear()
        else:
            on.each = max(_OURS, on.typical(0.5) / _parallel(on, evaluator))
        note, ending = evaluator.note, time.monotonic()
    if unlike:
        yield _say_changed(name, *unlike, line)
    elif note:
        yield say_noted(name, note, line)
    elif time.monotonic() - ending > FAREWELL:
        yield CheckOutcome(
            name, CheckStatus.WARN, "it does not end when its input does, and was killed", line
        )
    else:
        yield CheckOutcome(
            name,
            CheckStatus.PASS,
            "same answers from one process, also in reverse, and it ends with its input",
        )


def _say_changed(name: str, single: CallResult, other: CallResult, line: str) -> CheckOutcome:
    """Say what became of an answer; side info that is another, as a pid is, spoils nothing."""
    if shown(single) == shown(other):
        message = "side info is not the same when it is kept alive; scores are"
        return CheckOutcome(name, CheckStatus.WARN, message, line)
    why = "does it flush each answer?" if is_late(other) else LEAKS
    message = f"{shown(single)} became {shown(other)} when it was kept alive: {why} {STARTED_ANEW}"
    return CheckOutcome(name, CheckStatus.FAIL, message, line)


def _parallel(on: Examined, evaluator: Evaluator) -> int:
    """Count the calls that a run has in flight."""
    return min(on.material.slots, evaluator.capacity.calls or on.material.slots)


def _is_kept(on: Examined) -> bool:
    """Return True if a run would keep a process alive."""
    declares = on.first is not None and on.first.capabilities.persistent
    is_wanted = on.spec.persistent or (declares and on.spec.persistent is None)
    return kind_of(on.spec).is_started and is_wanted


def _first_unlike(
    on: Examined, evaluator: Evaluator, timeout: float, pairs: Sequence[tuple[Payload, CallResult]]
) -> tuple[CallResult, CallResult] | None:
    """Call until a score is not what it was before, or the evaluator no longer keeps a process."""
    unlike = None
    for payload, single in pairs:
        result = call(evaluator, payload, timeout, on.kept)
        if on.key(result) != on.key(single):
            unlike = unlike or (single, result)
            if shown(single) != shown(result):
                return single, result
        if evaluator.note:
            break
    del on.kept[: len(on.kept) // 2]  # the first ones started it, and what came in order was proven
    return unlike


def _crowd(
    on: Examined, evaluator: Evaluator, timeout: float, window: int
) -> tuple[CallResult, CallResult] | None:
    """Call so many at a time, as a run does with a program that declares a window."""
    started = time.monotonic()
    with ThreadPoolExecutor(window) as slots:
        crowd = list(slots.map(lambda payload: call(evaluator, payload, timeout), on.sample * window))
    on.each = (time.monotonic() - started) / len(crowd)
    return on.first_unlike(on.one_by_one * window, crowd)


def _batches(on: Examined, name: str) -> Iterator[CheckOutcome]:
    """Call in batches, where the evaluator declares them."""
    alike = on.material.alike(AT_ONCE)
    if on.first is None or on.first.capabilities.batch == 1 or alike[0].example is None:
        yield CheckOutcome(name, CheckStatus.SKIP, "it does not declare batches, or there are no examples")
        return
    with live(on.spec) as evaluator:
        singles = [call(evaluator, payload, on.spec.timeout) for payload in alike]  # the first one declares
        started = time.monotonic()
        results = evaluator.call_many(alike, on.spec.timeout)
        on.each = (time.monotonic() - started) / len(results) / _parallel(on, evaluator)
    if unlike := on.first_unlike(singles, results):
        single, other = map(shown, unlike)
        message = f"answers differ in a batch of {AT_ONCE}: {single} became {other}"
        yield CheckOutcome(name, CheckStatus.WARN, message, kinds.call_with_batch(on.spec, alike))
    else:
        yield CheckOutcome(name, CheckStatus.PASS, "same answers in batches")


def _candidates(on: Examined, name: str) -> Iterator[CheckOutcome]:
    """Send texts at the edges; an evaluator may refuse them in band, but should not break."""
    usual = on.sample[0]
    odd = {"an empty": "", "a non-ASCII": _NOT_ASCII, "a 1 MB": "x" * _LONG}
    with live(on.spec, persistent=False) as evaluator:
        for what, text in odd.items():
            payload = replace(usual, candidate=text)
            result = on.call(evaluator, payload)  # which takes longer than what a run would send
            if isinstance(result, EvaluationError) and is_crash(result):
                by = kinds.call_with_long_candidate if len(text) == _LONG else kinds.call_once
                yield CheckOutcome(
                    name,
                    CheckStatus.WARN,
                    f"{what} candidate: {result.kind}: {result.message}",
                    by(on.spec, payload),
                )
                return
    yield CheckOutcome(name, CheckStatus.PASS, "empty, non-ASCII and 1 MB candidates are taken")


def _speed(on: Examined, name: str) -> Iterator[CheckOutcome]:
    """Call until the times can be trusted, and say what a call costs and what keeping alive would save."""
    most = 0 if _is_kept(on) else _MOST_CALLS  # a run starts one that stays a few times only
    with live(on.spec, persistent=False) as evaluator:
        while len(on.seconds) < most and sum(on.seconds) < _MOST_SECONDS and on.affords(1):
            on.call(evaluator, on.sample[0], counts=True)
    typical = f"{in_words(on.quantile(0.5))} a call (p95 {in_words(on.quantile(0.95))})"
    if on.kept:
        kept, started = in_words(on.typical(0.5)), in_words(on.quantile(0.5))
        typical = f"{kept} a call while it is kept alive, {started} where it is started for one"
    program = next(iter(argv_of(on.spec)), "")
    path = shutil.which(program) if program else None
    if path and (shim := _SHIM.search(path)):
        message = f"{typical}; {program} is a shim that costs time at each start: name the program behind it"
        yield CheckOutcome(name, CheckStatus.WARN, message, f"{shim[1]} which {program}")
    elif on.quantile(0.95) > on.spec.timeout / 3:
        call = kinds.call_once(on.spec, on.sample[0])
        line = f"time {call}" if call else ""
        yield CheckOutcome(
            name, CheckStatus.WARN, f"{typical} is near the timeout of {on.spec.timeout:g} s", line
        )
    else:
        yield CheckOutcome(name, CheckStatus.PASS, typical + _advice(on))


def _advice(on: Examined) -> str:
    """Say what a process that stays would save, where starting is likely to be most of the cost."""
    is_kept = on.first is not None and on.first.capabilities.persistent
    is_worth_it = kind_of(on.spec).is_started and not is_kept and not on.is_held
    if not is_worth_it or on.quantile(0.5) < _NOTABLE_START or on.estimate is None:
        return ""
    return (
        f"; most of it may be the program's start: answering with "
        f'"_capabilities": {{"persistent": true}} could save up to {in_words(on.estimate)} of the run'
    )


CHECKS: CheckTable = (
    ("answers", 1, answers),  # name, calls that it takes, how it is looked at
    ("more answers", AT_ONCE, more_answers),
    ("same answer twice", AT_ONCE, _repeats),
    ("at once", AT_ONCE, _at_once),
    ("kept alive", 2, _kept_alive),
    ("batches", AT_ONCE + 2, _batches),
    ("odd candidates", 3, _candidates),
    ("speed", 0, _speed),
)


def _differing_scores(on: Examined, results: Sequence[CallResult]) -> int:
    return sum(shown(other) != shown(single) for other, single in zip(results, on.one_by_one, strict=True))


def _first_difference(on: Examined, results: Sequence[CallResult]) -> str:
    single, other = on.first_unlike(on.one_by_one, results) or (None, None)
    return f"{shown(single)} became {shown(other)}"
