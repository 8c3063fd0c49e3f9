"""`optimize-eval report`: a run's result once more, from its journal; `--check` computes it another way."""

import shlex
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated

import typer

from optimize_eval.base.documents import JsonDict, to_dict
from optimize_eval.base.errors import UsageError
from optimize_eval.base.frozen import frozen
from optimize_eval.cli import checked, foreign_runs, formats, gates, output, pages, searches
from optimize_eval.cli.formats import FORMATS, BenchReport, RunReport
from optimize_eval.cli.known_elsewhere import complete_run
from optimize_eval.cli.named_runs import choose_run
from optimize_eval.config.compared import ChoiceOptions, MovedSplitOptions, RunGateOptions
from optimize_eval.config.foreign_options import OtherResultsOptions
from optimize_eval.config.printing import FormatName, ReportOptions, choose_format
from optimize_eval.data.selection import parse_selection
from optimize_eval.findings.board_models import said_in
from optimize_eval.findings.demands import Demands, judged_by_options, read_demands
from optimize_eval.findings.flaky import flaky_in
from optimize_eval.findings.forecast import with_margins
from optimize_eval.findings.gates import check_gap
from optimize_eval.findings.some_examples import SomeExamples
from optimize_eval.findings.stored_boards import (
    ANEW,
    folder_if_bench,
    own_boards,
    stored_board,
)
from optimize_eval.findings.stored_summary import Findings
from optimize_eval.reports.terminal.flaky import render
from optimize_eval.run.inputs import examples_again, read_again
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


@frozen
class Asked:
    """What a command says of its report."""

    options: ReportOptions
    gates: RunGateOptions
    name: FormatName
    page: pages.PageOptions
    records: formats.RecordLayout

    @property
    def laid_out(self) -> JsonDict:
        """Give what each report has to know."""
        return {"page": self.page, "records": self.records, "has_details": self.options.details}

    @property
    def has_gates(self) -> bool:
        given = self.gates
        return bool(
            given.fail_under
            or given.no_regression_against
            or given.min_agreement
            or given.max_gap is not None
        )

    @property
    def of_one(self) -> str:
        """Name an option that is about one run alone; empty where none was given."""
        options = {
            f"--format {self.name}": self.name is not FormatName.TERMINAL,
            "--check": self.options.check,
            "a gate": self.has_gates,
        }
        return next((option for option, is_given in options.items() if is_given), "")

    @property
    def is_json(self) -> bool:
        return self.name is FormatName.JSON


def report(
    context: typer.Context,
    demanded: RunGateOptions,
    chosen: ChoiceOptions,
    splits: MovedSplitOptions,
    printed: ReportOptions,
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
) -> None:
    """Print a run's result again, from its folder alone; --filter and --id also read its examples."""
    name = _choose(printed)
    asked = Asked(
        options=printed,
        gates=demanded,
        name=name,
        page=pages.page_options(printed, is_page=name is FormatName.HTML),
        records=formats.record_layout(printed, name),
    )
    runs = foreign_runs.as_runs(context, named, foreign, has_summary=printed.check, of_one=asked.of_one)
    for number, run in enumerate(runs):
        output.emit("") if number else None
        _report(run if isinstance(run, StoredRun) else choose_run(run), asked, chosen, splits)


def _report(run: StoredRun | str, asked: Asked, chosen: ChoiceOptions, splits: MovedSplitOptions) -> None:
    """Report a run: a search that is none yet, a bench, or candidates."""
    printed, demanded = asked.options, asked.gates
    if isinstance(run, str) and searches.is_unfinished(Path(run)):
        _report_search(Path(run), asked)
        return
    stored = _open(run, printed)
    if printed.flaky:
        _report_flaky(stored, asked, chosen)
        return
    searches.note_later(stored)
    formats.check(printed.step_summary)
    beside = {"--check": printed.check, "--no-regression-against": demanded.no_regression_against}
    some = find_examples(stored, chosen, splits.files, max_gap=demanded.max_gap, forbidden=beside)
    if stored.document.is_bench:
        _report_bench(stored, asked)
    else:
        _report_run(stored, asked, some)


def _report_flaky(stored: StoredRun, asked: Asked, chosen: ChoiceOptions) -> None:
    """List the examples of which some calls passed and some did not."""
    if asked.name not in {FormatName.TERMINAL, FormatName.JSON}:
        raise UsageError(f"--flaky has no format {asked.name}", hint="omit --format, or give --json")
    beside = {
        "--check": asked.options.check,
        "--all": asked.options.all,
        "--filter and --id": chosen.filters or chosen.ids,
        "a gate": asked.has_gates,
    }
    if given := [option for option, value in beside.items() if value]:
        raise UsageError(f"--flaky lists examples alone, without {given[0]}", hint="omit one of the two")
    listed = flaky_in(stored)
    if asked.is_json:
        output.emit_json(to_dict(listed))
    else:
        output.emit(render(listed, output.screen()))


