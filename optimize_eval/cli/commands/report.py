"""`optimize-eval report`: a run's result once more, from its journal; `--check` computes it another way."""

import shlex
from collections.abc import Mapping, Sequence
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from optimize_eval.cli import output
from optimize_eval.cli.options import board_gates, gates
from optimize_eval.cli.shown import checked, leaderboards, page, records, searched, step_summary
from optimize_eval.cli.shown.some_examples import find_examples
from optimize_eval.errors import UsageError
from optimize_eval.findings import demands
from optimize_eval.findings.board import demands as board_demands
from optimize_eval.findings.board.examples import ANEW, own_boards, stored_board
from optimize_eval.findings.board.stored import Board
from optimize_eval.findings.shapes.summary import Summary
from optimize_eval.findings.summary.document import summarise_stored
from optimize_eval.findings.summary.gates import Gate
from optimize_eval.options.compared import ChoiceOptions, MovedSplitOptions
from optimize_eval.options.gates import RunGateOptions
from optimize_eval.options.output import PrintOptions
from optimize_eval.reading import files
from optimize_eval.reports import junit, markdown
from optimize_eval.reports.board import junit as board_junit
from optimize_eval.reports.board import markdown as board_markdown
from optimize_eval.reports.board import rows as board_rows
from optimize_eval.reports.terminal import every_cell
from optimize_eval.reports.terminal import summary as terminal
from optimize_eval.store.folder import LEADERBOARD, SUMMARY
from optimize_eval.store.growing.unnamed import unnamed, with_everything
from optimize_eval.store.manifest import is_bench
from optimize_eval.store.note import note_of
from optimize_eval.store.records import Records
from optimize_eval.store.stored import StoredRun, open_stored

EXAMPLES = """\b
Examples:
  optimize-eval report runs/run-1f3a9c02
  optimize-eval report runs/run-1f3a9c02 --check
  optimize-eval report runs/run-1f3a9c02 --filter metadata.difficulty=hard
  optimize-eval report runs/run-1f3a9c02 --fail-under judge=0.8 --format junit > junit.xml
  optimize-eval report runs/run-1f3a9c02 --format csv > records.csv
  optimize-eval report runs/run-1f3a9c02 --format csv --wide --with question,metadata.lang > examples.csv
  optimize-eval report runs/run-1f3a9c02 --format html -o report.html
  optimize-eval report runs/run-1f3a9c02 --format md | gh pr comment --body-file -
  optimize-eval report runs/bench-9c1d44e0 --fail-under my_model=0.8 --format csv > board.csv

\b
Exit codes: 0 done, 1 a gate missed or --check found a difference, 2 no such run, 3 the journal is damaged.
"""

_LONGEST_SCHEMA = 100


class Format(StrEnum):
    """What a report can be written as."""

    TERMINAL = "terminal"
    JSON = "json"
    CSV = "csv"
    JSONL = "jsonl"
    MD = "md"
    JUNIT = "junit"
    HTML = "html"


_OF_RECORDS = {Format.CSV, Format.JSONL, Format.HTML}
_WITH_GATES = {Format.JSON, Format.MD, Format.JUNIT}  # those that the run had, where none are given


