"""Datasets that tasks name: the file of each, its columns, and which of its rows take part."""

import operator
import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from difflib import get_close_matches
from pathlib import Path

from optimize_eval.base import files
from optimize_eval.base.documents import JsonMapping
from optimize_eval.base.errors import DataError, EvaluationError, FailureKind, Problem, UsageError
from optimize_eval.base.frozen import frozen
from optimize_eval.data.datasets import load_examples
from optimize_eval.data.example import Example
from optimize_eval.tasks.definition import (
    Action,
    Comparison,
    Filter,
    Membership,
    NamedColumn,
    TaskDefinition,
    Unary,
    are_alike,
    text_of,
)
from optimize_eval.tasks.scorer_parts import variables
from optimize_eval.tasks.task_files import is_task
from optimize_eval.tasks.templates.fault import RULE, TemplateFault
from optimize_eval.tasks.templates.template import NOT_THERE, native_of
from optimize_eval.tasks.trace import Trace
from optimize_eval.tasks.yaml.making import filter_of
from optimize_eval.tasks.yaml.task_fields import DATASET_FILE
from optimize_eval.tasks.yaml.yaml_file import (
    MOST,
    BadPath,
    Folder,
    Unreadable,
    check_unfinished,
    decoded,
    read_document,
)
from optimize_eval.tasks.yaml_problems import Context, Mark, NotKnown, Rule, Spot, meant

_OF_ANY_ROW = frozenset(dir(dict))  # {{ sample.items }} is no column


def absent(named: Iterable[NamedColumn], rows: Sequence[JsonMapping], whose: str) -> Iterator[NamedColumn]:
    """Give the columns that no row has, each with the reason; of no rows, none can be told."""
    there = {name: None for row in rows for name in row}
    for entry in dict.fromkeys(named) if rows else ():
        if entry.name not in there and entry.name not in _OF_ANY_ROW:
            reason = f"{whose} has a field {entry.name!r}{meant(entry.name, [*there])}"
            yield replace(entry, place=replace(entry.place, reason=reason))


Fields = JsonMapping
Examine = Callable[[Fields], bool]

_EXISTENCE = {"exists": True, "not_exists": False}
_EQUALITY = {"equals": True, "not_equals": False}
_ORDERS: Mapping[str, Callable[[float, float], bool]] = {
    "greater_than": operator.gt,
    "less_than": operator.lt,
    "greater_or_equal": operator.ge,
    "less_or_equal": operator.le,
}


class RuleFault(ValueError):
    """Why a rule cannot be applied to a row."""


class Actions:
    """The rules of a task that leave rows out of metrics."""

    def __init__(self, actions: Sequence[Action]) -> None:
        self._rules = [(action.key, examiner(action.filter)) for action in actions]

    def excluded_by(
        self, sample: Fields, trace: Trace | None, scores: Mapping[str, Fields]
    ) -> tuple[str, ...]:
        """List the rules that leave a row out; `scores` are fields by their scorers' keys.

        Raises EvaluationError, whose stage is the rule that cannot be applied.
        """
        if not self._rules:
            return ()
        fields = variables(sample, trace)
        fields["scores"] = scores
        return tuple(key for key, examine in self._rules if _examine_field(key, examine, fields))


def examiner(filter_: Filter) -> Examine:
    """Make what tells whether a filter holds for a template's variables; raises RuleFault."""
    try:
        value_of = native_of(filter_.expression)
    except TemplateFault as fault:
        raise RuleFault(f"{RULE}: {fault.reason}") from None

    def examine(fields: Fields) -> bool:
        try:
            value = value_of(fields)
        except TemplateFault as fault:
            raise RuleFault(f"{RULE}: {fault.reason}") from None
        return _holds(filter_, value)

    return examine


def _holds(filter_: Filter, value: object) -> bool:
    if filter_.op in _EXISTENCE:
        return _EXISTENCE[filter_.op] == (value is not NOT_THERE)
    if value is NOT_THERE:
        raise RuleFault(f"{filter_.expression} is not there, and {filter_.op} wants a value")
    match filter_:
        case Comparison():
            return _compares(filter_, value)
        case Membership(op=op, values=values):
            return any(are_alike(value, entry) for entry in values) == (op == "in")
        case Unary(op=op):
            if not isinstance(value, bool):
                raise RuleFault(f"{filter_.expression} is {_show(value)}, and {op} wants true or false")
            return value == (op == "is_true")


