"""Which files are tasks in YAML: those that are named, and those among the files of a folder."""

import os
import re
from collections.abc import Iterator, Sequence
from itertools import chain
from pathlib import Path
from typing import NamedTuple

from optimize_eval.base.errors import UsageError
from optimize_eval.session.host import Say
from optimize_eval.tasks.defined import SUFFIXES
from optimize_eval.tasks.task_files import shows_tasks

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
    yield from (FoundTask(str(one), path) for one in tasks)


def _tell_left(folder: str, left: Sequence[Path], say: Say) -> None:
    if left:
        say(f"note: {folder} has YAML without a definition, so it is not a task: {_names(left)}")


def _defined_in(folder: str) -> tuple[list[Path], list[Path]]:
    """List the tasks in YAML of a folder, and other YAML that describes no dataset."""
    there = _yaml_in(folder)
    if not there:
        return [], []
    from optimize_eval.tasks.yaml.task_data import describes_dataset, is_task  # noqa: PLC0415  it reads YAML

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
