"""Two runs compared, as people read it in a terminal: the verdict, what to know, a table, the worst examples.

Pure: the comparison → text, the same text for the same screen at any time. Numbers are never cut.
"""

from collections.abc import Iterator, Sequence

from optimize_eval.findings.diff_shapes import RowDiff, RunDiff, WorseExample
from optimize_eval.findings.diff_verdict import sign
from optimize_eval.findings.wording import MINUS, count, evaluator_label, number, signed
from optimize_eval.reports import metric_tables
from optimize_eval.reports.cells_of_tables import p_value, short_interval
from optimize_eval.reports.inert import shortened
from optimize_eval.reports.terminal.answer import DECISIVE, DETAILS, MOST_LINES, MOST_POINTS
from optimize_eval.reports.terminal.summary import pasted
from optimize_eval.reports.text import Column, Screen, columns, layout_table
from optimize_eval.store.beside import OnlyIn

_MOST_ROWS = 30
_MOST_IN_ANSWER = 8
_MOST_WORST = 3  # rows whose worst examples are shown
_FEW_WORST = 2  # of each but the first
_SHOWN_TEXT = 300
_MOST_NAMED = 5
_HEAD = 12


def render(diff: RunDiff, *, screen: Screen) -> str:
    """Lay out everything, the verdict last."""
    diff = diff.with_names_apart()
    lines = _runs(diff, screen)
    for rows in _tables(diff):
        lines += _table(rows, screen)
    lines += metric_tables.lines_of_diff(diff.metrics, screen)
    lines += [*_worst(diff, screen), *_only(diff, screen)]
    return "\n".join([*lines, "", *_verdict(diff, screen)])


def render_answer(diff: RunDiff, *, screen: Screen, next_step: str) -> str:
    """Lay out the rows that changed most, the verdict, what could change it, and what to run next."""
    diff = diff.with_names_apart()
    first, *others = _tables(diff)
    above = [*_runs(diff, screen), *_table(first, screen, most=_MOST_IN_ANSWER, rest=DETAILS)]
    if others:
        more = count(sum(map(len, others)), "row")
        above += screen.wrap(" ", f"{more} of {count(len(others), 'other evaluator')}: see {DETAILS}")
    below = ["", *_verdict(diff, screen, most=MOST_POINTS), *pasted(_head("next"), next_step, screen)]
    only = _only(diff, screen)
    has_room = len(above) + len(only) + len(below) <= MOST_LINES
    return "\n".join([*above, *(only if has_room else []), *below])


def _runs(diff: RunDiff, screen: Screen) -> list[str]:
    return [*screen.wrap(_head("A, before"), diff.a.run), *screen.wrap(_head("B, after"), diff.b.run)]


def _verdict(diff: RunDiff, screen: Screen, *, most: int | None = None) -> list[str]:
    """Lay out the sentence, its points and what else to know; of some, so many that could change it."""
    points = [(point.mark, point.text) for point in diff.verdict.points]
    caveats = [("!", caveat) for caveat in diff.caveats]
    remarks = [*points, *caveats]
    if most is not None:
        remarks = [*caveats, *(point for point in points if point[0] in DECISIVE)][:most]
    lines = screen.wrap(" ", f"{diff.verdict.text}.")
    return lines + [line for mark, text in remarks for line in screen.wrap(f"  {mark} ", text)]


def _tables(diff: RunDiff) -> Iterator[list[RowDiff]]:
    """Give the rows of each evaluator and task model, those of the deciding split first, then the worst."""
    for evaluator in dict.fromkeys(map(_evaluator, diff.rows)):
        yield _most_severe_first([row for row in diff.rows if _evaluator(row) == evaluator], diff)


def _evaluator(row: RowDiff) -> str:
    return evaluator_label(row.evaluator, row.task_model)


def _most_severe_first(rows: Sequence[RowDiff], diff: RunDiff) -> list[RowDiff]:
    return sorted(
        rows,
        key=lambda row: (
            row.split != diff.decided_on,
            row.standing.severity,
            row.difference.diff or 0.0,
        ),
    )


