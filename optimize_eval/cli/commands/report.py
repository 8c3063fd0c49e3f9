"""`optimize-eval report`: a run's result once more, from its journal; `--check` computes it another way."""

import shlex
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated

import typer

from optimize_eval.base.documents import to_dict
from optimize_eval.base.errors import UsageError
from optimize_eval.cli import checked, foreign_runs, formats, gates, output, pages, searches
from optimize_eval.cli.formats import FORMATS, BenchReport, FormatName, RunReport
from optimize_eval.cli.known_elsewhere import complete_run
from optimize_eval.cli.named_runs import choose_run
from optimize_eval.config.compared import ChoiceOptions, MovedSplitOptions, RunGateOptions
from optimize_eval.config.foreign_options import OtherResultsOptions
from optimize_eval.config.printing import ResultOptions
from optimize_eval.data.selection import parse_selection
from optimize_eval.findings.board_models import said_in
from optimize_eval.findings.demands import Demands, judged_by_options, read_demands
from optimize_eval.findings.flaky import flaky_in
from optimize_eval.findings.forecast import with_margins
from optimize_eval.findings.gates import check_gap
from optimize_eval.findings.stored_boards import (
    ANEW,
    folder_if_bench,
    has_some_examples,
    own_boards,
    stored_board,
)
from optimize_eval.findings.stored_summary import Findings, SomeExamples
from optimize_eval.reports.terminal.flaky import render
from optimize_eval.run.inputs import read_again
from optimize_eval.run.replan import examples_again
from optimize_eval.store.folder import LEADERBOARD
from optimize_eval.store.opened_run import StoredRun, open_stored, say_unnamed, with_everything

EXAMPLES = """\b
Examples:
  optimize-eval report
  optimize-eval report runs/run-1f3a9c02
  optimize-eval report runs/run-1f3a9c02 --check
  optimize-eval report runs/run-1f3a9c02 --flaky
  optimize-eval report runs/run-1f3a9c02 --filter metadata.difficulty=hard
  optimize-eval report runs/run-1f3a9c02 --fail-under judge=0.8 --format junit > junit.xml
  optimize-eval report runs/run-1f3a9c02 --format csv > records.csv
  optimize-eval report runs/run-1f3a9c02 --format csv --wide --with question,metadata.lang > examples.csv
  optimize-eval report runs/run-1f3a9c02 --format html -o report.html
  optimize-eval report runs/run-1f3a9c02 --format md | gh pr comment --body-file -
  optimize-eval report results.json --baseline short
  optimize-eval report runs/bench-9c1d44e0 --fail-under my_model=0.8 --format csv > board.csv

\b
Exit codes: 0 done, 1 a gate missed or --check found a difference, 2 no such
run, 3 the journal is damaged.
"""
_WITHOUT_BOARD = {FormatName.JSONL, FormatName.HTML}


def report(
    context: typer.Context,
    demanded: RunGateOptions,
    chosen_examples: ChoiceOptions,
    splits: MovedSplitOptions,
    printed: ResultOptions,
    foreign: OtherResultsOptions,
    named: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[RUN|FILE...]",
            help="A run's or bench's folder (runs/: what ended last), or another tool's results.",
            show_default=False,
            autocompletion=complete_run,
        ),
    ] = None,
    check: Annotated[bool, typer.Option("--check", help="Compute the numbers in another way.")] = False,
    all_: Annotated[
        bool, typer.Option("--all", help="Also show what the last command did not name.")
    ] = False,
    format_: Annotated[
        FormatName | None,
        typer.Option("--format", metavar="FORMAT", help=", ".join(FormatName), show_default=False),
    ] = None,
    output_: pages.Output = None,
    max_mb: pages.MaxMb = None,
    full: pages.Full = False,
    wide: formats.Wide = False,
    with_: formats.With = None,
    for_step: formats.Wanted = False,
    flaky: Annotated[bool, typer.Option("--flaky", help="List examples that pass now and then.")] = False,
) -> None:
    """Print a run's result again, from its folder alone; --filter and --id also read its examples."""
    name = _choose(format_, check=check, as_json=printed.as_json)
    run = choose_run(foreign_runs.as_run(context, named, foreign, has_summary=check))
    look = pages.page_options(output_, max_mb, full, is_page=name is FormatName.HTML)
    laid_out = formats.record_layout(wide, with_, is_possible=name in {FormatName.CSV, FormatName.JSONL})
    if searches.is_unfinished(Path(run)):
        is_plain = not (all_ or for_step)
        _report_search(Path(run), name, look, check=check, is_plain=is_plain, has_details=printed.details)
        return
    stored = _open(run, all_=all_, check=check)
    if flaky:
        beside = {
            "--check": check,
            "--all": all_,
            "--filter and --id": chosen_examples.filters or chosen_examples.ids,
        }
        beside |= {
            "a gate": demanded.fail_under or demanded.no_regression_against or demanded.max_gap is not None
        }
        _report_flaky(stored, name, beside)
        return
    searches.note_later(stored)
    formats.check(for_step)
    beside = {
        "--check": check,
        "--no-regression-against": demanded.no_regression_against,
    }
    some = find_examples(
        stored,
        chosen_examples.filters,
        chosen_examples.ids,
        splits.files,
        max_gap=demanded.max_gap,
        forbidden=beside,
    )
    if stored.document.is_bench:
        _report_bench(
            stored,
            name,
            demanded,
            look,
            laid_out,
            check=check,
            for_step=for_step,
            has_details=printed.details,
        )
        return
    stored = with_margins(stored, None if check else demanded.margin)  # what is checked has its own
    reported = RunReport(
        stored=stored,
        page=look,
        records=laid_out,
        has_details=printed.details,
        demands=_demands(stored, demanded),
        some=some,
        is_by_cell=all_ and not stored.ledger.is_complete,
        has_other_numbers=bool(demanded.margin or for_step),
    )
    _report_run(reported, name, check=check, for_step=for_step)


