"""Runs and leaderboards as JUnit XML, and what failed as annotations of GitHub Actions.

Pure. Each gate is a test case, and so is each row of a summary, one per split, or of a board, with its
numbers as properties in full. The calls that failed are there by their kind: as errors where a gate or the
exit code says so. Foreign text in annotations is escaped, so that no line of it is a command of its own.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import chain, islice
from xml.etree.ElementTree import Element, SubElement, indent, tostring

from optimize_eval.findings.board_shapes import Board, ModelScores, TaskScores
from optimize_eval.findings.gates import Gate
from optimize_eval.findings.summary_parts import Row, SplitScores
from optimize_eval.findings.summary_shape import (
    Conclusion,
    FailureGroup,
    ScorerMetrics,
    SkipGroup,
    Summary,
    Verdict,
)
from optimize_eval.findings.wording import count, evaluator_label
from optimize_eval.reports.cells_of_tables import candidates_of, most_frequent, words_of
from optimize_eval.reports.inert import inert, inert_xml, shortened

Property = str | float | None

_TITLE = 300  # letters of a text that are enough to know it by
_OUTCOMES = {"failures": "failure", "errors": "error", "skipped": "skipped"}


def render(summary: Summary, gates: Sequence[Gate], run: str) -> str:
    """Write the document; `run` is the folder as people name it."""
    root, wrong = begin(gates), too_many_failed(summary, gates)
    for evaluator in dict.fromkeys(row.evaluator for row in summary.rows):
        _add_evaluator(root, evaluator, summary, run, wrong)
    return write(root)


IsWrong = Callable[[FailureGroup], bool]


def too_many_failed(summary: Summary, gates: Sequence[Gate]) -> IsWrong:
    """Find which failures are errors: those that a missed gate or the exit code of the run is about."""
    missed = [gate.name for gate in gates if not gate.is_met]
    counts: Counter[tuple[str, ...]] = Counter()  # failed minus scored
    for row in summary.rows:
        for name in _wholes(row):
            counts[name] += sum(split.failed - split.scored for split in row.splits.values())

    def is_wrong(entry: FailureGroup) -> bool:
        wheres = [f" {entry.evaluator} on {who}" for who in (entry.candidate, entry.task_model)]
        is_in_gate = any(where in name for where in wheres for name in missed)
        return bool(summary.units.owed) or is_in_gate or any(counts[name] > 0 for name in _wholes(entry))

    return is_wrong


def _wholes(one: Row | FailureGroup) -> Iterator[tuple[str, ...]]:
    """Name all that more than half of the calls may not fail of: an evaluator, a candidate, a task model."""
    yield (one.evaluator,)
    yield one.evaluator, "candidate", one.candidate
    yield one.evaluator, "model", one.task_model or ""


def begin(gates: Sequence[Gate]) -> Element:
    """Begin a document with its gates."""
    root = Element("testsuites", name="optimize-eval")
    if gates:
        _add_gates(root, gates)
    return root


def write(root: Element) -> str:
    """Count the test cases of a document, and write it."""
    for suite in (*root, root):
        _count(suite)
    indent(root)
    return f'<?xml version="1.0" encoding="UTF-8"?>\n{tostring(root, encoding="unicode")}'


def _add_gates(root: Element, gates: Sequence[Gate]) -> None:
    suite = SubElement(root, "testsuite", name="gates")
    for gate in chain.from_iterable((gate, *gate.examples) for gate in gates):
        case = add_case(suite, "gates", gate.name)
        if gate.is_met:
            add_text(case, "system-out", gate.text)
        else:
            add_outcome(case, "failure", "gate", gate.text)


def _add_evaluator(root: Element, evaluator: str, summary: Summary, run: str, is_wrong: IsWrong) -> None:
    seconds = sum(entry.total for entry in summary.latency if entry.evaluator == evaluator)
    suite = SubElement(root, "testsuite", name=inert_xml(evaluator), time=f"{seconds:.6f}")
    add_properties(suite, [("run", run), ("baseline", summary.baseline), ("decided_on", summary.decided_on)])
    for row in summary.rows:
        if row.evaluator == evaluator:
            for split in row.splits:
                _add_row(suite, row, split, summary)
    for metrics in summary.metrics:
        if metrics.evaluator == evaluator:
            add_metrics(suite, metrics)
    for entry in summary.failures:
        if entry.evaluator == evaluator:
            add_failures(suite, entry, is_wrong=is_wrong(entry))
    for skips in summary.skips:
        if skips.evaluator == evaluator:
            _add_skips(suite, skips)
    _add_verdict(suite, summary.verdict)


def _add_verdict(suite: Element, verdict: Conclusion | Verdict) -> None:
    said = (verdict.text, *(f"{point.mark} {point.text}" for point in verdict.points))
    add_text(suite, "system-out", "\n".join(said))


def _add_row(suite: Element, row: Row, split: str, summary: Summary) -> None:
    case = add_case(suite, evaluator_label(row.evaluator, row.task_model), row.candidate, split)
    s = row.splits[split]
    why = _why_unknown(s, summary)
    add_properties(case, _counts(s) if why else _numbers(row, split))
    if why:
        add_outcome(case, "skipped", "", why)


def _why_unknown(s: SplitScores, summary: Summary) -> str:
    """Say why a row has no numbers; while a run is not complete, it has none."""
    if summary.units.owed or summary.changed:
        return str(summary.verdict.text)
    if s.mean is not None:
        return ""
    if s.skipped and not s.scored and not s.failed:
        return f"every call was skipped ({s.skipped:,})"
    return f"{count(s.scored, 'score')}, too large for a mean" if s.scored else "nothing was scored"


def _counts(s: SplitScores) -> Iterator[tuple[str, Property]]:
    yield from (("scored", s.scored), ("failed", s.failed), ("skipped", s.skipped))


def _numbers(row: Row, split: str) -> Iterator[tuple[str, Property]]:
    s = row.splits[split]
    yield from (("mean", s.mean), ("se", s.se), ("n", s.n), ("coverage", s.coverage), ("method", s.method))
    yield from interval_properties("ci", s.ci)
    yield from interval_properties("bounds", s.bounds)
    yield from _counts(s)
    if d := row.against_baseline(split):
        numbers = {"diff": d.diff, "se": d.se, "p": d.p, "p_holm": d.p_holm, "n_pairs": d.n_pairs}
        yield from ((f"vs_baseline.{name}", value) for name, value in numbers.items())
        yield from interval_properties("vs_baseline.ci", d.ci)
        yield "vs_baseline.mark", d.mark
    if row.overfit is not None and split == "val":
        yield "overfit", row.overfit.value
        yield from interval_properties("overfit.ci", row.overfit.ci)
        yield "overfit.state", row.overfit.state


def interval_properties(name: str, ends: Sequence[float | None] | None) -> Iterator[tuple[str, Property]]:
    if ends is not None:
        yield from zip((f"{name}.low", f"{name}.high"), ends, strict=True)


def add_metrics(suite: Element, metrics: ScorerMetrics) -> None:
    """Add a scorer's metrics, and how many rows they are of; one that has no numbers is an error."""
    label, table = evaluator_label(metrics.evaluator, metrics.task_model), metrics.table
    case = add_case(suite, label, metrics.candidate, metrics.split, "metrics")
    counts = {"n_total": table.n_total, "n_scored": table.n_scored, "n_failed": table.n_failed}
    excluded = {f"excluded_by.{rule}": many for rule, many in table.excluded_by.items()}
    values = {name: value for measured in table.metrics for name, value in measured.values.items()}
    add_properties(
        case, [*counts.items(), ("n_excluded", table.n_excluded), *excluded.items(), *values.items()]
    )
    problems = [metrics.problem, *(measured.problem for measured in table.metrics)]
    problems += [fault.told(metrics.split) for fault in metrics.rule_faults]
    if said := [problem for problem in problems if problem]:
        add_outcome(case, "error", "metric", said[0], "\n".join(said))


