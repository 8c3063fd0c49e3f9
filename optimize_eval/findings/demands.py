"""What a run or a leaderboard has to reach, as options name it: read before calls, judged after them.

What a gate is, and whether one is met, is decided in gates and regression_gates.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from types import MappingProxyType

from optimize_eval.base.documents import JsonMapping
from optimize_eval.base.errors import OptimizeEvalError, UsageError
from optimize_eval.base.frozen import frozen
from optimize_eval.findings import diff_boards, regression_gates
from optimize_eval.findings.board_shapes import Board, ModelScores, by_name
from optimize_eval.findings.diff_runs import compare_runs
from optimize_eval.findings.gates import (
    Bound,
    Gate,
    check_gap,
    completeness,
    gates_of,
    parse_bound,
    task_bounds,
    task_gates,
)
from optimize_eval.findings.leakage import LEAKED
from optimize_eval.findings.people import LeastAgreement, agreement_gate, parse_agreement
from optimize_eval.findings.stability import StabilityBound
from optimize_eval.findings.stability_gates import note_of_name, stability_bounds, stability_gates
from optimize_eval.findings.stored_boards import folder_if_bench, load_with_examples, with_examples
from optimize_eval.findings.stored_summary import Findings
from optimize_eval.findings.summary_shape import Summary
from optimize_eval.findings.wording import count
from optimize_eval.store.beside import check_comparable, of_same_bytes
from optimize_eval.store.layout import Layout
from optimize_eval.store.opened_run import StoredRun, open_stored
from optimize_eval.store.run_document import RunDocument


@frozen
class RunBounds:
    """The bounds of a command that are about metrics and calls: of a run, or of the run that a bench is."""

    of_tasks: tuple[Bound, ...] = ()  # of metrics and scorers in YAML
    of_calls: tuple[StabilityBound, ...] = ()
    others: tuple[str, ...] = ()  # about something else, as they were written

    def judge(self, run: StoredRun, summary: Callable[[], Summary]) -> Iterator[Gate]:
        """Hold a run against them; its summary is computed where that is needed."""
        yield from task_gates(summary(), self.of_tasks) if self.of_tasks else ()
        yield from stability_gates(run, self.of_calls)


def read_run_bounds(
    texts: Sequence[str] | None, settings: JsonMapping, layout: Layout, *, of_bench: bool = True
) -> RunBounds:
    """Find those among the bounds of a command."""
    of_calls = stability_bounds(texts or (), layout, of_bench=of_bench)
    others = [text for text in texts or () if text not in of_calls]
    of_tasks = task_bounds(others, settings, layout, of_bench=of_bench)
    return RunBounds(
        of_calls=tuple(of_calls.values()),
        of_tasks=tuple(of_tasks.values()),
        others=tuple(text for text in others if text not in of_tasks),
    )


_OF_A_BOARD = RunBounds()


@frozen
class Demands:
    """What a run has to reach."""

    bounds: tuple[Bound, ...] = ()
    of_run: RunBounds = _OF_A_BOARD
    max_gap: float | None = None
    agreeing: tuple[LeastAgreement, ...] = ()
    before: StoredRun | None = None

    @property
    def of_calls(self) -> tuple[StabilityBound, ...]:
        return self.of_run.of_calls

    def judge(self, run: StoredRun, summary: Summary) -> tuple[Gate, ...]:
        """Hold a run against the demands; one that is not complete meets none of them."""
        gates = (
            *completeness(summary),
            *gates_of(summary, self.bounds, self.max_gap),
            *self.of_run.judge(run, lambda: summary),
            *(agreement_gate(summary, bound) for bound in self.agreeing),
            *(self._against(self.before, run, summary) if self.before else ()),
        )
        steps = summary.tried.steps if summary.tried else 0
        if not steps:
            return gates
        versions = count(steps, "version")
        after = f"{versions} {'was' if steps == 1 else 'were'} made after results of these examples were seen"
        return tuple(replace(gate, text=f"{gate.text}; {after}") for gate in gates)

    @staticmethod
    def _against(before: StoredRun, run: StoredRun, summary: Summary) -> Iterable[Gate]:
        leakage = summary.leakage.get(summary.decided_on)
        if leakage and leakage.state == LEAKED:
            return [regression_gates.nothing_to_compare(before.folder, summary.decided_on, leakage)]
        same = of_same_bytes(before.document, run.document)
        diff = compare_runs(before, run, force=False)
        return regression_gates.regression_gates(diff, {*before.document.added}, same)


def read_demands(
    document: RunDocument,
    folder: Path,
    fail_under: Sequence[str] | None,
    max_gap: float | None,
    against: str | None,
    *,
    min_agreement: Sequence[str] | None = None,
    margins: Mapping[str, float] | None = None,
    is_before_calls: bool = False,
) -> Demands | None:
    """Read the demands, which must fit the run of a document; before calls, those that cannot be decided."""
    if not fail_under and max_gap is None and against is None and not min_agreement:
        return None
    _refuse_results_as_inputs(document, folder)
    layout = document.selection
    if max_gap is not None:
        check_gap(layout, max_gap)
    before = None if against is None else open_stored(against)
    if before:
        if before.document.is_bench:
            raise UsageError(f"{against} is a bench, not a run", hint="name a folder that `run` made")
        check_comparable(before, document, folder)
    if before and is_before_calls:
        wanted = layout if margins is None else replace(layout, margins=margins)
        regression_gates.check_can_decide(before.layout, wanted, of_same_bytes(before.document, document))
    of_run = read_run_bounds(fail_under, document.settings, layout, of_bench=False)
    bounds = tuple(_plain_bound(text, layout) for text in of_run.others)
    agreeing = tuple(parse_agreement(text, document) for text in min_agreement or ())
    return Demands(bounds=bounds, of_run=of_run, max_gap=max_gap, agreeing=agreeing, before=before)


def _plain_bound(text: str, layout: Layout) -> Bound:
    return replace(parse_bound(text, layout), note=note_of_name(text.rpartition("=")[0]))


def _refuse_results_as_inputs(document: RunDocument, folder: Path) -> None:
    """Refuse a gate on what --lf called, whose examples were taken by their results."""
    if after := document.chosen_after:
        raise UsageError(
            f"gates cannot be about {folder}, whose examples are those that failed or got worse in {after}",
            hint="run the command of this run without --lf and with the gates",
        )


def recall_demands(run: StoredRun, summary: Summary) -> tuple[Gate, ...]:
    """Judge the demands that the run's own command had."""

    def judge(said: JsonMapping) -> tuple[Gate, ...]:
        given = said.get("fail_under"), said.get("max_gap"), said.get("no_regression_against")
        demands = read_demands(run.document, run.folder, *given, min_agreement=said.get("min_agreement"))
        return demands.judge(run, summary) if demands else ()

    return _recall(run, judge)


