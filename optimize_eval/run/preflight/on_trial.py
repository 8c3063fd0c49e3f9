"""An evaluator on trial: what it has answered so far, and how a finding is told."""

import time
from collections.abc import Iterator
from dataclasses import dataclass, field

from optimize_eval.base import strict_json
from optimize_eval.base.errors import EvaluationError
from optimize_eval.base.evaluator import Evaluator, EvaluatorSpec
from optimize_eval.base.protocol import Answer, Payload, Skip
from optimize_eval.evaluators import kinds
from optimize_eval.evaluators.kinds import Checks, kind_of
from optimize_eval.run.preflight.examined import (
    BudgetSpent,
    CallResult,
    CheckOutcome,
    CheckStatus,
    Examined,
    is_crash,
    shown,
)
from optimize_eval.run.preflight.golds import GoldRow, Known, plain_of

SAME = 1e-9  # scores that differ by less

_LONGEST = 60  # letters of a candidate in a message
_PATIENCE, _TIMES = 5.0, 20  # seconds; times the slowest call so far
_TRACEBACK = "Traceback (most recent call last)"


@dataclass(slots=True, kw_only=True)
class Trial:
    """An evaluator on trial, and what it has answered."""

    on: Examined
    known: Known
    evaluator: Evaluator
    files: dict[str, tuple[int, int]]  # of the data, as they were
    answers: dict[Payload, CallResult] = field(default_factory=dict)
    failed: set[str] = field(default_factory=set)  # checks
    crash: str = ""  # what it broke on, by the rule that is tried now

    @property
    def rows(self) -> tuple[GoldRow, ...]:
        return self.known.rows

    @property
    def payloads(self) -> list[Payload]:
        """List what is right and what is wrong, in turn."""
        return [payload for row in self.rows for payload in row.payloads]

    @property
    def spec(self) -> EvaluatorSpec:
        return self.on.spec

    @property
    def is_kept_alive(self) -> bool:
        """Return True if one process answers all calls."""
        declares = self.on.first is not None and self.on.first.capabilities.persistent
        is_kept = self.spec.persistent or (declares and self.spec.persistent is not False)
        return bool(is_kept) and is_program(self.spec)

    @property
    def patience(self) -> float:
        """Give the seconds that a call may take; a program that never answers leaves time for the rest."""
        slowest = max(self.on.seconds, default=0.0)
        return self.spec.timeout if calls_models(self.spec) else max(_PATIENCE, _TIMES * slowest)

    def ask(self, payload: Payload) -> CallResult:
        """Call, unless the same was answered before."""
        if payload not in self.answers:
            self.answers[payload] = self.ask_again(payload, self.evaluator)
        return self.answers[payload]

    def ask_again(self, payload: Payload, evaluator: Evaluator) -> CallResult:
        if time.monotonic() > self.on.until:
            raise BudgetSpent
        self.on.calls_on_trial += 1
        return self.on.call(evaluator, payload, most=self.patience)

    def score(self, payload: Payload) -> float | None:
        return score_in(self.note_crash(payload, self.ask(payload)))

    def note_crash(self, payload: Payload, result: CallResult) -> CallResult:
        """Note a call that broke: what scores nothing by a crash has passed nothing."""
        if is_crash(result) or is_raised(result):
            self.crash = self.crash or f"it breaks on {quote(payload.candidate)}: {reason_of(result)}"
        return result

    def high(self, row: GoldRow) -> float | None:
        return self.score(row.payload)

    @property
    def best_row(self) -> GoldRow:
        """Give the row on which what is good scores most: there the rest has most to fall short of.

        Of several, one whose gold is no 0 or 1, which stands in `exit(0)` and in `Score: 1` too.
        """
        return max(
            self.rows, key=lambda row: (self.high(row) or 0.0, plain_of(row.gold) not in {"0", "1", "10"})
        )

    def low(self, row: GoldRow) -> float | None:
        return self.score(row.with_candidate(row.wrong))

    def reaches(self, row: GoldRow, text: str, *, is_number: bool = False) -> bool:
        """Return True if a text scores as much as the row's gold, which it is not."""
        same = str.strip if is_number else plain_of  # a sign and a point are nothing to a text
        if text.strip() and same(text) in map(same, row.golds):
            return False
        high, score = self.high(row), self.score(row.with_candidate(text))
        return high is not None and score is not None and score >= high - SAME

    def beside_gold(
        self, name: str, row: GoldRow, text: str, why: str, *, is_fault: bool = True
    ) -> CheckOutcome:
        """Say what a text scores, and what the gold."""
        payload = row.with_candidate(text)
        message = (
            f"{place_of(row)}: {quote(text)} scores {score_text(self.ask(payload))}, "
            f"and the good {quote(row.gold)} {score_text(self.ask(row.payload))}: {why}"
        )
        return self.finding(name, message, kinds.call_once(self.spec, payload), is_fault=is_fault)

    def finding(self, name: str, message: str, line: str, *, is_fault: bool = True) -> CheckOutcome:
        if is_fault:
            self.failed.add(name)
        return CheckOutcome(name, CheckStatus.FAIL if is_fault else CheckStatus.WARN, message, line)


Findings = Iterator[CheckOutcome]


def is_raised(result: CallResult) -> bool:
    """Return True if a Python function raised: that is how it refuses, and how it breaks."""
    return isinstance(result, EvaluationError) and bool(result.__cause__ or _TRACEBACK in result.detail)


def reason_of(result: CallResult) -> str:
    """Say why there is no score."""
    if isinstance(result, Answer):
        return "the answer has no number"
    return result.why if isinstance(result, Skip) else result.message


def score_in(result: CallResult) -> float | None:
    return result.score if isinstance(result, Answer) and not result.is_unranked else None


def score_text(result: CallResult) -> str:
    score = score_in(result)
    return shown(result) if score is None else f"{score:g}"


def quote(text: str) -> str:
    """Quote a candidate on one line, its start where it is long."""
    start = text if len(text) <= _LONGEST else f"{text[: _LONGEST - 1]}…"
    return strict_json.dumps(start).decode()


def place_of(row: GoldRow) -> str:
    payload = row.payload
    return "the payload" if payload.line is None else f"{payload.split} row {payload.line}"


def calls_models(spec: EvaluatorSpec) -> bool:
    """Return True if each call costs money."""
    return kind_of(spec).checks is Checks.MODELS


def is_program(spec: EvaluatorSpec) -> bool:
    kind = kind_of(spec)
    return kind.is_started and "cwd" in kind.uses
