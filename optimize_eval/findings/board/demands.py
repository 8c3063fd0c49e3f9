"""What a leaderboard has to reach, as options say; what runs have to, and how it is kept: demands."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING

from optimize_eval.base.errors import OptimizeEvalError
from optimize_eval.base.frozen import frozen
from optimize_eval.findings.demands import GateOptions, task_bounds
from optimize_eval.store.folder import LEADERBOARD, MANIFEST
from optimize_eval.store.stored import StoredRun

if TYPE_CHECKING:
    from optimize_eval.findings.board.gates import BoardBound
    from optimize_eval.findings.board.shapes import Board, ModelScores
    from optimize_eval.findings.metrics.gates import TaskBound
    from optimize_eval.findings.summary.gates import Gate

_NONE: "Mapping[str, Board]" = MappingProxyType({})


@frozen
class BoardDemands:
    """What a leaderboard has to reach."""

    bounds: "tuple[BoardBound, ...]" = ()
    of_tasks: "tuple[TaskBound, ...]" = ()  # in YAML
    before: "Board | None" = None
    against: str = ""

    def judge(self, board: "Board", others: "Mapping[str, Board]" = _NONE) -> "tuple[Gate, ...]":
        """Hold a board, with its examples where they are known, against the demands.

        `others` are the boards of own metrics by their names.
        """
        from optimize_eval.findings.board import gates as board_gates  # noqa: PLC0415  most benches have no gates
        from optimize_eval.findings.diff.boards import compare_boards  # noqa: PLC0415

        if self == BoardDemands():
            return ()
        regressions: Iterable[Gate] = ()
        if self.before:
            regressions = board_gates.regression_gates(
                compare_boards(self.before, board), self.before, self.against
            )
        bounded = board_gates.bound_gates(_models(board, others), self.bounds)
        return (*board_gates.unchanged(board, ""), *bounded, *regressions)


def read_demands(
    expected: "Board",
    fail_under: Sequence[str] | None,
    against: str | None,
    metrics: Sequence[str] = (),
    known: "Mapping[str, TaskBound]" = MappingProxyType({}),
) -> BoardDemands:
    """Read the demands, which must fit a board, of which no more has to be known than its names.

    `known` are those that are of metrics of tasks in YAML, by their texts.
    """
    if not fail_under and against is None:
        return BoardDemands()
    from optimize_eval.findings.board.comparable import by_name  # noqa: PLC0415  see BoardDemands
    from optimize_eval.findings.board.examples import load_with_examples  # noqa: PLC0415
    from optimize_eval.findings.board.gates import parse_bound  # noqa: PLC0415
    from optimize_eval.findings.diff.boards import check_comparable  # noqa: PLC0415

    models = [*_models(expected, dict.fromkeys(metrics, expected))]
    ranked, left = by_name(expected.models[0].tasks), [one.task for one in expected.left_out]
    scorers = [task.evaluator for task in ranked.values() if task.evaluator]
    own = [text for text in fail_under or () if text not in known]
    bounds = tuple(parse_bound(text, models, [*ranked, *left], scorers) for text in own)
    if against is None:
        return BoardDemands(bounds=bounds, of_tasks=tuple(known.values()))
    before = load_with_examples(place_of(against))
    check_comparable(before, expected)
    return BoardDemands(bounds=bounds, of_tasks=tuple(known.values()), before=before, against=against)


def read_before_calls(
    expected: "Board",
    options: GateOptions,
    metrics: Sequence[str],
    known: "Mapping[str, TaskBound]" = MappingProxyType({}),
) -> BoardDemands:
    """Read the demands, and refuse those that cannot be decided."""
    wanted = read_demands(expected, options.fail_under, options.no_regression_against, metrics, known)
    if wanted.before:
        from optimize_eval.findings.board.gates import check_can_decide  # noqa: PLC0415  see BoardDemands

        check_can_decide(wanted.before, expected)
    return wanted


def judged(
    wanted: BoardDemands, stored: StoredRun, board: "Board | None", others: "Mapping[str, Board]" = _NONE
) -> "tuple[Gate, ...]":
    """Hold a bench against demands; one that has no board yet meets none of them."""
    if wanted == BoardDemands():
        return ()
    if board is None and (stored.owed or wanted.bounds or wanted.before):
        return _incomplete(stored)
    if board is None:
        return tuple(_of_tasks(wanted, stored))
    from optimize_eval.findings.board.examples import with_examples  # noqa: PLC0415  see BoardDemands

    judged = wanted.judge(with_examples(board, stored) if wanted.before else board, others)
    return (*judged, *_of_tasks(wanted, stored))


def _of_tasks(wanted: BoardDemands, stored: StoredRun) -> "Iterator[Gate]":
    if wanted.of_tasks:
        from optimize_eval.findings.metrics.gates import task_gates  # noqa: PLC0415  see BoardDemands
        from optimize_eval.findings.summary.stored import summarise_stored  # noqa: PLC0415

        yield from task_gates(summarise_stored(stored), wanted.of_tasks)


def judged_by_options(
    stored: StoredRun,
    board: "Board | None",
    others: "Mapping[str, Board]",
    fail_under: Sequence[str] | None,
    against: str | None,
) -> "tuple[Gate, ...]":
    """Hold a bench on disk against the gates of a command."""
    settings = stored.manifest.get("settings", {})
    known = task_bounds(fail_under or (), settings, stored.layout, of_bench=True)
    if board is None and not stored.owed and known.keys() == {*(fail_under or ())} and against is None:
        return judged(BoardDemands(of_tasks=tuple(known.values())), stored, None)
    if board is None:
        return _incomplete(stored) if fail_under or against is not None else ()
    return judged(read_demands(board, fail_under, against, [*others], known), stored, board, others)


def recalled(stored: StoredRun, board: "Board", others: "Mapping[str, Board]") -> "tuple[Gate, ...]":
    """Judge the demands that the bench's own command had; what they name may be gone by now."""
    from optimize_eval.findings.summary.gates import Gate  # noqa: PLC0415  see BoardDemands

    kept = stored.manifest.get("settings", {}).get("gates", {})
    try:
        options = kept.get("fail_under"), kept.get("no_regression_against")
        return judged_by_options(stored, board, others, *options)
    except (OptimizeEvalError, AttributeError, LookupError, OSError, TypeError, ValueError) as error:
        reason = error.message if isinstance(error, OptimizeEvalError) else "run.json was edited"
        return (Gate(name="gates", is_met=False, text=f"the gates cannot be judged any more: {reason}"),)


def _incomplete(stored: StoredRun) -> "tuple[Gate, ...]":
    """Miss the demand that all others rest on, where a bench has no board yet."""
    from optimize_eval.findings.summary.gates import Gate  # noqa: PLC0415  see BoardDemands

    text = f"the bench is not complete: {stored.owed:,} of {stored.layout.size:,} calls are owed"
    if not stored.owed:
        text = "the bench has no board"
    return (Gate(name="complete", is_met=False, text=text),)


def place_of(path: str) -> str:
    """Take a bench's folder for the board or the run.json in it: there is more in it than in either."""
    from optimize_eval.findings.board.stored import is_bench_folder  # noqa: PLC0415  see BoardDemands

    is_of_a_bench = Path(path).name in {MANIFEST, LEADERBOARD} and is_bench_folder(str(Path(path).parent))
    return str(Path(path).parent) if is_of_a_bench else path


def _models(board: "Board", others: "Mapping[str, Board]") -> "dict[str, ModelScores]":
    """Name the models of a board, and as MODEL.METRIC those of the boards of own metrics."""
    named = {model.adapter: model for model in board.models}
    for metric, other in others.items():
        for model in other.models:
            named.setdefault(f"{model.adapter}.{metric}", model)
    return named
