"""Why a template cannot be parsed or rendered; what a pattern finds in a text."""

import re

RULE = "bad_template"


class TemplateFault(ValueError):
    """What is wrong; `name` is the field that is missing, where one is, and `line` the template's.

    `is_missing` also of what is missing inside a field.
    """

    def __init__(
        self, reason: str, *, line: int | None = None, name: str = "", is_missing: bool = False
    ) -> None:
        super().__init__(reason)
        self.reason = reason
        self.line = line
        self.name = name
        self.is_missing = is_missing


FLAGS = re.DOTALL


def first_of(found: re.Match[str] | None) -> str:
    """Take the first group of a match, or all of it."""
    if not found:
        return ""
    return (found[1] if found.re.groups else found[0]) or ""
