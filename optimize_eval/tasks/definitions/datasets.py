"""Datasets that tasks name by keys: the file of each, and which of its rows take part."""

import os
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from difflib import get_close_matches
from pathlib import Path
from typing import Any

from optimize_eval.base import files
from optimize_eval.base.errors import DataError, Problem, UsageError
from optimize_eval.base.frozen import frozen
from optimize_eval.data.datasets import load_examples
from optimize_eval.data.example import Example
from optimize_eval.tasks.definitions.examining import RuleFault, examiner
from optimize_eval.tasks.definitions.fields.context import Context, NotKnown, Rule
from optimize_eval.tasks.definitions.fields.datasets import DATASET
from optimize_eval.tasks.definitions.fields.nodes import Mark, Spot
from optimize_eval.tasks.definitions.filters import Comparison, Filter, Membership
from optimize_eval.tasks.definitions.read.document import Unreadable, read_document
from optimize_eval.tasks.definitions.read.making import filter_of
from optimize_eval.tasks.definitions.read.paths import MOST, BadPath, Folder, decoded
from optimize_eval.tasks.definitions.read.unfinished import check_unfinished
from optimize_eval.tasks.definitions.task import TaskDefinition
from optimize_eval.tasks.definitions.values import text_of

ANY_KEY = "dataset"  # names the rows of a task that names no dataset

_DESCRIBED = (".yaml", ".yml")
_ROWS = (".jsonl", ".json", ".csv")
_FOLDERS = ("", "datasets")
_IN_BRACES = re.compile(rb"(\xef\xbb\xbf)?(\s|#.*\n|---)*\{")  # as JSON is
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
        return _described(str(path), Folder.of(definition.path, definition.folder), key)
    raise _not_found(definition.path, key, given, definition.folder)


def left_out(dataset: Dataset, examples: Iterable[Example]) -> dict[int, str]:
    """Find the rows that take no part, by their lines, with the filter that says so; raises DataError."""
    filters = [(f"{dataset.described}: {_words_of(one)}", examiner(one)) for one in dataset.filters]
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
        return _described(named, Folder.of(named), None)
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


def is_task(path: Path) -> bool:
    """Return True if a file of YAML has a definition; datasets' descriptions and parts of tasks have none."""
    if path.suffix not in _DESCRIBED:
        return False
    return _has_key("definition", path)


def describes_dataset(path: Path) -> bool:
    """Return True if a file of YAML says where rows are."""
    return _has_key("source", path)


def _has_key(name: str, path: Path) -> bool:
    """Return True if a file seems to have a key; it may be wrong otherwise, and still is what it is."""
    data = files.read(path, _CAP)
    before = r"[{,\s]" if _IN_BRACES.match(data) else r"^(\xef\xbb\xbf)?"
    pattern = f"{before}(?P<quote>['\"]?){name}(?P=quote)\\s*:"
    return re.search(pattern.encode(), data, re.MULTILINE) is not None


def _described(path: str, folder: Folder, key: str | None) -> Dataset:
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
    values = DATASET.read(root, context)
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


def is_there(task: str, key: str, *, folder: str = "") -> bool:
    """Return True if a dataset stands beside a task."""
    return next(_beside(task, key, folder), None) is not None


def rows_beside(task: str, key: str, *, folder: str = "") -> tuple[str, Sequence[Mapping[str, Any]]]:
    """Read the dataset beside a task, and name its file; of one that is large or wrong, no rows."""
    try:
        found = next(_beside(task, key, folder), None)
        if found is None:
            return "", ()
        is_rows = found.suffix in _ROWS
        path = found if is_rows else _described(str(found), Folder.of(task, folder), key).path
        if path.stat().st_size > _MOST_READ:
            return str(path), ()
        return str(path), [example.value for example in load_examples([path], most=None)[0]]
    except (DataError, OSError):
        return "", ()
