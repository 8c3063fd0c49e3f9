"""Python functions as evaluators of a search: called as programs are, their exceptions are failures.

A function is given the candidate and the example, and returns a score, `(score, side_info)`, or what a
program would answer; where it does not apply to the example, it raises Skipped. It is the same evaluator
next time if its name and its code are.
"""

import hashlib
import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import orjson

from optimize_eval.base.errors import EvaluationError, FailureKind, Skipped
from optimize_eval.base.evaluator import Capacity, Evaluator, EvaluatorSpec
from optimize_eval.base.protocol import Answered, Payload, ScoreRange, judge_answer
from optimize_eval.evaluators.kinds import connect
from optimize_eval.models.model_kinds import prompted_of
from optimize_eval.programs.codec import CommandLine, argv_of, call_singly
from optimize_eval.run.live import Connecting

Function = Callable[..., Any]

_MARK = "python function"


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
    return replace(defaults, name=name, text=name, target=CommandLine(argv=(_MARK, name, digest)), retries=0)


def is_function(spec: EvaluatorSpec) -> bool:
    return argv_of(spec)[:1] == (_MARK,)


def connecting(functions: Mapping[str, Function]) -> Connecting:
    """Make live evaluators, functions by the names that their specifications have."""

    def made(spec: EvaluatorSpec) -> Evaluator:
        if is_function(spec):
            return FunctionEvaluator(functions[spec.name], spec.score_range)
        if replies := prompted_of(spec):
            from optimize_eval.tasks.of_replies import PromptedEvaluator  # noqa: PLC0415  few searches have prompts

            return PromptedEvaluator(spec, replies, made)
        return connect(spec)

    return made


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
