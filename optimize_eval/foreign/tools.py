"""Whose results a file holds, by what stands in its first bytes, and who reads them."""

import re
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import NamedTuple

from optimize_eval.base.errors import DataError, UsageError
from optimize_eval.foreign import inspect_logs, lm_eval_samples, promptfoo, promptfoo_table, score_tables
from optimize_eval.foreign.reading import ForeignFile
from optimize_eval.foreign.rows import refusal
from optimize_eval.foreign.sheet import OriginFile, Sheet

_WHAT = {
    promptfoo.TOOL: "results of promptfoo",
    inspect_logs.TOOL: "a log of Inspect",
    lm_eval_samples.TOOL: "results of lm-eval",
}
_EXPORT = "promptfoo export eval EVAL_ID -o results.json writes what can be read"


Choose = Callable[[Sequence[ForeignFile], Sheet], list[ForeignFile]]


def _all(files: Sequence[ForeignFile], _sheet: Sheet) -> list[ForeignFile]:
    return [*files]


def _nothing(_sheet: Sheet) -> None:
    pass


class Reader(NamedTuple):
    """A form of results: how it begins, and who reads it; `refused` says why nobody does."""

    tool: str
    marks: tuple[re.Pattern[str], ...]  # patterns that all stand in the first bytes
    read: Callable[[ForeignFile, Sheet], None] | None
    refused: str = ""
    end: Callable[[Sheet], None] = _nothing  # says what was noticed in all files
    choose: Choose = _all
    is_of_folders: bool = False  # whoever names a folder means such files in it

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
        choose=lm_eval_samples.choose_tasks,
        is_of_folders=True,
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
        choose=inspect_logs.choose_logs,
        is_of_folders=True,
    ),
    Reader(
        inspect_logs.TOOL,
        (re.compile(r'\A\s*\{\s*"version":'), re.compile(r'"status":'), re.compile(r'"eval":')),
        inspect_logs.read,
        end=inspect_logs.end,
        choose=inspect_logs.choose_logs,
        is_of_folders=True,
    ),
    Reader(
        promptfoo.TOOL,
        (re.compile(r"\A[^\n\[]*\["), re.compile(",Status,Score,")),
        promptfoo_table.read_csv,
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


def read_files(paths: Iterable[str], sheet: Sheet) -> None:
    """Read all that was named into one sheet."""
    named = [*paths]
    numbers = {path: number for number, name in enumerate(named) for path in _files_of(name)}
    files = [ForeignFile(path) for path in numbers]
    if len({Path(path).resolve() for path in numbers}) < len(numbers) or len({*named}) < len(named):
        raise UsageError("a file is named twice", hint="name each once")
    readers = {file.path: _reader(file) for file in files}
    kinds = {reader.tool: reader for reader in readers.values()}
    if len(kinds) > 1:
        raise UsageError(
            f"the files are of several tools: {', '.join(kinds)}",
            hint="report each tool's files by themselves",
        )
    for tool, any_of_tool in kinds.items():
        sheet.tool = tool
        chosen = {file.path for file in any_of_tool.choose(files, sheet)}
        for file in files:
            if file.path in chosen:
                sheet.begin_file(file.stem, numbers[file.path])
                _read(readers[file.path], file, sheet)
        any_of_tool.end(sheet)
    if not sheet.rows:
        raise UsageError(f"there is no result in {', '.join(named)}", hint="run the tool's evaluation first")


def _read(reader: Reader, file: ForeignFile, sheet: Sheet) -> None:
    if reader.read is None:
        raise refusal(file.path, f"it is {reader.tool}'s, and {reader.refused}")
    reader.read(file, sheet)
    sheet.end_file(OriginFile(name=file.name, sha256=file.sha256, bytes=file.size))


def _reader(file: ForeignFile) -> Reader:
    reader = reader_of(file)
    if reader is None:
        raise UsageError(
            f"there is no run in {file.path!r}, and nobody knows whose results it holds",
            hint="known are promptfoo's, Inspect's logs, lm-eval's samples and tables of scores",
        )
    return reader


def _files_of(path: str) -> list[str]:
    """Give a file or, of a folder, the files in it whose results can be read."""
    if not Path(path).is_dir():
        return lm_eval_samples.samples_beside(path) or [path]
    inside = sorted(str(file) for file in Path(path).rglob("*") if file.is_file() and not file.is_symlink())
    known = [name for name in inside if (reader := reader_of(ForeignFile(name))) and reader.is_of_folders]
    if not known:
        raise refusal(path, "no file in it is a log of Inspect, or samples of lm-eval")
    return known
