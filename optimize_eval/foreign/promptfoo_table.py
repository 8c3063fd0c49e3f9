"""What promptfoo writes as CSV: a test a row, and several columns of equal names for each of its systems.

Its scores have two digits after the point, so `pass` is exact and `score` is not. Why a result is an error is
in the column of the grader's reason, or nowhere.
"""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from optimize_eval.base.protocol import as_float
from optimize_eval.foreign.promptfoo import ERRORS, PASS, SCORE, THREW, THREW_ITSELF, message_of
from optimize_eval.foreign.reading import ForeignFile
from optimize_eval.foreign.rows import (
    PROVIDER,
    SCORER,
    Example,
    Failure,
    Result,
    Row,
    Score,
    System,
    example_of,
    number_or_failure,
    refusal,
    shorten,
)
from optimize_eval.foreign.score_tables import split_cells
from optimize_eval.foreign.sheet import Sheet

_STATUS, _SCORE, _REASON, _METRIC = "Status", "Score", "Grader Reason", "Metric: "
_DESCRIPTION = "Description"
_STATES = frozenset({"PASS", "FAIL", "ERROR"})
_QUOTED = "'"  # before what a spreadsheet would take for a formula


class Group(NamedTuple):
    """The columns of one prompt and provider."""

    system: System
    output: int
    columns: Mapping[str, int]


def read_csv(file: ForeignFile, sheet: Sheet) -> None:
    """Read a table of tests."""
    sheet.first = PASS, SCORE
    table = split_cells(file)
    groups = _groups(table.header)
    asked = range(groups[0].output)
    for position, (line, cells) in enumerate(table.rows):
        example = _example(table.header, cells, asked)
        for column, group in enumerate(groups):
            results = _results(file, line, cells, group, sheet)
            said = {"output": cells[group.output], "reason": _cell(cells, group, _REASON)}
            sheet.add(
                Row(
                    system=group.system,
                    column=column,
                    example=example,
                    position=position,
                    repeat=None,
                    results=results,
                    side_info={key: shorten(text) for key, text in said.items() if text},
                )
            )
    if SCORE in sheet.evaluators:
        sheet.note("score is rounded to 0.01 in promptfoo's CSV; -o results.json has all digits")


def _groups(header: Sequence[Any]) -> list[Group]:
    """Find the columns before each Status: the output's, which names provider and prompt."""
    starts = [index - 1 for index, name in enumerate(header) if name == _STATUS and index]
    groups = []
    for start, following in zip(starts, [*starts[1:], len(header)], strict=True):
        provider, _, label = str(header[start]).removeprefix("[").partition("] ")
        columns = {str(header[index]): index for index in range(start + 1, following)}
        groups.append(Group(System(label, provider, label), start, columns))
    return groups


def _example(header: Sequence[Any], cells: Sequence[Any], asked: Sequence[int]) -> Example:
    values = {str(header[index]): cells[index].removeprefix(_QUOTED) for index in asked}
    description = values.pop(_DESCRIPTION, None) or None
    only = next(iter(values.values())) if len(values) == 1 else values
    return example_of({"description": description, "vars": values}, description, only)


def _results(
    file: ForeignFile, line: int, cells: Sequence[Any], group: Group, sheet: Sheet
) -> Mapping[str, Result]:
    status, written = _cell(cells, group, _STATUS), _cell(cells, group, _SCORE)
    if status not in _STATES:
        raise refusal(file.path, f"Status is {shorten(status, 40)!r}, and neither PASS, FAIL nor ERROR", line)
    score, reason = _number(written), _cell(cells, group, _REASON)
    if status == "ERROR":
        sheet.counts[ERRORS] += 1
        failure = Failure(PROVIDER, shorten(reason or "an error, which the CSV does not name"), 0.0)
        return {PASS: failure, SCORE: failure}
    if reason.startswith(THREW):
        sheet.counts[THREW_ITSELF] += 1
        failure = Failure(SCORER, message_of(reason), 0.0)
        return {PASS: failure, SCORE: failure._replace(counted_as=score or 0.0)}
    if score is None:
        raise refusal(file.path, f"Score is {shorten(written, 40)!r}, and no number", line)
    passed, number = Score(float(status == "PASS")), number_or_failure(score)
    sheet.shadows[SCORE] = sheet.shadows.get(SCORE, True) and number == passed
    named = {
        name.removeprefix(_METRIC): number_or_failure(value)
        for name, index in group.columns.items()
        if name.startswith(_METRIC) and (value := _number(cells[index])) is not None
    }
    return {PASS: passed, SCORE: number, **named}


def _cell(cells: Sequence[Any], group: Group, name: str) -> str:
    index = group.columns.get(name)
    return "" if index is None else str(cells[index])


def _number(text: str) -> float | None:
    try:
        return as_float(float(text.removeprefix(_QUOTED)))
    except ValueError:
        return None
