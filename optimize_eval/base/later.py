"""Functions of other modules, which the first call loads: a command calls few of those that tables name."""

from collections.abc import Callable
from importlib import import_module
from typing import Any


def later(module: str, name: str) -> Callable[..., Any]:
    """Call what a module of the package has, once it is needed."""

    def call(*arguments: object, **named: object) -> Any:
        return getattr(import_module(f"optimize_eval.{module}"), name)(*arguments, **named)

    return call
