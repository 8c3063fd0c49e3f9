"""The spec dialect: a record is a task. Its fields, and the checks in the order in which they are made."""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import field
from typing import Any

from optimize_eval.base.frozen import frozen
from optimize_eval.base.strict_json import Line
from optimize_eval.base.wrong_answers import describe
from optimize_eval.tasks.jsonl import faults
from optimize_eval.tasks.jsonl.faults import Fault, TaskError
from optimize_eval.tasks.jsonl.metrics import IN_SPEC
from optimize_eval.tasks.jsonl.processing import POST_PROCESS

MARKS = ("task_id", "metric_name")  # the fields by which a record shows this dialect
MOST_EXAMPLES = 8

_REQUIRED = ("task_id", "category", "prompt", "targets", "metric_name", "post_process")
_FIELDS = (*_REQUIRED, "few_shot_examples", "metadata")
_METRICS_OF = {  # which a category may have
    "arithmetic": ("exact_match", "f1"),
    "mcq": ("exact_match", "accuracy"),
    "code_exec": ("code_exec",),
    "classification": ("exact_match", "accuracy", "f1"),
    "summary": ("exact_match", "f1", "bleu_4", "rouge_l"),
}
_ID = re.compile(r"[A-Za-z0-9_-]+")
_CHOICE = re.compile(r"[A-E]")
_MARKERS = ("question:", "q:", "example:")


@frozen
class Shot:
    """A prompt that is shown answered."""

    prompt: str
    completion: str


@frozen
class TaskSpec:
    """One valid record."""

    task_id: str
    category: str
    prompt: str
    targets: tuple[str, ...]
    metric_name: str
    post_process: str
    few_shot_examples: tuple[Shot, ...] = ()
    metadata: Mapping[str, Any] = field(default_factory=dict, hash=False)

    @classmethod
    def from_dict(cls, record: Mapping[str, Any]) -> "TaskSpec":
        """Take over a record in which validate_task finds nothing wrong."""
        shots = (Shot(prompt=one["prompt"], completion=one["completion"]) for one in _shots(record))
        taken = {**record, "targets": tuple(record["targets"]), "few_shot_examples": tuple(shots)}
        return cls(**taken)


def validate_task(record: object, line_number: int = 1) -> list[TaskError]:
    """Check one decoded record by itself: the first thing that is wrong, or nothing.

    >>> [(error.rule, error.field) for error in validate_task({"task_id": "a"})]
    [('missing_required', 'category')]
    """
    fault = find_fault(record)
    return [TaskError.of(fault, line_number=line_number, task_id=id_of(record))] if fault else []


def read(lines: Iterable[Line]) -> Iterator[tuple[Line, TaskSpec] | TaskError]:
    """Read the lines of a file in this dialect; each becomes a task or an error."""
    taken: dict[str, int] = {}
    for line in lines:
        fault = faults.unreadable(line) or find_fault(line.value)
        if not fault and (first := taken.setdefault(line.value["task_id"], line.number)) != line.number:
            fault = faults.duplicate(line.value["task_id"], "task_id", first)
        yield (
            faults.error_of(line, fault, id_of(line.value))
            if fault
            else (line, TaskSpec.from_dict(line.value))
        )


def find_fault(record: object) -> Fault | None:
    if not isinstance(record, dict):
        return faults.not_an_object(record)
    return next(_faults(record), None)


def id_of(record: object) -> str:
    """Name a record, right or wrong, by its id."""
    match record:
        case {"task_id": str(text)} if text:
            return text
        case {"task_id": int(number)} if not isinstance(number, bool):
            return str(number)
    return faults.NO_ID


def _faults(record: dict[str, Any]) -> Iterator[Fault]:
    yield from faults.mixed(record, ("metric",), "spec", "metric_name")
    yield from faults.missing(record, _REQUIRED)
    yield from _unknown(record)
    for name, check in _CHECKS.items():
        if name in record:
            yield from check(record[name])
    yield from _illegal_pair(record)
    yield from _embedded(record)


def _unknown(record: dict[str, Any]) -> Iterator[Fault]:
    for name in record:
        if name not in _FIELDS:
            yield Fault("unknown_field", str(name), f"the fields are {', '.join(_FIELDS)}")


def _check_id(value: Any) -> Iterator[Fault]:
    yield from faults.check_text("task_id", value)
    if not _ID.fullmatch(value):
        detail = f"must be letters, digits, _ and - only; this is {describe(value)}"
        yield Fault("bad_value", "task_id", detail)


def _check_prompt(value: Any) -> Iterator[Fault]:
    yield from faults.check_prompt(value)
    if value != value.rstrip():
        yield Fault("bad_value", "prompt", "must not end in blanks or line ends")


def _check_shots(value: Any) -> Iterator[Fault]:
    name = "few_shot_examples"
    if not isinstance(value, list | tuple):
        yield Fault("bad_type", name, f"must be a list, this is {describe(value)}")
    if len(value) > MOST_EXAMPLES:
        yield Fault("bad_value", name, f"at most {MOST_EXAMPLES} examples, these are {len(value)}")
    for number, one in enumerate(value, 1):
        match one:
            case {"prompt": str(), "completion": str()}:
                continue
        detail = f"example {number} must be an object with the texts prompt and completion"
        yield Fault("bad_type", name, detail)


_CHECKS: Mapping[str, Callable[[Any], Iterator[Fault]]] = {
    "task_id": _check_id,
    "category": lambda value: faults.check_choice("category", value, tuple(_METRICS_OF)),
    "prompt": _check_prompt,
    "targets": faults.check_targets,
    "metric_name": lambda value: faults.check_choice("metric_name", value, tuple(IN_SPEC)),
    "post_process": lambda value: faults.check_choice("post_process", value, POST_PROCESS),
    "few_shot_examples": _check_shots,
    "metadata": lambda value: faults.check_object("metadata", value),
}


def _illegal_pair(record: dict[str, Any]) -> Iterator[Fault]:
    category, metric, targets = record["category"], record["metric_name"], record["targets"]
    if metric not in _METRICS_OF[category]:
        detail = f"{metric} does not go with {category}, which takes {', '.join(_METRICS_OF[category])}"
        yield Fault("illegal_pair", "metric_name", detail)
    if category == "mcq" and len(targets) != 1:
        yield Fault("bad_value", "targets", f"mcq takes exactly one target, these are {len(targets)}")
    if category == "mcq" and not _CHOICE.fullmatch(targets[0]):
        detail = f"a target of mcq is a letter from A to E, this is {describe(targets[0])}"
        yield Fault("bad_value", "targets", detail)


def _embedded(record: dict[str, Any]) -> Iterator[Fault]:
    prompt = record["prompt"].lower()
    count = sum(prompt.count(marker) for marker in _MARKERS)
    if count > 1 and not _shots(record):
        detail = f"{', '.join(_MARKERS)} stand {count} times in it: move the examples to few_shot_examples"
        yield Fault("embedded_few_shot", "prompt", detail)


def _shots(record: Mapping[str, Any]) -> list[dict[str, str]]:
    return record.get("few_shot_examples", [])  # type: ignore[no-any-return]  # checked before
