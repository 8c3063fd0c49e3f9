"""Several tasks in YAML as one suite: those that have a tag, each with the parameters that it declares."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from difflib import get_close_matches
from pathlib import Path

from optimize_eval.errors import DataError, Problem, UsageError
from optimize_eval.session.replying.defining import read_task
from optimize_eval.sweepfile.evaluator_keys import evaluator_keys
from optimize_eval.tasks.definitions.loading import Checked, check_task
from optimize_eval.tasks.definitions.target import Given
from optimize_eval.tasks.definitions.task import TaskDefinition

_MOST_NAMED = 10


def read_suite(paths: Sequence[str], given: Given, tags: Sequence[str]) -> list[TaskDefinition]:
    """Read tasks, or those that have one of the tags; raises DataError with all faults."""
    if not tags and (len(paths) == 1 or not given.config):
        return _read([(path, given) for path in paths])
    checked = {path: _checked(path) for path in paths}
    if wrong := [problem for one in checked.values() for problem in one.problems]:
        raise DataError(wrong)
    _check_tags(tags, checked.values())
    chosen = {path: one for path, one in checked.items() if not tags or set(tags) & set(one.tags)}
    return _read(_given_each(chosen, given))


def _checked(path: str) -> Checked:
    return check_task(path, evaluator_keys=evaluator_keys(str(Path(path).parent)))


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


def _given_each(tasks: Mapping[str, Checked], given: Given) -> list[tuple[str, Given]]:
    """Give each task the parameters that it declares, and to all what none does: each then says so."""
    every = {key for task in tasks.values() for key in task.parameters}
    return [
        (
            path,
            replace(
                given,
                config={
                    key: value
                    for key, value in given.config.items()
                    if key in task.parameters or key not in every
                },
            ),
        )
        for path, task in tasks.items()
    ]
