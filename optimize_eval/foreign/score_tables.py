"""Tables of scores: CSV, TSV or JSON lines, with a column for each system, or a row for each score.

Wide: an example a row, each column of numbers a system. Long: a column names the system and, if there is
one, another the metric. Where both ends of a conversation stand in the columns, as RAGAS writes them, numbers
are metrics of one system. What can be read in two ways is refused, with the option that says which.
"""

import csv
import io
import re
import shlex
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from optimize_eval.base.errors import DataError
from optimize_eval.base.protocol import as_float
from optimize_eval.foreign.reading import ForeignFile
from optimize_eval.foreign.rows import (
    Example,
    Failure,
    Result,
    Row,
    Score,
    Skip,
    System,
    example_of,
    number_or_failure,
    refusal,
    shorten,
)
from optimize_eval.foreign.sheet import Sheet

TOOL = "table"
SCORE = "score"
_MOST_BYTES = 1 << 30
_LONGEST_CELL = 8 << 20  # characters
_SYSTEMS = ("model", "system", "candidate")
_METRICS = ("metric", "evaluator", "scorer")
_VALUES = ("score", "value")
_REPEATS = frozenset({"epoch", "repeat", "run", "trial", "seed"})
_IDS = ("id", "example_id", "sample_id", "question_id", "task_id", "test_id", "example", "index", "")
_ASKED, _ANSWERED = frozenset({"user_input", "question"}), frozenset({"response", "answer"})
_NUMBER = re.compile(r"[+-]?(\d+(\.\d*)?|\.\d+)([eE][+-]?\d+)?")
_PERCENT = re.compile(r"[+-]?\d+([.,]\d+)?\s?%")
_COMMA = re.compile(r"[+-]?\d+,\d+")
_MISSING = frozenset({"", "null", "none", "n/a", "na", "-"})
_NOT_A_NUMBER = frozenset({"nan", "inf", "-inf", "infinity", "-infinity"})
_TRUTHS = ({"true": 1.0, "false": 0.0}, {"pass": 1.0, "fail": 0.0}, {"yes": 1.0, "no": 0.0})
_NO_SCORE = "missing_score"
_EMPTY = "empty"  # what the sheet counts


class Table(NamedTuple):
    """Rows with the lines on which they stand; cells are texts, or values of JSON."""

    header: Sequence[str]
    rows: Sequence[tuple[int, Sequence[Any]]]


class Shape(NamedTuple):
    """What the columns of a table are, by their numbers; `scores` with what their words stand for."""

    identity: int | None
    system: int | None
    metric: int | None
    repeat: int | None
    scores: Mapping[int, Mapping[str, float]]
    said: int | None  # the column of texts that shows what an example asks


class Cell(NamedTuple):
    """A score of a table, still as it stands there."""

    system: str
    metric: str
    example: Example
    repeat: str
    value: Any
    words: Mapping[str, float]


def read_delimited(file: ForeignFile, sheet: Sheet) -> None:
    """Read CSV or, where the first line has tabs, TSV."""
    _read(file, sheet, split_cells(file))


def read_lines(file: ForeignFile, sheet: Sheet) -> None:
    """Read JSON lines whose keys are columns."""
    every = [*file.lines()]
    header = [*dict.fromkeys(key for _, row in every for key in row)]
    _read(file, sheet, Table(header, [(number, [row.get(key) for key in header]) for number, row in every]))


def split_cells(file: ForeignFile) -> Table:
    """Split a file into cells; each row has as many as the header."""
    data = file.whole(_MOST_BYTES, "split it into several files")
    if b"\0" in data:
        raise refusal(file.path, "it holds NUL, which no text has")
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise refusal(file.path, f"it is not UTF-8: byte 0x{data[error.start]:02X}") from None
    first = text.partition("\n")[0]
    if ";" in first and "," not in first and "\t" not in first:
        reason = "its columns are separated by semicolons: export it with commas, and points in numbers"
        raise refusal(file.path, reason)
    return _split(file, text, "\t" if "\t" in first else ",")


