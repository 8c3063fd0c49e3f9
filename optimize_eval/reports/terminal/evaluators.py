"""The evaluators that ship as people and programs read them."""

from collections.abc import Mapping, Sequence
from typing import Any

from optimize_eval.base.frozen import frozen
from optimize_eval.reports.columns import wrapped

SCHEMA = "optimize-eval.evaluators.v1"


@frozen
class ShippedEvaluator:
    """What `-e @NAME` runs; `also` are the files that its file does not run without."""

    name: str
    language: str
    summary: str
    file: str
    also: Sequence[str]
    command: Sequence[str]


def render(evaluators: Sequence[ShippedEvaluator], *, width: int) -> str:
    """Write what each does beside its name, or below it where there is no room."""
    name_width = max(len(one.name) for one in evaluators)
    language_width = max(len(one.language) for one in evaluators)
    lines: list[str] = []
    for one in evaluators:
        head = f" @{one.name:<{name_width}}  {one.language:<{language_width}}  "
        lines += wrapped(head, one.summary, width)
    return "\n".join(lines)


def to_dict(evaluators: Sequence[ShippedEvaluator]) -> Mapping[str, Any]:
    return {"schema": SCHEMA, "evaluators": [_to_dict(one) for one in evaluators]}


def _to_dict(one: ShippedEvaluator) -> dict[str, Any]:
    return {
        "name": f"@{one.name}",
        "language": one.language,
        "summary": one.summary,
        "file": one.file,
        "also": list(one.also),
        "command": list(one.command),
    }
