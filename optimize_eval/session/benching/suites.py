"""Several tasks in YAML as one suite: those that have a tag, each with the parameters that it declares."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from difflib import get_close_matches
from pathlib import Path

from optimize_eval.base.errors import DataError, Problem, UsageError
from optimize_eval.config.sweep_files import evaluator_keys
from optimize_eval.session.benching.defined_files import FoundTask
from optimize_eval.session.replying.defining import read_task
from optimize_eval.tasks.defined import Given
from optimize_eval.tasks.definition import TaskDefinition
from optimize_eval.tasks.yaml.loading import Checked, check_task

_MOST_NAMED = 10


def read_suite(files: Sequence[FoundTask], given: Given, tags: Sequence[str]) -> list[TaskDefinition]:
    """Read tasks, or those that have one of the tags; raises DataError with all faults."""
    if not tags and (len(files) == 1 or not given.config):
        return _read([(one.path, replace(given, folder=one.folder)) for one in files])
    checked = {one: _checked(one) for one in files}
    if wrong := [problem for one in checked.values() for problem in one.problems]:
        raise DataError(wrong)
    _check_tags(tags, checked.values())
    chosen = {file: one for file, one in checked.items() if not tags or set(tags) & set(one.tags)}
    return _read(_given_each(chosen, given))


def _checked(file: FoundTask) -> Checked:
    keys = evaluator_keys(str(Path(file.path).parent))
    return check_task(file.path, evaluator_keys=keys, folder=file.folder)


def _read(wanted: Iterable[tuple[str, Given]]) -> list[TaskDefinition]:
    problems: list[Problem] = []
    tasks: list[TaskDefinition] = []
    for path, given in wanted:
        try:
            tasks.append(read_task(Path(path), given))
        except DataError as error:
            problems += error.problems
    if problems:
        raise DataError(problems)
    return tasks


def _check_tags(tags: Sequence[str], tasks: Iterable[Checked]) -> None:
    known = list(dict.fromkeys(tag for task in tasks for tag in task.tags))
    there = f"there are {', '.join(known[:_MOST_NAMED])}" if known else "omit --tag: no task has any"
    for tag in tags:
        if tag not in known:
            close = get_close_matches(tag, known, n=1)
            raise UsageError(
                f"no task has the tag {tag!r}", hint=f"did you mean {close[0]}?" if close else there
            )


def _given_each(tasks: Mapping[FoundTask, Checked], given: Given) -> list[tuple[str, Given]]:
    """Give each task the parameters that it declares, and to all what none does: each then says so."""
    every = {key for task in tasks.values() for key in task.parameters}
    return [
        (
            file.path,
            replace(
                given,
                folder=file.folder,
                config={
                    key: value
                    for key, value in given.config.items()
                    if key in task.parameters or key not in every
                },
            ),
        )
        for file, task in tasks.items()
    ]
