"""What a proposer is taught by: of each example of a minibatch its scores, the example, side info and errors.

Everything has a cap: a field 2 KB, all records of a prompt 40 KB. Records are made of examples to learn
from only: what others say never comes here.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from optimize_eval.base import strict_json
from optimize_eval.base.outcome import Failed, Outcome, Scored, Skipped
from optimize_eval.search.goal import Goal
from optimize_eval.search.scores.scorer import Outcomes

FIELD = 2 * 1024  # bytes
PROMPT = 40 * 1024
_LEAST_FIELD = 32
_STDERR = 500  # letters of its end


def teaching(
    outcomes: Outcomes, goal: Goal, example: Mapping[str, Any] | None, reply: str | None = None
) -> dict[str, Any]:
    """Tell what became of one example; where several evaluators are called, by their names.

    `reply` is the model's, where the candidate is a prompt.
    """
    value = goal.value(outcomes)
    record: dict[str, Any] = {"score": value if isinstance(value, float) else None}
    named = list(zip(goal.names, outcomes, strict=True))
    if len(named) > 1:
        record["scores"] = {name: _score(outcome) for name, outcome in named}
    if example is not None:
        record["example"] = example
    if reply is not None:
        record["reply"] = reply
    side = {name: dict(one.side_info) for name, one in named if one.side_info}
    record["side_info"] = side if len(named) > 1 else side.get(goal.names[0], {})
    errors = {name: _error(outcome) for name, outcome in named if not isinstance(outcome, Scored)}
    if errors:
        record["error"] = "\n".join(
            text if len(named) == 1 else f"{name}: {text}" for name, text in errors.items()
        )
    return record


def has_side_info(record: Mapping[str, Any]) -> bool:
    return bool(record["side_info"] or record.get("error") or "reply" in record)


def fitted(records: Sequence[Mapping[str, Any]], room: int = PROMPT) -> list[dict[str, Any]]:
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


def _cut_record(record: Mapping[str, Any], most: int) -> dict[str, Any]:
    return {key: _cut_fields(value, most) if key in _OF_FIELDS else value for key, value in record.items()}


_OF_FIELDS = ("example", "reply", "side_info", "error")


def _cut_fields(value: Any, most: int) -> Any:
    return (
        {key: _cut(one, most) for key, one in value.items()}
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


def _bare(record: Mapping[str, Any]) -> dict[str, Any]:
    return {"score": record["score"], "side_info": {}, "error": "too large to show"}


def _size(records: Sequence[Mapping[str, Any]]) -> int:
    return sum(len(strict_json.dumps(record)) for record in records)
