"""Foreign text made harmless for where it is shown; what evaluators and data say is hostile by default."""

import json
import re
from typing import Any

from optimize_eval import strict_json

# Controls but for tab and line feed, C1 (a terminal may obey them), and what turns text around or hides it.
_CONTROLS = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028\u2029\u202a-\u202e\u2066-\u2069\ufeff]"
)
_CI_COMMANDS = re.compile(r":(?=:)|##(?=\[)")


def inert(text: str, *, ci: bool) -> str:
    r"""Make a text safe for a terminal, and with `ci` also for a log whose runner obeys commands in it.

    >>> inert("done \x1b[2J", ci=False)
    'done \\x1b[2J'
    >>> inert("::error::gone", ci=True)
    ': :error: :gone'
    """
    shown = _CONTROLS.sub(_escape, text)
    return _CI_COMMANDS.sub(r"\g<0> ", shown) if ci else shown


def inert_json(value: Any) -> str:
    """Write JSON that is safe for a terminal: the same value, with risky characters escaped."""
    return _CONTROLS.sub(lambda match: f"\\u{ord(match.group()):04x}", _dumps(value))


def _dumps(value: Any) -> str:
    try:
        return strict_json.dumps(value).decode()
    except UnicodeEncodeError:  # a file name that is not UTF-8
        return json.dumps(value, ensure_ascii=False).encode("utf-8", "replace").decode()


def _escape(match: re.Match[str]) -> str:
    code = ord(match.group())
    return f"\\x{code:02x}" if code < 256 else f"\\u{code:04x}"  # noqa: PLR2004  what two digits hold