def _split(file: ForeignFile, text: str, delimiter: str) -> Table:
    limit = csv.field_size_limit(_LONGEST_CELL)
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter, strict=True)
    rows, line = [], 1
    try:
        for cells in reader:
            if cells:
                rows.append((line, cells))
                if len(cells) != len(rows[0][1]):
                    many, wanted = len(cells), len(rows[0][1])
                    raise refusal(file.path, f"the row has {many} cells, and the header {wanted}", line)
            line = reader.line_num + 1
    except csv.Error as error:
        raise refusal(file.path, f"it is no CSV: {error}", line) from None
    finally:
        csv.field_size_limit(limit)
    if not rows:
        raise refusal(file.path, "it is empty")
    return Table(rows[0][1], rows[1:])


def end(sheet: Sheet) -> None:
    """Say what was made of empty cells."""
    if many := sheet.counts[_EMPTY]:
        cells = "1 empty cell is a failure" if many == 1 else f"{many:,} empty cells are failures"
        sheet.note(f"{cells}; --empty skip leaves them out")


def _read(file: ForeignFile, sheet: Sheet, table: Table) -> None:
    shape = _shape(file, sheet, table)
    is_long = shape.system is not None or shape.metric is not None or _is_conversation(table.header)
    cells = _long(table, shape, file.stem) if is_long else _wide(table, shape)
    rows: dict[tuple[str, str, int], dict[str, Result]] = {}
    examples: dict[str, Example] = {}
    times: dict[tuple[str, str, str, str], int] = {}
    repeats: dict[str, int] = {}
    for cell in cells:
        content = cell.example.content
        examples.setdefault(content, cell.example)
        if shape.repeat is None:
            key = cell.system, cell.metric, content, ""
            repeat = times[key] = times.get(key, 0) + 1
        else:
            repeat = repeats.setdefault(cell.repeat, len(repeats) + 1)
        results = rows.setdefault((cell.system, content, repeat), {})
        if cell.metric in results:
            raise refusal(
                file.path, f"{cell.system} has two scores of {cell.metric} for {cell.example.name!r}"
            )
        results[cell.metric] = _result(cell, sheet)
    systems = {name: number for number, name in enumerate(dict.fromkeys(name for name, _, _ in rows))}
    for (name, content, repeat), results in rows.items():
        sheet.add(
            Row(
                system=System("", name),
                column=systems[name],
                example=examples[content],
                position=0,
                repeat=repeat,
                results=results,
            )
        )


def _shape(file: ForeignFile, sheet: Sheet, table: Table) -> Shape:
    names = [str(name).strip().lower() for name in table.header]
    if len({*names}) < len(names):
        twice = next(name for name in names if names.count(name) > 1)
        raise refusal(file.path, f"two columns are called {twice!r}")
    numbers = {
        index: words for index in range(len(names)) if (words := _words(file, table, index)) is not None
    }
    texts = [index for index in range(len(names)) if index not in numbers]
    system = next((index for index in texts if names[index] in _SYSTEMS), None)
    metric = next((index for index in texts if names[index] in _METRICS), None)
    repeat = next((index for index, name in enumerate(names) if name in _REPEATS), None)
    rest = [index for index in texts if index not in {system, metric, repeat}]
    identity = _identity(file, sheet, table, names, rest)
    scores = {index: words for index, words in numbers.items() if index not in {identity, repeat}}
    if metric is not None and (value := next((i for i in scores if names[i] in _VALUES), None)) is not None:
        scores = {value: scores[value]}
    if not scores:
        raise _outputs(file, table, rest if identity is None else [i for i in rest if i != identity])
    if identity is None and (system is not None or metric is not None):
        raise refusal(file.path, "no column says which example a row is of: name one with --id-column")
    if metric is not None and len(scores) > 1:
        several = ", ".join(str(table.header[index]) for index in scores)
        raise refusal(
            file.path, f"beside the metric stand several numbers ({several}): call one of them score"
        )
    if identity is None and _is_counter(table, next(iter(scores))):
        first = table.header[next(iter(scores))]
        raise refusal(
            file.path, f"{first!r} may number the rows or be a system: name the id with --id-column"
        )
    said = next((index for index in rest if index != identity), identity)
    return Shape(identity, system, metric, repeat, scores, said)


