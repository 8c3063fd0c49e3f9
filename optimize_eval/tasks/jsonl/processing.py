"""What is taken of a model's output before it is scored: one rule for each task, each a pure function."""

import re
from collections.abc import Callable, Mapping

UNCHANGED = "none"
# Where a line begins, anything may stand behind a fence; elsewhere, where it may close one, a language alone.
FENCED = re.compile(r"(?:^[ \t]*```[^`\n]*|```[\w+#.-]*[ \t\r]*)\n(.*?)```", re.DOTALL | re.MULTILINE)

_LONE_LETTER = re.compile(r"(?<![A-Za-z])[A-E](?![A-Za-z])")
_LETTER = re.compile(r"[A-E]")


def post_process(rule: str, text: str) -> str:
    """Apply one rule to a text; ValueError where there is no such rule.

    >>> post_process("extract_letter", "Answer: C is right")
    'C'
    """
    if rule not in _RULES:
        raise ValueError(f"no post-process rule is called {rule!r}: there are {', '.join(POST_PROCESS)}")
    return _RULES[rule](text)


def _unchanged(text: str) -> str:
    return text


def _letter(text: str) -> str:
    match = _LONE_LETTER.search(text) or _LETTER.search(text)
    return match[0] if match else ""


def _code_block(text: str) -> str:
    match = FENCED.search(text)
    return match[1] if match else text


def _first_line(text: str) -> str:
    return next((line.strip() for line in text.splitlines() if line.strip()), "")


_RULES: Mapping[str, Callable[[str], str]] = {
    UNCHANGED: _unchanged,
    "strip_whitespace": str.strip,
    "lower": str.lower,
    "extract_letter": _letter,
    "extract_code_block": _code_block,
    "extract_first_line": _first_line,
}
POST_PROCESS = tuple(_RULES)
