"""What a proposer is sent and what it replies, and what it is taught by: one line of JSON each.

{"_protocol_version": 2, "candidate": "…", "objective": "…",
     "records": [{"score": 0.3, "example": {…}, "side_info": {…}[, "error": "…"]}, …]}
    {"candidate": "…"[, "note": "…"]}   or {"skip": "why it has nothing to propose"}, or {"error": "why"}

`background`, `components` (those to be changed, where a candidate is an object of several texts) and
`refused` (what was wrong with the prompt that was proposed before) are sent where there are any. How a
program is started, kept alive and ended is programs.command's business, as for evaluators.

Everything has a cap: a field 2 KB, all records of a prompt 40 KB. Records are made of examples to learn
from only: what others say never comes here.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from optimize_eval.base import strict_json
from optimize_eval.base.documents import JsonDict, JsonMapping
from optimize_eval.base.errors import EvaluationError, FailureKind
from optimize_eval.base.frozen import frozen
from optimize_eval.base.outcome import Failed, Outcome, Scored, Skipped
from optimize_eval.base.protocol import NO_CAPABILITIES, PROTOCOL_VERSION, Capabilities, decode_answer
from optimize_eval.base.spent import NOTHING, Spent
from optimize_eval.programs.exchange import Contract
from optimize_eval.search.components import Texts, as_value
from optimize_eval.search.goal import Goal, Outcomes

Lesson = JsonMapping  # what became of one example
SAMPLE = '{"candidate": "…"}'
_LONGEST_NOTE = 500
_WHERE_THERE_IS_ONE = {"background", "components", "refused"}


@frozen
class ProposalRequest:
    """What a proposer is to improve, and what it is to learn from."""

    texts: Texts
    components: tuple[str, ...] = ()  # which of several texts to change
    objective: str = ""
    background: str = ""
    records: Sequence[Lesson] = ()
    refused: str = ""  # what was wrong with the proposal before, a prompt that could not be sent
    task_model: None = None  # programs get one in their environment; proposers have none

    def to_dict(self) -> JsonDict:
        fields: JsonDict = {
            "_protocol_version": PROTOCOL_VERSION,
            "candidate": as_value(self.texts),
            "objective": self.objective,
            "background": self.background,
            "components": list(self.components),
            "records": list(self.records),
            "refused": self.refused,
        }
        return {key: value for key, value in fields.items() if value or key not in _WHERE_THERE_IS_ONE}

    def line(self, identity: str | None = None) -> bytes:
        fields = self.to_dict() | ({} if identity is None else {"_id": identity})
        return strict_json.dumps(fields) + b"\n"


@frozen
class Proposal:
    """What a proposer replied; `is_cut_off` where it had not come to its end, `is_skip` where it had none."""

    candidate: str | JsonMapping
    note: str = ""
    is_cut_off: bool = False
    is_skip: bool = False
    unfenced: int = (
        0  # replies of a model that were refused, as no text stood between fences; 2: there is none
    )
    tokens: int | None = None  # of the model that wrote it, where that tells
    spent: Spent = NOTHING
    capabilities: Capabilities = NO_CAPABILITIES
    stderr: str = ""


@frozen
class ProposerReply:
    """What became of one request to a proposer: a proposal, or why there is none."""

    proposer: str
    proposal: Proposal | None = None
    failure: str = ""
    seconds: float = 0.0
    usages: Sequence[JsonMapping] = ()  # what calls of models it took
    is_recorded: bool = False  # it was called in an earlier session


def proposal_of(reply: Any) -> Proposal:
    """Read a decoded reply, or a callable's; raises EvaluationError."""
    reply = {"candidate": reply} if isinstance(reply, str) else reply
    match reply:
        case {"candidate": str() | dict() as candidate}:
            note = reply.get("note")
            return Proposal(
                candidate=candidate,
                note=note[:_LONGEST_NOTE] if isinstance(note, str) else "",
                capabilities=_capabilities(reply.get("_capabilities")),
            )
        case {"skip": str(why)} if why:
            declared = _capabilities(reply.get("_capabilities"))
            return Proposal(candidate="", note=why[:_LONGEST_NOTE], is_skip=True, capabilities=declared)
        case {"error": str(why)}:
            raise EvaluationError(FailureKind.REPORTED, why, hint="the proposer itself reported this error")
        case dict():
            keys = ", ".join(map(str, reply)) or "none"
            raise EvaluationError(
                FailureKind.NO_OUTPUT, f"the proposer's reply has no candidate (its keys: {keys})", hint=_HINT
            )
    raise EvaluationError(
        FailureKind.NOT_AN_OBJECT, f"the proposer's reply is a {type(reply).__name__}", hint=_HINT
    )


