"""A language model as proposer: a prompt with the candidate and what became of examples in, a new text out.

The text is what stands between the first and the last fence of the reply; one that was cut off is not used.
"""

import json
import re
from collections.abc import Mapping
from functools import partial
from itertools import count
from typing import Any

from optimize_eval.errors import EvaluationError, FailureKind
from optimize_eval.models import Manners, Model, ModelSpec
from optimize_eval.retrying import until_answered
from optimize_eval.search.components import ONLY, is_plain
from optimize_eval.search.proposing.proposals import Proposal, ProposalRequest
from optimize_eval.search.proposing.records import PROMPT, fitted

RETRIES = 2

_LEAST_ROOM = 4 * 1024  # bytes for records, however long the candidate is
_FENCE = "```"
_FIRST_FENCE = re.compile(r"```[^\n`]*\n?")
_CUT_OFF = "length"


class Reflection:
    """Calls a model for a better text."""

    def __init__(self, spec: ModelSpec, manners: Manners) -> None:
        self.name = spec.name
        self._model = Model(spec, manners)
        self.meter = self._model.meter

    def propose(self, request: ProposalRequest, deadline: float) -> Proposal:
        messages = [{"role": "user", "content": prompt_of(request)}]
        once = partial(self._model.chat, messages)
        reply, in_vain = until_answered(once, deadline, RETRIES)
        text, is_whole = between_fences(reply.text)
        counts = [count for count in (reply.prompt_tokens, reply.completion_tokens) if count is not None]
        return Proposal(
            candidate=text if is_plain(request.texts) else {_component(request): text},
            is_cut_off=reply.finish_reason == _CUT_OFF or not is_whole,
            tokens=sum(counts) if counts else None,
            spent=in_vain + reply.spent,
        )

    def close(self) -> None:
        self._model.close()


def between_fences(reply: str) -> tuple[str, bool]:
    r"""Take the text between the first and the last fence, or all; False where a fence is not closed.

    >>> between_fences("Here it is:\n```text\nBe brief.\n```\nGood luck!")
    ('Be brief.', True)
    >>> between_fences("```\nBe br")
    ('Be br', False)
    """
    opened = _FIRST_FENCE.search(reply)
    if not opened:
        return reply.strip(), True
    closed = reply.rfind(_FENCE)
    if closed < opened.end():
        return reply[opened.end() :].strip("\n"), False
    return reply[opened.end() : closed].strip("\n"), True


def prompt_of(request: ProposalRequest) -> str:
    """Write the prompt; its records have what room the candidate leaves of 40 KB."""
    texts = request.texts
    if not any(texts.values()):
        return _joined(_NEW, _goal(request), _ANSWER)
    room = max(_LEAST_ROOM, PROMPT - sum(len(text.encode(errors="replace")) for text in texts.values()))
    results = "\n\n".join(map(_result, fitted(request.records, room), count(1)))
    if is_plain(texts):
        return _joined(_IMPROVE, _goal(request), _fenced(texts[ONLY]), _RESULTS, results, _ANSWER)
    name = _component(request)
    parts = [f"{other}:\n{_fenced(text)}" for other, text in texts.items()]
    change = _CHANGE.format(name=name)
    return _joined(_IMPROVE_PART, _goal(request), *parts, _RESULTS, results, change, _ANSWER)


def _component(request: ProposalRequest) -> str:
    if not request.components:
        raise EvaluationError(FailureKind.INTERNAL, "the request names no component")
    return request.components[0]


def _goal(request: ProposalRequest) -> str:
    objective = f"The objective: {request.objective}" if request.objective else ""
    background = f"What to know: {request.background}" if request.background else ""
    refused = (
        f"A text that was proposed before could not be used: {request.refused}" if request.refused else ""
    )
    return _joined(objective, background, refused)


def _result(record: Mapping[str, Any], number: int) -> str:
    lines = [f"{key}: {_written(value)}" for key, value in record.items() if value not in ({}, None, "")]
    return "\n".join([f"Result {number}", *lines])


def _written(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def _fenced(text: str) -> str:
    return f"{_FENCE}\n{text}\n{_FENCE}"


def _joined(*parts: str) -> str:
    return "\n\n".join(part for part in parts if part)


_NEW = "Write a text that meets the objective. It will be scored on examples that you do not see."
_IMPROVE = "Improve this text. It was scored on examples; a higher score is better."
_IMPROVE_PART = "Improve one of these texts. They were scored together on examples; a higher score is better."
_RESULTS = "What became of some of the examples:"
_CHANGE = "Change only the text named {name}."
_ANSWER = (
    "Find out why scores are low, and what holds for examples beyond these. Do not copy the examples into "
    "the text: it will be judged on others. Write the whole new text between ``` lines, and nothing else "
    "between them."
)
