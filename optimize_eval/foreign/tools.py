"""Whose results a file holds, by what stands in its first bytes, and who reads them."""

import os
import re
import shlex
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from optimize_eval.base.errors import DataError, UsageError
from optimize_eval.data import foreign_files
from optimize_eval.foreign import (
    deepeval,
    inspect_logs,
    lm_eval_samples,
    openai_evals,
    promptfoo,
    score_tables,
)
from optimize_eval.foreign.reading import ForeignFile
from optimize_eval.foreign.rows import refusal
from optimize_eval.foreign.sheet import OriginFile, Sheet

_WHAT = {
    promptfoo.TOOL: "results of promptfoo",
    inspect_logs.TOOL: "a log of Inspect",
    lm_eval_samples.TOOL: "results of lm-eval",
    openai_evals.TOOL: "results of OpenAI Evals",
    deepeval.TOOL: "results of DeepEval",
}
_EXPORT = "promptfoo export eval EVAL_ID -o results.json writes what can be read"


_SUFFIXES = frozenset({".csv", ".eval", ".json", ".jsonl"})  # of what is looked at in folders
_MOST_FILES = 10_000  # of a folder
_SHOWN = 12


def _all(files: Sequence[ForeignFile], _sheet: Sheet) -> Sequence[ForeignFile]:
    return files


def _nothing(_sheet: Sheet) -> None:
    pass


def _no_task(_file: ForeignFile) -> str:
    return ""


class Reader(NamedTuple):
    """A form of results: how it begins, and who reads it; `refused` says why nobody does."""

    tool: str
    marks: tuple[re.Pattern[str], ...]  # patterns that all stand in the first bytes
    read: Callable[[ForeignFile, Sheet], None] | None
    refused: str = ""
    end: Callable[[Sheet], None] = _nothing  # says what was noticed in all files
    task_of: Callable[[ForeignFile], str] = _no_task
    choose: Callable[[Sequence[ForeignFile], Sheet], Sequence[ForeignFile]] = _all  # of those of one task

    @property
    def are_many(self) -> bool:
        """Return True if a folder of such files is one evaluation, or several that belong together."""
        return self.task_of is not _no_task

    @property
    def what(self) -> str:
        """Say what such a file holds; nothing of tables, which are datasets, too."""
        return _WHAT.get(self.tool, "")


