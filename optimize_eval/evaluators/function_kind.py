"""A Python function as an evaluator, which programs that call us hand over; no text names one.

It is given the candidate and the example, if there is one, and returns a score, `(score, side_info)`, or what
a program would answer; where it does not apply to the example, it raises Skipped. It is the same evaluator
next time if its name and its code are. Nothing ends it when it is late.
"""

import hashlib
import inspect
import shlex
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any, ClassVar

import orjson

from optimize_eval.base.errors import EvaluationError, FailureKind, Skipped
from optimize_eval.base.evaluator import Capacity, Evaluator, EvaluatorSpec
from optimize_eval.base.frozen import frozen
from optimize_eval.base.opened import Opened
from optimize_eval.base.protocol import Answered, Payload, ScoreRange, judge_answer
from optimize_eval.evaluators.kinds import Kind, unwritten
from optimize_eval.programs.exchange import call_singly
from optimize_eval.programs.identity import Identity, digest_words

Function = Callable[..., Any]


@frozen
class PythonFunction:
    """A function, and what makes it the same one."""

    kind: ClassVar[str] = "function"
    function: Function
    name: str
    sha256: str  # of its code

    @property
    def words(self) -> tuple[str, ...]:
        return "python function", self.name, self.sha256


class FunctionEvaluator:
    """A function behind the methods of an evaluator."""

    note = ""
    capacity = Capacity()

    def __init__(self, function: Function, score_range: ScoreRange) -> None:
        self._function = function
        self._score_range = score_range

    def call(self, payload: Payload, _deadline: float) -> Answered:
        example = () if payload.example is None else (orjson.loads(payload.example),)
        try:
            returned = self._function(payload.candidate, *example)
        except Skipped as skipped:
            returned = {**skipped.side_info, "skip": skipped.message}
        except EvaluationError:
            raise
        except Exception as error:
            message = f"{type(error).__name__}: {error}"
            raise EvaluationError(FailureKind.REPORTED, message, hint="the function raised this") from error
        return judge_answer(_answer(returned), self._score_range)

    def call_many(self, payloads: Sequence[Payload], timeout: float) -> list[Answered | EvaluationError]:
        return call_singly(payloads, timeout, self.call)

    def close(self) -> None:
        """Nothing was started."""


def function_spec(function: Function, defaults: EvaluatorSpec) -> EvaluatorSpec:
    """Describe a function; its code is part of what it is."""
    name = getattr(function, "__name__", type(function).__name__).strip("<>") or "function"
    digest = hashlib.sha256(_source(function).encode()).hexdigest()
    target = PythonFunction(function=function, name=name, sha256=digest)
    return replace(defaults, name=name, text=name, target=target, retries=0)


def _answer(returned: Any) -> dict[str, Any]:
    match returned:
        case Mapping():
            return dict(returned)
        case (score, Mapping() as side_info):
            return {**side_info, "score": score}
    return {"score": returned}


def _source(function: Function) -> str:
    try:
        return inspect.getsource(function)
    except (OSError, TypeError):  # of a class's instance, of C, or typed in
        code = getattr(function, "__code__", None)
        return repr((code.co_code, code.co_consts)) if code else repr(type(function))


def _target(spec: EvaluatorSpec) -> PythonFunction:
    assert isinstance(spec.target, PythonFunction), "the table chose this kind by the target"  # noqa: S101  for the checker
    return spec.target


def _connect(spec: EvaluatorSpec, _opened: Opened) -> Evaluator:
    return FunctionEvaluator(_target(spec).function, spec.score_range)


def _identify(spec: EvaluatorSpec) -> Identity:
    words = _target(spec).words
    environment = [sorted(spec.environment.items())] if spec.environment else []
    digest = digest_words([words, (), *environment])
    return Identity(name=spec.name, text=shlex.join(words), files=(), sha256=digest)


KIND = Kind(
    noun="a Python function",
    parse=unwritten,
    targets=dict,
    connect=_connect,
    identify=_identify,
    is_started=False,
)
