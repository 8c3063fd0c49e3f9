"""Task files: which dialect one is in, its tasks and what is wrong with it. Both dialects become Tasks."""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from hashlib import sha256
from pathlib import Path
from typing import Any

from optimize_eval.base import files, shipped
from optimize_eval.base.documents import JsonMapping
from optimize_eval.base.errors import UsageError
from optimize_eval.base.frozen import frozen
from optimize_eval.base.strict_json import Line, read_lines
from optimize_eval.data.example import Rows
from optimize_eval.tasks.dialects import (
    EXAMPLES_MARKS,
    IN_EXAMPLES,
    IN_SPEC,
    ROOT,
    SPEC_MARKS,
    UNCHANGED,
    Fault,
    TaskError,
    TaskExample,
    TaskSpec,
    error_of,
    evaluator_of,
    not_an_object,
    read_examples,
    read_spec,
    render,
    unreadable,
)
from optimize_eval.tasks.targets import SUFFIXES

SPEC, EXAMPLES, DATASET = "spec", "examples", "dataset"
FIXTURES = "datasets/tasks.jsonl"

_MOST_SOUGHT = 1 << 20  # bytes, in which a record shows what a file is

_Record = TaskSpec | TaskExample
_Read = Callable[[Iterable[Line]], Iterator[tuple[Line, _Record] | TaskError]]


@frozen
class BoardItem:
    """What a board knows of an example: a record of a task file, or a row that a task in YAML is about."""

    id: str
    line: int
    metric: str  # its id, such as rouge_l@ascii
    prompt: str = ""  # rendered: what a model is sent; empty where that is a conversation
    targets: tuple[str, ...] = ()
    category: str | None = None  # None but in the spec dialect


@frozen
class Task(BoardItem):
    """What to send to a model and how to score its reply: a record of a task file of any dialect."""

    evaluator: str  # the text that `-e` takes
    post_process: str
    raw: bytes  # the record as the file has it, which is the evaluator's example


@frozen
class BoardFile:
    """What a board knows of a file of either form; `name` is that of its task."""

    path: str
    name: str
    dialect: str
    sha256: str
    tasks: tuple[BoardItem, ...]
    errors: tuple[TaskError, ...] = ()


@frozen
class TaskFile(BoardFile):
    """A file with its tasks and the errors of its bad lines."""

    tasks: tuple[Task, ...]


def load_tasks(path: str | Path, *, format: str | None = None) -> TaskFile:  # noqa: A002  a fixed name
    """Load a task file; wrong lines are in `errors`; a file without any task is a UsageError."""
    file = read_task_file(path, format=format)
    if file.dialect == DATASET or not (file.tasks or file.errors):
        raise UsageError(
            f"{path} holds no task: no record has task_id, metric_name or metric",
            hint="see datasets/tasks.jsonl (spec) and datasets/tasks/arithmetic.jsonl (examples)",
        )
    return file


def validate_file(
    path: str | Path,
    *,
    format: str | None = None,  # noqa: A002  a fixed name
) -> tuple[list[TaskSpec | TaskExample], list[TaskError]]:
    """Check a file line by line: what is valid, and an error for each line that is not.

    >>> tasks, errors = validate_file(shipped.path("datasets/tasks.jsonl"))
    >>> len(tasks), errors
    (10, [])
    """
    _, pairs, errors = _read(files.read(path, files.DATASET), format)
    return [record for _, record in pairs], errors


def load_fixtures() -> list[TaskSpec]:
    """Load the ten tasks that ship, two of each category."""
    tasks, _ = validate_file(shipped.path(FIXTURES), format=SPEC)
    return [task for task in tasks if isinstance(task, TaskSpec)]


def read_task_file(path: str | Path, *, format: str | None = None) -> TaskFile:  # noqa: A002  a fixed name
    """Read any file; one that shows no dialect is a dataset, and has no tasks."""
    data = path.lines if isinstance(path, Rows) else files.read(path, files.DATASET)
    return parse_task_file(path, data, format=format)


def shows_tasks(path: Path) -> bool:
    """Return True if the first record of a file is one of a task file; notes and broken lines are none."""
    with path.open("rb") as stream:
        values = (line.value for line in read_lines(stream.read(_MOST_SOUGHT)))
        first = next((value for value in values if isinstance(value, dict)), None)
    return first is not None and dialect_of([first]) != DATASET


