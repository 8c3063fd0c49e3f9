"""A Python function that a program hands over, as an evaluator or as a model: what makes it the same one."""

import hashlib
import inspect
from collections.abc import Callable
from typing import Any, ClassVar

from optimize_eval.base.frozen import frozen

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


def python_function(function: Function) -> PythonFunction:
    """Name a function, and digest its code."""
    name = getattr(function, "__name__", type(function).__name__).strip("<>") or "function"
    digest = hashlib.sha256(_source(function).encode()).hexdigest()
    return PythonFunction(function=function, name=name, sha256=digest)


def _source(function: Function) -> str:
    try:
        return inspect.getsource(function)
    except (OSError, TypeError):  # of a class's instance, of C, or typed in
        code = getattr(function, "__code__", None)
        return repr((code.co_code, code.co_consts)) if code else repr(type(function))
