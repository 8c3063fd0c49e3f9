"""Evaluators of models' replies: prompt → model → extract → score; and what a reply took, as a score.

The candidate is the prompt and the task model the name of a model; the reply is what is scored, and what the
evaluator says of it stands as it is. Making that evaluator live is handed in.

A reply in which nothing is found to extract is scored as an empty text: a wrong answer and no failure, for
failures are left out of a mean, and a model would gain by replies that nobody can read. A pattern that takes
longer than a second is a failure, the pattern's.

Of what a reply took less is better, and of scores more is: so each measure is a number below zero, by which
comparisons and gates are right as they are. The plain number is side information.
"""

import re
import time
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from difflib import get_close_matches
from functools import partial
from typing import Any, ClassVar, NamedTuple

from optimize_eval.base import strict_json
from optimize_eval.base.documents import JsonMapping
from optimize_eval.base.errors import EvaluationError, FailureKind, UsageError
from optimize_eval.base.evaluator import Capacity, Evaluator, EvaluatorSpec, Opened
from optimize_eval.base.frozen import change
from optimize_eval.base.protocol import Answer, Answered, Payload
from optimize_eval.base.retries_and_caps import GivenUp
from optimize_eval.base.spent import Spent
from optimize_eval.data.selection import value_at
from optimize_eval.models.shared import SharedModel
from optimize_eval.models.under_test import Output, Prompt, is_plain, joined, reply_facts
from optimize_eval.tasks.dialects import FENCED, post_process
from optimize_eval.tasks.of_records import charge
from optimize_eval.tasks.targets import PromptTask
from optimize_eval.tasks.task_evaluator import Connect, Lives, be_the_models
from optimize_eval.tasks.templates import hosted
from optimize_eval.tasks.templates.fault import FLAGS, TemplateFault, first_of
from optimize_eval.tasks.templates.template import fields_of, prompt_of

Extraction = Callable[[str], str]

_MINUS = "\u2212"
# Each part takes what it can and never gives back: a reply of a megabyte is gone through once.
_NUMBER = re.compile(
    r"(?P<sign>(?<![\w.])[-+])?"  # after a word, it is a hyphen
    r"(?:(?P<whole>\d+(?:,\d+)*)(?P<rest>(?:\.\d+)?(?:[eE][-+]?\d+)?)|(?<![\w.])\.\d+(?:[eE][-+]?\d+)?)"
)
_IN_THOUSANDS = re.compile(r"\d{1,3}(?:,\d{3})+")
_REPEATS = re.compile(r"[*+?{]")  # also those that are none, as in \+: these are only searched elsewhere
_MORE = re.compile(r"\||\\\d|\(\?")  # alternatives, what was matched before, looking around
_SHORT = 2_000  # letters in which one repeat takes no time, wherever it starts
_PLAIN: dict[str, Extraction] = {
    "": lambda text: text,
    "letter": lambda text: post_process("extract_letter", text),
    "code": lambda text: post_process("extract_code_block", text),
}
_NAMES = ("letter", "code", "json:PATH", "regex:PATTERN", "last-number")


def extraction_of(rule: str) -> Extraction:
    """Read --extract; raises UsageError.

    >>> extraction_of("last-number")("First 3, then 1,200.")
    '1200'
    >>> extraction_of("json:answer.value")('Sure: {"answer": {"value": 7}}')
    '7'
    """
    name, colon, rest = rule.partition(":")
    if rule in _PLAIN:
        return _PLAIN[rule]
    if rule == "last-number":
        return _last_number
    if name == "json" and colon and rest:
        return lambda text: _json_at(text, rest)
    if name == "regex" and colon and rest:
        pattern = _pattern(rest)
        return lambda text: _match(pattern, text)
    close = get_close_matches(name, [entry.partition(":")[0] for entry in _NAMES], n=1)
    hint = f"did you mean {close[0]}? " if close and close[0] != name else ""
    raise UsageError(f"--extract {rule!r} is not a rule", hint=f"{hint}one of {', '.join(_NAMES)}")


def _pattern(text: str) -> re.Pattern[str]:
    try:
        return re.compile(text, FLAGS)
    except (re.error, RecursionError, OverflowError) as error:
        raise UsageError(f"--extract regex:{text}: {error}", hint="quote it for your shell") from None