def parse_task_file(path: str | Path, data: bytes, *, format: str | None) -> TaskFile:  # noqa: A002  a fixed name
    """Read what a whole file holds; see read_task_file."""
    dialect, pairs, errors = _read(data, format)
    return TaskFile(
        path=str(path),
        name=Path(path).stem,
        dialect=dialect,
        sha256=sha256(data).hexdigest(),
        tasks=tuple(_task(line, record) for line, record in pairs),
        errors=tuple(errors),
    )


def read_record(raw: bytes, number: int) -> Task | TaskError:
    """Read one record by itself, as a run hands it over; `number` is its line, which may name it."""
    lines = [replace(line, number=number) for line in read_lines(raw)]
    dialect = dialect_of(line.value for line in lines)
    for read in _READERS[dialect](lines):
        return read if isinstance(read, TaskError) else _task(*read)
    fault = Fault("missing_required", ROOT, "it has none of task_id, metric_name and metric")
    return TaskError.of(fault, line_number=number)


def dialect_of(values: Iterable[Any]) -> str:
    """Tell the dialect by the first record that shows one, and not both."""
    guesses = (_dialects_of(value) for value in values if isinstance(value, dict))
    both = DATASET
    for dialects in guesses:
        if len(dialects) == 1:
            return dialects[0]
        both = dialects[0] if dialects else both
    return both


def _dialects_of(record: JsonMapping) -> list[str]:
    marks = {SPEC: SPEC_MARKS, EXAMPLES: EXAMPLES_MARKS}
    return [dialect for dialect, names in marks.items() if any(name in record for name in names)]


def _read(data: bytes, dialect: str | None) -> tuple[str, list[tuple[Line, _Record]], list[TaskError]]:
    lines = list(read_lines(data))
    chosen = dialect or dialect_of(line.value for line in lines)
    if chosen not in _READERS:
        raise UsageError(
            f"no format of task files is called {chosen!r}", hint=f"name one of {', '.join(_READERS)}"
        )
    read = list(_READERS[chosen](lines))
    errors = [item for item in read if isinstance(item, TaskError)]
    return chosen, [item for item in read if not isinstance(item, TaskError)], errors


def _read_dataset(lines: Iterable[Line]) -> Iterator[tuple[Line, _Record] | TaskError]:
    for line in lines:
        if fault := unreadable(line):
            yield error_of(line, fault)
        elif not isinstance(line.value, dict):
            yield error_of(line, not_an_object(line.value))


_READERS: Mapping[str, _Read] = {
    SPEC: read_spec,
    EXAMPLES: read_examples,
    DATASET: _read_dataset,
}


def _task(line: Line, record: _Record) -> Task:
    return _of_spec(line, record) if isinstance(record, TaskSpec) else _of_example(line, record)


def _of_spec(line: Line, task: TaskSpec) -> Task:
    metric = IN_SPEC[task.metric_name]
    return Task(
        id=task.task_id,
        line=line.number,
        prompt=render(task),
        targets=task.targets,
        metric=metric,
        evaluator=evaluator_of(metric),
        post_process=task.post_process,
        category=task.category,
        raw=line.raw,
    )


def _of_example(line: Line, example: TaskExample) -> Task:
    metric = IN_EXAMPLES.get(example.metric, example.metric)
    return Task(
        id=example.task_id,
        line=line.number,
        prompt=example.prompt,
        targets=example.targets,
        metric=metric,
        evaluator=evaluator_of(metric),
        post_process=UNCHANGED,
        category=None,
        raw=line.raw,
    )


_DESCRIPTION = files.Cap("the description of a dataset", 1 << 20, "rows belong into a file of their own")
_IN_BRACES = re.compile(rb"(\xef\xbb\xbf)?(\s|#.*\n|---)*\{")  # as JSON is


def is_task(path: Path) -> bool:
    """Return True if a file of YAML has a definition; datasets' descriptions and parts of tasks have none."""
    if path.suffix not in SUFFIXES:
        return False
    return _has_key("definition", path)


def describes_dataset(path: Path) -> bool:
    """Return True if a file of YAML says where rows are."""
    return _has_key("source", path)


def _has_key(name: str, path: Path) -> bool:
    """Return True if a file seems to have a key; it may be wrong otherwise, and still is what it is."""
    data = files.read(path, _DESCRIPTION)
    before = r"[{,\s]" if _IN_BRACES.match(data) else r"^(\xef\xbb\xbf)?"
    pattern = f"{before}(?P<quote>['\"]?){name}(?P=quote)\\s*:"
    return re.search(pattern.encode(), data, re.MULTILINE) is not None
