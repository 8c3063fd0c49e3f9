"""Records and boards as rows for spreadsheets and programs: CSV and JSON lines, made while read.

Every number is written so that reading it gives the same float. What a spreadsheet or a terminal would obey
is made inert; in JSON by escapes, so that nothing is lost.

Where models replied to prompts, each prompt as it was sent and each reply stand before these.

A repeat is a row of its own, so that no number is made.

Of tasks in YAML there follow, by scorer: each number of a metric, and which could not be computed; how many
rows each rule left out, and how many failed at which stage.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import chain
from types import MappingProxyType, NoneType
from typing import Any

from optimize_eval.base import strict_json
from optimize_eval.base.documents import JsonDict, JsonMapping
from optimize_eval.base.errors import UsageError
from optimize_eval.base.frozen import frozen
from optimize_eval.data.selection import value_at
from optimize_eval.findings.board_shapes import Board, CategoryScores, ModelScores, TaskScores
from optimize_eval.findings.side_info import reason_of
from optimize_eval.findings.summary_shape import Summary
from optimize_eval.findings.wording import evaluator_label
from optimize_eval.models.under_test import text_of
from optimize_eval.reports.inert import inert, inert_json
from optimize_eval.reports.source import PageRun, PageSource, examples_of
from optimize_eval.store import journal
from optimize_eval.store.layout import Cell, Layout, Split
from optimize_eval.store.records import FIELDS, OF_SOME, SIDE_INFO, LeftOut, RunRecord, unit_of
from optimize_eval.tasks.templates.template import sent_of

MOST_COLUMNS = 200  # of side information: a hostile run has a new key in each record
LONGEST_NAME = 200
_SIGNS = ("=", "+", "-", "@", "＝", "＋", "－", "＠")  # noqa: RUF001  which Excel takes for the others
_FORMULA = (*_SIGNS, "\t", "\r", "\n")
_PIECE = 1 << 16


@frozen
class TableColumns:
    """The columns of a table; `has_rest` where a last one holds as JSON what has none of its own."""

    names: Sequence[str]
    has_rest: bool


def find_columns(records: Iterable[RunRecord]) -> TableColumns:
    """Find the columns of all records: the fields, then keys of side information, first come first."""
    names = dict.fromkeys(FIELDS)
    has_rest = False
    for record in records:
        if new := [name for name in record.flat() if name not in names]:
            fitting = [name for name in new if len(name) <= LONGEST_NAME]
            chosen = fitting[: len(FIELDS) + MOST_COLUMNS - len(names)]
            names.update(dict.fromkeys(chosen))
            has_rest = has_rest or len(chosen) < len(new)
    there = [name for name in OF_SOME if name in names]
    return TableColumns(names=tuple(dict.fromkeys((*FIELDS, *there, *names))), has_rest=has_rest)


def csv_pieces(records: Iterable[RunRecord], columns: TableColumns, *, ci: bool) -> Iterator[str]:
    """Write a table as RFC 4180 has it, some rows at a time; `ci` as for inert."""
    names = columns.names
    write = Cells(ci)
    header = [*names, SIDE_INFO] if columns.has_rest else names
    return gathered(chain([write.line(header)], (write.line(_row(record, columns)) for record in records)))


def jsonl_pieces(records: Iterable[RunRecord]) -> Iterator[str]:
    """Write one object per line, each record with its own keys, some lines at a time."""
    return gathered(f"{inert_json(record.flat())}\n" for record in records)


def gathered(lines: Iterable[str]) -> Iterator[str]:
    """Put lines together to pieces that are worth a write of their own."""
    piece: list[str] = []
    size = 0
    for line in lines:
        piece.append(line)
        size += len(line)
        if size >= _PIECE:
            yield "".join(piece)
            piece, size = [], 0
    yield "".join(piece)


def _row(record: RunRecord, columns: TableColumns) -> list[Any]:
    flat = record.flat()
    if not columns.has_rest:
        return [flat.get(name) for name in columns.names]
    row = [flat.pop(name, None) for name in columns.names]
    rest = {name.removeprefix(f"{SIDE_INFO}."): value for name, value in flat.items()}
    return [*row, rest or None]


class Cells:
    """Writes cells the way csv.writer would, which takes 13 ns for each character; a test compares them."""

    def __init__(self, ci: bool) -> None:  # noqa: FBT001  the one thing it knows
        self._ci = ci
        self._writers: dict[type, Callable[[Any], str]] = {
            NoneType: lambda _: "",
            bool: lambda value: "true" if value else "false",
            int: repr,
            float: repr,  # reads back as the same float
            str: self._text,
            tuple: lambda names: self._text(", ".join(names)),
        }

    def line(self, values: Iterable[Any]) -> str:
        writers, other = self._writers, self._json
        return ",".join([writers.get(type(value), other)(value) for value in values]) + "\r\n"

    def _text(self, text: str) -> str:
        """Write a text; one that a spreadsheet would compute is marked as a text by an apostrophe."""
        shown = inert(text, ci=self._ci)
        if text.startswith(_FORMULA) or text.lstrip().startswith(_SIGNS):
            shown = f"'{shown}"
        if "," in shown or '"' in shown or "\n" in shown:
            shown = shown.replace('"', '""')
            return f'"{shown}"'
        return shown

    def _json(self, value: object) -> str:
        return self._text(strict_json.dumps(value).decode())


_TOGETHER = 200  # examples that are read at once
_NAMES = ("split", "line", "repeat", "id")
_LEAKED = "in"  # where an earlier split holds the example, too

WideRow = JsonDict
Examples = Mapping[str, Mapping[int, JsonMapping]]


def wide_csv_pieces(rows: Iterable[WideRow], columns: Sequence[str], *, ci: bool) -> Iterator[str]:
    """Write the table for spreadsheets; `ci` as for inert."""
    write = Cells(ci)
    lines = (write.line([row.get(name) for name in columns]) for row in rows)
    return gathered(chain([write.line(columns)], lines))


def wide_jsonl_pieces(rows: Iterable[WideRow]) -> Iterator[str]:
    """Write one object per line."""
    return gathered(f"{inert_json(row)}\n" for row in rows)


def columns_of(layout: Layout, fields: Sequence[str]) -> list[str]:
    """Name the columns; a score's is EVALUATOR@CANDIDATE, as in gates, and its reason's beside it."""
    cells = dict.fromkeys(_name(cell) for cell in layout.cells)
    prompts = dict.fromkeys(_prompt(cell.candidate) for cell in layout.cells if layout.compares_models)
    replies = dict.fromkeys(_reply(cell) for cell in layout.cells if layout.compares_models)
    scores = (column for name in cells for column in (name, _reason(name)))
    leaked = [_LEAKED] if any(split.leaks for split in layout.splits) else []
    return [*_NAMES, *leaked, *fields, *prompts, *replies, *scores]


def rows_of(
    source: PageSource, layout: Layout, fields: Sequence[str], left_out: LeftOut = MappingProxyType({})
) -> Iterator[WideRow]:
    """Give the rows in the order of the data; raises UsageError where a field cannot be had."""
    if fields:
        examples = _examples_with(source, layout, fields)
    else:
        examples = examples_of(source.run) if layout.compares_models else {}
    return _wide_rows(source, layout, fields, examples, left_out)


def _wide_rows(
    source: PageSource, layout: Layout, fields: Sequence[str], examples: Examples, left_out: LeftOut
) -> Iterator[WideRow]:
    for split in layout.splits:
        leaks = {row.line: {_LEAKED: f"{row.split}:{row.like} ({row.how})"} for row in split.leaks or ()}
        for start in range(0, len(split.lines), _TOGETHER):
            places = range(len(split.lines))[start : start + _TOGETHER]
            units = [(example, repeat) for example in places for repeat in range(layout.repeats)]
            rows = {
                (example, repeat): {
                    "split": split.name,
                    "line": split.lines[example],
                    "repeat": repeat + 1,
                    "id": split.names[example] if split.names else None,
                    **leaks.get(split.lines[example], {}),
                    **{path: value_at(examples[split.name][example], path) for path in fields},
                    **(_prompts(source.run, _fields_at(split, example, examples)) if examples else {}),
                }
                for example, repeat in units
            }
            for cell, unit, line, reply in source.lines_of(split.name, places):
                record = journal.decode(line)
                if reply is not None and layout.compares_models:
                    rows[divmod(unit, layout.repeats)][_reply(cell)] = reply
                rules = left_out.get(unit_of(record), ()) if left_out else ()
                rows[divmod(unit, layout.repeats)].update(_told(_name(cell), record, rules))
            yield from rows.values()


def _fields_at(split: Split, place: int, examples: Examples) -> JsonMapping | None:
    """Give an example's fields, of which a run without data has none; None where it is not as it was."""
    return {} if split.lines == (None,) else examples[split.name].get(place)