def _match(pattern: re.Pattern[str], text: str) -> str:
    """Take the first group of the first match, or all of it; the host searches where it may take any time."""
    if _is_quick(pattern.pattern, text):
        return first_of(pattern.search(text))
    try:
        return hosted.search(pattern.pattern, text)
    except EvaluationError as error:
        error.message = f"extract: regex:{pattern.pattern} {error.message}"
        error.stage = "extract"
        raise


def _is_quick(pattern: str, text: str) -> bool:
    repeats = len(_REPEATS.findall(pattern))
    return not _MORE.search(pattern) and (not repeats or (repeats == 1 and len(text) <= _SHORT))


def _last_number(text: str) -> str:
    last = deque(_NUMBER.finditer(text.replace(_MINUS, "-")), maxlen=1)
    return _number(last[0]) if last else ""


def _number(found: re.Match[str]) -> str:
    """Take commas between thousands out; others part numbers, of which the last is meant."""
    whole = found["whole"]
    if whole is None or "," not in whole:
        return found[0]
    if _IN_THOUSANDS.fullmatch(whole):
        return found[0].replace(",", "")
    return whole.rpartition(",")[2] + found["rest"]


def _json_at(text: str, path: str) -> str:
    for part in _objects(text):
        value = value_at(part, path)
        if value is not None:
            return value if isinstance(value, str) else strict_json.dumps(value).decode()
    return ""


def _objects(text: str) -> list[object]:
    """Read a reply as JSON: all of it, what is fenced in it, or from its first brace to its last."""
    braced = text[text.find("{") : text.rfind("}") + 1]
    return [value for part in (text, *FENCED.findall(text), braced) if (value := _decoded(part)) is not None]


def _decoded(text: str) -> object:
    try:
        value: object = strict_json.loads(text.strip(), unique_keys=False)
    except strict_json.JsonFault:
        return None
    return value


_TOKENS = ("prompt_tokens", "completion_tokens")


@dataclass(frozen=True, slots=True)
class Measure:
    """Which of them, as a target."""

    kind: ClassVar[str] = "measure"
    name: str


class ReplyMeasure:
    """Scores how a reply came about."""

    def __init__(self, measure: Measure) -> None:
        self._measured = MEASURES[measure.name]

    def of_payload(self, _payload: Payload, output: Output, _timeout: float) -> Answer:
        values = self._measured(output)
        return Answer(score=-sum(values.values()) or 0.0, side_info=values)


def _latency(output: Output) -> dict[str, float]:
    if output.seconds is None:
        raise _not_known("how long the call took", "its reply was written down by an older version")
    return {"seconds": output.seconds}


def _cost(output: Output) -> dict[str, float]:
    cost = _sum(output, "cost")
    if cost is None:
        raise _not_known("what the call cost", "give the model's price: --prices, or [prices]")
    return {"dollars": cost}


def _tokens(output: Output) -> dict[str, float]:
    counts = {name: _sum(output, name) for name in _TOKENS}
    known = {name: int(count) for name, count in counts.items() if count is not None}
    if len(known) < len(_TOKENS):
        raise _not_known(
            "how many tokens the call took", "the model does not tell: a program does with usage"
        )
    return dict(known)


def _sum(output: Output, name: str) -> float | None:
    """Add up what the calls for a reply tell, or a program beside its text; None if one does not."""
    usages: Sequence[Any] = output.usage or (output.side.get("usage"),)
    values = [usage.get(name) if isinstance(usage, Mapping) else None for usage in usages]
    numbers = [value for value in values if isinstance(value, int | float) and not isinstance(value, bool)]
    return sum(numbers) if numbers and len(numbers) == len(values) else None


def _not_known(what: str, hint: str) -> EvaluationError:
    return EvaluationError(FailureKind.REPORTED, f"it is not known {what}", hint=hint)


MEASURES: Mapping[str, Callable[[Output], dict[str, float]]] = {
    "latency": _latency,
    "cost": _cost,
    "tokens": _tokens,
}


_ID = "id"