def _identity(
    file: ForeignFile, sheet: Sheet, table: Table, names: Sequence[str], texts: Sequence[int]
) -> int | None:
    """Find the column that says which example a row is of: the named one, a usual one, the first of texts."""
    if sheet.id_column is not None:
        if sheet.id_column not in table.header:
            known = ", ".join(str(name) for name in table.header[:12])
            raise refusal(
                file.path, f"--id-column: there is no column {sheet.id_column!r}; there are {known}"
            )
        return [*table.header].index(sheet.id_column)
    usual = (names.index(name) for name in _IDS if name in names)
    return next(usual, next(iter(texts), None))


def _is_conversation(header: Sequence[Any]) -> bool:
    names = {str(name).strip().lower() for name in header}
    return bool(names & _ASKED and names & _ANSWERED)


def _words(file: ForeignFile, table: Table, index: int) -> Mapping[str, float] | None:
    """Say what the words of a column of scores stand for; None where it is a column of texts."""
    filled = [(line, row[index]) for line, row in table.rows if not _is_missing(row[index])]
    texts = {str(value).strip().lower() for _, value in filled}
    for words in _TRUTHS:
        if texts and texts <= words.keys():
            return words
    odd = [(line, value) for line, value in filled if _number_in(value) is None]
    if filled and not odd:
        return {}
    name = table.header[index]
    for pattern, advice in ((_PERCENT, "per cent: divide by 100"), (_COMMA, "decimal commas: write points")):
        if filled and all(isinstance(value, str) and pattern.fullmatch(value.strip()) for _, value in filled):
            raise refusal(file.path, f"the numbers of {name!r} have {advice}, and give plain numbers")
    if len(odd) * 2 < len(filled):
        line, value = odd[0]
        raise refusal(file.path, f"{name!r} is {shorten(value, 40)!r}, and elsewhere a number", line)
    return None


def _is_missing(value: Any) -> bool:
    return value is None or (isinstance(value, str) and value.strip().lower() in _MISSING)


def _number_in(value: Any) -> float | None:
    if isinstance(value, bool):
        return None
    if isinstance(value, int | float):
        return as_float(value)
    text = value.strip() if isinstance(value, str) else ""
    return float(text) if _NUMBER.fullmatch(text) or text.lower() in _NOT_A_NUMBER else None


def _is_counter(table: Table, index: int) -> bool:
    """Return True for whole numbers that go up by one: 0, 1, 2."""
    numbers = [_number_in(row[index]) for _, row in table.rows]
    first = numbers[0] if numbers else None
    return len(numbers) > 1 and first is not None and numbers == [first + n for n in range(len(numbers))]


def _outputs(file: ForeignFile, table: Table, texts: Sequence[int]) -> DataError:
    fields = " ".join(f"--candidate-field {shlex.quote(str(table.header[index]))}" for index in texts[:3])
    advice = f"optimize-eval run {fields} -e EVALUATOR --dataset {shlex.quote(file.path)}"
    return refusal(file.path, f"no column has numbers; outputs are scored by `{advice}`")


def _wide(table: Table, shape: Shape) -> Iterator[Cell]:
    for number, (_, row) in enumerate(table.rows, 1):
        example, repeat = _example(row, shape, number), _repeat(row, shape)
        for index, words in shape.scores.items():
            yield Cell(str(table.header[index]), SCORE, example, repeat, row[index], words)


def _long(table: Table, shape: Shape, stem: str) -> Iterator[Cell]:
    for number, (_, row) in enumerate(table.rows, 1):
        example, repeat = _example(row, shape, number), _repeat(row, shape)
        system = stem if shape.system is None else str(row[shape.system])
        for index, words in shape.scores.items():
            metric = str(table.header[index]) if shape.metric is None else str(row[shape.metric])
            yield Cell(system, metric, example, repeat, row[index], words)


def _example(row: Sequence[Any], shape: Shape, number: int) -> Example:
    identity = number if shape.identity is None else row[shape.identity]
    said = None if shape.said is None else row[shape.said]
    return example_of({"id": identity}, str(identity), said)


def _repeat(row: Sequence[Any], shape: Shape) -> str:
    return "" if shape.repeat is None else str(row[shape.repeat])


def _result(cell: Cell, sheet: Sheet) -> Result:
    if _is_missing(cell.value):
        if sheet.skips_empty:
            return Skip("the cell is empty")
        sheet.counts[_EMPTY] += 1
        return Failure(_NO_SCORE, "the cell is empty")
    if cell.words:
        return Score(cell.words[str(cell.value).strip().lower()])
    return number_or_failure(_number_in(cell.value))
