"""A task file → a task: read, parameters put in, checked; all problems at once. Nothing is run or called."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

from optimize_eval.base import files
from optimize_eval.base.checks import Keys
from optimize_eval.base.errors import DataError, Problem
from optimize_eval.base.frozen import frozen
from optimize_eval.base.strict_yaml import spaceless
from optimize_eval.tasks.definitions.columns import absent
from optimize_eval.tasks.definitions.datasets import is_there, rows_beside
from optimize_eval.tasks.definitions.fields.context import Context, NotKnown, Rule
from optimize_eval.tasks.definitions.fields.nodes import Entry, Kind, Mark, Node, Spot
from optimize_eval.tasks.definitions.fields.task import MODEL, TASK
from optimize_eval.tasks.definitions.fields.task import is_there as is_in
from optimize_eval.tasks.definitions.read.document import Unreadable, read_document
from optimize_eval.tasks.definitions.read.making import task_of
from optimize_eval.tasks.definitions.read.notes import (
    note_what_is_missing,
    note_what_is_old,
    note_what_is_sent,
)
from optimize_eval.tasks.definitions.read.parameters import read_parameters, values_of
from optimize_eval.tasks.definitions.read.paths import MOST, BadPath, Folder, decoded
from optimize_eval.tasks.definitions.read.substitution import placeholder, substituted
from optimize_eval.tasks.definitions.read.unfinished import check_unfinished
from optimize_eval.tasks.definitions.task import TaskDefinition

_CAP = files.Cap("a task file", 16 << 20, "check the path")
_TOO_LARGE = "this is larger than 1 MiB, the most for a task: what is long belongs in a dataset"


@frozen
class Checked:
    """A task file as it was found."""

    problems: Sequence[Problem]
    notes: Sequence[Problem]
    key: str = ""  # of the task, where nothing is wrong
    tags: Sequence[str] = ()
    parameters: Sequence[str] = ()  # their keys


def check_task(path: str, *, evaluator_keys: Keys | None = None, folder: str = "") -> Checked:
    """Check a task file without values for its parameters: what is to come is no problem.

    `folder` is the one that was named, if the file itself was not.
    """
    context = Context(evaluator_keys=evaluator_keys)
    values, config = _read(path, None, context, folder)
    key, tags = values.get("key"), values.get("tags")
    wrong = {one.field for one in context.problems}
    return Checked(
        problems=_in_order(path, context.problems),
        notes=[one for one in _in_order(path, context.notes) if one.field not in wrong],
        key=key if isinstance(key, str) and not context.problems else "",
        tags=tuple(tags) if isinstance(tags, Sequence) and not context.problems else (),
        parameters=tuple(config),
    )


def load_task(
    path: str,
    config: Mapping[str, Any] | None = None,
    *,
    evaluator_keys: Keys | None = None,
    folder: str = "",
) -> TaskDefinition:
    """Load a task with these values for its parameters; raises DataError with all that is wrong.

    Values of a command line are `Written`, so that they are read as the parameters' kinds want them.
    """
    context = Context(evaluator_keys=evaluator_keys)
    values, config = _read(path, config or {}, context, folder)
    if context.problems:
        raise DataError(_in_order(path, context.problems))
    return replace(task_of(values, path, config), folder=folder, columns=tuple(context.columns))


def _read(
    path: str, given: Mapping[str, Any] | None, context: Context, folder: str
) -> tuple[Mapping[str, Any], Mapping[str, Any]]:
    try:
        root = Spot(node=read_document(path, _text(path, context), context, Folder.of(path, folder)))
    except Unreadable:
        return {}, {}
    if root.node.kind is not Kind.MAPPING:
        if root.node.kind is not Kind.UNKNOWN:
            wanted = "a task: a mapping with key, display_name, description, definition"
            meant = spaceless(root.node.raw.split()[0]) if root.node.raw.split() else ""
            reason = f"must be {wanted}, this is {root.node.kind}{f' ({meant})' * bool(meant)}"
            context.wrong(Rule.BAD_TYPE, "", root.mark, reason)
        return {}, {}
    check_unfinished(root, context)
    parameters = read_parameters(root, context)
    config = values_of(parameters, given, path, context)
    ready = Spot(node=_filled(root, config, context))
    return _checked(ready, config, context, folder), config


def _text(path: str, context: Context) -> str:
    """Read a file; one that is too large is no YAML of ours."""
    mark = Mark(path=path, line=1, column=1)
    try:
        data = files.read(path, _CAP)
        if len(data) <= MOST:
            return decoded(data)
        context.wrong(Rule.BAD_YAML, "", mark, _TOO_LARGE)
    except BadPath as error:
        context.wrong(Rule.BAD_YAML, "", mark, str(error))
    except DataError as error:
        context.problems += error.problems
    raise Unreadable


def _filled(root: Spot, config: Mapping[str, Any], context: Context) -> Node:
    """Put values into everything but the parameters themselves."""
    entries = {
        name: entry
        if name == "config_spec"
        else Entry(entry.mark, substituted(Spot(node=entry.node, path=name), config, context))
        for name, entry in root.entries.items()
    }
    return Node(Kind.MAPPING, entries, root.mark, is_short=root.node.is_short)


def _checked(root: Spot, config: Mapping[str, Any], context: Context, folder: str) -> Mapping[str, Any]:
    definition = root.child("definition")
    said = [_said(definition), _said(root)]
    context.has_output = is_in(definition, "solver") or MODEL in said
    context.placeholders = {placeholder(name) for name, one in config.items() if isinstance(one, NotKnown)}
    values = TASK.read(root, context)
    note_what_is_old(root, context)
    note_what_is_sent(root, context)
    note_what_is_missing(root, context, partial(is_there, root.mark.path, folder=folder))
    _note_columns(root.mark.path, definition, context, folder)
    return {} if isinstance(values, NotKnown) else values


def _note_columns(path: str, definition: Spot | None, context: Context, folder: str) -> None:
    """Tell of columns that the dataset beside the task does not have."""
    dataset = definition.child("dataset") if definition else None
    key = dataset.child("key") if dataset else None
    if key is None or key.node.kind is not Kind.TEXT or key.node.is_partial or not context.columns:
        return
    dataset_file, rows = rows_beside(path, key.node.value, folder=folder)
    context.notes += [one.place for one in absent(context.columns, rows, f"no row of {dataset_file}")]


def _said(spot: Spot | None) -> Any:
    child = spot.child("evaluated_entity_type") if spot else None
    return child.node.value if child else None


def _in_order(path: str, problems: Sequence[Problem]) -> list[Problem]:
    """Sort by place, the task's own file first; what is told twice of one place counts once."""
    told = {(one.path, one.line, one.column, one.field, one.reason): one for one in problems}
    return sorted(told.values(), key=lambda one: (one.path != path, one.path, one.line or 0, one.column or 0))