def _report_flaky(stored: StoredRun, name: FormatName, beside: Mapping[str, object]) -> None:
    """List the examples of which some calls passed and some did not."""
    if name not in {FormatName.TERMINAL, FormatName.JSON}:
        raise UsageError(f"--flaky has no format {name}", hint="omit --format, or give --json")
    if given := [option for option, value in beside.items() if value]:
        raise UsageError(f"--flaky lists examples alone, without {given[0]}", hint="omit one of the two")
    listed = flaky_in(stored)
    if name is FormatName.JSON:
        output.emit_json(to_dict(listed))
    else:
        output.emit(render(output.fitted(listed), output.width()))


def _report_search(
    folder: Path,
    name: FormatName,
    look: pages.PageOptions,
    *,
    check: bool,
    is_plain: bool,
    has_details: bool,
) -> None:
    """Report how far a search came that is no run yet."""
    is_done = searches.is_done(folder)
    if check and is_plain and is_done:
        checked.emit_search(folder, as_json=name is FormatName.JSON)
        return
    if check or not is_plain or name not in {FormatName.TERMINAL, FormatName.JSON, FormatName.HTML}:
        why = "it found nothing to compare with its seed" if is_done else "there are no numbers of it yet"
        says = "what it came to" if is_done else "how far it is"
        raise UsageError(
            f"{folder} is a search without a final sweep: {why}",
            hint=f"`optimize-eval report {shlex.quote(str(folder))}` or --json says {says}",
        )
    if name is FormatName.HTML:
        pages.write_page_of_search(folder, look)
        return
    searches.show_unfinished(folder, as_json=name is FormatName.JSON, has_details=has_details)


def _demands(stored: StoredRun, demanded: RunGateOptions) -> Demands | None:
    """Read the gates of the options, or else those that the run was made with."""
    return read_demands(
        stored.document,
        stored.folder,
        demanded.fail_under,
        demanded.max_gap,
        demanded.no_regression_against,
    )


def _report_run(reported: RunReport, name: FormatName, *, check: bool, for_step: bool) -> None:
    foreign_runs.say_origin(reported.stored.document, is_result=name is FormatName.TERMINAL)
    if check:
        checked.emit(reported.findings, reported.judged, as_json=name is FormatName.JSON)
    else:
        FORMATS[name].of_run(reported)
    if for_step:
        formats.write(reported)
    gates.end_with_gates(reported.judged)


