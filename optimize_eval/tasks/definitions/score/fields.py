"""What a scorer is given: a sample, what was said about it, and both as templates see them."""

from collections.abc import Mapping
from typing import Any, NamedTuple

from optimize_eval.models.under_test import ASSISTANT
from optimize_eval.tasks.definitions.solve.trace import Trace
from optimize_eval.templates.conversation import with_conversation


class Case(NamedTuple):
    """A sample with what was said about it; `place` is its index among all samples, where that is known."""

    sample: Mapping[str, Any]
    trace: Trace | None
    fields: Mapping[str, Any]
    place: int | None = None

    @property
    def last_text(self) -> str:
        """Give the last text of the assistant; an empty one where there is none."""
        return (self.trace and self.trace.last_text(ASSISTANT)) or ""


def case_of(sample: Mapping[str, Any], trace: Trace | None, place: int | None = None) -> Case:
    return Case(sample, trace, variables(sample, trace), place)


def variables(sample: Mapping[str, Any], trace: Trace | None) -> dict[str, Any]:
    """Give a template's variables; without a trace there is the sample alone."""
    fields = {"sample": sample}
    return fields if trace is None else with_conversation(fields, plain(trace))


def plain(trace: Trace) -> dict[str, Any]:
    """Give a trace as plain JSON."""
    return {"items": list(trace.items), "completion": trace.completion}
