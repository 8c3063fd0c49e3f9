"""Where a parser of YAML stopped, and the lines around that."""

import re
from collections.abc import Sequence
from typing import Any

import yaml

from optimize_eval.frozen import frozen

_COMMENT = re.compile(r"\s*#")
_LONGEST = 40


@frozen
class Stop:
    """Where a parser stopped, and what it had read."""

    error: yaml.MarkedYAMLError
    lines: Sequence[str]
    last: Any = None  # the last token that has a place in what was read
    opened: Any = None  # the mark of the innermost collection that is still open
    in_brackets: bool = False

    @property
    def at(self) -> Any:
        return self.error.problem_mark

    @property
    def since(self) -> Any:
        return self.error.context_mark or self.at

    def line(self, mark: Any) -> str:
        return self.lines[mark.line] if mark.line < len(self.lines) else ""

    def rest(self, mark: Any) -> str:
        return self.line(mark)[mark.column :]

    def begins_line(self) -> bool:
        return not self.line(self.at)[: self.at.column].strip()

    def above(self) -> tuple[int, str] | None:
        """Find the last line above that has something on it, counted from 0."""
        lines = [*enumerate(self.lines[: self.at.line])]
        return next((one for one in reversed(lines) if one[1].strip() and not _COMMENT.match(one[1])), None)


def moved(mark: Any, line: int, column: int) -> Any:
    """Make a mark of another place in the same text, both counted from 0."""
    return yaml.Mark(mark.name, 0, line, column, None, None)


def indent(line: str) -> int:
    return len(line) - len(line.lstrip(" "))


def shortened(text: str) -> str:
    text = text.strip()
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 1]}…"
