"""What preflight works on: payloads, an evaluator under examination, and its first answers."""

import math
import os
import statistics
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import NamedTuple, Self

from optimize_eval.base import shipped, strict_json
from optimize_eval.base.documents import JsonMapping
from optimize_eval.base.errors import EvaluationError, FailureKind
from optimize_eval.base.evaluator import Evaluator, EvaluatorSpec, Opened
from optimize_eval.base.frozen import frozen
from optimize_eval.base.protocol import Answer, Answered, Payload, Skip
from optimize_eval.base.spent import Spending
from optimize_eval.base.wrong_answers import own_words
from optimize_eval.evaluators import kinds
from optimize_eval.evaluators.kinds import connect
from optimize_eval.models import providers
from optimize_eval.models.chat import ChatSpec
from optimize_eval.programs.command import LEAKS
from optimize_eval.programs.worker import SILENT
from optimize_eval.run.preflight.golds import Known

SENTINEL = "__optimize_anything_preflight__"
AT_ONCE = 2 * (os.cpu_count() or 1)

_LEAST_WAIT = 0.5
_SCALES = 0.8  # so much of the ideal speed-up, and more slots help further

CallResult = Answered | EvaluationError


class CheckStatus(StrEnum):
    """How a check came out."""

    PASS = "pass"  # noqa: S105  no password
    FAIL = "fail"
    WARN = "warn"
    SKIP = "skip"


class CheckOutcome(NamedTuple):
    """One thing looked at; `reproduce` is a shell line that shows a failure or a warning."""

    name: str
    status: CheckStatus
    message: str
    reproduce: str = ""


LEFT_OUT = "left out: "
STARTED_ANEW = "--no-persistent starts it for each call"


def leave_out(name: str, why: str) -> CheckOutcome:
    """Say that nothing is known of a check, and why."""
    return CheckOutcome(name, CheckStatus.SKIP, f"{LEFT_OUT}{why}")


def say_noted(name: str, note: str, line: str) -> CheckOutcome:
    """Tell what broke it; in a run the first calls would pay for what --no-persistent spares."""
    for fault in (SILENT, LEAKS):
        if fault in note:
            message = f"{note.partition(fault)[0].replace(' (', ': ')}{fault}"
            return CheckOutcome(name, CheckStatus.FAIL, f"{message} {STARTED_ANEW}", line)
    return CheckOutcome(name, CheckStatus.WARN, note, line)


class Sameness(StrEnum):
    """How much of an answer stays the same when the same payload is sent again."""

    ALL = "score and side info"
    SCORE = "score"
    OUTCOME = "outcome"
    NOTHING = "nothing"


@frozen
class Material:
    """What a run would send: some payloads of each split, first ones first, and how many calls it makes."""

    splits: dict[str, tuple[Payload, ...]]
    calls: int
    slots: int
    sentinel: Payload | None = None  # where no candidate is named, and placeholders stand in the payloads
    known: Mapping[str, Known] = field(default_factory=dict)  # of evaluators on trial, by their names
    attacks: tuple[tuple[str, str], ...] = ()  # on judges: what they are called, and what they add to a text

    def of(self, known: Known) -> Self:
        """Let what is right and what is wrong stand where there were placeholders."""
        if self.sentinel is None:
            return self
        splits: dict[str, list[Payload]] = {}
        for row in known.rows:
            splits.setdefault(row.payload.split or "single", []).extend(row.payloads)
        return replace(self, splits={name: tuple(row) for name, row in splits.items()}, sentinel=None)

    @property
    def firsts(self) -> list[tuple[str, Payload]]:
        """List the first payload of each split and task model, and what tells it from the others."""
        models = dict.fromkeys(
            payload.task_model for payloads in self.splits.values() for payload in payloads
        )
        return [
            (_where(split, model if len(models) > 1 else None), first)
            for split, payloads in self.splits.items()
            for model in models
            for first in [next(payload for payload in payloads if payload.task_model == model)]
        ]

    def alike(self, wanted: int) -> list[Payload]:
        """Choose payloads that differ from the first one by their example only, so that they make a batch."""
        first, *others = next(iter(self.splits.values()))
        same = [
            payload for payload in others if replace(payload, example=first.example, line=first.line) == first
        ]
        return [[first, *same][number % (1 + len(same))] for number in range(wanted)]

    def varied(self, wanted: int) -> list[Payload]:
        """Choose payloads that differ by their example where there are examples, else by their candidate."""
        known = list(dict.fromkeys(payload for payloads in self.splits.values() for payload in payloads))
        if len(known) > 1:
            return [known[number % len(known)] for number in range(wanted)]
        return [replace(known[0], candidate=known[0].candidate + " " * number) for number in range(wanted)]


def _where(split: str, model: str | None) -> str:
    return " ".join(word for word in ("" if split == "single" else split, model) if word)