def _compares(filter_: Comparison, value: object) -> bool:
    if filter_.op in _EQUALITY:
        return _EQUALITY[filter_.op] == are_alike(value, filter_.value)
    return _ORDERS[filter_.op](_number(value, filter_), _number(filter_.value, filter_))


def _number(value: object, filter_: Comparison) -> float:
    if not isinstance(value, bool | int | float):
        what = filter_.expression if value is not filter_.value else "its value"
        raise RuleFault(f"{what} is {_show(value)}, and {filter_.op} wants a number")
    return value


def _examine_field(key: str, examine: Examine, fields: Fields) -> bool:
    try:
        return examine(fields)
    except RuleFault as fault:
        error = EvaluationError(FailureKind.REPORTED, f"action {key}: {fault}")
        error.stage = "action"
        raise error from None


def _show(value: object) -> str:
    text = text_of(value)
    quoted = f'"{text}"' if isinstance(value, str) else text
    return quoted if len(quoted) <= _LONGEST else f"{quoted[: _LONGEST - 1]}…"


_LONGEST = 60


ANY_KEY = "dataset"  # names the rows of a task that names no dataset

_DESCRIBED = (".yaml", ".yml")
_ROWS = (".jsonl", ".json", ".csv")
_FOLDERS = ("", "datasets")
_MOST_READ = 16 << 20  # bytes of a dataset that is looked at before it is run
_CAP = files.Cap("the description of a dataset", MOST, "rows belong into a file of their own")


@frozen
class Dataset:
    """A file of rows, and the filters that all hold for a row that takes part."""

    path: Path
    filters: Sequence[Filter] = ()
    described: str = ""  # the file that has the filters, where one has


def dataset_of(definition: TaskDefinition, given: Mapping[str, str]) -> Dataset:
    """Find the rows of a task: those given for its key, else what stands beside it; raises UsageError."""
    key = definition.dataset or _only_key(definition, given)
    if key in given:
        return _of_file(given[key])
    for path in _beside(definition.path, key, definition.folder):
        if path.suffix in _ROWS:
            return Dataset(path=path)
        return _read_described(str(path), Folder.of(definition.path, definition.folder), key)
    raise _not_found(definition.path, key, given, definition.folder)


def left_out(dataset: Dataset, examples: Iterable[Example]) -> dict[int, str]:
    """Find the rows that take no part, by their lines, with the filter that says so; raises DataError."""
    filters = [(f"{dataset.described}: {_words_of(entry)}", examiner(entry)) for entry in dataset.filters]
    found: dict[int, str] = {}
    problems = []
    for example in examples:
        fields = {**example.value, "sample": example.value}
        for words, holds in filters:
            try:
                if not holds(fields):
                    found[example.line] = words
                    break
            except RuleFault as fault:
                problems.append(_fault(dataset, example, words, fault))
                break
    if problems:
        raise DataError(problems)
    return found


def _words_of(one: Filter) -> str:
    match one:
        case Comparison(value=value):
            return f"{one.expression} {one.op} {text_of(value)}"
        case Membership(values=values):
            return f"{one.expression} {one.op} [{', '.join(map(text_of, values))}]"
    return f"{one.expression} {one.op}"


def _fault(dataset: Dataset, example: Example, words: str, fault: RuleFault) -> Problem:
    reason = f"filter {words}: {fault}{example.in_file}"
    return Problem(path=str(dataset.path), rule="bad_filter", line=example.line, reason=reason)


def _only_key(definition: TaskDefinition, given: Mapping[str, str]) -> str:
    """Take what is given to a task that names no dataset."""
    if ANY_KEY in given or len(given) == 1:
        return ANY_KEY if ANY_KEY in given else next(iter(given))
    raise UsageError(
        f"the task {definition.key} names no dataset, and {'none is' if not given else 'several are'} given",
        hint=f"name one: --data {ANY_KEY}=FILE",
    )


