"""The two dialects of task files in JSONL: what a line may say, what is wrong with it, what is sent.

In one a record is a task, in the other a file is one and a line an example. A check yields the faults of one
value, worst first; a caller takes the first and goes no further, so that each check may rely on those before.

A metric is an evaluator in evaluators/ and a line here, a rule of post-processing a function. An id names one
definition for good: it is what `-e @ID` runs, it stands in every result, and boards that differ in it are not
compared.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, field
from typing import Any, NamedTuple

from optimize_eval.base.documents import JsonDict, JsonMapping
from optimize_eval.base.frozen import frozen
from optimize_eval.base.strict_json import Line
from optimize_eval.base.wrong_answers import describe
from optimize_eval.tasks.targets import OWN, is_own

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

    def to_dict(self) -> JsonDict:
        return asdict(self)

    def __str__(self) -> str:
        return f"line {self.line_number}: {self.rule} {self.field}: {self.detail}"


def unreadable(line: Line) -> Fault | None:
    """Say of a line that is not JSON what is wrong with it."""
    return Fault("bad_json", LINE, line.unreadable) if line.unreadable else None


def error_of(line: Line, fault: Fault, task_id: str = "") -> TaskError:
    """Put a fault at its line."""
    return TaskError.of(fault, line_number=line.number, task_id=task_id or NO_ID)


def not_an_object(record: object) -> Fault:
    return Fault("bad_type", ROOT, f"a record must be a JSON object, this is {describe(record)}")


def missing(record: JsonDict, fields: Sequence[str]) -> Iterator[Fault]:
    """Find the fields that are not there; null is."""
    for name in fields:
        if name not in record:
            yield Fault("missing_required", name, "this field is required")


def mixed(record: JsonDict, foreign: Sequence[str], own: str, meant: str) -> Iterator[Fault]:
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


class _Metric(NamedTuple):
    name: str
    in_spec: str  # an id; empty where the dialect does not know the name
    in_examples: str


_METRICS = (
    _Metric("exact_match", "exact_match@strict", "exact_match@normalised"),
    _Metric("f1", "f1", "f1"),
    _Metric("bleu_4", "bleu_4", "bleu_4"),
    _Metric("rouge_l", "rouge_l@unicode", "rouge_l@ascii"),
    _Metric("accuracy", "accuracy", "accuracy"),
    _Metric("code_exec", "code_exec@assertions", "code_exec@io_pairs"),
    _Metric("multiple_choice", "", "multiple_choice"),
    _Metric("substring_contains", "", "substring_contains"),
    _Metric("exact", "", "exact"),
    _Metric("contains", "", "contains"),
    _Metric("string_equals", "", "string_equals"),
    _Metric("label_in_set", "", "label_in_set"),
    _Metric("regex_match", "", "regex_match"),
    _Metric("regex_match@full", "", "regex_match@full"),
    _Metric("numeric_close", "", "numeric_close"),
    _Metric("numeric_close@whole", "", "numeric_close@whole"),
    _Metric("edit_similarity", "", "edit_similarity"),
    _Metric("bleu", "", "bleu"),
    _Metric("exact_match@strict", "", "exact_match@strict"),
    _Metric("exact_match@normalised", "", "exact_match@normalised"),
    _Metric("rouge_l@unicode", "", "rouge_l@unicode"),
    _Metric("rouge_l@ascii", "", "rouge_l@ascii"),
    _Metric("code_exec@assertions", "", "code_exec@assertions"),
    _Metric("code_exec@io_pairs", "", "code_exec@io_pairs"),
    _Metric("code_exec@stdout", "", "code_exec@stdout"),
)
IN_SPEC = {metric.name: metric.in_spec for metric in _METRICS if metric.in_spec}
IN_EXAMPLES = {metric.name: metric.in_examples for metric in _METRICS}


def evaluator_of(metric: str) -> str:
    """Write the evaluator text that scores by a metric id; one's own is its metric's name."""
    return metric if is_own(metric) else f"@{metric}"


UNCHANGED = "none"
# Where a line begins, anything may stand behind a fence; elsewhere, where it may close one, a language alone.
FENCED = re.compile(r"(?:^[ \t]*```[^`\n]*|```[\w+#.-]*[ \t\r]*)\n(.*?)```", re.DOTALL | re.MULTILINE)

_LONE_LETTER = re.compile(r"(?<![A-Za-z])[A-E](?![A-Za-z])")
_LETTER = re.compile(r"[A-E]")


def post_process(rule: str, text: str) -> str:
    """Apply one rule to a text; ValueError where there is no such rule.

    >>> post_process("extract_letter", "Answer: C is right")
    'C'
    """
    if rule not in _RULES:
        raise ValueError(f"no post-process rule is called {rule!r}: there are {', '.join(POST_PROCESS)}")
    return _RULES[rule](text)


def _as_it_is(text: str) -> str:
    return text


def _letter(text: str) -> str:
    match = _LONE_LETTER.search(text) or _LETTER.search(text)
    return match[0] if match else ""


def _code_block(text: str) -> str:
    match = FENCED.search(text)
    return match[1] if match else text


def _first_line(text: str) -> str:
    return next((line.strip() for line in text.splitlines() if line.strip()), "")


_RULES: Mapping[str, Callable[[str], str]] = {
    UNCHANGED: _as_it_is,
    "strip_whitespace": str.strip,
    "lower": str.lower,
    "extract_letter": _letter,
    "extract_code_block": _code_block,
    "extract_first_line": _first_line,
}
POST_PROCESS = tuple(_RULES)


SPEC_MARKS = ("task_id", "metric_name")  # the fields by which a record shows this dialect
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
    metadata: JsonMapping = field(default_factory=dict, hash=False)

    @classmethod
    def from_dict(cls, record: JsonMapping) -> "TaskSpec":
        """Take over a record in which validate_task finds nothing wrong."""
        shots = (Shot(prompt=shot["prompt"], completion=shot["completion"]) for shot in _shots(record))
        taken = {**record, "targets": tuple(record["targets"]), "few_shot_examples": tuple(shots)}
        return cls(**taken)


def validate_task(record: object, line_number: int = 1) -> list[TaskError]:
    """Check one decoded record by itself: the first thing that is wrong, or nothing.

    >>> [(error.rule, error.field) for error in validate_task({"task_id": "a"})]
    [('missing_required', 'category')]
    """
    fault = find_fault(record)
    return [TaskError.of(fault, line_number=line_number, task_id=id_of(record))] if fault else []


def read_spec(lines: Iterable[Line]) -> Iterator[tuple[Line, TaskSpec] | TaskError]:
    """Read the lines of a file in this dialect; each becomes a task or an error."""
    taken: dict[str, int] = {}
    for line in lines:
        fault = unreadable(line) or find_fault(line.value)
        if not fault and (first := taken.setdefault(line.value["task_id"], line.number)) != line.number:
            fault = duplicate(line.value["task_id"], "task_id", first)
        yield (error_of(line, fault, id_of(line.value)) if fault else (line, TaskSpec.from_dict(line.value)))


def find_fault(record: object) -> Fault | None:
    if not isinstance(record, dict):
        return not_an_object(record)
    return next(_faults(record), None)


def id_of(record: object) -> str:
    """Name a record, right or wrong, by its id."""
    match record:
        case {"task_id": str(text)} if text:
            return text
        case {"task_id": int(number)} if not isinstance(number, bool):
            return str(number)
    return NO_ID


def _faults(record: JsonDict) -> Iterator[Fault]:
    yield from mixed(record, ("metric",), "spec", "metric_name")
    yield from missing(record, _REQUIRED)
    yield from _unknown_names(record)
    for name, check in _CHECKS.items():
        if name in record:
            yield from check(record[name])
    yield from _illegal_pair(record)
    yield from _embedded_shots(record)


def _unknown_names(record: JsonDict) -> Iterator[Fault]:
    for name in record:
        if name not in _FIELDS:
            yield Fault("unknown_field", str(name), f"the fields are {', '.join(_FIELDS)}")


def _check_id(value: Any) -> Iterator[Fault]:
    yield from check_text("task_id", value)
    if not _ID.fullmatch(value):
        detail = f"must be letters, digits, _ and - only; this is {describe(value)}"
        yield Fault("bad_value", "task_id", detail)


def _check_prompt(value: Any) -> Iterator[Fault]:
    yield from check_prompt(value)
    if value != value.rstrip():
        yield Fault("bad_value", "prompt", "must not end in blanks or line ends")


def _check_shots(value: Any) -> Iterator[Fault]:
    name = "few_shot_examples"
    if not isinstance(value, list | tuple):
        yield Fault("bad_type", name, f"must be a list, this is {describe(value)}")
    if len(value) > MOST_EXAMPLES:
        yield Fault("bad_value", name, f"at most {MOST_EXAMPLES} examples, these are {len(value)}")
    for number, item in enumerate(value, 1):
        match item:
            case {"prompt": str(), "completion": str()}:
                continue
        detail = f"example {number} must be an object with the texts prompt and completion"
        yield Fault("bad_type", name, detail)


_CHECKS: Mapping[str, Callable[[Any], Iterator[Fault]]] = {
    "task_id": _check_id,
    "category": lambda value: check_choice("category", value, tuple(_METRICS_OF)),
    "prompt": _check_prompt,
    "targets": check_targets,
    "metric_name": lambda value: check_choice("metric_name", value, tuple(IN_SPEC)),
    "post_process": lambda value: check_choice("post_process", value, POST_PROCESS),
    "few_shot_examples": _check_shots,
    "metadata": lambda value: check_object("metadata", value),
}


def _illegal_pair(record: JsonDict) -> Iterator[Fault]:
    category, metric, targets = record["category"], record["metric_name"], record["targets"]
    if metric not in _METRICS_OF[category]:
        detail = f"{metric} does not go with {category}, which takes {', '.join(_METRICS_OF[category])}"
        yield Fault("illegal_pair", "metric_name", detail)
    if category == "mcq" and len(targets) != 1:
        yield Fault("bad_value", "targets", f"mcq takes exactly one target, these are {len(targets)}")
    if category == "mcq" and not _LETTER.fullmatch(targets[0]):
        detail = f"a target of mcq is a letter from A to E, this is {describe(targets[0])}"
        yield Fault("bad_value", "targets", detail)


def _embedded_shots(record: JsonDict) -> Iterator[Fault]:
    prompt = record["prompt"].lower()
    count = sum(prompt.count(marker) for marker in _MARKERS)
    if count > 1 and not _shots(record):
        detail = f"{', '.join(_MARKERS)} stand {count} times in it: move the examples to few_shot_examples"
        yield Fault("embedded_few_shot", "prompt", detail)


def _shots(record: JsonMapping) -> list[dict[str, str]]:
    return record.get("few_shot_examples", [])  # type: ignore[no-any-return]  # checked before


def render(record: JsonMapping | TaskSpec) -> str:
    r"""Put the examples before the prompt, a blank line between; nothing is trimmed.

    >>> render({"prompt": "3 + 3 =", "few_shot_examples": [{"prompt": "1 + 1 =", "completion": "2"}]})
    '1 + 1 = 2\n\n3 + 3 ='
    """
    if isinstance(record, TaskSpec):
        return _join(
            ((example.prompt, example.completion) for example in record.few_shot_examples), record.prompt
        )
    examples = record.get("few_shot_examples") or ()
    return _join(((example["prompt"], example["completion"]) for example in examples), record["prompt"])


def _join(examples: Iterable[tuple[str, str]], prompt: str) -> str:
    return "\n\n".join([*(f"{question} {answer}" for question, answer in examples), prompt])


EXAMPLES_MARKS = ("metric",)  # the field by which a record shows this dialect

_REQUIRED_OF_EXAMPLES = ("prompt", "targets", "metric")
_NOT_OURS = {"task_id": "id", "metric_name": "metric"}
_COMMENT = b"#"


@frozen
class TaskExample:
    """One valid record; `task_id` is its id, or `ex-` and its line."""

    task_id: str
    prompt: str
    targets: tuple[str, ...]
    metric: str
    extras: JsonMapping


def read_examples(lines: Iterable[Line]) -> Iterator[tuple[Line, TaskExample] | TaskError]:
    """Read the lines of a file in this dialect; each but comments becomes an example or an error."""
    taken: dict[str, int] = {}
    shared: TaskExample | None = None
    for line in lines:
        if line.raw.startswith(_COMMENT):
            continue
        fault = unreadable(line) or _find_fault(line.value)
        example = None if fault else _example(line)
        if example and not (fault := _between(example, shared, taken)):
            shared = shared or example
            taken[example.task_id] = line.number
            yield line, example
        elif fault:
            yield error_of(line, fault, _id_of(line))


def _find_fault(record: object) -> Fault | None:
    if not isinstance(record, dict):
        return not_an_object(record)
    return next(_faults_of_example(record), None)


def _faults_of_example(record: JsonDict) -> Iterator[Fault]:
    for foreign, own in _NOT_OURS.items():
        yield from mixed(record, (foreign,), "examples", own)
    yield from missing(record, _REQUIRED_OF_EXAMPLES)
    yield from check_text("id", record.get("id", ""))
    yield from check_prompt(record["prompt"])
    yield from check_targets(record["targets"])
    yield from check_text("metric", record["metric"])
    if not is_own(record["metric"]):
        yield from check_choice("metric", record["metric"], (*IN_EXAMPLES, f"{OWN}NAME"))
    yield from check_object("extras", record.get("extras", {}))


def _between(example: TaskExample, shared: TaskExample | None, taken: Mapping[str, int]) -> Fault | None:
    """Find what is wrong with an example because of those before it."""
    if shared and example.metric != shared.metric:
        detail = f"all examples of a file share a metric, which is {shared.metric} so far"
        return Fault("bad_value", "metric", detail)
    if example.task_id in taken:
        return duplicate(example.task_id, "id", taken[example.task_id])
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