def _table(
    rows: Sequence[RowDiff], screen: Screen, *, most: int = _MOST_ROWS, rest: str = "--json"
) -> list[str]:
    shown = rows[:most]
    table = [
        Column("candidate", [row.candidate for row in shown], is_name=True),
        Column("split", [row.split for row in shown], is_text=True),
        Column("Δ", [_difference(row) for row in shown]),
        Column("A → B", [_means(row) for row in shown]),
        Column("95 % CI", [_interval(row) for row in shown]),
        Column("p (Holm)", [p_value(row.difference.p_holm) for row in shown]),
        Column(f"+ = {MINUS}", [f"{row.improved} {row.unchanged} {row.regressed}" for row in shown]),
        Column("failing", [_failing(row) for row in shown]),
    ]
    lines = [*screen.wrap(" ", f"{_evaluator(rows[0])}: B against A"), *layout_table(table, screen)]
    if more := len(rows) - len(shown):
        lines += screen.wrap(" ", f"… and {count(more, 'more row')}: see {rest}")
    return lines


def _difference(row: RowDiff) -> str:
    mark, diff = sign(row), row.difference.diff
    return f"{'' if mark == '·' else mark + ' '}{'' if diff is None else signed(diff)}".strip()


def _interval(row: RowDiff) -> str:
    d = row.difference
    return short_interval(d.ci) if d.se and d.ci else ""


def _means(row: RowDiff) -> str:
    a, b = row.means.a, row.means.b
    return "" if a is None or b is None else f"{number(a)} → {number(b)}"


def _failing(row: RowDiff) -> str:
    both = row.not_compared.failing_in_both
    return f"{row.not_compared.fixed + both:,} → {row.not_compared.newly_failing + both:,}"


def _worst(diff: RunDiff, screen: Screen) -> list[str]:
    """Show the worst examples of the most severe row, some of other regressions, and the reasons given."""
    rows = [row for row in _most_severe_first(diff.rows, diff) if row.worst]
    lines: list[str] = []
    for row in [*rows[:1], *(row for row in rows[1:] if row.is_regression)][:_MOST_WORST]:
        lines += screen.wrap(_head("" if lines else "worst"), _whose(row))
        for example in row.worst[: _FEW_WORST if row is not rows[0] else None]:
            lines += _example(example, screen)
    return lines


def _whose(row: RowDiff) -> str:
    before, after = row.candidate_in_a, row.candidate
    return f"{after if before == after else f'{before} → {after}'} on {_evaluator(row)} (A → B)"


def _example(example: WorseExample, screen: Screen) -> list[str]:
    before, after = example.a, example.b
    scores = f"{number(before.score)} → {after.kind or number(after.score)}"
    reason = (after.reason if after.kind is None else after.message) or ""
    lines = _beside(f"   {_place(example)}{scores}  ", shortened(reason, _SHOWN_TEXT), screen)
    if before.reason:
        lines += screen.wrap("      A said: ", shortened(before.reason, _SHOWN_TEXT))
    return lines


def _beside(head: str, text: str, screen: Screen) -> list[str]:
    """Put a text beside its heading, or below it where the terminal is too narrow."""
    if columns(screen.fit(head)) <= screen.width // 2:
        return screen.wrap(head, text)
    return [*screen.wrap("   ", head), *(screen.wrap("      ", text) if text else [])]


def _place(example: WorseExample) -> str:
    before, after = example.a.line, example.b.line
    if after is None:
        return ""
    return f"{example.split} {after}{'' if before == after else f' (A: {before})'}  "


def _only(diff: RunDiff, screen: Screen) -> list[str]:
    lines: list[str] = []
    for name, only in (("A", diff.only_in_a), ("B", diff.only_in_b)):
        if texts := list(_left(only)):
            lines += screen.wrap(_head(f"only in {name}"), "; ".join(texts))
    return lines


def _left(only: OnlyIn) -> Iterator[str]:
    axes = {
        "evaluators": only.evaluators,
        "candidates": only.candidates,
        "task models": only.task_models,
        "splits": only.splits,
    }
    for what, names in axes.items():
        if names:
            shown = [name or "none" for name in names[:_MOST_NAMED]]
            more = [f"{len(names) - _MOST_NAMED:,} more"] if len(names) > _MOST_NAMED else []
            yield f"{what if len(names) > 1 else what[:-1]} {', '.join([*shown, *more])}"
    yield from (f"{count(many, 'example')} of {split}" for split, many in only.examples.items())


def _head(name: str) -> str:
    return f" {name:<{_HEAD - 1}}"
