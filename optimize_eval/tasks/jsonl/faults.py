"""What can be wrong with a line of a task file, and the checks that both dialects share.

A check yields the faults of one value, worst first; a caller takes the first and goes no further, so that
each check may rely on those before it.
"""

from collections.abc import Iterator, Sequence
from dataclasses import asdict
from typing import Any, NamedTuple

from optimize_eval.base.frozen import frozen
from optimize_eval.base.strict_json import Line
from optimize_eval.base.wrong_answers import describe

RULES = (  # in the order of the checks
    "bad_json",
    "bad_type",
    "mixed_dialect",
    "missing_required",
    "unknown_field",
    "bad_value",
    "illegal_pair",
    "embedded_few_shot",
    "duplicate_task_id",
)
LINE, ROOT = "_line", "_root"  # what stands for the field where no one field is at fault
NO_ID = "?"


class Fault(NamedTuple):
    """One thing that a record does wrong."""

    rule: str
    field: str
    detail: str


@frozen
class TaskError:
    """Why a line is not a task: only the first thing that is wrong with it."""

    line_number: int
    task_id: str
    rule: str
    field: str
    detail: str

    @classmethod
    def of(cls, fault: Fault, *, line_number: int, task_id: str = NO_ID) -> "TaskError":
        return cls(line_number=line_number, task_id=task_id, **fault._asdict())

    def to_dict(self) -> dict[str, Any]:
        return asdict(self)

    def __str__(self) -> str:
        return f"line {self.line_number}: {self.rule} {self.field}: {self.detail}"


def unreadable(line: Line) -> Fault | None:
    """Say of a line that is no JSON what is wrong with it."""
    return Fault("bad_json", LINE, line.unreadable) if line.unreadable else None


def error_of(line: Line, fault: Fault, task_id: str = "") -> TaskError:
    """Put a fault at its line."""
    return TaskError.of(fault, line_number=line.number, task_id=task_id or NO_ID)


def not_an_object(record: object) -> Fault:
    return Fault("bad_type", ROOT, f"a record must be a JSON object, this is {describe(record)}")


def missing(record: dict[str, Any], fields: Sequence[str]) -> Iterator[Fault]:
    """Find the fields that are not there; null is."""
    for name in fields:
        if name not in record:
            yield Fault("missing_required", name, "this field is required")


def mixed(record: dict[str, Any], foreign: Sequence[str], own: str, meant: str) -> Iterator[Fault]:
    """Find the fields that make a record one of the other dialect."""
    for name in foreign:
        if name in record:
            detail = f"a field of the other dialect; in the {own} dialect it is {meant}"
            yield Fault("mixed_dialect", name, detail)


def duplicate(identity: str, field: str, first: int) -> Fault:
    return Fault("duplicate_task_id", field, f"{describe(identity)} is taken by line {first}")


def check_text(field: str, value: object) -> Iterator[Fault]:
    if not isinstance(value, str):
        yield Fault("bad_type", field, f"must be a text, this is {describe(value)}")


def check_prompt(value: object) -> Iterator[Fault]:
    yield from check_text("prompt", value)
    if not value:
        yield Fault("bad_type", "prompt", "must not be empty")


def check_targets(value: object) -> Iterator[Fault]:
    if not isinstance(value, list | tuple):
        yield Fault("bad_type", "targets", f"must be a list of texts, this is {describe(value)}")
    elif not value:
        yield Fault("bad_type", "targets", "must hold a target, the list is empty")
    else:
        for number, target in enumerate(value, 1):
            if not isinstance(target, str):
                yield Fault(
                    "bad_type", "targets", f"target {number} must be a text, it is {describe(target)}"
                )


def check_object(field: str, value: object) -> Iterator[Fault]:
    if not isinstance(value, dict):
        yield Fault("bad_type", field, f"must be an object, this is {describe(value)}")


def check_choice(field: str, value: object, choices: Sequence[str]) -> Iterator[Fault]:
    if not isinstance(value, str) or value not in choices:
        yield Fault("bad_value", field, f"must be one of {', '.join(choices)}; this is {describe(value)}")