def _report_search(folder: Path, asked: Asked) -> None:
    """Report how far a search came that is no run yet."""
    name, check = asked.name, asked.options.check
    is_plain = not (asked.options.all or asked.options.step_summary)
    is_done = searches.is_done(folder)
    if check and is_plain and is_done:
        checked.emit_search(folder, as_json=asked.is_json)
        return
    if check or not is_plain or name not in {FormatName.TERMINAL, FormatName.JSON, FormatName.HTML}:
        why = "it found nothing to compare with its seed" if is_done else "there are no numbers of it yet"
        says = "what it came to" if is_done else "how far it is"
        raise UsageError(
            f"{folder} is a search without a final sweep: {why}",
            hint=f"`optimize-eval report {shlex.quote(str(folder))}` or --json says {says}",
        )
    if name is FormatName.HTML:
        pages.write_page_of_search(folder, asked.page)
        return
    searches.show_unfinished(folder, as_json=asked.is_json, has_details=asked.options.details)


def _demands(stored: StoredRun, demanded: RunGateOptions) -> Demands | None:
    """Read the gates of the options, or else those that the run was made with."""
    given = demanded.fail_under, demanded.max_gap, demanded.no_regression_against
    return read_demands(stored.document, stored.folder, *given, min_agreement=demanded.min_agreement)


def _report_run(stored: StoredRun, asked: Asked, some: SomeExamples | None) -> None:
    options = asked.options
    stored = with_margins(
        stored, None if options.check else asked.gates.margin
    )  # what is checked has its own
    reported = RunReport(
        stored=stored,
        **asked.laid_out,
        demands=_demands(stored, asked.gates),
        some=some,
        is_by_cell=options.all and not stored.ledger.is_complete,
        has_other_numbers=bool(asked.gates.margin or options.step_summary),
    )
    foreign_runs.say_origin(stored.document, is_result=asked.name is FormatName.TERMINAL)
    if options.check:
        checked.emit(reported.findings, reported.judged, as_json=asked.is_json)
    else:
        FORMATS[asked.name].of_run(reported)
    if options.step_summary:
        formats.write(reported)
    gates.end_with_gates(reported.judged)


def _report_bench(stored: StoredRun, asked: Asked) -> None:
    """Report the leaderboard of a bench; one that did not come to its end is reported as a run."""
    options, demanded = asked.options, asked.gates
    gates.refuse_gap(demanded.max_gap)
    gates.refuse_margin(demanded.margin)
    board, others = stored_board(stored), own_boards(stored)
    keeps_examples = demanded.no_regression_against is not None or bool(board and board.has_some_examples)
    findings = Findings(run=stored, keep=said_in if keeps_examples else None)
    judged = judged_by_options(findings, board, others, demanded.fail_under, demanded.no_regression_against)
    bench = BenchReport(
        stored=stored,
        findings=findings,
        **asked.laid_out,
        boards={"": board, **others} if board else {},
        judged=tuple(judged),
    )
    if options.check:
        checked.emit(findings, judged, as_json=asked.is_json, board=board)
    else:
        _emit_bench(bench, asked.name)
    if options.step_summary:
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


def _open(run: StoredRun | str, asked: ReportOptions) -> StoredRun:
    """Open a run as its last command had it, or with everything that it holds."""
    stored = open_stored(folder_if_bench(run)) if isinstance(run, str) else run
    if asked.all:
        stored = _with_everything(stored, check=asked.check)
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


def _choose(asked: ReportOptions) -> FormatName:
    chosen = choose_format(FormatName, asked)
    if asked.check and chosen not in {FormatName.TERMINAL, FormatName.JSON}:
        raise UsageError(f"--check has no format {chosen}", hint="omit --format, or give --json")
    return chosen


def find_examples(
    run: StoredRun,
    wanted: ChoiceOptions,
    files: Mapping[str, str | None],
    *,
    max_gap: float | None,
    forbidden: Mapping[str, object],
) -> SomeExamples | None:
    """Choose examples of a run, which may have moved to `files`; None where no example is chosen.

    `forbidden` are options that cannot stand beside, with their values.
    """
    selection = parse_selection(wanted.filters, wanted.ids)
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
        options=_as_options({"--filter": wanted.filters, "--id": wanted.ids}),
        moved={name: path for name, path in files.items() if path is not None},
    )
    if max_gap is not None:
        check_gap(some.cut(run.layout), max_gap)
    return some


def _as_options(given: Mapping[str, Sequence[str]]) -> str:
    return "".join(f" {name} {shlex.quote(word)}" for name, words in given.items() for word in words)


def _refuse_files(files: Mapping[str, str | None]) -> None:
    if any(path is not None for path in files.values()):
        raise UsageError(
            "a report needs no examples", hint="--dataset, --valset and --testset are for --filter and --id"
        )
