"""A language model as proposer: a prompt with the candidate and what became of examples in, a new text out.

The text is what stands between the fences of the reply, which may hold others. A refusal has none: it is
told, and asked for once more; one that was cut off is not used.
"""

import json
import re
from collections.abc import Mapping, Sequence
from functools import partial
from itertools import count

from optimize_eval.base.documents import JsonMapping
from optimize_eval.base.errors import EvaluationError, FailureKind
from optimize_eval.base.retries_and_caps import GivenUp, Manners, until_answered
from optimize_eval.base.spent import NOTHING, Spent
from optimize_eval.models.chat import ChatSpec, Reply
from optimize_eval.models.live import Model
from optimize_eval.search.components import ONLY, is_plain
from optimize_eval.search.proposals import PROMPT, Proposal, ProposalRequest, fit_records

RETRIES = 2

_LEAST_ROOM = 4 * 1024  # bytes for records, however long the candidate is
_FENCES = re.compile(r"(?P<marks>`{3,})(?P<info>[^`\n]*)$", re.MULTILINE)
_MARKS = re.compile("`{3,}")
_CUT_OFF = "length"


class Reflection:
    """Calls a model for a better text."""

    def __init__(self, spec: ChatSpec, manners: Manners) -> None:
        self.name = spec.name
        self._model = Model(spec, manners)
        self.meter = self._model.meter

    def propose(self, request: ProposalRequest, deadline: float) -> Proposal:
        """Get a text; a reply without one between fences is asked for once more."""
        prompt = prompt_of(request)
        asked = {"role": "user", "content": prompt}
        reply, spent = self._reply([asked], deadline)
        block, unfenced, tokens = between_fences(reply.text), 0, _tokens(reply)
        if block is None and reply.finish_reason != _CUT_OFF:
            again = {
                "role": "user",
                "content": _AGAIN.format(fence=_fence_around(prompt, reply.text, least=4)),
            }
            said = {"role": "assistant", "content": reply.text}
            reply, spent = self._reply([asked, said, again], deadline, spent)
            block, tokens = between_fences(reply.text), tokens + _tokens(reply)
            unfenced = 1 + (block is None)
        text = block or ""
        return Proposal(
            candidate=text if is_plain(request.texts) else {_component(request): text},
            is_cut_off=reply.finish_reason == _CUT_OFF,
            unfenced=unfenced,
            tokens=tokens or None,
            spent=spent,
        )

    def _reply(
        self, messages: Sequence[Mapping[str, str]], deadline: float, before: Spent = NOTHING
    ) -> tuple[Reply, Spent]:
        """Call the model; what was spent `before` is told with a failure, too."""
        try:
            reply, in_vain, _ = until_answered(partial(self._model.chat, messages), deadline, RETRIES)
        except (EvaluationError, GivenUp) as error:
            error.spent = before + error.spent
            raise
        return reply, before + in_vain + reply.spent

    def close(self) -> None:
        self._model.close()


def between_fences(reply: str) -> str | None:
    r"""Take the text of the one block between fences, which may hold others; None where there is no such.

    >>> between_fences("Here it is:\n```text\nBe brief.\n```\nGood luck!")
    'Be brief.'
    >>> between_fences("I'm sorry, I can't help."), between_fences("```\nthis\n```\nor\n```\nthat\n```")
    (None, None)
    """
    fences = list(_FENCES.finditer(reply))
    if not fences:
        return None
    first, depth = fences[0], 0
    outer = [fence for fence in fences if len(fence["marks"]) >= len(first["marks"])]
    for fence in outer:
        depth += 1 if not depth or fence["info"].strip() else -1
        if not depth:
            return reply[first.end() : fence.start("marks")].strip("\n") if fence is outer[-1] else None
    return None


def _fence_around(*texts: str, least: int = 3) -> str:
    """Make a fence that no text has."""
    longest = max((len(marks) for text in texts for marks in _MARKS.findall(text)), default=0)
    return "`" * max(least, longest + 1)


def _tokens(reply: Reply) -> int:
    return (reply.prompt_tokens or 0) + (reply.completion_tokens or 0)


def prompt_of(request: ProposalRequest) -> str:
    """Write the prompt; its records have what room the candidate leaves of 40 KB."""
    texts = request.texts
    if not any(texts.values()):
        return _join(_NEW, _goal(request), _ANSWER.format(fence="```"))
    room = max(_LEAST_ROOM, PROMPT - sum(len(text.encode(errors="replace")) for text in texts.values()))
    results = "\n\n".join(map(_result, fit_records(request.records, room), count(1)))
    answer = _ANSWER.format(fence=_fence_around(*texts.values()))
    if is_plain(texts):
        return _join(_IMPROVE, _goal(request), _fence(texts[ONLY]), _RESULTS, results, answer)
    name = _component(request)
    parts = [f"{other}:\n{_fence(text)}" for other, text in texts.items()]
    change = _CHANGE.format(name=name)
    return _join(_IMPROVE_PART, _goal(request), *parts, _RESULTS, results, change, answer)


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
    return _join(objective, background, refused)


def _result(record: JsonMapping, number: int) -> str:
    lines = [f"{key}: {_write(value)}" for key, value in record.items() if value not in ({}, None, "")]
    return "\n".join([f"Result {number}", *lines])


def _write(value: object) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def _fence(text: str) -> str:
    fence = _fence_around(text)
    return f"{fence}\n{text}\n{fence}"


def _join(*parts: str) -> str:
    return "\n\n".join(part for part in parts if part)


_NEW = "Write a text that meets the objective. It will be scored on examples that you do not see."
_IMPROVE = "Improve this text. It was scored on examples; a higher score is better."
_IMPROVE_PART = "Improve one of these texts. They were scored together on examples; a higher score is better."
_RESULTS = "What became of some of the examples:"
_CHANGE = "Change only the text named {name}."
_ANSWER = (
    "Find out why scores are low, and what holds for examples beyond these. Do not copy the examples into "
    "the text: it will be judged on others. Write the whole new text between {fence} lines, and nothing else "
    "between them."
)
_AGAIN = (
    "That cannot be used: there has to be one text between fences. Write the whole new text once more "
    "between {fence} lines, so that it may hold shorter fences, and nothing else between them."
)
