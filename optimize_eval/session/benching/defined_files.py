"""Which files are tasks in YAML: those that are named, and those among the files of a folder."""

from collections.abc import Iterator, Sequence
from itertools import chain
from pathlib import Path

from optimize_eval.errors import UsageError
from optimize_eval.session.host import Say
from optimize_eval.tasks.definitions.target import SUFFIXES

_MOST_NAMED = 5


def defined_files(paths: Sequence[str], say: Say) -> list[str]:
    """List the tasks in YAML among files, and those of folders; raises UsageError where forms are mixed."""
    found = {path: list(_in(path, say)) for path in paths}
    others = [path for path, files in found.items() if not files]
    files = [*dict.fromkeys(chain.from_iterable(found.values()))]
    if files and others:
        raise UsageError(
            f"{files[0]} is a task in YAML, and {others[0]} is none",
            hint="bench tasks in YAML and in JSONL apart",
        )
    return files


def _in(path: str, say: Say) -> Iterator[str]:
    """Give a task's file as it is, and the tasks of a folder, whose other YAML is told or a dataset's."""
    if path.endswith(SUFFIXES):
        yield path
        return
    there = sorted(one for one in Path(path).iterdir() if _is_yaml(one)) if Path(path).is_dir() else []
    if not there:
        return
    from optimize_eval.tasks.definitions.datasets import describes_dataset, is_task  # noqa: PLC0415  it reads YAML

    tasks = [one for one in there if is_task(one)]
    left = [one.name for one in there if one not in tasks and not describes_dataset(one)]
    if left and tasks:
        names = ", ".join([*left[:_MOST_NAMED], *(["…"] if len(left) > _MOST_NAMED else [])])
        say(f"note: {path} has YAML without a definition, which is no task: {names}")
    yield from map(str, tasks)


def _is_yaml(path: Path) -> bool:
    return path.suffix in SUFFIXES and path.is_file()
