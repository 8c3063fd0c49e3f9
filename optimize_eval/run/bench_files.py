"""Which task files a bench is of, JSONL or YAML, single or a suite, loaded before the first call."""

import os
import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from difflib import get_close_matches
from itertools import chain
from pathlib import Path
from typing import NamedTuple

from optimize_eval.base import strict_json
from optimize_eval.base.documents import JsonDict
from optimize_eval.base.errors import DataError, Problem, UsageError
from optimize_eval.base.names import distinct
from optimize_eval.data.datasets import ParsedFile
from optimize_eval.data.example import Example, Rows
from optimize_eval.data.selection import EVERYTHING, Selection
from optimize_eval.run.host import Say
from optimize_eval.run.splits import SplitSource, choose
from optimize_eval.store.run_document import RunDocument
from optimize_eval.tasks import Task, TaskFile, load_tasks
from optimize_eval.tasks.targets import DIALECT, SUFFIXES
from optimize_eval.tasks.task_files import describes_dataset, is_task, shows_tasks

_SUFFIX = ".jsonl"


def load_task_files(paths: Sequence[str], *, dialect: str | None, allow_bad: bool) -> list[TaskFile]:
    """Load files, and all of a folder's; bad lines are refused together unless they may be left out."""
    files = [load_tasks(path, format=dialect) for name in paths for path in _files(name)]
    names = distinct(file.name.encode(errors="replace").decode() for file in files)
    files = [replace(file, name=name) for file, name in zip(files, names, strict=True)]
    problems = [problem for file in files for problem in _problems(file)]
    if problems and not allow_bad:
        raise DataError(problems)
    if not any(file.tasks for file in files):
        raise UsageError("no line of the task files is a task", hint="check it: optimize-eval validate")
    return [file for file in files if file.tasks or file.errors]


def chosen(
    files: Sequence[TaskFile],
    say: Say,
    *,
    limit: int | None,
    sample: int | None,
    seed: int,
    selection: Selection = EVERYTHING,
) -> tuple[list[TaskFile], tuple[SplitSource, ...]]:
    """Take what takes part of each file, and make splits of it: a run's examples."""
    sources = []
    selected = _selected(files, selection, say)
    for file in files:
        examples = [
            Example(raw=task.raw, line=task.line, value={"id": task.id})
            for task in file.tasks
            if (file.name, task.line) in selected
        ]
        taken = choose(examples, split=file.name, limit=limit, sample=sample, seed=seed)
        sources.append(SplitSource(name=split_of(file), file=file.path, examples=taken))
    lines = [{example.line for example in source.examples} for source in sources]
    kept = [
        replace(file, tasks=tuple(task for task in file.tasks if task.line in there))
        for file, there in zip(files, lines, strict=True)
    ]
    return kept, tuple(source for source in sources if source.examples)


def split_of(file: TaskFile) -> str:
    """Name the split that the tasks of a file are in a run."""
    return file.name if file.dialect == DIALECT else f"{file.name}{_SUFFIX}"


def _selected(files: Sequence[TaskFile], selection: Selection, say: Say) -> set[tuple[str, int]]:
    """Find the places of tasks that have what a selection wants: fields of their records, and their ids."""

    def fields(task: Task) -> JsonDict:
        return {**strict_json.loads(task.raw.decode(), unique_keys=False), "id": task.id} if selection else {}

    every = {
        file.name: [Example(raw=task.raw, line=task.line, value=fields(task)) for task in file.tasks]
        for file in files
    }
    chosen = selection.of(every)
    for note in selection.notes({file.name: file.path for file in files}, every, chosen):
        say(f"note: {note}")
    return {(name, example.line) for name, examples in chosen.items() for example in examples}


def files_again(document: RunDocument) -> list[TaskFile]:
    """Load the task files of a bench from where they were, with the tasks that it had."""
    paths = document.paths.splits or {}
    files = []
    for split in document.selection.splits:
        path = paths.get(split.name)
        if path is None:
            raise UsageError(f"run.json does not say where {split.file} was", hint="run the bench again")
        file = load_tasks(path, format=document.settings.get("format"))
        tasks = tuple(task for task in file.tasks if task.line in {*split.lines})
        files.append(replace(file, name=Path(split.name).stem, tasks=tasks))
    return files


def readings_of(document: RunDocument, files: Sequence[TaskFile]) -> dict[str, ParsedFile | None]:
    """Give tasks as the examples that they were in a bench."""
    there = [file for file in files if file.tasks]
    splits = document.selection.splits
    return {split.name: _reading(file) for split, file in zip(splits, there, strict=True)}


def _reading(file: TaskFile) -> ParsedFile:
    examples = tuple(Example(raw=task.raw, line=task.line, value={}) for task in file.tasks)
    return ParsedFile(path=file.path, examples=examples, problems=())