READERS = (
    Reader(
        promptfoo.TOOL,
        (
            re.compile(r'\A\s*\{\s*"evalId":'),
            re.compile(r'"results":'),
        ),
        promptfoo.read_json,
        end=promptfoo.end,
    ),
    Reader(
        promptfoo.TOOL,
        (
            re.compile(r'\A\s*\{[^\n]*"promptIdx":'),
            re.compile(r'\A[^\n]*"testIdx":'),
        ),
        promptfoo.read_lines,
        end=promptfoo.end,
    ),
    Reader(promptfoo.TOOL, (re.compile(r"\A(---\s*)?evalId:"),), None, f"its YAML has references: {_EXPORT}"),
    Reader(
        promptfoo.TOOL,
        (
            re.compile(r"(?i)\A\s*<(!doctype html|html)"),
            re.compile(r"promptfoo"),
        ),
        None,
        f"its HTML is a page for people: {_EXPORT}",
    ),
    Reader(
        promptfoo.TOOL,
        (
            re.compile(r"(?i)\A\s*<(\?xml|testsuites)"),
            re.compile(r"promptfoo"),
        ),
        None,
        f"its XML does not hold all of the results: {_EXPORT}",
    ),
    Reader(
        lm_eval_samples.TOOL,
        (re.compile(r'\A\s*\{[^\n]*"doc_id":'), re.compile(r'"(filtered_)?resps":')),
        lm_eval_samples.read,
        task_of=lm_eval_samples.task_of,
    ),
    Reader(
        lm_eval_samples.TOOL,
        (re.compile(r'\A\s*\{\s*"results":'), re.compile(r'"(group_subtasks|configs|versions)":')),
        None,
        f"it {lm_eval_samples.NO_SAMPLES}",
    ),
    Reader(
        inspect_logs.TOOL,
        (re.compile(r"\APK\x03\x04"), re.compile(r"header\.json|_journal/")),
        inspect_logs.read,
        end=inspect_logs.end,
        task_of=inspect_logs.task_of,
        choose=inspect_logs.choose_logs,
    ),
    Reader(
        inspect_logs.TOOL,
        (re.compile(r'\A\s*\{\s*"version":'), re.compile(r'"status":'), re.compile(r'"eval":')),
        inspect_logs.read,
        end=inspect_logs.end,
        task_of=inspect_logs.task_of,
        choose=inspect_logs.choose_logs,
    ),
    Reader(
        openai_evals.TOOL,
        (re.compile(r'\A[^\n]*"spec":\s*\{'), re.compile(r'"(completion_fns|eval_name)":')),
        openai_evals.read,
        end=openai_evals.end,
        task_of=openai_evals.task_of,
    ),
    Reader(
        deepeval.TOOL,
        (re.compile(r'\A\s*\{\s*"testCases":'), re.compile(r'"metrics(Data|Scores)":')),
        deepeval.read,
        end=deepeval.end,
    ),
    Reader(
        promptfoo.TOOL,
        (re.compile(r"\A[^\n\[]*\["), re.compile(",Status,Score,")),
        promptfoo.read_csv,
        end=promptfoo.end,
    ),
    Reader(
        score_tables.TOOL, (re.compile(r"\A(\ufeff)?\s*\{"),), score_tables.read_lines, end=score_tables.end
    ),
    Reader(
        score_tables.TOOL,
        (re.compile(r"\A[^\n<{\[\x00-\x08,;\t]*[,;\t]"),),
        score_tables.read_delimited,
        end=score_tables.end,
    ),
)
_BLANKS_AFTER_KEYS = re.compile(r'"\s+:')


def reader_of(file: ForeignFile) -> Reader | None:
    """Find who reads a file; None where nobody knows it."""
    head = _BLANKS_AFTER_KEYS.sub('":', file.head.decode("utf-8", "replace"))
    head += file.tail.decode("latin-1") if head.startswith("PK") else ""  # where a zip lists its members
    return next((each for each in READERS if all(mark.search(head) for mark in each.marks)), None)


def whose(path: str) -> str:
    """Say which tool's results a file or a folder holds; empty where that is not sure."""
    try:
        files = _files_of(path) if Path(path).exists() else ()
        readers = [reader_of(ForeignFile(name)) for name in files if Path(name).is_file()]
    except DataError:
        return ""
    return readers[0].what if readers and readers[0] else ""


class Named(NamedTuple):
    """The files that were named, of one tool, with who reads each; those of a folder have its number."""

    files: Sequence[ForeignFile]
    readers: Sequence[Reader]
    numbers: Mapping[str, int]  # by their paths

    @property
    def tasks(self) -> list[str]:
        """Name the tasks that they are of."""
        return [*dict.fromkeys(map(_task_of, self.readers, self.files))]


def open_files(paths: Sequence[str]) -> Named:
    """Find who reads each file that was named; they are of one tool."""
    numbers = {path: number for number, name in enumerate(paths) for path in _files_of(name)}
    files = [ForeignFile(path) for path in numbers]
    if len({Path(path).resolve() for path in numbers}) < len(numbers) or len({*paths}) < len(paths):
        raise UsageError("a file is named twice", hint="name each once")
    readers = [*map(_reader, files)]
    if len(tools := [*dict.fromkeys(reader.tool for reader in readers)]) > 1:
        raise UsageError(
            f"the files are of several tools: {', '.join(tools)}",
            hint="report each tool's files by themselves",
        )
    return Named(files, readers, numbers)