def attacks() -> tuple[tuple[str, str], ...]:
    """Read the injections that ship."""
    text = shipped.path("evaluators/attacks/judges.toml").read_text(encoding="utf-8")
    return tuple((entry["name"], entry["text"]) for entry in strict_json.loads_toml(text)["attack"])


@dataclass(slots=True, kw_only=True)
class Examined:
    """One evaluator on the table, and what is known about it."""

    spec: EvaluatorSpec
    material: Material
    until: float
    checks: list[CheckOutcome] = field(default_factory=list)
    seconds: list[float] = field(default_factory=list)  # of single calls, one process each
    first: Answered | None = None
    took_sentinel: bool = False  # and scored it, or skipped it
    sameness: Sameness = Sameness.ALL
    one_by_one: list[CallResult] = field(default_factory=list)  # what the sample is answered
    parallel: float = 1.0  # calls that go on at the same time when many slots call
    side_infos: list[JsonMapping] = field(default_factory=list)  # of a judge's replies
    spending: Spending = field(default_factory=Spending)  # on models, by all calls of these checks
    tokens: list[int | None] = field(default_factory=list)  # of calls to a model; None: it does not tell
    told: str = ""  # what it gave, where that is no answer
    is_held: bool = False  # what it leaves behind holds its stdout, and each call waits for that
    kept: list[float] = field(default_factory=list)  # seconds of calls of a process that stays
    each: float | None = None  # seconds that a run takes for a call more, where a process stays
    calls_on_trial: int = 0
    lifts: dict[str, float] = field(default_factory=dict)  # by how much attacks changed the score

    @property
    def is_ok(self) -> bool:
        return all(check.status is not CheckStatus.FAIL for check in self.checks)

    @property
    def estimate(self) -> float | None:
        """Guess the seconds that the run takes with this evaluator alone, called as a run calls it."""
        if not self.seconds:
            return None
        first = self.quantile(0.5)
        if self.each is not None:
            return first + self.material.calls * self.each
        return max(first, self.material.calls * first / self.parallel)

    @property
    def tokens_of_run(self) -> int | None:
        """Guess the tokens that the run takes with this evaluator."""
        known = [count for count in self.tokens if count is not None]
        return round(self.material.calls * statistics.fmean(known)) if known else None

    @property
    def sample(self) -> list[Payload]:
        return self.material.varied(AT_ONCE)

    def take_time_at_once(self, many: int, seconds: float) -> None:
        """Learn from the time of so many calls at once how many go on at the same time."""
        speed_up = many * statistics.median(self.seconds) / seconds
        self.parallel = self.material.slots if speed_up > _SCALES * many else max(1.0, speed_up)

    def quantile(self, share: float) -> float:
        """Give the seconds that so many calls at most take, each with a process of its own."""
        return _quantile(self.seconds, share)

    def typical(self, share: float) -> float:
        """Give the same of calls as a run makes them."""
        return _quantile(self.kept or self.seconds, share)

    def affords(self, calls: int) -> bool:
        """Return True if so many further calls fit into the budget."""
        return time.monotonic() + calls * statistics.median(self.seconds) < self.until

    def call(
        self, evaluator: Evaluator, payload: Payload, *, most: float = math.inf, counts: bool = False
    ) -> CallResult:
        """Call within the budget; raises BudgetSpent where that, and not the evaluator, ended the wait."""
        left, most = max(_LEAST_WAIT, self.until - time.monotonic()), min(most, self.spec.timeout)
        result = call(evaluator, payload, min(left, most), self.seconds if counts else None)
        usages = [usage.to_dict() for usage in result.spent.usages]
        self.spending.take({"evaluator": self.spec.name, "candidate": ""}, usages)
        if left < most and is_late(result):
            raise BudgetSpent
        return result

    def ask_all(self, evaluator: Evaluator) -> list[CallResult]:
        return [self.call(evaluator, payload, counts=True) for payload in self.sample]

    def learn(self, again: Sequence[CallResult]) -> None:
        """Expect less sameness of answers, if the same payloads were answered otherwise this time."""
        for sameness in list(Sameness)[list(Sameness).index(self.sameness) :]:
            self.sameness = sameness
            if not self.differing(again):
                return

    def key(self, result: CallResult) -> object:
        """Reduce a result to what can be compared, given how much of it stays the same anyway."""
        if self.sameness is Sameness.NOTHING:
            return True
        if isinstance(result, EvaluationError):
            return str(result.kind)
        if isinstance(result, Skip):
            return result.why if self.sameness is Sameness.ALL else "skipped"
        score = None if result.is_unranked else result.score  # NaN is not equal to itself
        parts = {
            Sameness.ALL: (score, strict_json.dumps(dict(result.side_info))),
            Sameness.SCORE: score,
            Sameness.OUTCOME: True,
        }
        return parts[self.sameness]

    def first_unlike(
        self, singles: Sequence[CallResult], others: Sequence[CallResult]
    ) -> tuple[CallResult, CallResult] | None:
        pairs = zip(singles, others, strict=True)
        return next(((single, other) for single, other in pairs if self.key(single) != self.key(other)), None)

    def differing(self, results: Sequence[CallResult]) -> int:
        pairs = zip(results, self.one_by_one, strict=True)
        return sum(self.key(result) != self.key(single) for result, single in pairs)


