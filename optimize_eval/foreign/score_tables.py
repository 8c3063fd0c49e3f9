"""Tables of scores: CSV, TSV or JSON lines, with a column for each system, or a row for each score.

Wide: an example a row, each column of numbers a system. Long: a column names the system and, if there is
one, another the metric. Where both ends of a conversation stand in the columns, as RAGAS writes them, numbers
are metrics of one system. What can be read in two ways is refused, with the option that says which.
"""

import csv
import io
import math
import re
import shlex
from collections.abc import Callable, Iterable, Mapping, Sequence
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
_ASKED, _ANSWERED = ("user_input", "question"), ("response", "answer")
_NUMBER = re.compile(r"[+-]?(\d+(\.\d*)?|\.\d+)([eE][+-]?\d+)?", re.ASCII)
_PERCENT = re.compile(r"[+-]?\d+([.,]\d+)?\s?%")
_COMMA = re.compile(r"[+-]?\d+,\d+")
_MISSING = frozenset({"", "null", "none", "n/a", "na", "-"})
_NOT_A_NUMBER = frozenset({"nan", "inf", "-inf", "infinity", "-infinity"})
_TRUTHS = ({"true": 1.0, "false": 0.0}, {"pass": 1.0, "fail": 0.0}, {"yes": 1.0, "no": 0.0})
_BEGINS_A_NUMBER = frozenset("+-.0123456789")
_NOT_CSV = {
    "unexpected end of data": "a quote is opened, and none closes it",
    f"field larger than field limit ({_LONGEST_CELL})": f"a cell is larger than {_LONGEST_CELL >> 20} MiB",
}
_NO_SCORE = "missing_score"
_EMPTY = "empty"  # what the sheet counts


class Table(NamedTuple):
    """Rows with the lines on which they stand; cells are texts, or values of JSON."""

    header: Sequence[str]
    rows: Sequence[tuple[int, Sequence[Any]]]


class Shape(NamedTuple):
    """What the columns of a table are, by their numbers; of `scores`, too, what stands in them."""

    identity: int | None
    system: int | None
    metric: int | None
    repeat: int | None
    scores: Mapping[int, Sequence[Result | None]]  # None for an empty cell
    said: int | None  # the column of texts that shows what an example asks


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
        raise refusal(file.path, f"it is not CSV: {_NOT_CSV.get(str(error), error)}", line) from None
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
    numbers: dict[System, int] = {}
    repeats = _Repeats(file, shape)
    if is_long and shape.metric is None:
        names = (str(table.header[index]) for index in shape.scores)
        sheet.first = tuple(dict.fromkeys([*sheet.first, *names]))
    results_of = _long(table, shape, file.stem) if is_long else _wide(table, shape)
    texts: object = None
    example = Example("", "", "")
    for number, (line, row) in enumerate(table.rows):
        pair = identity, said = _identity_and_text(row, shape, number + 1)
        if pair != texts or type(identity) is not str or type(said) is not str:  # in JSON, 1 is not true
            texts, example = pair, _example(identity, said)
        repeat = repeats.of(row, line, example.content)
        for system, scores in results_of(number, row):
            results = {name: _no_score(sheet) if score is None else score for name, score in scores.items()}
            column = numbers.setdefault(system, len(numbers))
            sheet.add(Row(system, column, example, 0, repeat, results))


class _Repeats:
    """Which time a row is one of the same system, metric and example: as a column says, or counted."""

    def __init__(self, file: ForeignFile, shape: Shape) -> None:
        self._file = file
        self._column = shape.repeat
        self._about = [index for index in (shape.system, shape.metric) if index is not None]
        self._numbers: dict[str, int] = {}  # of what a column says
        self._last: dict[tuple[str, ...], int] = {}
        self._seen: set[tuple[str | int, ...]] = set()

    def of(self, row: Sequence[Any], line: int, content: str) -> int:
        about = content, *[str(row[index]) for index in self._about]
        if self._column is None:
            repeat = self._last[about] = self._last.get(about, 0) + 1
            return repeat
        repeat = self._numbers.setdefault(str(row[self._column]), len(self._numbers) + 1)
        if (*about, repeat) in self._seen:
            raise refusal(self._file.path, "the same system has two scores for one example and repeat", line)
        self._seen.add((*about, repeat))
        return repeat


def _shape(file: ForeignFile, sheet: Sheet, table: Table) -> Shape:
    names = [str(name).strip().lower() for name in table.header]
    if len({*names}) < len(names):
        twice = next(name for name in names if names.count(name) > 1)
        raise refusal(file.path, f"two columns are called {twice!r}")
    repeat = next((index for index, name in enumerate(names) if name in _REPEATS), None)
    no_scores = {repeat, *(index for index, name in enumerate(names) if name in _IDS)}
    numbers = {
        index: column
        for index in range(len(names))
        if index not in no_scores and (column := _scores(file, table, index)) is not None
    }
    texts = [index for index in range(len(names)) if index not in numbers and index not in no_scores]
    system = next((index for index in texts if names[index] in _SYSTEMS), None)
    metric = next((index for index in texts if names[index] in _METRICS), None)
    rest = [index for index in texts if index not in {system, metric}]
    identity = _identity(file, sheet, table, names, rest)
    scores = {index: each for index, each in numbers.items() if index != identity}
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
    if identity is None and _is_counter(next(iter(scores.values()))):
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
    usual = _ASKED if _is_conversation(names) else _IDS  # of a conversation, numbers of rows say nothing
    return next((names.index(name) for name in usual if name in names), next(iter(texts), None))