def report(
    run: Annotated[str, typer.Argument(metavar="RUN", help="The folder of a run or bench.")],
    demanded: RunGateOptions,
    chosen_examples: ChoiceOptions,
    splits: MovedSplitOptions,
    printed: PrintOptions,
    check: Annotated[bool, typer.Option("--check", help="Compute the numbers in another way.")] = False,
    all_: Annotated[
        bool, typer.Option("--all", help="Show what the last command did not name, too.")
    ] = False,
    format_: Annotated[
        Format | None,
        typer.Option("--format", metavar="FORMAT", help=", ".join(Format), show_default=False),
    ] = None,
    output_: page.Output = None,
    max_mb: page.MaxMb = None,
    full: page.Full = False,
    wide: records.Wide = False,
    with_: records.With = None,
    for_step: step_summary.Wanted = False,
) -> None:
    """Print a run's result again; it needs the run's folder and, but to choose examples, nothing else."""
    as_json, filters, ids = printed.as_json, chosen_examples.filters, chosen_examples.ids
    fail_under, max_gap, margin = demanded.fail_under, demanded.max_gap, demanded.margin
    no_regression_against, moved = demanded.no_regression_against, splits.files
    chosen = _choose(format_, check=check, as_json=as_json)
    look = page.wanted(output_, max_mb, full, is_page=chosen is Format.HTML)
    table = records.table(wide, with_, is_possible=chosen in {Format.CSV, Format.JSONL})
    stored = _opened(run, all_=all_, check=check)
    step_summary.check(for_step, is_bench=is_bench(stored.manifest))
    beside = {
        "--check": check,
        "--no-regression-against": no_regression_against,
        "--format html": chosen is Format.HTML,
        "--wide": wide,
    }
    some = find_examples(stored, filters, ids, moved, max_gap=max_gap, forbidden=beside)
    if is_bench(stored.manifest):
        board_gates.refuse_gap(max_gap)
        board_gates.refuse_margin(margin)
        _report_bench(stored, chosen, fail_under, no_regression_against, look, table, check=check)
        return
    demands.set_margins(stored, None if check else margin)  # what is checked has its own
    wanted = demands.read_demands(stored.manifest, stored.folder, fail_under, max_gap, no_regression_against)
    if chosen in {Format.CSV, Format.JSONL}:
        found = some.records(stored) if some else Records(stored)
        records.emit(stored, found, table, is_jsonl=chosen is Format.JSONL)
    is_by_cell = all_ and chosen is Format.TERMINAL and not stored.ledger.is_complete
    if (chosen in _OF_RECORDS or is_by_cell) and wanted == demands.Demands() and not (margin or for_step):
        _emit_without_numbers(stored, chosen, look)
        return  # nothing is computed that nobody wants
    _note_newer_rules(stored)
    summary = some.summarise(stored) if some else summarise_stored(stored)
    judged = wanted.judge(stored, summary)
    if check:
        checked.emit(stored.folder, summary, judged, as_json=chosen is Format.JSON)
    elif chosen is Format.HTML:
        output.emit(str(page.write_page(stored, look, summary=summary)))
    elif chosen not in _OF_RECORDS:
        recalls = chosen in _WITH_GATES and not some  # the run's gates are about all its examples
        shown = judged or (demands.recalled(stored, summary) if recalls else ())
        if some or not _is_of_a_search(stored.folder, summary, chosen):
            _emit_summary(stored, summary, shown, chosen)
    if for_step:
        step_summary.write(stored, summary, judged or demands.recalled(stored, summary))
    gates.end(judged)


def _emit_without_numbers(stored: StoredRun, chosen: Format, look: page.Wanted) -> None:
    """Print what needs no summary: the page is of summary.json as it stands, records are out already."""
    if chosen is Format.HTML:
        output.emit(str(page.write_page(stored, look)))
    elif chosen is Format.TERMINAL:
        output.emit(every_cell.render(stored, fit=output.fitted, width=output.width()))


def _opened(run: str, *, all_: bool, check: bool) -> StoredRun:
    """Open a run as its last command had it, or with everything that it holds."""
    stored = open_stored(board_demands.place_of(run))
    if all_:
        stored = _with_everything(stored, check=check)
    elif left := unnamed(stored.document):
        shown = "" if is_bench(stored.manifest) else "; --all shows it"
        output.say(f"note: left out, as the run's last command did not name it: {left}{shown}")
    return stored


def _is_of_a_search(folder: Path, summary: Summary, chosen: Format) -> bool:
    """Print a search's own report where that is what a terminal is to show; else say that there is one."""
    document = searched.search_of(folder, summary)
    if document is None:
        return False
    if chosen is Format.TERMINAL:
        return searched.show(document)
    searched.note(document)
    return False


def _with_everything(stored: StoredRun, *, check: bool) -> StoredRun:
    if is_bench(stored.manifest):
        raise UsageError(
            "a board has what the bench's own command named", hint="omit --all; name all models and files"
        )
    if check:
        raise UsageError(
            "summary.json has what the last command named, and is checked so", hint="omit --all or --check"
        )
    return with_everything(stored)