def _quantile(seconds: Sequence[float], share: float) -> float:
    ordered = sorted(seconds)
    return ordered[min(len(ordered) - 1, int(share * len(ordered)))]


class BudgetSpent(Exception):
    """The time for looking at an evaluator is over."""


@contextmanager
def live(
    spec: EvaluatorSpec, *, persistent: bool | None = None, timeout: float | None = None
) -> Iterator[Evaluator]:
    chosen = spec.persistent if persistent is None else persistent
    chosen_spec = replace(spec, persistent=chosen, timeout=timeout or spec.timeout, keep_stderr=True)
    with Opened() as opened:
        yield connect(chosen_spec, opened)


def call(
    evaluator: Evaluator, payload: Payload, timeout: float, seconds: list[float] | None = None
) -> CallResult:
    started = time.monotonic()
    try:
        return evaluator.call(payload, started + timeout)
    except EvaluationError as error:
        return error
    finally:
        if seconds is not None:
            seconds.append(time.monotonic() - started)


def score_of(answer: Answer) -> str:
    """Say which score an answer has; a label is none."""
    return "no number" if answer.is_unranked else f"score {answer.score:g}"


def shown(result: CallResult | None) -> str:
    """Show the score, or why there is none."""
    if isinstance(result, EvaluationError):
        return str(result.kind)
    if isinstance(result, Skip):
        return "skipped"
    if result is None:
        return "nothing"
    return "no number" if result.is_unranked else f"{result.score!r}"


def is_late(result: CallResult) -> bool:
    return isinstance(result, EvaluationError) and result.kind is FailureKind.TIMEOUT


def is_crash(result: CallResult) -> bool:
    """Return True if an evaluator broke; in band it may refuse what it likes."""
    return isinstance(result, EvaluationError) and result.kind is not FailureKind.REPORTED


def in_words(seconds: float) -> str:
    return f"{seconds * 1000:.3g} ms" if seconds < 1 else f"{seconds:.3g} s"


_BOTH = "error with score"
_NO_CANDIDATE = "the candidate was a placeholder: name a real one with --candidate FILE"


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
                yield _say_failed(on, f"{name} {where}".strip(), on.material.sentinel, result)
                return
            on.seconds.clear()  # which many answer at once, without doing their work
            on.took_sentinel = True
        yield from first_answers(on, name, put)
        on.is_held = bool(evaluator.note)
        if on.is_held:
            line = f"{kinds.call_once(on.spec, on.sample[0])} | timeout 2 cat"
            yield CheckOutcome("background child", CheckStatus.WARN, evaluator.note, line)


def first_answers(on: Examined, name: str, put: Callable[[Payload], CallResult]) -> Iterator[CheckOutcome]:
    """Send the first payload of each split and task model; the first failure ends it."""
    for where, payload in on.material.firsts:
        result = put(payload)
        title = f"{name} {where}".strip()
        if isinstance(result, EvaluationError):
            yield _say_failed(on, title, payload, result)
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
    yield CheckOutcome(name, status, message + _advice(on, payload), kinds.call_once(on.spec, payload))


def _scored_or_skipped(on: Examined, name: str, skipped: Sequence[Skip]) -> CheckOutcome:
    """Warn of an evaluator that skips everything: a run would have no mean."""
    if len(skipped) == AT_ONCE:
        message = (
            f"all {AT_ONCE} were skipped, the first: {skipped[0].why}; a run without a score has no mean"
        )
        return CheckOutcome(name, CheckStatus.WARN, message, kinds.call_once(on.spec, on.sample[0]))
    beside = f", {len(skipped)} skipped" if skipped else ""
    return CheckOutcome(name, CheckStatus.PASS, f"{AT_ONCE - len(skipped)} of {AT_ONCE} scored{beside}")


def _say_failed(on: Examined, title: str, payload: Payload, error: EvaluationError) -> CheckOutcome:
    message = f"{error.kind}: {error.message}; {error.hint}{_advice(on, payload)}"
    return CheckOutcome(title, CheckStatus.FAIL, message, kinds.call_once(on.spec, payload))


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
        yield CheckOutcome(_BOTH, CheckStatus.WARN, message, kinds.call_once(on.spec, payload))


def key_check(name: str, model: ChatSpec) -> CheckOutcome:
    """Look for a model's key, which may be missing where its provider needs none."""
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


CheckTable = Sequence[
    tuple[str, int, Callable[[Examined, str], Iterator[CheckOutcome]]]
]  # names, calls that each takes, how it is looked at
