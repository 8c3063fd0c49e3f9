"""Where a program is: the words that start it, or the URL that it is behind."""

import shlex
from typing import ClassVar

from optimize_eval.base.errors import UsageError
from optimize_eval.base.evaluator import EvaluatorSpec, check_text
from optimize_eval.base.frozen import frozen


@frozen
class CommandLine:
    """A program and its arguments."""

    kind: ClassVar[str] = "command"
    argv: tuple[str, ...]
    is_ours: bool = False  # known to stay alive, and to read no task model in its environment

    def __post_init__(self) -> None:
        for word in self.argv:
            check_text("command", word)


@frozen
class Url:
    """A program behind HTTP."""

    kind: ClassVar[str] = "url"
    url: str


def argv_of(spec: EvaluatorSpec) -> tuple[str, ...]:
    """Give the words that start a program; none for what is not started."""
    return spec.target.argv if isinstance(spec.target, CommandLine) else ()


def is_ours(spec: EvaluatorSpec) -> bool:
    """Return True for a shipped program that need not be started to learn what it declares."""
    return isinstance(spec.target, CommandLine) and spec.target.is_ours


def url_of(spec: EvaluatorSpec) -> str:
    """Give the URL of a program behind HTTP; empty for what is elsewhere."""
    return spec.target.url if isinstance(spec.target, Url) else ""


def split_command(command: str) -> tuple[str, ...]:
    """Split a command into words as a shell does."""
    try:
        return tuple(shlex.split(command))
    except ValueError as error:
        reason = str(error).lower().rstrip(".")
        raise UsageError(
            f"the command {command!r} cannot be split: {reason}", hint="close its quotes"
        ) from None
