"""The checks before a long run: whether an evaluator runs, answers right, can be asked at once, and how fast.

A failure (not runnable, a bad answer to a real payload, other answers when asked at once) stops a run; a
warning says what will not work so well. Each comes with a shell line that shows it. The table CHECKS says
what is looked at and in which order; what the outcome looks like is decided in reports.
"""

import os
import shutil
import statistics
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import NamedTuple

from optimize_eval import strict_json
from optimize_eval.connect import connect
from optimize_eval.errors import EvaluationError, FailureKind
from optimize_eval.protocol import NO_CAPABILITIES, Answer, Payload
from optimize_eval.reach import Evaluator, EvaluatorSpec, by_hand
from optimize_eval.reach.worker import FAREWELL

SENTINEL = "__optimize_anything_preflight__"
DEFAULT_BUDGET = 10.0
AT_ONCE = 2 * (os.cpu_count() or 1)

_MOST_CALLS = 20
_LONG = 1_000_000
_NOT_ASCII = "Zażółć gęślą jaźń, 日本語, 🙂"
_SHIMS = ("/.pyenv/shims/", "/.asdf/shims/", "/.rbenv/shims/", "/.nodenv/shims/")
_NOTABLE_START = 0.005
_SCALES = 0.8  # so much of the ideal speed-up, and more slots help further

Result = Answer | EvaluationError


class Status(StrEnum):
    """How a check came out."""

    PASS = "pass"  # noqa: S105  no password
    FAIL = "fail"
    WARN = "warn"
    SKIP = "skip"


class Check(NamedTuple):
    """One thing looked at; `reproduce` is a shell line that shows a failure or a warning."""

    name: str
    status: Status
    message: str
    reproduce: str = ""


class Sameness(StrEnum):
    """How much of an answer stays the same when the same question is asked again."""

    ALL = "score and side info"
    SCORE = "score"
    OUTCOME = "outcome"


@dataclass(frozen=True, slots=True, kw_only=True)
class Material:
    """What a run would ask: some payloads of each split, first ones first, and how many calls it makes."""

    splits: dict[str, tuple[Payload, ...]]
    calls: int
    slots: int

    def varied(self, wanted: int) -> list[Payload]:
        """Choose payloads that differ by their example where there are examples, else by their candidate."""
        known = list(dict.fromkeys(payload for payloads in self.splits.values() for payload in payloads))
        if len(known) > 1:
            return [known[number % len(known)] for number in range(wanted)]
        return [replace(known[0], candidate=known[0].candidate + " " * number) for number in range(wanted)]


@dataclass(slots=True, kw_only=True)
class Examined:
    """One evaluator on the table, and what was found out about it."""

    spec: EvaluatorSpec
    material: Material
    until: float
    checks: list[Check] = field(default_factory=list)
    seconds: list[float] = field(default_factory=list)  # of single calls, one process each
    first: Answer | None = None
    sameness: Sameness = Sameness.ALL
    one_by_one: list[Result] = field(default_factory=list)
    parallel: float = 1.0  # calls that go on at the same time when many slots ask
    keep_alive: bool | None = None  # False: it declares to be persistent, but a run should not believe it

    @property
    def is_ok(self) -> bool:
        return all(check.status is not Status.FAIL for check in self.checks)

    @property
    def estimate(self) -> float | None:
        """Guess the seconds that the run takes with this evaluator alone."""
        return self.material.calls * self.quantile(0.5) / self.parallel if self.seconds else None

    @property
    def sample(self) -> list[Payload]:
        return self.material.varied(AT_ONCE)

    def quantile(self, share: float) -> float:
        ordered = sorted(self.seconds)
        return ordered[min(len(ordered) - 1, int(share * len(ordered)))]

    def affords(self, calls: int) -> bool:
        """Tell whether so many further calls fit into the budget."""
        return time.monotonic() + calls * statistics.median(self.seconds) < self.until

    def key(self, result: Result) -> object:
        """Reduce a result to what can be compared, given how much of it stays the same anyway."""
        if isinstance(result, EvaluationError):
            return str(result.kind)
        parts = {
            Sameness.ALL: (result.score, strict_json.dumps(dict(result.side_info))),
            Sameness.SCORE: result.score,
            Sameness.OUTCOME: True,
        }
        return parts[self.sameness]

    def differing(self, results: Sequence[Result]) -> int:
        pairs = zip(results, self.one_by_one, strict=True)
        return sum(self.key(found) != self.key(single) for found, single in pairs)


def examine(spec: EvaluatorSpec, material: Material, budget: float = DEFAULT_BUDGET) -> Examined:
    """Look at one evaluator, as far as the budget of seconds goes; a failure ends it."""
    examined = Examined(spec=spec, material=material, until=time.monotonic() + budget)
    for name, calls, look in CHECKS:
        if not examined.is_ok or (examined.seconds and not examined.affords(calls)):
            why = "the budget is used up" if examined.is_ok else "something before it failed"
            examined.checks.append(Check(name, Status.SKIP, f"left out: {why}"))
            continue
        examined.checks.extend(look(examined, name))
    return examined


