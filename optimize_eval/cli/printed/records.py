"""A run's records on stdout: one a row, or with `--wide` one example a row, its candidates side by side."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Annotated

import typer

from optimize_eval.base.errors import UsageError
from optimize_eval.cli import output
from optimize_eval.findings.metric_rows import left_out
from optimize_eval.reports import rows
from optimize_eval.store.records import LeftOut, RunRecord
from optimize_eval.store.stored import StoredRun

Wide = Annotated[bool, typer.Option("--wide", help="csv, jsonl: one row for each example.")]
With = Annotated[
    str | None,
    typer.Option(
        "--with", metavar="FIELD,…", help="Fields of the examples to put into --wide.", show_default=False
    ),
]


Chosen = Iterable[RunRecord]


@dataclass(frozen=True, slots=True)
class RecordLayout:
    """How records are laid out."""

    is_wide: bool = False
    fields: tuple[str, ...] = ()


def record_layout(wide: bool, fields: str | None, *, is_possible: bool) -> RecordLayout:
    """Read the options of the table; refuse them in a report that has none."""
    if wide and not is_possible:
        raise UsageError("--wide belongs to --format csv or jsonl", hint="add one of them, or leave it out")
    if fields is not None and not wide:
        raise UsageError("--with belongs to --wide", hint="add --wide")
    named = tuple(dict.fromkeys(field.strip() for field in (fields or "").split(",") if field.strip()))
    if fields is not None and not named:
        raise UsageError("--with names no field", hint="such as --with question,metadata.lang")
    return RecordLayout(is_wide=wide, fields=named)


def emit(
    stored: StoredRun,
    records: Chosen,
    laid_out: RecordLayout,
    *,
    is_jsonl: bool,
    whole: StoredRun | None = None,
) -> None:
    """Write a row for each, as they are read; no number is made of them.

    `whole` is the run of which `stored` is a part: rules of tasks are about all its rows.
    """
    if laid_out.is_wide:
        _emit_wide(stored, laid_out.fields, left_out(whole or stored), is_jsonl=is_jsonl)
        return
    if is_jsonl:
        output.emit_pieces(rows.jsonl_pieces(records))
        return
    columns = rows.find_columns(records)
    if columns.has_rest:
        output.say(
            f"note: side information beyond {rows.MOST_COLUMNS} keys, or with keys of more than "
            f"{rows.LONGEST_NAME} letters, is in the last column, side_info, as JSON; "
            "--format jsonl has every key"
        )
    output.emit_pieces(rows.csv_pieces(records, columns, ci=output.under_ci()))


def _emit_wide(stored: StoredRun, fields: tuple[str, ...], left: LeftOut, *, is_jsonl: bool) -> None:
    from optimize_eval.reports import wide  # noqa: PLC0415  the page's source is of no use to other reports
    from optimize_eval.reports.page.source import source_of  # noqa: PLC0415  see above

    found = wide.rows_of(source_of(stored, summary={}), stored.layout, fields, left)
    if is_jsonl:
        output.emit_pieces(wide.jsonl_pieces(found))
        return
    columns = wide.columns_of(stored.layout, fields)
    output.emit_pieces(wide.csv_pieces(found, columns, ci=output.under_ci()))