def _of_file(named: str) -> Dataset:
    """Take a file as a command line names it: rows, or the description of a dataset."""
    if Path(named).suffix.lower() in _DESCRIBED:
        return _read_described(named, Folder.of(named), None)
    return Dataset(path=Path(named))


def _beside(task: str, key: str, named: str) -> Iterator[Path]:
    """List the files that may be a dataset's, the best first."""
    if key in {"", ".", ".."} or "/" in key or "\0" in key:
        return
    root = Folder.of(task, named).root
    for suffixes in (_DESCRIBED, _ROWS):
        for folder in _folders(task, named):
            for suffix in suffixes:
                path = folder / f"{key}{suffix}"
                if path.is_file() and not is_task(path) and path.resolve().is_relative_to(root):
                    yield path


def _folders(task: str, named: str) -> list[Path]:
    """List the folders of datasets: beside the task, then in the folder that was named."""
    parents = dict.fromkeys([Path(task).parent, *([Path(named)] if named else [])])
    return [parent / folder for parent in parents for folder in _FOLDERS]


def _read_described(path: str, folder: Folder, key: str | None) -> Dataset:
    """Read KEY.yaml; raises DataError with all that is wrong with it."""
    context = Context()
    dataset = _read(path, folder, key, context)
    if context.problems or dataset is None:
        raise DataError(sorted(context.problems, key=lambda one: (one.line or 0, one.column or 0)))
    return dataset


def _read(path: str, folder: Folder, key: str | None, context: Context) -> Dataset | None:
    try:
        root = Spot(node=read_document(path, decoded(files.read(path, _CAP)), context, folder))
    except (Unreadable, BadPath) as error:
        if isinstance(error, BadPath):
            context.wrong(Rule.BAD_YAML, "", Mark(path=path, line=1), str(error))
        return None
    check_unfinished(root, context)
    values = DATASET_FILE.read(root, context)
    place, named = root.child("source"), root.child("key")
    if isinstance(values, NotKnown) or context.problems or place is None:
        return None
    if key is not None and named and values["key"] != key:
        reason = f"this is the dataset {values['key']!r}, and the file's name says {key!r}"
        context.wrong(Rule.BAD_VALUE, "key", named.mark, reason)
    rows = place.child("file_path") or place
    try:
        found = folder.find(values["source"]["file_path"], path)
    except BadPath as error:
        context.wrong(Rule.BAD_REFERENCE, rows.path, rows.mark, str(error))
        return None
    if not os.path.isfile(found):  # noqa: PTH113  as it is named
        context.wrong(Rule.BAD_REFERENCE, rows.path, rows.mark, f"there is no file {found}")
    filters = tuple(map(filter_of, values["source"]["filters"]))
    return Dataset(path=Path(found), filters=filters, described=path)


def _not_found(task: str, key: str, given: Mapping[str, str], named: str) -> UsageError:
    files_there = [path for folder in _folders(task, named) for path in folder.glob("*")]
    there = {path.stem for path in files_there if path.suffix in (*_DESCRIBED, *_ROWS) and not is_task(path)}
    close = get_close_matches(key, sorted(there), n=1)
    meant = f"did you mean {close[0]}? " if close else ""
    other = get_close_matches(key, [*given], n=1)
    instead = f", not {other[0]}=…" if other else ""
    return UsageError(
        f"there is no dataset {key!r}: no {key}.jsonl, .json, .csv, .yaml beside the task or in datasets/",
        hint=f"{meant}Name its file: --data {key}=FILE{instead}",
    )


def has_dataset(task: str, key: str, *, folder: str = "") -> bool:
    """Return True if a dataset stands beside a task."""
    return next(_beside(task, key, folder), None) is not None


def rows_beside(task: str, key: str, *, folder: str = "") -> tuple[str, Sequence[JsonMapping]]:
    """Read the dataset beside a task, and name its file; of one that is large or wrong, no rows."""
    try:
        found = next(_beside(task, key, folder), None)
        if found is None:
            return "", ()
        is_rows = found.suffix in _ROWS
        path = found if is_rows else _read_described(str(found), Folder.of(task, folder), key).path
        if path.stat().st_size > _MOST_READ:
            return str(path), ()
        return str(path), [example.value for example in load_examples([path], most=None)[0]]
    except (DataError, OSError):
        return "", ()