def read_files(named: Named, sheet: Sheet, wanted: str | None = None) -> None:
    """Read all that was named of one task into one sheet."""
    task = _choose_task(named.tasks, wanted)
    readers = {
        file.path: reader
        for file, reader in zip(named.files, named.readers, strict=True)
        if _task_of(reader, file) == task
    }
    any_of_tool = named.readers[0]
    sheet.tool = any_of_tool.tool
    for file in any_of_tool.choose([file for file in named.files if file.path in readers], sheet):
        sheet.begin_file(file.stem, named.numbers[file.path])
        _read(readers[file.path], file, sheet)
    any_of_tool.end(sheet)
    if not sheet.rows:
        where = ", ".join(file.path for file in named.files[:_SHOWN])
        raise UsageError(f"there is no result in {where}", hint="run the tool's evaluation first")


def _task_of(reader: Reader, file: ForeignFile) -> str:
    return reader.task_of(file) if reader.read else ""


def _choose_task(tasks: Sequence[str], wanted: str | None) -> str:
    """Choose the one that files are about; of several, somebody has to name one."""
    listed = ", ".join(tasks[:_SHOWN])
    if wanted is None and len(tasks) > 1:
        raise UsageError(f"the files are of {len(tasks)} tasks: {listed}", hint="name one with --task")
    if wanted not in {None, *tasks}:
        raise UsageError(f"there is no task {wanted!r}", hint=f"--task takes one of {listed}")
    return tasks[0] if wanted is None else wanted


def _read(reader: Reader, file: ForeignFile, sheet: Sheet) -> None:
    if reader.read is None:
        raise refusal(file.path, f"it is {reader.tool}'s, and {reader.refused}")
    reader.read(file, sheet)
    sheet.end_file(OriginFile(name=file.name, sha256=file.sha256, bytes=file.size))


def _reader(file: ForeignFile) -> Reader:
    reader = reader_of(file)
    if reader is None:
        if about := foreign_files.whose(file.path):
            raise DataError([about])
        raise UsageError(
            f"there is no run in {file.path!r}, and nobody knows whose results it holds",
            hint=_what_to_do(file),
        )
    return reader


def _what_to_do(file: ForeignFile) -> str:
    """Say how to make a file one that can be read, by how it begins."""
    head = file.head.lstrip()
    if not head:
        return "it is empty: write it again"
    if head.startswith(b"\x1f\x8b"):
        return f"it is compressed: gunzip -k {shlex.quote(file.path)}"
    if head.startswith(b"["):
        path = Path(file.path)
        lines = shlex.quote(str(path.with_name(f"{path.stem}.jsonl")))
        return f"of a list of rows, write one a line: jq -c '.[]' {shlex.quote(file.path)} > {lines}"
    return (
        "known are results of promptfoo, logs of Inspect, samples of lm-eval, records of OpenAI Evals, test "
        "runs of DeepEval, and tables of scores"
    )


def _files_of(path: str) -> list[str]:
    """Give a file or, of a folder, the files in it whose results can be read."""
    if not Path(path).is_dir():
        return lm_eval_samples.samples_beside(path) or [path]
    readers = {name: reader for name in _files_in(path) if (reader := reader_of(ForeignFile(name)))}
    known = {name: reader for name, reader in readers.items() if reader.what}
    if not known:
        raise refusal(
            path, "no file in it holds results of promptfoo, Inspect, lm-eval, OpenAI Evals or DeepEval"
        )
    files = [name for name, reader in known.items() if reader.read] or [*known]
    if len(files) > 1 and not known[files[0]].are_many:
        several = ", ".join(Path(name).name for name in files[:_SHOWN])
        raise refusal(
            path,
            f"{len(files)} files in it hold {known[files[0]].what} ({several}): name those that are meant",
        )
    return files


def _files_in(path: str) -> list[str]:
    """List what may be results in a folder; what is hidden is not looked at."""
    inside: list[Path] = []
    for folder, folders, names in os.walk(path):
        folders[:] = sorted(name for name in folders if not name.startswith(".") and name != "node_modules")
        inside += (Path(folder, name) for name in sorted(names) if Path(name).suffix in _SUFFIXES)
        if len(inside) > _MOST_FILES:
            raise refusal(path, f"it has more than {_MOST_FILES:,} files: name those that are meant")
    return [str(file) for file in inside if file.is_file() and not file.is_symlink()]