def _answers(on: Examined, name: str) -> Iterator[Check]:
    """Ask the first payload of each split, exactly as the run would."""
    with _live(on.spec, persistent=False) as evaluator:
        for split, payloads in on.material.splits.items():
            result = _ask(evaluator, payloads[0], on.spec.timeout, on.seconds)
            where = name if split == "single" else f"{name} {split}"
            if isinstance(result, EvaluationError):
                message = f"{result.kind}: {result.message}; {result.hint}"
                yield Check(where, Status.FAIL, message, by_hand.ask_once(on.spec, payloads[0]))
                return
            on.first = on.first or result
            yield Check(where, Status.PASS, f"score {result.score:g}")


def _repeats(on: Examined, name: str) -> Iterator[Check]:
    """Ask the same again, and remember how much of the answer that changes."""
    payload = next(iter(on.material.splits.values()))[0]
    with _live(on.spec, persistent=False) as evaluator:
        again = _ask(evaluator, payload, on.spec.timeout, on.seconds)
    for sameness in Sameness:
        on.sameness = sameness
        if on.first is not None and on.key(again) == on.key(on.first):
            break
    if on.sameness is Sameness.OUTCOME:
        message = f"it scored {_shown(on.first)}, then {_shown(again)}: such scores need --repeats"
        yield Check(name, Status.WARN, message, by_hand.ask_once(on.spec, payload))
    else:
        yield Check(name, Status.PASS, f"same {on.sameness}")


def _at_once(on: Examined, name: str) -> Iterator[Check]:
    """Ask different things one by one, then all at once, to see whether calls get in each other's way."""
    with _live(on.spec, persistent=False) as evaluator, ThreadPoolExecutor(AT_ONCE) as slots:
        on.one_by_one = [_ask(evaluator, payload, on.spec.timeout, on.seconds) for payload in on.sample]
        started = time.monotonic()
        results = list(slots.map(lambda payload: _ask(evaluator, payload, on.spec.timeout), on.sample))
        speed_up = AT_ONCE * statistics.median(on.seconds) / (time.monotonic() - started)
    on.parallel = on.material.slots if speed_up > _SCALES * AT_ONCE else max(1.0, speed_up)
    if differing := on.differing(results):
        message = (
            f"{differing} of {AT_ONCE} answers differ when asked at once, for instance "
            f"{_first_difference(on, results)}: do calls share a file or a port?"
        )
        yield Check(name, Status.FAIL, message, by_hand.ask_at_once(on.spec, on.sample))
    else:
        yield Check(name, Status.PASS, f"{AT_ONCE} at once answer as one by one")


def _kept_alive(on: Examined, name: str) -> Iterator[Check]:
    """Ask a process that stays, in order and in reverse: the answers must be those of a process per call."""
    declared = on.first.capabilities if on.first else NO_CAPABILITIES
    if on.spec.url or not (on.spec.persistent or (declared.persistent and on.spec.persistent is None)):
        yield Check(name, Status.SKIP, "it does not declare to be persistent")
        return
    patient = min(on.spec.timeout, max(1.0, 20 * on.quantile(1)))
    reproduce = by_hand.ask_one_process(on.spec, on.sample[:3], seconds=2)
    with _live(on.spec, timeout=patient) as evaluator:
        _ask(evaluator, on.sample[0], patient)  # declares
        pairs = list(zip(on.sample, on.one_by_one, strict=True))
        unlike = _first_unlike(on, evaluator, patient, [*pairs, *reversed(pairs)])
        ending = time.monotonic()
    if unlike:
        on.keep_alive = False
        single, other = unlike
        why = "does it flush?" if _is_late(other) else "does state leak between calls?"
        what = f"{_shown(single)} became {_shown(other)} when it was kept alive"
        yield Check(name, Status.WARN, f"{what}: {why} --no-persistent is used", reproduce)
    elif evaluator.note:
        yield Check(name, Status.WARN, evaluator.note, reproduce)
    elif time.monotonic() - ending > FAREWELL:
        yield Check(name, Status.WARN, "it does not end when its input does, and was killed", reproduce)
    else:
        yield Check(
            name, Status.PASS, "same answers from one process, also in reverse, and it ends when told"
        )


def _first_unlike(
    on: Examined, evaluator: Evaluator, timeout: float, pairs: Sequence[tuple[Payload, Result]]
) -> tuple[Result, Result] | None:
    """Ask until an answer is not what it was before; a late one would be late again, so that is the end."""
    for payload, single in pairs:
        result = _ask(evaluator, payload, timeout)
        if on.key(result) != on.key(single):
            return single, result
    return None