def find_task(files: Sequence[TaskFile], wanted: str) -> tuple[TaskFile, Task]:
    """Find a task by its id, or by FILE:ID where several files have it."""
    matches = [
        (file, task)
        for file in files
        for task in file.tasks
        if wanted in {task.id, f"{file.name}:{task.id}", f"{file.path}:{task.id}"}
    ]
    if len(matches) == 1:
        return matches[0]
    if matches:
        names = ", ".join(f"{file.name}:{task.id}" for file, task in matches)
        raise UsageError(f"several files have a task {wanted!r}", hint=f"name one of {names}")
    ids = [task.id for file in files for task in file.tasks]
    raise UsageError(f"no task has the id {wanted!r}", hint=_nearest(wanted, ids))


def _nearest(wanted: str, ids: Sequence[str]) -> str:
    close = get_close_matches(wanted, ids, n=1)
    return f"did you mean {close[0]}?" if close else f"the first is {ids[0]}"


def _files(name: str) -> Sequence[str | Path]:
    if isinstance(name, Rows):
        return [name]
    path = Path(name)
    if not path.is_dir():
        return [path]
    if files := sorted(path.glob(f"*{_SUFFIX}")):
        return files
    raise UsageError(
        f"the folder {name} has no task file (*.yaml, *.yml or *{_SUFFIX})",
        hint="name a folder that has some; those within it are not looked into",
    )


def _problems(file: TaskFile) -> Iterator[Problem]:
    for error in file.errors:
        reason = f"{error.rule} {error.field}: {error.detail}"
        yield Problem(path=file.path, rule=error.rule, line=error.line_number, reason=reason)


_TASKS = "tasks"
_MOST_NAMED = 5


class FoundTask(NamedTuple):
    """The file of a task, and the folder that was named, if the file itself was not."""

    path: str
    folder: str = ""


def defined_files(paths: Sequence[str], say: Say) -> tuple[list[FoundTask], list[str]]:
    """List the tasks in YAML among files, and those of folders; then the other files and folders."""
    found = {path: list(_in(path, say)) for path in paths}
    files = {one.path: one for one in chain.from_iterable(found.values())}
    return [*files.values()], [path for path, tasks in found.items() if not tasks]


def tasks_in(folder: str, say: Say) -> list[FoundTask]:
    """List the task files of a folder, in YAML and in JSONL; raises UsageError where there are none."""
    tasks, left = _defined_in(folder)
    _tell_left(folder, left, say)
    if not (found := [*tasks, *_in_jsonl(folder)]):
        raise UsageError(
            f"the folder {folder} has no task file", hint="name a folder that has some, or files"
        )
    return [FoundTask(str(path), folder) for path in found]


def _in(path: str, say: Say) -> Iterator[FoundTask]:
    """Give a task's file as it is, and the tasks of a folder; what else is there is told, or a dataset's."""
    if path.endswith(SUFFIXES):
        yield FoundTask(path)
        return
    tasks, left = _defined_in(path)
    _tell_left(path, left, say)
    if tasks and (apart := list(_in_jsonl(path))):
        say(
            f"note: {path} has tasks in JSONL, too, which are left out unless they are named: {_names(apart)}"
        )
    yield from (FoundTask(str(task), path) for task in tasks)


def _tell_left(folder: str, left: Sequence[Path], say: Say) -> None:
    if left:
        say(f"note: {folder} has YAML without a definition, so it is not a task: {_names(left)}")


def _defined_in(folder: str) -> tuple[list[Path], list[Path]]:
    """List the tasks in YAML of a folder, and other YAML that describes no dataset."""
    there = _yaml_in(folder)
    if not there:
        return [], []
    tasks = [one for one in there if is_task(one)]
    return tasks, [one for one in there if one not in tasks and not describes_dataset(one)]


def _yaml_in(folder: str) -> list[Path]:
    """List the YAML of a folder, and of the folder `tasks` in it."""
    folders = [one for one in (Path(folder), Path(folder, _TASKS)) if one.is_dir()]
    there = (path for one in folders for path in sorted(one.iterdir()))
    return [path for path in there if path.suffix in SUFFIXES and path.is_file()]


def _in_jsonl(folder: str) -> Iterator[Path]:
    """Give the task files in JSONL of a folder; rows that its YAML names may only look so."""
    named = b"\n".join(one.read_bytes() for one in _yaml_in(folder))
    for path in sorted(one for one in Path(folder).glob("*.jsonl") if one.is_file()):
        stem = re.escape(os.fsencode(path.stem))
        if not re.search(rb"(?<![\w-])%b(?![\w-])" % stem, named) and shows_tasks(path):
            yield path


def _names(paths: Sequence[Path]) -> str:
    some = [path.name for path in paths[:_MOST_NAMED]]
    return ", ".join([*some, *(["…"] if len(paths) > _MOST_NAMED else [])])
