"""${NAME} in what users write: put in when it is used, so that secrets stay out of files and messages."""

import os
import re
import shlex

from optimize_eval.errors import UsageError

VARIABLE = re.compile(r"\$\{([A-Za-z_][A-Za-z0-9_]*)\}")

_IN_QUOTES = re.compile(r'([\\"`]|\$(?!\{[A-Za-z_][A-Za-z0-9_]*\}))')


def filled(text: str, what: str) -> str:
    """Put environment variables in the place of ${NAME}; where one is missing, `what` needs it is named."""
    return VARIABLE.sub(lambda match: _look_up(match[1], what), text)


def for_shell(text: str) -> str:
    """Write a text as a word for a shell, which then puts in what its ${NAME} stand for."""
    if not VARIABLE.search(text):
        return shlex.quote(text)
    escaped = _IN_QUOTES.sub(r"\\\1", text)
    return f'"{escaped}"'


def _look_up(name: str, what: str) -> str:
    if name not in os.environ:
        raise UsageError(
            f"{what} needs the environment variable {name}, which is not set", hint=f"export {name}=…"
        )
    return os.environ[name]
