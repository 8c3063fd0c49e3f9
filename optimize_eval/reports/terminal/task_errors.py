"""What is wrong with the lines of a task file, as a table for people: line, rule, field, detail."""

from collections.abc import Mapping, Sequence
from typing import Any

from optimize_eval.reports.columns import columns, padded, wrapped
from optimize_eval.reports.inert import inert

_TITLES = ("line", "rule", "field")
_WIDEST_FIELD = 18
_NARROWEST_DETAIL = 24
_BESIDE = "  "
_BELOW = " " * 6


def render(errors: Sequence[Mapping[str, Any]], *, width: int) -> str:
    """Lay out errors; where there is no room beside the rest, the detail stands below it."""
    rows = [_TITLES, *((f"{one['line_number']}", one["rule"], _shown(one["field"])) for one in errors)]
    number, rule, field = (max(columns(row[place]) for row in rows) for place in range(3))
    field = min(field, _WIDEST_FIELD, width - number - rule - 2 * len(_BESIDE) - 1)
    heads = [f" {row[0]:>{number}}{_BESIDE}{row[1]:<{rule}}{_BESIDE}{padded(row[2], field)}" for row in rows]
    has_room = columns(heads[0]) + len(_BESIDE) + _NARROWEST_DETAIL <= width
    title = f"{heads[0]}{_BESIDE}detail" if has_room else heads[0].rstrip()
    lines = [title, " " + "─" * (width - 2)]
    for head, error in zip(heads[1:], errors, strict=True):
        if has_room:
            lines += wrapped(head + _BESIDE, error["detail"], width)
        else:
            lines += [head.rstrip(), *wrapped(_BELOW, error["detail"], width)]
    return "\n".join(lines)


def _shown(field: str) -> str:
    return " ".join(inert(field, ci=False).split())
