"""The examples dialect: a file is a task, a line one of its examples, and all of them share a metric."""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from optimize_eval.base.frozen import frozen
from optimize_eval.base.strict_json import Line
from optimize_eval.tasks.jsonl import faults
from optimize_eval.tasks.jsonl.faults import Fault, TaskError
from optimize_eval.tasks.jsonl.metrics import IN_EXAMPLES, OWN, is_own

MARKS = ("metric",)  # the field by which a record shows this dialect

_REQUIRED = ("prompt", "targets", "metric")
_NOT_OURS = {"task_id": "id", "metric_name": "metric"}
_COMMENT = b"#"


@frozen
class TaskExample:
    """One valid record; `task_id` is its id, or `ex-` and its line."""

    task_id: str
    prompt: str
    targets: tuple[str, ...]
    metric: str
    extras: Mapping[str, Any]


def read(lines: Iterable[Line]) -> Iterator[tuple[Line, TaskExample] | TaskError]:
    """Read the lines of a file in this dialect; each but comments becomes an example or an error."""
    taken: dict[str, int] = {}
    shared: TaskExample | None = None
    for line in lines:
        if line.raw.startswith(_COMMENT):
            continue
        fault = faults.unreadable(line) or _find_fault(line.value)
        example = None if fault else _example(line)
        if example and not (fault := _between(example, shared, taken)):
            shared = shared or example
            taken[example.task_id] = line.number
            yield line, example
        elif fault:
            yield faults.error_of(line, fault, _id_of(line))


def _find_fault(record: object) -> Fault | None:
    if not isinstance(record, dict):
        return faults.not_an_object(record)
    return next(_faults(record), None)


def _faults(record: dict[str, Any]) -> Iterator[Fault]:
    for foreign, own in _NOT_OURS.items():
        yield from faults.mixed(record, (foreign,), "examples", own)
    yield from faults.missing(record, _REQUIRED)
    yield from faults.check_text("id", record.get("id", ""))
    yield from faults.check_prompt(record["prompt"])
    yield from faults.check_targets(record["targets"])
    yield from faults.check_text("metric", record["metric"])
    if not is_own(record["metric"]):
        yield from faults.check_choice("metric", record["metric"], (*IN_EXAMPLES, f"{OWN}NAME"))
    yield from faults.check_object("extras", record.get("extras", {}))


def _between(example: TaskExample, shared: TaskExample | None, taken: Mapping[str, int]) -> Fault | None:
    """Find what is wrong with an example because of those before it."""
    if shared and example.metric != shared.metric:
        detail = f"all examples of a file share a metric, which is {shared.metric} so far"
        return Fault("bad_value", "metric", detail)
    if example.task_id in taken:
        return faults.duplicate(example.task_id, "id", taken[example.task_id])
    return None


def _example(line: Line) -> TaskExample:
    record = line.value
    return TaskExample(
        task_id=_id_of(line),
        prompt=record["prompt"],
        targets=tuple(record["targets"]),
        metric=record["metric"],
        extras=record.get("extras", {}),
    )


def _id_of(line: Line) -> str:
    """Name an example, right or wrong, by its id or else by its line."""
    if not isinstance(line.value, dict):
        return ""
    given = line.value.get("id")
    return given if isinstance(given, str) and given else f"ex-{line.number}"
