"""A command as it is written, and its words."""

import shlex

from optimize_eval.errors import UsageError


def split_command(command: str) -> tuple[str, ...]:
    """Split a command into words as a shell does."""
    try:
        return tuple(shlex.split(command))
    except ValueError as error:
        reason = str(error).lower().rstrip(".")
        raise UsageError(
            f"the command {command!r} cannot be split: {reason}", hint="close its quotes"
        ) from None