def _batches(on: Examined, name: str) -> Iterator[Check]:
    """Ask in batches, where the evaluator declares them."""
    if on.first is None or on.first.capabilities.batch == 1 or on.sample[0].example is None:
        yield Check(name, Status.SKIP, "it does not declare batches, or there are no examples")
        return
    with _live(on.spec) as evaluator:
        _ask(evaluator, on.sample[0], on.spec.timeout)  # declares
        results = evaluator.call_many(on.sample, on.spec.timeout)
    if differing := on.differing(results):
        message = f"{differing} of {AT_ONCE} answers differ in a batch"
        yield Check(name, Status.WARN, message, by_hand.ask_once(on.spec, on.sample[0]))
    else:
        yield Check(name, Status.PASS, "same answers in batches")


def _candidates(on: Examined, name: str) -> Iterator[Check]:
    """Ask about texts at the edges; an evaluator may refuse them in band, but should not break."""
    known = on.sample[0]
    odd = {"an empty": "", "a non-ASCII": _NOT_ASCII, "a 1 MB": "x" * _LONG}
    with _live(on.spec, persistent=False) as evaluator:
        for what, text in odd.items():
            payload = replace(known, candidate=text)
            result = _ask(evaluator, payload, on.spec.timeout, on.seconds)
            if isinstance(result, EvaluationError) and result.kind is not FailureKind.REPORTED:
                by = by_hand.ask_with_long_candidate if len(text) == _LONG else by_hand.ask_once
                yield Check(
                    name,
                    Status.WARN,
                    f"{what} candidate: {result.kind}: {result.message}",
                    by(on.spec, payload),
                )
                return
    yield Check(name, Status.PASS, "empty, non-ASCII and 1 MB candidates are taken")


def _speed(on: Examined, name: str) -> Iterator[Check]:
    """Ask until the times can be trusted, and say what a call costs and what keeping alive would save."""
    with _live(on.spec, persistent=False) as evaluator:
        while len(on.seconds) < _MOST_CALLS and on.affords(1):
            _ask(evaluator, on.sample[0], on.spec.timeout, on.seconds)
    told = f"{_time(on.quantile(0.5))} a call (p95 {_time(on.quantile(0.95))})"
    found = shutil.which(on.spec.argv[0]) if on.spec.argv else None
    if found and any(shim in found for shim in _SHIMS):
        message = (
            f"{told}; {on.spec.argv[0]} is a shim that costs time at each start: name the program behind it"
        )
        yield Check(name, Status.WARN, message, f"head -3 {found}")
    elif on.quantile(0.95) > on.spec.timeout / 3:
        reproduce = f"time {by_hand.ask_once(on.spec, on.sample[0])}"
        yield Check(name, Status.WARN, f"{told} is near the timeout of {on.spec.timeout:g} s", reproduce)
    else:
        yield Check(name, Status.PASS, told + _advice(on))


def _advice(on: Examined) -> str:
    """Say what a process that stays would save, where starting is likely to be most of the cost."""
    is_kept = on.first is not None and on.first.capabilities.persistent
    if on.spec.url or is_kept or on.quantile(0.5) < _NOTABLE_START or on.estimate is None:
        return ""
    return (
        f"; most of it may be the program's start: answering with "
        f'"_capabilities": {{"persistent": true}} could save up to {_time(on.estimate)} of the run'
    )


CHECKS: tuple[tuple[str, int, Callable[[Examined, str], Iterator[Check]]], ...] = (
    ("answers", 1, _answers),  # name, calls that it takes, how it is looked at
    ("same answer twice", 1, _repeats),
    ("at once", 2 * AT_ONCE, _at_once),
    ("kept alive", 2, _kept_alive),
    ("batches", 2, _batches),
    ("odd candidates", 3, _candidates),
    ("speed", 0, _speed),
)


@contextmanager
def _live(
    spec: EvaluatorSpec, *, persistent: bool | None = None, timeout: float | None = None
) -> Iterator[Evaluator]:
    chosen = spec.persistent if persistent is None else persistent
    evaluator = connect(replace(spec, persistent=chosen, timeout=timeout or spec.timeout, keep_stderr=True))
    try:
        yield evaluator
    finally:
        evaluator.close()


def _ask(
    evaluator: Evaluator, payload: Payload, timeout: float, seconds: list[float] | None = None
) -> Result:
    started = time.monotonic()
    try:
        return evaluator.call(payload, started + timeout)
    except EvaluationError as error:
        return error
    finally:
        if seconds is not None:
            seconds.append(time.monotonic() - started)


def _first_difference(on: Examined, results: Sequence[Result]) -> str:
    pairs = zip(on.one_by_one, results, strict=True)
    single, other = next((a, b) for a, b in pairs if on.key(a) != on.key(b))
    return f"{_shown(single)} became {_shown(other)}"


def _shown(result: Result | None) -> str:
    if isinstance(result, EvaluationError):
        return str(result.kind)
    return f"{result.score:g}" if result else "nothing"


def _is_late(result: Result) -> bool:
    return isinstance(result, EvaluationError) and result.kind is FailureKind.TIMEOUT


def _time(seconds: float) -> str:
    return f"{seconds * 1000:.3g} ms" if seconds < 1 else f"{seconds:.3g} s"