def recall_board_demands(findings: Findings, board: Board, others: Mapping[str, Board]) -> tuple[Gate, ...]:
    """Judge the demands that the bench's own command had."""

    def judge(said: JsonMapping) -> tuple[Gate, ...]:
        given = said.get("fail_under"), said.get("no_regression_against")
        return judged_by_options(findings, board, others, *given)

    return _recall(findings.run, judge)


def _recall(run: StoredRun, judge: Callable[[JsonMapping], tuple[Gate, ...]]) -> tuple[Gate, ...]:
    """Judge by what run.json keeps of the options; what they name may be gone by now."""
    try:
        return judge(run.document.settings.get("gates", {}))
    except (OptimizeEvalError, AttributeError, LookupError, OSError, TypeError, ValueError) as error:
        reason = error.message if isinstance(error, OptimizeEvalError) else "run.json was edited"
        return (Gate(name="gates", is_met=False, text=f"the gates cannot be judged any more: {reason}"),)


_NONE: Mapping[str, Board] = MappingProxyType({})


@frozen
class BoardDemands:
    """What a leaderboard has to reach, and the run behind it."""

    bounds: tuple[regression_gates.BoardBound, ...] = ()
    of_run: RunBounds = _OF_A_BOARD
    before: Board | None = None
    against: str = ""

    @property
    def of_calls(self) -> tuple[StabilityBound, ...]:
        return self.of_run.of_calls

    def judge(self, board: Board, others: Mapping[str, Board] = _NONE) -> tuple[Gate, ...]:
        """Hold a board, with its examples where they are known, against what is about boards.

        `others` are the boards of own metrics by their names.
        """
        if self == BoardDemands():
            return ()
        regressions: Iterable[Gate] = ()
        if self.before:
            regressions = regression_gates.board_regression_gates(
                diff_boards.compare_boards(self.before, board), self.before, self.against
            )
        bounded = regression_gates.bound_gates(_models(board, others), self.bounds)
        return (*regression_gates.unchanged(board, ""), *bounded, *regressions)

    def judge_bench(
        self, findings: Findings, board: Board | None, others: Mapping[str, Board] = _NONE
    ) -> tuple[Gate, ...]:
        """Hold a bench against all of it; one that has no board yet meets none."""
        run = findings.run
        if self == BoardDemands():
            return ()
        if board is None and (run.owed or self.bounds or self.before):
            return _incomplete(run)
        of_run = self.of_run.judge(run, lambda: findings.summary)
        if board is None:
            return tuple(of_run)
        return (*self.judge(with_examples(board, findings) if self.before else board, others), *of_run)