def add_failures(suite: Element, entry: FailureGroup, *, is_wrong: bool) -> None:
    """Add the calls of a cell that failed alike; as an error, if the run is wrong for them."""
    label = evaluator_label(entry.evaluator, entry.task_model)
    case = add_case(suite, label, entry.candidate, entry.split, entry.kind)
    lines = [
        f"{count(entry.count, 'call')} failed: {entry.kind}",
        *_lines(entry),
        f"the first said: {words_of(entry)}",
    ]
    add_properties(case, [("count", entry.count), ("stage", entry.stage or None)])
    title = f"{entry.count:,} × {entry.kind}: {entry.first_message}"
    add_failure(case, entry.kind, title, "\n".join(lines), is_wrong=is_wrong)


def _add_skips(suite: Element, entry: SkipGroup) -> None:
    label = evaluator_label(entry.evaluator, entry.task_model)
    case = add_case(suite, label, entry.candidate, entry.split, "skipped")
    add_properties(case, [("count", entry.count)])
    why = entry.why if entry.excluded_by else f"the first: {entry.first_message}"
    lines = [f"{count(entry.count, 'call')} skipped", *_lines(entry), why]
    add_outcome(case, "skipped", "", f"{entry.count:,} × {entry.why}", "\n".join(lines))


def _lines(entry: FailureGroup | SkipGroup) -> list[str]:
    lines = ", ".join(str(line) for line in entry.lines if line is not None)
    return [f"{entry.split} lines, the first of them: {lines}"] if lines else []


def add_case(suite: Element, classname: str, *names: str) -> Element:
    return SubElement(suite, "testcase", classname=inert_xml(classname), name=inert_xml(" · ".join(names)))


def add_outcome(case: Element, what: str, kind: str, message: str, text: str = "") -> None:
    outcome = add_text(case, what, text or message)
    outcome.set("message", inert_xml(shortened(message, _TITLE)))
    if kind:
        outcome.set("type", inert_xml(kind))


