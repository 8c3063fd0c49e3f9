"""What templates of scorers see of a sample and of its trace."""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from optimize_eval.prompts.messages import ASSISTANT, USER
from optimize_eval.tasks.definitions.promised import output_of
from optimize_eval.tasks.definitions.solve.trace import Trace


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
    if trace is None:
        return {"sample": sample}
    said = output_of({"items": trace.items, "completion": trace.completion})
    return {
        "sample": sample,
        "solver_output": said,
        "model_output": said.output,
        "messages": said.messages,
        "trace": said.trace,
        "input_prompt": _input_prompt(said.messages),
    }


def _input_prompt(messages: Sequence[Mapping[str, Any]]) -> str:
    """Find the user's last text before the model's last reply."""
    last = max((place for place, one in enumerate(messages) if one["role"] == ASSISTANT), default=0)
    return next((one["content"] for one in reversed(messages[:last]) if one["role"] == USER), "")