def read_board_demands(
    expected: Board,
    fail_under: Sequence[str] | None,
    against: str | None,
    metrics: Sequence[str] = (),
    of_run: RunBounds | None = None,
) -> BoardDemands:
    """Read the demands, which must fit a board, of which no more has to be known than its names.

    `of_run` are those that are not about the board.
    """
    if not fail_under and against is None:
        return BoardDemands()
    models = [*_models(expected, dict.fromkeys(metrics, expected))]
    ranked, left = by_name(expected.models[0].tasks), [task.task for task in expected.left_out]
    scorers = [task.evaluator for task in ranked.values() if task.evaluator]
    own = of_run.others if of_run else fail_under or ()
    bounds = tuple(regression_gates.parse_bound(text, models, [*ranked, *left], scorers) for text in own)
    demands = BoardDemands(bounds=bounds, of_run=of_run or _OF_A_BOARD)
    if against is None:
        return demands
    before = load_with_examples(folder_if_bench(against))
    diff_boards.check_comparable(before, expected)
    return replace(demands, before=before, against=against)


def read_before_calls(
    expected: Board,
    fail_under: Sequence[str],
    against: str | None,
    metrics: Sequence[str],
    of_run: RunBounds,
) -> BoardDemands:
    """Read the demands, and refuse those that cannot be decided."""
    wanted = read_board_demands(expected, fail_under, against, metrics, of_run)
    if wanted.before:
        regression_gates.check_boards_can_decide(wanted.before, expected)
    return wanted


def judged_by_options(
    findings: Findings,
    board: Board | None,
    others: Mapping[str, Board],
    fail_under: Sequence[str] | None,
    against: str | None,
) -> tuple[Gate, ...]:
    """Hold a bench on disk against the gates of a command."""
    stored = findings.run
    if not fail_under and against is None:
        return ()
    of_run = read_run_bounds(fail_under, stored.document.settings, stored.layout)
    if board:
        wanted = read_board_demands(board, fail_under, against, [*others], of_run)
        return wanted.judge_bench(findings, board, others)
    if stored.owed or of_run.others or against is not None:
        return _incomplete(stored)
    return BoardDemands(of_run=of_run).judge_bench(findings, None)


def _incomplete(stored: StoredRun) -> tuple[Gate, ...]:
    """Miss the demand that all others rest on, where a bench has no board yet."""
    text = f"the bench is not finished: {stored.owed:,} of {stored.layout.size:,} calls are missing"
    if not stored.owed:
        text = "the bench has no board"
    return (Gate(name="complete", is_met=False, text=text),)


def _models(board: Board, others: Mapping[str, Board]) -> dict[str, ModelScores]:
    """Name the models of a board, and as MODEL.METRIC those of the boards of own metrics."""
    named = {model.adapter: model for model in board.models}
    for metric, other in others.items():
        for model in other.models:
            named.setdefault(f"{model.adapter}.{metric}", model)
    return named