def _is_conversation(header: Sequence[Any]) -> bool:
    names = {str(name).strip().lower() for name in header}
    return not (names.isdisjoint(_ASKED) or names.isdisjoint(_ANSWERED))


def _scores(file: ForeignFile, table: Table, index: int) -> Sequence[Result | None] | None:
    """Read a column as scores, in which an empty cell is None; None where it is a column of texts."""
    column = [row[index] for _, row in table.rows]
    if (plain := _plain_numbers(column)) is not None:
        return plain
    if _has_words_alone(column):
        return None
    filled = [(line, row[index]) for line, row in table.rows if not _is_missing(row[index])]
    for words in _TRUTHS:
        if filled and all(_word(value) in words for _, value in filled):
            return [None if _is_missing(each) else Score(words[_word(each)]) for each in column]
    odd = [(line, value) for line, value in filled if _number_in(value) is None]
    if filled and not odd:
        return [None if _is_missing(each) else number_or_failure(_number_in(each)) for each in column]
    _refuse_odd(file, table.header[index], filled, odd)
    return None


def _plain_numbers(column: Sequence[Any]) -> Sequence[Result] | None:
    """Read a column that has finite numbers alone: all at once, as most are such."""
    kinds = {*map(type, column)}
    if kinds == {str} and all(map(_NUMBER.fullmatch, column)):
        numbers = [*map(float, column)]
    elif kinds and kinds <= {int, float}:
        numbers = [*map(as_float, column)]
    else:
        return None
    return [*map(Score, numbers)] if all(map(math.isfinite, numbers)) else None


def _has_words_alone(column: Sequence[Any]) -> bool:
    """Return True for texts none of which could be a score, an empty cell or a number in another form."""
    return {*map(type, column)} == {str} and not any(map(_may_count, {*column}))


def _may_count(text: str) -> bool:
    word = text.strip().lower()
    is_word = word in _MISSING or word in _NOT_A_NUMBER or any(word in words for words in _TRUTHS)
    return is_word or word[:1] in _BEGINS_A_NUMBER


def _refuse_odd(
    file: ForeignFile, name: object, filled: Sequence[tuple[int, Any]], odd: Sequence[tuple[int, Any]]
) -> None:
    """Refuse numbers that are written in another way, and a word among numbers."""
    for pattern, advice in ((_PERCENT, "per cent: divide by 100"), (_COMMA, "decimal commas: write points")):
        if filled and all(isinstance(value, str) and pattern.fullmatch(value.strip()) for _, value in filled):
            raise refusal(file.path, f"the numbers of {name!r} have {advice}, and give plain numbers")
    if len(odd) * 2 < len(filled):
        line, value = odd[0]
        raise refusal(file.path, f"{name!r} is {shorten(value, 40)!r}, and elsewhere a number", line)


def _word(value: object) -> str:
    return str(value).strip().lower()


def _is_missing(value: object) -> bool:
    return value is None or (isinstance(value, str) and _word(value) in _MISSING)


def _number_in(value: object) -> float | None:
    if isinstance(value, bool):
        return None
    if isinstance(value, int | float):
        return as_float(value)
    text = value.strip() if isinstance(value, str) else ""
    return float(text) if _NUMBER.fullmatch(text) or text.lower() in _NOT_A_NUMBER else None


def _is_counter(column: Sequence[Result | None]) -> bool:
    """Return True for whole numbers that go up by one: 0, 1, 2."""
    numbers = [each.value if isinstance(each, Score) else None for each in column]
    first = numbers[0] if numbers else None
    return len(numbers) > 1 and first is not None and numbers == [first + n for n in range(len(numbers))]


def _outputs(file: ForeignFile, table: Table, texts: Sequence[int]) -> DataError:
    fields = " ".join(f"--candidate-field {shlex.quote(str(table.header[index]))}" for index in texts[:3])
    advice = f"optimize-eval run {fields} -e EVALUATOR --dataset {shlex.quote(file.path)}"
    return refusal(file.path, f"no column has numbers; outputs are scored by `{advice}`")


_Scores = Mapping[str, Result | None]  # by metric
_Results = Callable[[int, Sequence[Any]], Iterable[tuple[System, _Scores]]]


def _wide(table: Table, shape: Shape) -> _Results:
    """Make the cells of a row results of as many systems."""
    columns = [(System("", str(table.header[index])), column) for index, column in shape.scores.items()]
    return lambda number, _row: [(system, {SCORE: column[number]}) for system, column in columns]


def _long(table: Table, shape: Shape, stem: str) -> _Results:
    """Make a row the results of one system."""
    named = [(str(table.header[index]), column) for index, column in shape.scores.items()]

    def results_of(number: int, row: Sequence[Any]) -> Iterable[tuple[System, _Scores]]:
        system = System("", stem if shape.system is None else str(row[shape.system]))
        if shape.metric is not None:
            return [(system, {str(row[shape.metric]): column[number] for _, column in named})]
        return [(system, {name: column[number] for name, column in named})]

    return results_of


def _identity_and_text(row: Sequence[Any], shape: Shape, number: int) -> tuple[Any, Any]:
    identity = number if shape.identity is None else row[shape.identity]
    return identity, None if shape.said is None else row[shape.said]


def _example(identity: object, said: object) -> Example:
    return example_of({"id": identity}, str(identity), said)


def _no_score(sheet: Sheet) -> Result:
    if sheet.skips_empty:
        return Skip("the cell is empty")
    sheet.counts[_EMPTY] += 1
    return Failure(_NO_SCORE, "the cell is empty")