def _prompts(run: PageRun, fields: JsonMapping | None) -> WideRow:
    """Write the prompts as models were sent them; several messages as JSON."""
    if fields is None or not run.get("models"):
        return {}
    sent = {candidate["name"]: sent_of(candidate.get("text"), fields) for candidate in run["candidates"]}
    return {_prompt(name): text_of(messages) for name, messages in sent.items() if messages}


def _told(name: str, record: JsonMapping, rules: Sequence[str]) -> WideRow:
    match record["outcome"]:
        case "scored":
            left = f"left out by {', '.join(rules)}" if rules else None
            said = reason_of(record.get("side_info") or {})
            return {name: record["score"], _reason(name): ": ".join(filter(None, (left, said))) or said}
        case "failed":
            return {name: None, _reason(name): f"failed: {record['kind']}: {record['message']}"}
    return {name: None, _reason(name): f"skipped: {record.get('message', '')}"}


def _name(cell: Cell) -> str:
    return f"{evaluator_label(cell.evaluator, cell.task_model)}@{cell.candidate}"


def _prompt(candidate: str) -> str:
    """Name the column of a prompt as it was sent, which is the same for all models."""
    return f"{candidate} prompt"


def _reply(cell: Cell) -> str:
    """Name the column of a model's reply, which all evaluators have scored."""
    return f"{cell.task_model}@{cell.candidate} reply"


