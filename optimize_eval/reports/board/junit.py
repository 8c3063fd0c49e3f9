"""Leaderboards as JUnit XML: a suite for each model, a test case for its overall score and for each task.

Pure: boards → text. Numbers are properties in full, gates come first. Failed calls stand by
their kind, as in runs.
"""

from collections.abc import Iterator, Mapping, Sequence
from xml.etree.ElementTree import Element, SubElement

from optimize_eval.findings.board_shapes import Board, ModelScores, TaskScores
from optimize_eval.findings.gates import Gate
from optimize_eval.findings.summary_shape import Summary
from optimize_eval.findings.wording import count
from optimize_eval.reports.inert import inert_xml
from optimize_eval.reports.junit import (
    add_case,
    add_failures,
    add_metrics,
    add_outcome,
    add_properties,
    add_text,
    begun,
    interval_properties,
    too_many_failed,
    written,
)

_NUMBERS = (
    *("se", "n", "method", "metric_id", "correct", "perfect", "total", "scored", "failed"),
    *("timeouts", "coverage", "lower_bound", "win_rate", "latency_ms"),
)


def render(
    boards: Mapping[str, Board], gates: Sequence[Gate], run: str, summary: Summary | None = None
) -> str:
    """Write the document: boards by their metrics' names, the bench's own without one."""
    root, missed = begun(gates), [gate.name for gate in gates if not gate.is_met]
    for metric, board in boards.items():
        for model in board.models:
            name = f"{model.adapter}{f'.{metric}' * bool(metric)}"
            is_wrong = model.failed > model.scored or any(f" {name}" in gate for gate in missed)
            _add_model(root, name, model, board, run, is_wrong=is_wrong)
    if summary and summary.metrics:
        suite = SubElement(root, "testsuite", name="metrics")
        for one in summary.metrics:
            add_metrics(suite, one)
        is_wrong_in = too_many_failed(summary, gates)
        for entry in summary.failures:
            add_failures(suite, entry, is_wrong=is_wrong_in(entry))
    return written(root)


def _add_model(
    root: Element, name: str, model: ModelScores, board: Board, run: str, *, is_wrong: bool
) -> None:
    suite = SubElement(root, "testsuite", name=inert_xml(name))
    add_properties(suite, [("run", run)])
    _add_score(suite, name, "overall", model)
    for task in model.tasks:
        _add_score(suite, name, task.task, task)
    for kind, many in model.errors.items():
        case = add_case(suite, name, "overall", kind)
        add_properties(case, [("count", many)])
        said = f"{count(many, 'call')} failed: {kind}"
        if is_wrong:
            add_outcome(case, "error", kind, said)
        else:
            add_text(case, "system-out", said)
    if model.skipped:
        case = add_case(suite, name, "overall", "skipped")
        add_properties(case, [("count", model.skipped)])
        add_outcome(case, "skipped", "", f"{count(model.skipped, 'call')} skipped")
    verdict = board.verdict
    lines = (verdict.text, *(f"{point.mark} {point.text}" for point in verdict.points))
    add_text(suite, "system-out", "\n".join(lines))


def _add_score(suite: Element, name: str, what: str, scores: ModelScores | TaskScores) -> None:
    score = scores.overall_score if isinstance(scores, ModelScores) else scores.score
    case = add_case(suite, name, what)
    add_properties(case, _numbers(scores, score))
    if score is None:
        is_skip = scores.skipped and not scores.failed
        why = f"every call was skipped ({scores.skipped:,})" if is_skip else "nothing was scored"
        add_outcome(case, "skipped", "", why)


def _numbers(
    scores: ModelScores | TaskScores, score: float | None
) -> Iterator[tuple[str, str | float | None]]:
    yield "score", score
    yield from ((name, getattr(scores, name, None)) for name in _NUMBERS)
    yield "skipped", scores.skipped or None
    yield from interval_properties("ci", scores.ci)
