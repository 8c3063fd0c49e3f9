"""A run's records as one row for each example: what it is, then each candidate's score and reason.

Where models replied to prompts, each prompt as it was sent and each reply stand before these.

A repeat is a row of its own, so that no number is made. Records as rows of their own are rows'.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain
from types import MappingProxyType
from typing import Any

from optimize_eval.base.errors import UsageError
from optimize_eval.data.selection import value_at
from optimize_eval.findings.rows import evaluator_label
from optimize_eval.findings.side_info import reason_of
from optimize_eval.models.under_test import text_of
from optimize_eval.reports.inert import inert_json
from optimize_eval.reports.page.source import PageSource, examples_of
from optimize_eval.reports.rows import Cells, gathered
from optimize_eval.store import journal
from optimize_eval.store.layout import Cell, Layout, Split
from optimize_eval.store.manifest import Manifest
from optimize_eval.store.records import LeftOut, unit_of
from optimize_eval.tasks.prompt import sent_of

_TOGETHER = 200  # examples that are read at once
_NAMES = ("split", "line", "repeat", "id")
_LEAKED = "in"  # where an earlier split holds the example, too

Row = dict[str, Any]
Examples = Mapping[str, Mapping[int, Mapping[str, Any]]]


def csv_pieces(rows: Iterable[Row], columns: Sequence[str], *, ci: bool) -> Iterator[str]:
    """Write the table for spreadsheets; `ci` as for inert."""
    write = Cells(ci)
    lines = (write.line([row.get(name) for name in columns]) for row in rows)
    return gathered(chain([write.line(columns)], lines))


def jsonl_pieces(rows: Iterable[Row]) -> Iterator[str]:
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
) -> Iterator[Row]:
    """Give the rows in the order of the data; raises UsageError where a field cannot be had."""
    if fields:
        examples = _examples_with(source, layout, fields)
    else:
        examples = examples_of(source.run) if layout.compares_models else {}
    return _rows(source, layout, fields, examples, left_out)


def _rows(
    source: PageSource, layout: Layout, fields: Sequence[str], examples: Examples, left_out: LeftOut
) -> Iterator[Row]:
    for split in layout.splits:
        leaks = {row.line: {_LEAKED: f"{row.split}:{row.like} ({row.how})"} for row in split.leaks or ()}
        for start in range(0, len(split.lines), _TOGETHER):
            places = range(len(split.lines))[start : start + _TOGETHER]
            units = [(place, repeat) for place in places for repeat in range(layout.repeats)]
            rows = {
                (place, repeat): {
                    "split": split.name,
                    "line": split.lines[place],
                    "repeat": repeat + 1,
                    "id": split.names[place] if split.names else None,
                    **leaks.get(split.lines[place], {}),
                    **{path: value_at(examples[split.name][place], path) for path in fields},
                    **(_prompts(source.run, _fields_at(split, place, examples)) if examples else {}),
                }
                for place, repeat in units
            }
            for cell, unit, line, reply in source.lines_of(split.name, places):
                record = journal.decode(line)
                if reply is not None and layout.compares_models:
                    rows[divmod(unit, layout.repeats)][_reply(cell)] = reply
                rules = left_out.get(unit_of(record), ()) if left_out else ()
                rows[divmod(unit, layout.repeats)].update(_told(_name(cell), record, rules))
            yield from rows.values()


def _fields_at(split: Split, place: int, examples: Examples) -> Mapping[str, Any] | None:
    """Give an example's fields, of which a run without data has none; None where it is not as it was."""
    return {} if split.lines == (None,) else examples[split.name].get(place)


def _prompts(run: Manifest, fields: Mapping[str, Any] | None) -> Row:
    """Write the prompts as models were sent them; several messages as JSON."""
    if fields is None or not run.get("models"):
        return {}
    sent = {one["name"]: sent_of(one.get("text"), fields) for one in run["candidates"]}
    return {_prompt(name): text_of(messages) for name, messages in sent.items() if messages}


def _told(name: str, record: Mapping[str, Any], rules: Sequence[str]) -> Row:
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
                f"{missing:,} of {len(split.lines):,} {split.name} examples are not here as they were scored",
                hint="call it from the folder of the run's command, with its data as it was; or omit --with",
            )
    every = [example for known in examples.values() for example in known.values()]
    for path in fields:
        if all(value_at(example, path) is None for example in every):
            has = ", ".join(dict.fromkeys(key for example in every[:20] for key in example))
            raise UsageError(f"no example has the field {path!r}", hint=f"the first ones have {has}")
    return examples
