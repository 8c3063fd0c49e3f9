"""`optimize-eval rescore`: an existing run scored with another evaluator."""

from dataclasses import replace
from typing import Annotated

import typer

from optimize_eval.base.errors import UsageError
from optimize_eval.base.evaluator import EvaluatorSpec
from optimize_eval.cli import leaderboards, output, session_end
from optimize_eval.cli.command_line import check_meant, is_flag, kept_command, texts_of
from optimize_eval.cli.host import Terminal
from optimize_eval.cli.known_elsewhere import complete_run
from optimize_eval.config.compared import (
    CallOptions,
    MovedCandidateOptions,
    MovedSplitOptions,
    NoteOptions,
    PricedServerOptions,
    SpendingOptions,
    StopOptions,
)
from optimize_eval.config.declared import Heading
from optimize_eval.config.evaluators import ScoringOptions, judge_of, manners_of, starting_spec
from optimize_eval.config.printing import ShownOptions
from optimize_eval.config.prompts import DefinedDataOptions, given_of
from optimize_eval.evaluators.kinds import given_name, parse_evaluator
from optimize_eval.run.asking import read_labels
from optimize_eval.run.begin_or_resume import handling_of
from optimize_eval.run.defining import check_sandbox, named_scorers
from optimize_eval.run.rescoring import carry_out_rescoring, prepare_rescoring, remeasure, scorers_in
from optimize_eval.store.folder import LEADERBOARD
from optimize_eval.tasks.targets import Given

EXAMPLES = """\b
Examples:
  optimize-eval rescore runs/run-1f3a9c02 -e 'python3 second_judge.py'
  optimize-eval rescore runs/run-1f3a9c02 -e strict=./judge.sh --dataset moved/train.jsonl
  optimize-eval rescore runs/run-1f3a9c02 --metrics task.yaml
  optimize-eval rescore runs/bench-9c1d44e0 --metrics tasks/
  optimize-eval rescore runs/run-1f3a9c02 --labels labels.csv

\b
The run's own evaluators are not called, and may be gone. The same command
again continues.
Exit codes: 0 done, 2 wrong option or data, 3 it could not go on, 4 too many
failures or out of time, 130 interrupted.
"""

_AGAIN = "rescore once more: it is then another evaluator"


def rescore(
    context: typer.Context,
    run: Annotated[str, typer.Argument(metavar="RUN", help="The run's folder.", autocompletion=complete_run)],
    candidates: MovedCandidateOptions,
    splits: MovedSplitOptions,
    scoring: ScoringOptions,
    defined: DefinedDataOptions,
    servers: PricedServerOptions,
    calls: CallOptions,
    stopping: StopOptions,
    spending: SpendingOptions,
    noted: NoteOptions,
    shown: ShownOptions,
    labels: Annotated[
        str | None,
        typer.Option(
            "--labels",
            metavar="FILE",
            help="Take what people say; calls nothing.",
            show_default=False,
            rich_help_panel=Heading.EVALUATORS,
        ),
    ] = None,
    metrics: Annotated[
        list[str] | None,
        typer.Option(
            "--metrics",
            metavar="FILE|DIR",
            help="Apply metrics and rules; calls nothing.",
            show_default=False,
            rich_help_panel=Heading.EVALUATORS,
        ),
    ] = None,
) -> None:
    """Score an existing run with another evaluator; its scores join the run's."""
    if labels is not None:
        _check_alone(scoring, metrics)
        session_end.show(read_labels(run, labels, output.say), shown, has_out=False)
        return
    if metrics:
        has_timeout = is_flag(context, "timeout")
        _remeasure(run, metrics, candidates, splits, scoring, defined, shown, has_timeout=has_timeout)
        return
    if defined.data:
        raise UsageError("--data is for --metrics", hint="say where examples are now with --dataset")
    handling = replace(handling_of(calls, stopping, spending, noted), command=kept_command())
    manners = manners_of(servers, seeks_prices=spending.max_cost is not None)
    defaults = starting_spec(scoring, judge_of(scoring), manners)
    wanted = _scorers_wanted(scoring, given_of(defined), defaults)
    prepared = prepare_rescoring(
        run,
        [spec for spec, _ in wanted],
        [name for _, name in wanted],
        output.say,
        splits=splits.files,
        candidates=candidates.candidate,
        lists=candidates.candidates,
        has_timeout=is_flag(context, "timeout"),
    )
    finished = carry_out_rescoring(prepared, handling, Terminal(quiet=shown.quiet))
    if bench := prepared.bench:
        leaderboards.tell(finished.boards, bench.path, finished.status, shown)
    else:
        session_end.show(finished, shown, has_out=False)
    session_end.end(finished, again=_AGAIN)


def _check_alone(scoring: ScoringOptions, metrics: list[str] | None) -> None:
    if scoring.evaluators or scoring.judge_models or metrics:
        raise UsageError(
            "--labels calls nothing, and -e and --metrics are other ways to rescore", hint="give one of them"
        )


def _scorers_wanted(
    scoring: ScoringOptions, tasks: Given, defaults: EvaluatorSpec
) -> list[tuple[EvaluatorSpec, str | None]]:
    """Read the evaluators that score now, each with the name that it was given."""
    texts = texts_of(scoring)
    specs = check_meant([parse_evaluator(text, defaults) for text in texts], defaults)
    check_sandbox(specs, tasks)
    named = zip(specs, map(given_name, texts), strict=True)
    return [scorer for spec, name in named for scorer in named_scorers(spec, name, tasks, output.say)]


def _remeasure(
    run: str,
    files: list[str],
    candidates: MovedCandidateOptions,
    splits: MovedSplitOptions,
    scoring: ScoringOptions,
    defined: DefinedDataOptions,
    shown: ShownOptions,
    *,
    has_timeout: bool,
) -> None:
    """Take metrics and rules of tasks as they are now for the scores that the run has."""
    if scoring.evaluators or scoring.judge_models:
        raise UsageError(
            "--metrics calls nothing, and -e names who is called",
            hint="give one of the two: -e keeps changed metrics, too",
        )
    defaults, given = starting_spec(scoring, judge_of(scoring), None), given_of(defined)
    finished = remeasure(
        run,
        scorers_in(files, defaults, given, output.say),
        output.say,
        splits=splits.files,
        data=given.data,
        candidates=candidates.candidate,
        lists=candidates.candidates,
        has_timeout=has_timeout,
    )
    if finished.boards:
        board = finished.stored.folder / LEADERBOARD
        leaderboards.tell(
            finished.boards,
            board,
            finished.status,
            shown,
            summary=finished.summary,
        )
    else:
        session_end.show(finished, shown, has_out=False)