_HINT = f"print {SAMPLE}"


def _capabilities(declared: Any) -> Capabilities:
    """Take that a proposer may be kept alive; it is sent one request at a time."""
    capabilities = Capabilities.from_json(declared)
    return Capabilities(persistent=capabilities.persistent, concurrency=capabilities.concurrency)


def _no_batches(_answer: JsonMapping, _size: int) -> list[Proposal | EvaluationError]:
    raise ValueError("proposers are sent one request at a time")


def _one_by_one(requests: Sequence[ProposalRequest], _size: int) -> Iterator[Sequence[ProposalRequest]]:
    for request in requests:
        yield [request]


def _fix(_request: ProposalRequest, _stderr: str) -> str:
    return 'fix it, or exit 0 and print {"error": "why"} where it has nothing to propose'


CONTRACT: Contract[ProposalRequest, Proposal] = Contract(
    encode=ProposalRequest.line,
    encode_batch=lambda requests, identity: requests[0].line(identity),
    judge=proposal_of,
    parse=lambda raw: proposal_of(decode_answer(raw, like=SAMPLE)),
    split=_no_batches,
    groups=_one_by_one,
    fix=_fix,
    sample=SAMPLE,
)


FIELD = 2 * 1024  # bytes
PROMPT = 40 * 1024
_LEAST_FIELD = 32
_STDERR = 500  # letters of its end


def teaching(
    outcomes: Outcomes, goal: Goal, example: JsonMapping | None, reply: str | None = None
) -> JsonDict:
    """Tell what became of one example; where several evaluators are called, by their names.

    `reply` is the model's, where the candidate is a prompt.
    """
    value = goal.value(outcomes)
    record: JsonDict = {"score": value if isinstance(value, float) else None}
    named = list(zip(goal.names, outcomes, strict=True))
    if len(named) > 1:
        record["scores"] = {name: _score(outcome) for name, outcome in named}
    if example is not None:
        record["example"] = example
    if reply is not None:
        record["reply"] = reply
    side = {name: dict(outcome.side_info) for name, outcome in named if outcome.side_info}
    record["side_info"] = side if len(named) > 1 else side.get(goal.names[0], {})
    errors = {name: _error(outcome) for name, outcome in named if not isinstance(outcome, Scored)}
    if errors:
        record["error"] = "\n".join(
            text if len(named) == 1 else f"{name}: {text}" for name, text in errors.items()
        )
    return record


def has_side_info(record: Lesson) -> bool:
    return bool(record["side_info"] or record.get("error") or "reply" in record)


def fit_records(records: Sequence[Lesson], room: int = PROMPT) -> list[JsonDict]:
    """Cut what is too long: fields to 2 KB, and to less while all records together do not fit.

    Where even short fields are too many, the last records go.
    """
    most = FIELD
    kept = [_cut_record(record, most) for record in records]
    while most > _LEAST_FIELD and _size(kept) > room:
        most //= 2
        kept = [_cut_record(record, most) for record in records]
    while len(kept) > 1 and _size(kept) > room:
        kept.pop()
    return kept if _size(kept) <= room else [_bare(record) for record in kept]


def _score(outcome: Outcome) -> float | None:
    return outcome.score if isinstance(outcome, Scored) and not outcome.is_unranked else None


def _error(outcome: Outcome) -> str:
    if not isinstance(outcome, Failed):
        return f"skipped: {outcome.message}" if isinstance(outcome, Skipped) else ""
    stderr = f"\n{outcome.stderr[-_STDERR:]}" if outcome.stderr else ""
    return f"{outcome.kind}: {outcome.message}{stderr}"


def _cut_record(record: Lesson, most: int) -> JsonDict:
    return {key: _cut_fields(value, most) if key in _OF_FIELDS else value for key, value in record.items()}


_OF_FIELDS = ("example", "reply", "side_info", "error")


def _cut_fields(value: Any, most: int) -> Any:
    return (
        {key: _cut(item, most) for key, item in value.items()}
        if isinstance(value, Mapping)
        else _cut(value, most)
    )


def _cut(value: Any, most: int) -> Any:
    """Leave a value that is short; write the start of one that is not."""
    text = value if isinstance(value, str) else strict_json.dumps(value).decode()
    data = text.encode(errors="replace")
    if len(data) <= most:
        return value
    return f"{data[:most].decode(errors='ignore')}… ({len(data):,} bytes)"


def _bare(record: Lesson) -> JsonDict:
    return {"score": record["score"], "side_info": {}, "error": "too large to show"}


def _size(records: Sequence[Lesson]) -> int:
    return sum(len(strict_json.dumps(record)) for record in records)