def _note_newer_rules(stored: StoredRun) -> None:
    """Say that the numbers are not those of the summary that an older version wrote."""
    try:
        with files.opened(stored.folder / SUMMARY) as stream:
            is_older = checked.OLDER in stream.read(_LONGEST_SCHEMA)
    except OSError:
        return
    if is_older:
        output.say(
            "note: computed by newer rules than its summary.json, from the same journal, without a call"
        )


def _report_bench(
    stored: StoredRun,
    chosen: Format,
    fail_under: Sequence[str] | None,
    against: str | None,
    look: page.Wanted,
    table: records.Table,
    *,
    check: bool,
) -> None:
    """Report the leaderboard of a bench; one that did not come to its end is reported as a run."""
    board, others = stored_board(stored), own_boards(stored)
    judged = board_demands.judged_as_asked(stored, board, others, fail_under, against)
    if check:
        checked.emit(stored.folder, summarise_stored(stored), judged, as_json=chosen is Format.JSON)
    elif chosen is Format.JSONL or table.is_wide:
        records.emit(stored, Records(stored), table, is_jsonl=chosen is Format.JSONL)
    elif chosen is Format.HTML:
        boards = {"": board, **others} if board else None
        output.emit(str(page.write_page(stored, look, boards=boards)))
    elif board:
        shown = judged or (board_demands.recalled(stored, board, others) if chosen in _WITH_GATES else ())
        _emit_board(stored, {"": board, **others}, shown, chosen)
    elif chosen is Format.CSV:
        raise UsageError(
            "the csv of a bench is its board, and there is none yet",
            hint="give the bench's command again: it goes on where it was; --format jsonl has the records",
        )
    else:
        _emit_summary(stored, summarise_stored(stored), judged, chosen)
    gates.end(judged)


def _emit_board(
    stored: StoredRun, boards: Mapping[str, Board], shown: Sequence[Gate], chosen: Format
) -> None:
    """Write leaderboards, the bench's own first, the others by the names of their metrics."""
    run, note = shlex.quote(str(stored.folder)), note_of(stored.manifest)
    try:
        match chosen:
            case Format.JSON:
                output.emit_json({**leaderboards.to_dict(boards), **_noted(note), **gates.to_dict(shown)})
            case Format.CSV:
                output.emit_pieces(board_rows.csv_pieces(boards, ci=output.under_ci()))
            case Format.MD:
                output.emit_document(board_markdown.render(boards, shown, run, note))
            case Format.JUNIT:
                output.emit_document(board_junit.render(boards, shown, run))
            case _:
                leaderboards.emit(boards, note)
    except (LookupError, TypeError, ValueError, AttributeError, StopIteration):  # somebody edited it
        raise UsageError(f"{stored.folder / LEADERBOARD} is not as bench wrote it", hint=ANEW) from None


def _noted(note: str | None) -> dict[str, str]:
    return {"note": note} if note else {}


def _choose(given: Format | None, *, check: bool, as_json: bool) -> Format:
    if as_json and given not in {None, Format.JSON}:
        raise UsageError(f"--json and --format {given} exclude each other", hint="give one of the two")
    chosen = Format.JSON if as_json else given or Format.TERMINAL
    if check and chosen not in {Format.TERMINAL, Format.JSON}:
        raise UsageError(f"--check has no format {chosen}", hint="leave --format away, or give --json")
    return chosen


def _emit_summary(stored: StoredRun, summary: Summary, judged: Sequence[Gate], chosen: Format) -> None:
    run, note = shlex.quote(str(stored.folder)), note_of(stored.manifest)
    if chosen is Format.JSON:
        output.emit_json({**summary.to_dict(), **_noted(note), **gates.to_dict(judged)})
    elif chosen is Format.MD:
        output.emit_document(markdown.render(summary, judged, run, note))
    elif chosen is Format.JUNIT:
        output.emit_document(junit.render(summary, judged, run))
    else:
        fitted = output.fitted(summary), output.fitted(note)
        output.emit(terminal.render(fitted[0], note=fitted[1], width=output.width(), run=run))