def add_failure(case: Element, kind: str, title: str, text: str = "", *, is_wrong: bool) -> None:
    """Say what failed, as an error if the run is wrong for it."""
    if is_wrong:
        add_outcome(case, "error", kind, title, text)
    else:
        add_text(case, "system-out", text or title)


def add_text(parent: Element, name: str, text: str) -> Element:
    child = SubElement(parent, name)
    child.text = inert_xml(text)
    return child


def add_properties(parent: Element, known: Iterable[tuple[str, Property]]) -> None:
    """Add what is known; a number is written so that reading it gives the same float."""
    properties = SubElement(parent, "properties")
    for name, value in known:
        if value is not None:
            SubElement(properties, "property", name=inert_xml(name), value=inert_xml(str(value)))


def _count(suite: Element) -> None:
    """Tell how many test cases there are below, and how many of them ended how."""
    suite.set("tests", str(sum(1 for _ in suite.iter("testcase"))))
    for name, outcome in _OUTCOMES.items():
        if suite.tag == "testsuite" or name != "skipped":
            suite.set(name, str(sum(1 for _ in suite.iter(outcome))))


MOST = 10  # of a kind that GitHub shows of a step

_LONGEST = 500
_OF_DATA = {"%": "%25", "\r": "%0D", "\n": "%0A"}
_OF_TITLES = {**_OF_DATA, ":": "%3A", ",": "%2C"}


def _evaluator(failures: FailureGroup) -> str:
    return failures.evaluator


def lines(
    summary: Summary, gates: Sequence[Gate], who: Callable[[FailureGroup], str] = _evaluator
) -> Iterator[str]:
    """Write the annotations: missed gates as errors, failures as warnings, the most frequent first.

    `who` names whose failures some are.
    """
    missed = (gate for gate in gates if not gate.is_met)
    yield from (_command("error", "gate missed", gate.text) for gate in islice(missed, MOST))
    for entry in most_frequent(summary)[:MOST]:
        title = f"{who(entry.first)}: {count(entry.count, 'call')} failed ({entry.first.kind})"
        yield _command("warning", title, f"{candidates_of(entry)}: {words_of(entry.first)}")


def _command(kind: str, title: str, text: str) -> str:
    r"""Write a command of a workflow.

    >>> _command("error", "a: b", "100 %\n::error::no")
    '::error title=a%3A b::100 %25%0A::error::no'
    """
    return f"::{kind} title={_escape(title, _OF_TITLES)}::{_escape(text, _OF_DATA)}"


def _escape(text: str, signs: Mapping[str, str]) -> str:
    shown = inert(shortened(text, _LONGEST), ci=False)
    return "".join(signs.get(sign, sign) for sign in shown)


_NUMBERS = (
    *("se", "n", "method", "metric_id", "correct", "perfect", "total", "scored", "failed"),
    *("timeouts", "coverage", "lower_bound", "win_rate", "latency_ms"),
)


def render_boards(
    boards: Mapping[str, Board], gates: Sequence[Gate], run: str, summary: Summary | None = None
) -> str:
    """Write the document: boards by their metrics' names, the bench's own without one."""
    root, missed = begin(gates), [gate.name for gate in gates if not gate.is_met]
    for metric, board in boards.items():
        for model in board.models:
            name = f"{model.adapter}{f'.{metric}' * bool(metric)}"
            is_wrong = model.failed > model.scored or any(f" {name}" in gate for gate in missed)
            _add_model(root, name, model, board, run, is_wrong=is_wrong)
    if summary and summary.metrics:
        suite = SubElement(root, "testsuite", name="metrics")
        for metrics in summary.metrics:
            add_metrics(suite, metrics)
        is_wrong_in = too_many_failed(summary, gates)
        for entry in summary.failures:
            add_failures(suite, entry, is_wrong=is_wrong_in(entry))
    return write(root)


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
        add_failure(case, kind, f"{count(many, 'call')} failed: {kind}", is_wrong=is_wrong)
    if model.skipped:
        case = add_case(suite, name, "overall", "skipped")
        add_properties(case, [("count", model.skipped)])
        add_outcome(case, "skipped", "", f"{count(model.skipped, 'call')} skipped")
    _add_verdict(suite, board.verdict)


def _add_score(suite: Element, name: str, what: str, scores: ModelScores | TaskScores) -> None:
    case = add_case(suite, name, what)
    add_properties(case, _numbers_of_board(scores))
    if scores.mean is None:
        is_skip = scores.skipped and not scores.failed
        why = f"every call was skipped ({scores.skipped:,})" if is_skip else "nothing was scored"
        add_outcome(case, "skipped", "", why)


def _numbers_of_board(scores: ModelScores | TaskScores) -> Iterator[tuple[str, Property]]:
    yield "score", scores.mean
    yield from ((name, getattr(scores, name, None)) for name in _NUMBERS)
    yield "skipped", scores.skipped or None
    yield from interval_properties("ci", scores.ci)