def _reason(name: str) -> str:
    return f"{name} reason"


def _examples_with(source: PageSource, layout: Layout, fields: Sequence[str]) -> Examples:
    """Read the examples, all of which have to be those that were scored, and have each field somewhere."""
    examples = examples_of(source.run)
    for split in layout.splits:
        known = examples[split.name]
        if missing := len(split.lines) - len(known):
            raise UsageError(
                f"{missing:,} of {len(split.lines):,} {split.name} examples changed or are gone",
                hint="run it in the folder of the run's command, with its data unchanged, or omit --with",
            )
    every = [example for known in examples.values() for example in known.values()]
    for path in fields:
        if all(value_at(example, path) is None for example in every):
            has = ", ".join(dict.fromkeys(key for example in every[:20] for key in example))
            raise UsageError(f"no example has the field {path!r}", hint=f"the first ones have {has}")
    return examples


COLUMNS = (
    *("model", "scope", "name", "metric", "score", "se", "ci_low", "ci_high", "method", "n"),
    *("correct", "perfect", "total", "scored", "failed", "timeouts", "coverage", "lower_bound"),
    *("win_rate", "latency_ms"),
)
SKIPPED = "skipped"  # the last column, where there are any
OVERALL, CATEGORY, TASK = "overall", "category", "task"
METRIC, EXCLUDED, FAILED = "metric", "excluded", "failed"


def board_csv_pieces(
    boards: Mapping[str, Board], *, ci: bool, summary: Summary | None = None
) -> Iterator[str]:
    """Write boards by their metrics' names, the bench's own without one; `ci` as for inert.

    `summary` has the metrics of tasks in YAML.
    """
    write = Cells(ci)
    rows = chain(
        (row for metric, board in boards.items() for row in _board_rows(board, metric or None)),
        _of_tasks(summary) if summary and summary.metrics else (),
    )
    has_skips = any(model.skipped for board in boards.values() for model in board.models)
    columns = (*COLUMNS, *[SKIPPED] * has_skips)
    lines = (write.line([row.get(name) for name in columns]) for row in rows)
    return gathered(chain([write.line(columns)], lines))


def _board_rows(board: Board, metric: str | None) -> Iterator[Mapping[str, object]]:
    for model in board.models:
        numbers = {**_numbers(model), "score": model.overall_score}
        yield {**numbers, "model": model.adapter, "scope": OVERALL, "metric": metric}
    for model in board.models:
        for category in model.categories:
            where = {"model": model.adapter, "scope": CATEGORY, "name": category.category}
            yield {**_numbers(category), **where, "metric": metric}
        for task in model.tasks:
            where = {"model": model.adapter, "scope": TASK, "name": task.task}
            yield {**_numbers(task), **where, "metric": task.metric_id}


def _of_tasks(summary: Summary) -> Iterator[Mapping[str, object]]:
    for metrics in summary.metrics:
        where = {"model": metrics.task_model, "name": metrics.evaluator}
        counts = {
            "total": metrics.table.n_total,
            "scored": metrics.table.n_scored,
            "failed": metrics.table.n_failed,
        }
        for measured in metrics.table.metrics:
            for name, value in measured.values.items():
                row = {**where, **counts, "scope": METRIC, "metric": name}
                yield {**row, "score": value, "n": measured.n}
            if measured.problem:
                yield {**where, "scope": FAILED, "metric": f"metric {measured.type}", "failed": 1}
        for rule, many in metrics.table.excluded_by.items():
            yield {**where, "scope": EXCLUDED, "metric": rule, "n": many}
        for fault in metrics.rule_faults:
            yield {**where, "scope": FAILED, "metric": f"action {fault.rule}", "failed": fault.count}
    for entry in summary.failures:
        where = {"model": entry.task_model, "name": entry.evaluator, "scope": FAILED}
        yield {**where, "metric": entry.stage or entry.kind, "failed": entry.count}


def _numbers(scores: ModelScores | CategoryScores | TaskScores) -> Mapping[str, object]:
    """Give what stands in columns of their names, and both ends of the interval."""
    low, high = scores.ci or (None, None)
    numbers = {name: getattr(scores, name, None) for name in (*COLUMNS, SKIPPED)}
    return {**numbers, "ci_low": low, "ci_high": high}
