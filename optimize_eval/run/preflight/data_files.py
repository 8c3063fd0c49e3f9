"""Files of data checked without a call: datasets, task files, what they share, files of other tools.

What a file is a sweep file says, else its name (train, val, test), else the order in which files are named.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import field, replace
from pathlib import Path

from optimize_eval.base import files
from optimize_eval.base.errors import DataError, Problem
from optimize_eval.base.frozen import frozen
from optimize_eval.data.datasets import (
    NOT_JSONL,
    ParsedFile,
    describe_copies,
    is_table,
    parse_dataset,
    read_dataset,
)
from optimize_eval.data.example import Example
from optimize_eval.data.foreign_files import OTHER_TOOL, whose
from optimize_eval.data.leaks import overlaps_of
from optimize_eval.data.likeness import find_copies
from optimize_eval.findings.leakage import leakages_of
from optimize_eval.store.layout import LeakedRow, Split
from optimize_eval.store.run_document import with_overlaps
from optimize_eval.tasks.dialects import TaskError
from optimize_eval.tasks.task_files import DATASET, TaskFile, parse_task_file

_EMPTY = "the file holds no record"
_LONGEST_NAME = 80


@frozen
class CheckedFile:
    """One file: what it is, how much of it can be used, and what is wrong with it.

    `errors` are of lines of a task file, `problems` are all others.
    """

    path: str
    kind: str  # sweep, dataset, candidates, prompts, spec, examples, task_yaml
    count: int
    problems: tuple[Problem, ...] = ()
    notes: tuple[Problem, ...] = ()  # which forbid nothing
    errors: tuple[TaskError, ...] = ()
    ids: tuple[str, ...] = ()  # of the tasks that can be used
    copies: Mapping[int, int] = field(default_factory=dict)  # lines of records that are there already
    copied: str = ""  # the same in words
    rows: tuple[Example, ...] = ()  # of a dataset
    split: str = ""  # which one it is in a sweep file
    leaks: tuple[LeakedRow, ...] = ()  # those that another dataset holds, too
    leaked: str = ""  # the same in words

    @property
    def first_problem(self) -> str:
        """Name the place and what is wrong there; empty where nothing is."""
        if self.errors:
            error = self.errors[0]
            field = error.field[:_LONGEST_NAME]
            return f"{self.path}:{error.line_number}: {error.rule}, {field}: {error.detail}"
        return str(self.problems[0]) if self.problems else ""


def check_data(path: str, kind: str | None = None) -> CheckedFile:
    """Check a file as what it is said to be, else as what it shows to be."""
    if kind == DATASET or (kind is None and is_table(path)):
        return check_dataset(path)
    try:
        data = files.read(path, files.DATASET)  # once: of a pipe there is no second time
    except DataError as error:
        return CheckedFile(path=path, kind=kind or DATASET, count=0, problems=error.problems)
    file = parse_task_file(path, data, format=kind)
    if kind is None and (file.dialect == DATASET or _has_bad_json(file)):
        dataset = parse_dataset(path, data)
        if file.dialect == DATASET or any(problem.rule == NOT_JSONL for problem in dataset.problems):
            return of_reading(dataset)
    return _of_tasks(file)


def _has_bad_json(file: TaskFile) -> bool:
    """Return True if the file may be something else as a whole, such as a JSON array over several lines."""
    return any(error.rule == "bad_json" for error in file.errors)


def check_dataset(path: str) -> CheckedFile:
    return of_reading(read_dataset(path))


def of_reading(one: ParsedFile) -> CheckedFile:
    copies = find_copies(one.examples)
    return CheckedFile(
        path=one.path,
        kind=DATASET,
        count=len(one.examples),
        problems=one.problems,
        copies=copies,
        copied=describe_copies(copies, one.examples) if copies else "",
        rows=one.examples,
    )


def has_checks(row: Example) -> bool:
    """Return True if a row may have checks as the shipped @checks makes them: a list of tables."""
    said = row.value.get("checks")
    listed = said.get("of") if isinstance(said, dict) else said
    return isinstance(listed, list) and bool(listed) and all(isinstance(check, dict) for check in listed)


def _of_tasks(file: TaskFile) -> CheckedFile:
    is_empty = not (file.tasks or file.errors)
    return CheckedFile(
        path=file.path,
        kind=file.dialect,
        count=len(file.tasks),
        problems=(Problem(path=file.path, rule="empty", reason=_EMPTY),) if is_empty else (),
        errors=file.errors,
        ids=tuple(task.id for task in file.tasks),
    )


def other_tool_of(checked: CheckedFile) -> CheckedFile:
    """Say whose a file is, where that is known: instead of its problems, or beside rows that can be used."""
    about = whose(checked.path)
    if about is None:
        return checked
    if not checked.first_problem:
        return replace(checked, notes=(*checked.notes, about))
    return CheckedFile(path=checked.path, kind=OTHER_TOOL, count=0, problems=(about,))


_RANKS = {"train": 0, "training": 0, "dev": 1, "val": 1, "valid": 1, "validation": 1, "test": 2}


def with_leaks(checked: Sequence[CheckedFile], *, keeps_leaks: bool = False) -> list[CheckedFile]:
    """Let datasets know which of their rows others hold; all else stays as it is."""
    datasets = {file.split or file.path: file for file in _datasets_in_order(checked)}
    if len(datasets) < 2:  # noqa: PLR2004  two are to be held against each other
        return [*checked]
    overlaps = overlaps_of({name: file.rows for name, file in datasets.items()}, {})
    splits = [
        Split(name=name, lines=tuple(row.line for row in file.rows), sha256=("",) * len(file.rows))
        for name, file in datasets.items()
    ]
    leaks = {split.name: split for split in with_overlaps(splits, overlaps) if split.leaks}
    leakages = leakages_of([*leaks.values()], keeps_leaks=keeps_leaks)

    def with_its_own(one: CheckedFile) -> CheckedFile:
        name = one.split or one.path
        if datasets.get(name) is not one or name not in leaks:
            return one
        rows = tuple(row._replace(split=datasets[row.split].path) for row in leaks[name].leaks or ())
        return replace(one, leaks=rows, leaked=leakages[name].point(name))

    return [*map(with_its_own, checked)]


def _datasets_in_order(checked: Sequence[CheckedFile]) -> list[CheckedFile]:
    """Put usable datasets in the order of splits; of one split they stay as they were named."""
    datasets = [file for file in checked if file.kind == DATASET and file.rows and not file.first_problem]
    return sorted(datasets, key=lambda one: _rank(one.split or one.path))


def _rank(path: str) -> int:
    """Read off a file's name which split it is, by default a second one."""
    words = re.split(r"[^a-z]+", Path(path).name.lower())
    return next((_RANKS[word] for word in words if word in _RANKS), _RANKS["val"])
