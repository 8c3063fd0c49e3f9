"""A task file → a task: read, parameters put in, checked; all problems at once. Nothing is called."""

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

from optimize_eval.base import files
from optimize_eval.base.checks import Keys
from optimize_eval.base.documents import JsonMapping
from optimize_eval.base.errors import DataError, Problem
from optimize_eval.base.frozen import frozen
from optimize_eval.base.strict_yaml import spaceless
from optimize_eval.tasks.definition import TaskDefinition
from optimize_eval.tasks.yaml.making import task_of
from optimize_eval.tasks.yaml.parameters import read_parameters, values_of
from optimize_eval.tasks.yaml.task_data import absent, has_dataset, rows_beside
from optimize_eval.tasks.yaml.task_fields import MODEL, OLD_NAME, TASK, is_there
from optimize_eval.tasks.yaml.yaml_file import (
    MOST,
    BadPath,
    Folder,
    Unreadable,
    check_unfinished,
    decoded,
    placeholder,
    read_document,
    substituted,
)
from optimize_eval.tasks.yaml_problems import Context, Entry, Kind, Mark, Node, NotKnown, Rule, Spot, texts_of

_VARIABLE = re.compile(r"(?<![\w$])\$(?:\{[A-Z_][A-Z0-9_]*\}|[A-Z_][A-Z0-9_]+)")


def note_what_is_old(root: Spot, context: Context) -> None:
    definition = root.child("definition")
    _note(root, "evaluated_entity_type", "is deprecated: it belongs in definition", context)
    if definition is None:
        return
    kind = definition.child("type")
    if kind and kind.node.value == OLD_NAME:
        context.note(kind.path, kind.mark, f"{OLD_NAME} is now called benchmark_task")
    dataset = definition.child("dataset")
    if dataset:
        _note(dataset, "fast_subset_size", "is deprecated, and has no effect: --limit takes fewer", context)


def _note(spot: Spot, name: str, reason: str, context: Context) -> None:
    child = spot.child(name)
    if child and is_there(spot, name):
        context.note(child.path, child.key or child.mark, f"{name} {reason}")


def note_what_is_sent(root: Spot, context: Context) -> None:
    """Tell of $NAME in texts that are no code."""
    for spot in texts_of(root):
        found = _VARIABLE.search(spot.node.value)
        if found and not spot.path.endswith("_snippet"):
            reason = f"{found[0]} is sent as it is: variables of the environment are not put in"
            context.note(spot.path, spot.mark, reason)


def note_what_is_missing(root: Spot, context: Context, has_dataset: Callable[[str], bool]) -> None:
    """Tell which datasets and models have to be named when the task is run."""
    definition = root.child("definition")
    if definition is None:
        return
    if is_there(definition, "dataset") and not definition.child("scorers"):
        context.note(definition.path, definition.mark, "the task has no scorers: it cannot be run")
    dataset = definition.child("dataset")
    key = dataset.child("key") if dataset else None
    if key and _is_text(key) and not has_dataset(key.node.value):
        reason = f"no such dataset stands beside the task: run it with --data {key.node.value}=FILE"
        context.note(key.path, key.mark, reason)
    told = set[str]()
    for model in _models(definition):
        reason = _of_model(model.node.value)
        if reason and model.node.value not in told:
            context.note(model.path, model.mark, reason)
        told.add(model.node.value)


def _of_model(key: str) -> str:
    if "/" in key or ":" in key:
        return ""
    provider, dollar, name = key.partition("$")
    if dollar:
        return f"this is called as {provider}/{name}: where its name has dots, add --model-key '{key}=…'"
    return f"this is not PROVIDER/MODEL: run it with --model-key {key}=PROVIDER/MODEL"


def _models(spot: Spot) -> Iterator[Spot]:
    for child in (*spot.children(), *spot.items()):
        if child.path.endswith(("model_key", "judge_model_key")) and _is_text(child):
            yield child
        yield from _models(child)


def _is_text(spot: Spot) -> bool:
    return spot.node.kind is Kind.TEXT and not spot.node.is_partial


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


def check_task(path: str, *, evaluator_keys: Callable[[], Keys] | None = None, folder: str = "") -> Checked:
    """Check a task file without values for its parameters: what is to come is no problem.

    `folder` is the one that was named, if the file itself was not.
    """
    context = Context(evaluator_keys=evaluator_keys)
    values, config = _read(path, None, context, folder)
    key, tags = values.get("key"), values.get("tags")
    wrong = {problem.field for problem in context.problems}
    return Checked(
        problems=_in_order(path, context.problems),
        notes=[entry for entry in _in_order(path, context.notes) if entry.field not in wrong],
        key=key if isinstance(key, str) and not context.problems else "",
        tags=tuple(tags) if isinstance(tags, Sequence) and not context.problems else (),
        parameters=tuple(config),
    )


def load_task(
    path: str,
    config: JsonMapping | None = None,
    *,
    evaluator_keys: Callable[[], Keys] | None = None,
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
    path: str, given: JsonMapping | None, context: Context, folder: str
) -> tuple[JsonMapping, JsonMapping]:
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
    ready = Spot(node=_fill(root, config, context))
    return _check_parameters(ready, config, context, folder), config


def _text(path: str, context: Context) -> str:
    """Read a file; one that is too large is not YAML of ours."""
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


def _fill(root: Spot, config: JsonMapping, context: Context) -> Node:
    """Put values into everything but the parameters themselves."""
    entries = {
        name: entry
        if name == "config_spec"
        else Entry(entry.mark, substituted(Spot(node=entry.node, path=name), config, context))
        for name, entry in root.entries.items()
    }
    return Node(Kind.MAPPING, entries, root.mark, is_short=root.node.is_short)


def _check_parameters(root: Spot, config: JsonMapping, context: Context, folder: str) -> JsonMapping:
    definition = root.child("definition")
    said = [_value_at(definition), _value_at(root)]
    context.has_output = is_there(definition, "solver") or MODEL in said
    context.placeholders = {
        placeholder(name) for name, entry in config.items() if isinstance(entry, NotKnown)
    }
    values = TASK.read(root, context)
    note_what_is_old(root, context)
    note_what_is_sent(root, context)
    note_what_is_missing(root, context, partial(has_dataset, root.mark.path, folder=folder))
    _note_columns(root.mark.path, definition, context, folder)
    return {} if isinstance(values, NotKnown) else values


def _note_columns(path: str, definition: Spot | None, context: Context, folder: str) -> None:
    """Tell of columns that the dataset beside the task does not have."""
    dataset = definition.child("dataset") if definition else None
    key = dataset.child("key") if dataset else None
    if key is None or key.node.kind is not Kind.TEXT or key.node.is_partial or not context.columns:
        return
    dataset_file, rows = rows_beside(path, key.node.value, folder=folder)
    context.notes += [entry.place for entry in absent(context.columns, rows, f"no row of {dataset_file}")]


def _value_at(spot: Spot | None) -> Any:
    child = spot.child("evaluated_entity_type") if spot else None
    return child.node.value if child else None


def _in_order(path: str, problems: Sequence[Problem]) -> list[Problem]:
    """Sort by place, the task's own file first; what is told twice of one place counts once."""
    told = {
        (problem.path, problem.line, problem.column, problem.field, problem.reason): problem
        for problem in problems
    }
    return sorted(told.values(), key=lambda one: (one.path != path, one.path, one.line or 0, one.column or 0))