def _report_bench(
    stored: StoredRun,
    name: FormatName,
    demanded: RunGateOptions,
    look: pages.PageOptions,
    laid_out: formats.RecordLayout,
    *,
    check: bool,
    for_step: bool,
    has_details: bool,
) -> None:
    """Report the leaderboard of a bench; one that did not come to its end is reported as a run."""
    gates.refuse_gap(demanded.max_gap)
    gates.refuse_margin(demanded.margin)
    board, others = stored_board(stored), own_boards(stored)
    keeps_examples = demanded.no_regression_against is not None or bool(board and has_some_examples(board))
    findings = Findings(run=stored, keep=said_in if keeps_examples else None)
    judged = judged_by_options(findings, board, others, demanded.fail_under, demanded.no_regression_against)
    bench = BenchReport(
        stored=stored,
        findings=findings,
        page=look,
        records=laid_out,
        has_details=has_details,
        boards={"": board, **others} if board else {},
        judged=tuple(judged),
    )
    if check:
        is_json = name is FormatName.JSON
        checked.emit(findings, judged, as_json=is_json, board=board)
    else:
        _emit_bench(bench, name)
    if for_step:
        formats.write_board(bench)
    gates.end_with_gates(judged)


def _emit_bench(bench: BenchReport, name: FormatName) -> None:
    is_of_board = bench.boards and name not in _WITHOUT_BOARD and not bench.records.is_wide
    try:
        FORMATS[name].of_bench(bench)
    except (LookupError, TypeError, ValueError, AttributeError, StopIteration):  # somebody edited it
        if not is_of_board:
            raise
        raise UsageError(f"{bench.stored.folder / LEADERBOARD} is not as bench wrote it", hint=ANEW) from None


def _open(run: str, *, all_: bool, check: bool) -> StoredRun:
    """Open a run as its last command had it, or with everything that it holds."""
    stored = open_stored(folder_if_bench(run))
    if all_:
        stored = _with_everything(stored, check=check)
    elif left := say_unnamed(stored.document):
        shown = "" if stored.document.is_bench else "; --all shows it"
        output.say(f"note: left out, as the run's last command did not name it: {left}{shown}")
    return stored


def _with_everything(stored: StoredRun, *, check: bool) -> StoredRun:
    if stored.document.is_bench:
        raise UsageError(
            "a board has what the bench's own command named", hint="omit --all; name all models and files"
        )
    if check:
        raise UsageError(
            "summary.json has what the last command named, and is checked so", hint="omit --all or --check"
        )
    return with_everything(stored)


def _choose(given: FormatName | None, *, check: bool, as_json: bool) -> FormatName:
    if as_json and given not in {None, FormatName.JSON}:
        raise UsageError(f"--json and --format {given} exclude each other", hint="give one of the two")
    chosen = FormatName.JSON if as_json else given or FormatName.TERMINAL
    if check and chosen not in {FormatName.TERMINAL, FormatName.JSON}:
        raise UsageError(f"--check has no format {chosen}", hint="omit --format, or give --json")
    return chosen


def find_examples(
    run: StoredRun,
    filters: Sequence[str] | None,
    ids: Sequence[str] | None,
    files: Mapping[str, str | None],
    *,
    max_gap: float | None,
    forbidden: Mapping[str, object],
) -> SomeExamples | None:
    """Choose examples of a run, which may have moved to `files`; None where no example is chosen.

    `forbidden` are options that cannot stand beside, with their values.
    """
    selection = parse_selection(filters, ids)
    if not selection:
        _refuse_files(files)
        return None
    if run.document.is_bench:
        raise UsageError(
            "the report of a bench is about all its tasks",
            hint="choose tasks before: bench --filter, --id; bench --show ID tells of one of them",
        )
    if beside := [option for option, value in forbidden.items() if value]:
        raise UsageError(f"{beside[0]} is about all examples", hint="omit it, or --filter and --id")
    sources = examples_again(run.document, read_again(run.document, files))
    chosen = selection.of({source.name: source.examples for source in sources})
    lines = {name: {example.line for example in examples} for name, examples in chosen.items()}
    places = {
        split.name: [index for index, line in enumerate(split.lines) if line in lines.get(split.name, ())]
        for split in run.layout.splits
    }
    some = SomeExamples(
        places=places,
        why=str(selection),
        options=_as_options({"--filter": filters, "--id": ids}),
        moved={name: path for name, path in files.items() if path is not None},
    )
    if max_gap is not None:
        check_gap(some.cut(run.layout), max_gap)
    return some


def _as_options(given: Mapping[str, Sequence[str] | None]) -> str:
    return "".join(f" {name} {shlex.quote(word)}" for name, words in given.items() for word in words or ())


def _refuse_files(files: Mapping[str, str | None]) -> None:
    if any(path is not None for path in files.values()):
        raise UsageError(
            "a report needs no examples", hint="--dataset, --valset and --testset are for --filter and --id"
        )
