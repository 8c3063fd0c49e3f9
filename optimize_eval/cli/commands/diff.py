"""`optimize-eval diff`: two runs on disk, or two leaderboards, against each other, example by example."""

import shlex
from collections.abc import Callable, Sequence
from typing import Annotated, NamedTuple

import typer

from optimize_eval.cli import foreign_runs, gates, output, pages
from optimize_eval.cli.command_line import same_command
from optimize_eval.cli.known_elsewhere import complete_run
from optimize_eval.cli.named_runs import choose_other_run
from optimize_eval.config.compared import RunGateOptions
from optimize_eval.config.foreign_options import MatchedResultsOptions
from optimize_eval.config.printing import DiffFormat, DiffOptions, choose_format
from optimize_eval.findings.board_shapes import Board
from optimize_eval.findings.demands import judged_by_options, read_board_demands, read_demands
from optimize_eval.findings.diff_boards import compare_boards, with_metrics
from optimize_eval.findings.diff_runs import compare_runs
from optimize_eval.findings.diff_shapes import BoardDiff, RunDiff
from optimize_eval.findings.forecast import with_margins
from optimize_eval.findings.gates import Gate
from optimize_eval.findings.stored_boards import (
    folder_if_bench,
    is_bench_folder,
    is_board,
    load_with_examples,
)
from optimize_eval.findings.stored_summary import Findings, summarise_stored
from optimize_eval.reports.terminal.answer import DETAILS, MOST_LINES
from optimize_eval.reports.terminal.diff import render, render_answer
from optimize_eval.reports.terminal.leaderboard import render_change, render_comparison
from optimize_eval.reports.text import Screen
from optimize_eval.store.opened_run import open_stored

EXAMPLES = """\b
Examples:
  optimize-eval diff runs/before
  optimize-eval diff runs/before runs/after
  optimize-eval diff runs/before runs/after --no-regression-against runs/before
  optimize-eval diff runs/run-1f3a9c02 runs/run-77b0e415 --force --json
  optimize-eval diff runs/bench-before runs/bench-after
  optimize-eval diff old/leaderboard.json new/leaderboard.json
  optimize-eval diff monday.json tuesday.json --map 'long=longer'
  optimize-eval diff runs/before runs/after --format html -o diff.html

\b
Compares what both runs have: the same evaluators, candidates of the same
names, the same examples. Gates are for RUN_B; of benches they name MODEL or
MODEL@TASK.
Exit codes: 0 compared, 1 a gate missed, 2 no such run or not comparable, 3 a
journal is damaged.
"""


class _Compared(NamedTuple):
    """Two that are compared, the gates of the second, and what writes more than JSON."""

    diff: RunDiff | BoardDiff
    judged: Sequence[Gate]
    write_page: Callable[[], None]
    text: Callable[[Screen], str]


def diff(
    context: typer.Context,
    run_a: Annotated[
        str,
        typer.Argument(
            metavar="RUN_A", help="The run, bench or leaderboard before.", autocompletion=complete_run
        ),
    ],
    demanded: RunGateOptions,
    printed: DiffOptions,
    matched: MatchedResultsOptions,
    named: Annotated[
        str | None,
        typer.Argument(
            metavar="[RUN_B]",
            help="The same after (runs/: what ended last).",
            show_default=False,
            autocompletion=complete_run,
        ),
    ] = None,
) -> None:
    """Say what changed from one run, or leaderboard, to another; it needs these and nothing else."""
    name = choose_format(DiffFormat, printed)
    look = pages.page_options(printed, is_page=name is DiffFormat.HTML)
    given = run_a, named
    run_a, named = foreign_runs.as_two_runs(context, run_a, named, matched)
    is_foreign = (run_a, named) != given
    if is_foreign:
        printed = printed.with_options(force=True)  # results of other tools share what they share
    run_a = folder_if_bench(run_a)
    run_b = folder_if_bench(choose_other_run(run_a, named, is_bench=is_board(run_a)))
    again = same_command(DETAILS) if is_foreign else _details_of(run_a, run_b, force=printed.force)
    again = "" if printed.details else again
    if is_board(run_a) or is_board(run_b):
        gates.refuse_gap(demanded.max_gap)
        gates.refuse_margin(demanded.margin)
        compared = _compare_boards(run_a, run_b, demanded, look, force=printed.force, again=again)
    else:
        compared = _compare_runs(run_a, run_b, demanded, look, force=printed.force, again=again)
    match name:
        case DiffFormat.JSON:
            output.emit_json({**compared.diff.to_dict(), **gates.gates_to_dict(compared.judged)})
        case DiffFormat.HTML:
            compared.write_page()
        case DiffFormat.TERMINAL:
            output.emit(compared.text(output.screen()))
    gates.end_with_gates(compared.judged)


def _compare_runs(
    a: str, b: str, demanded: RunGateOptions, look: pages.PageOptions, *, force: bool, again: str
) -> _Compared:
    """Judge two runs; `again` is how to see all that differs, empty where that is shown."""
    before, after = open_stored(a), with_margins(open_stored(b), demanded.margin)
    given = demanded.fail_under, demanded.max_gap, demanded.no_regression_against
    wanted = read_demands(after.document, after.folder, *given, min_agreement=demanded.min_agreement)
    comparison = compare_runs(before, after, force=force)

    def text(screen: Screen) -> str:
        if not again:
            return render(comparison, screen=screen)
        return render_answer(comparison, screen=screen, next_step=again)

    return _Compared(
        diff=comparison,
        judged=wanted.judge(after, summarise_stored(after)) if wanted else (),
        write_page=lambda: pages.write_runs(before, after, comparison, look, force=force),
        text=text,
    )


def _details_of(a: str, b: str, *, force: bool) -> str:
    """Write the command that shows everything."""
    words = ["optimize-eval", "diff", a, b, *(["--force"] if force else []), DETAILS]
    return shlex.join(words)


def _compare_boards(
    a: str, b: str, demanded: RunGateOptions, look: pages.PageOptions, *, force: bool, again: str
) -> _Compared:
    before, after = load_with_examples(a), load_with_examples(b)
    judged = _judge_board(after, b, demanded)
    comparison = with_metrics(compare_boards(before, after, force=force), a, b)

    def text(screen: Screen) -> str:
        if not again:
            return render_comparison(comparison, screen=screen)
        return render_change(comparison, screen=screen, most=MOST_LINES, next_step=again)

    return _Compared(
        diff=comparison,
        judged=judged,
        write_page=lambda: pages.write_boards(a, b, comparison, look, force=force),
        text=text,
    )


def _judge_board(board: Board, path: str, demanded: RunGateOptions) -> Sequence[Gate]:
    """Hold a board against the gates; that of a bench's folder with its records."""
    given = demanded.fail_under, demanded.no_regression_against
    if is_bench_folder(path):
        return judged_by_options(Findings(run=open_stored(path)), board, {}, *given)
    return read_board_demands(board, *given).judge(board)
