"""A Python function as a model, which programs that call us hand over: a prompt in, its text out.

It is given the prompt and, where it names them, `messages` and `options`. It returns a text, or what a
program would answer: {"text": …, "usage": …}. Nothing ends it when it is late.
"""

import inspect
from collections.abc import Mapping, Sequence
from typing import Any

from optimize_eval.base.errors import EvaluationError, FailureKind, UsageError
from optimize_eval.base.evaluator import Capacity
from optimize_eval.models.model_kinds import ModelSpec
from optimize_eval.models.program_model import ProgramModel, judge_output
from optimize_eval.models.under_test import Output, Prompt
from optimize_eval.programs.exchange import call_singly
from optimize_eval.programs.function_program import Unusable, refuse_uncallable
from optimize_eval.programs.identity import Function, PythonFunction

_BESIDE = ("messages", "options")
_TAKES = "a model takes (prompt), and messages or options by name if it likes; it returns a text"


class FunctionProgram:
    """A function behind the methods of a program."""

    note = ""
    capacity = Capacity()

    def __init__(self, function: Function, beside: Sequence[str]) -> None:
        self._function = function
        self._beside = beside

    def call(self, prompt: Prompt, _deadline: float) -> Output:
        beside = {name: getattr(prompt, name) for name in self._beside}
        try:
            returned = self._function(prompt.text, **beside)
        except EvaluationError:
            raise
        except Exception as error:
            message = f"{type(error).__name__}: {error}"
            raise EvaluationError(FailureKind.REPORTED, message, hint="the function raised this") from error
        return judge_output(dict(returned) if isinstance(returned, Mapping) else {"text": returned})

    def call_many(self, prompts: Sequence[Prompt], timeout: float) -> list[Output | EvaluationError]:
        return call_singly(prompts, timeout, self.call)

    def close(self) -> None:
        """Nothing was started."""


def check_model_function(named: PythonFunction) -> Sequence[str]:
    """Say what a function takes by name beside the prompt; raises UsageError where it is not a model."""
    try:
        refuse_uncallable(named.function, named.name)
        parameters = [*inspect.signature(named.function).parameters.values()]
    except Unusable as unusable:
        raise UsageError(f"the model {unusable}", hint=unusable.hint) from None
    except (TypeError, ValueError):  # of C
        return ()
    beside = [part.name for part in parameters[1:] if part.name in _BESIDE]
    lacking = [part for part in parameters[1:] if _is_needed(part) and part.name not in beside]
    if not parameters or parameters[0].kind is inspect.Parameter.KEYWORD_ONLY or lacking:
        raise UsageError(f"the model {named.name} takes {inspect.signature(named.function)}", hint=_TAKES)
    return beside


def _is_needed(part: inspect.Parameter) -> bool:
    return part.default is part.empty and part.kind not in {part.VAR_POSITIONAL, part.VAR_KEYWORD}


def connect_function(_rest: str, model: ModelSpec) -> ProgramModel:
    assert model.function, "what is identified has one"  # noqa: S101  for the checker
    program: Any = FunctionProgram(model.function.function, check_model_function(model.function))
    return ProgramModel(program, model.as_caller)