class _Reply(NamedTuple):
    """What a model replied to a prompt."""

    payload: Payload
    prompt: Prompt
    model: SharedModel
    reply_key: bytes
    output: Output
    seconds: float  # that its making took
    rival: "_Reply | None" = None  # with which it is compared

    @property
    def key(self) -> str:
        return self.reply_key.hex()

    @property
    def spent(self) -> Spent:
        if self.rival is None or not self.rival.spent.usages:
            return self.output.spent
        return self.output.spent + self.rival.spent.for_reply(self.rival.key)

    @property
    def facts(self) -> JsonMapping:
        return reply_facts(self.output)


class Prompts:
    """Sends models prompts, and lets an evaluator score what they reply."""

    batch = 1

    def __init__(self, spec: EvaluatorSpec, task: PromptTask, connect: Connect, opened: Opened) -> None:
        self._extract = extraction_of(task.extract)
        self._shows = getattr(task.scorer.target, "shows_prompt", False)  # a judge alone can say so
        self.lives = Lives({model.name: model for model in task.models}, opened, is_stored=task.is_stored)
        scorer, measure = task.scorer.change(keep_stderr=spec.keep_stderr), task.scorer.target
        self._score = (
            ReplyMeasure(measure).of_payload
            if isinstance(measure, Measure)
            else partial(self._score_by, self.lives.scorer(spec.name, lambda _name: connect(scorer, opened)))
        )
        for model in task.models:
            self.lives.shared(model.name)  # what is wrong with it is to be known before any call
        opened.share(hosted.Holder, hosted.Holder)

    def solve(self, payload: Payload, deadline: float) -> _Reply:
        solved = self._solve(payload)
        if payload.rival is None:
            return solved
        try:
            rival = self.solve(payload.rival, deadline)
        except (EvaluationError, GivenUp) as error:
            error.spent, error.output = solved.spent + error.spent.for_reply(error.output), solved.key
            raise
        return solved._replace(rival=rival, seconds=solved.seconds + rival.seconds)

    def _solve(self, payload: Payload) -> _Reply:
        prompt, began, key = prompt_for(payload), time.monotonic(), b""
        try:
            model = self.lives.shared(payload.task_model or "")
            key = model.key(prompt)
            output = model.reply(prompt, key)
        except EvaluationError as error:
            be_the_models(error)
            raise
        except GivenUp as given_up:
            given_up.spent, given_up.output = given_up.spent.of_reply, key.hex()
            raise
        return _Reply(payload, prompt, model, key, output, time.monotonic() - began)

    def score(self, solved: _Reply, timeout: float) -> Answered:
        payload = solved.payload
        shown = replace(payload, prompt=solved.prompt.text) if self._shows else payload
        if solved.rival:
            reply = self._extract(solved.rival.output.text)
            shown = replace(shown, rival=change(solved.rival.payload, candidate=reply))
        return self._score(shown, solved.output, timeout)

    def charge(self, solved: _Reply, error: EvaluationError) -> None:
        charged = charge(error, solved.output, solved.model, solved.reply_key)
        error.before = solved.seconds - charged.waited

    def capacity_of(self, task_model: str) -> Capacity:
        return self.lives.shared(task_model).capacity

    def has_reply(self, payload: Payload) -> bool:
        try:
            model = self.lives.shared(payload.task_model or "")
            has_own = model.has(model.key(prompt_for(payload)))
            return has_own and (payload.rival is None or self.has_reply(payload.rival))
        except EvaluationError:
            return False

    def _score_by(self, scorer: Evaluator, payload: Payload, output: Output, timeout: float) -> Answered:
        question = change(payload, candidate=self._extract(output.text))
        return scorer.call(question, time.monotonic() + timeout)


def prompt_for(payload: Payload) -> Prompt:
    """Render the prompt of a payload; what the check before the first call let through cannot fail here."""
    fields = fields_of(payload.example)
    try:
        messages = prompt_of(payload.candidate).render(fields)
    except TemplateFault as fault:
        raise EvaluationError(FailureKind.INTERNAL, f"bad_template: {fault.reason}") from None
    several = () if is_plain(messages) else messages
    return Prompt(text=joined(messages), id=id_of(fields), repeat=payload.repeat, several=several)


def id_of(fields: JsonMapping) -> str:
    """Give an example's id as text; one that has none is known by what is sent alone."""
    value = fields.get(_ID, "")
    return value if isinstance(value, str) else strict_json.dumps(value).decode()


FORM = Prompts
