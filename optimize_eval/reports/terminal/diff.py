"""Two runs compared, as people read it in a terminal: the verdict, what to know, a table, the worst examples.

Pure: the comparison → text, the same text for the same width at any time. Numbers are never cut.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from optimize_eval.findings.diff.regressions import GRAVEST_FIRST, standing
from optimize_eval.findings.diff.verdict import sign
from optimize_eval.findings.rows import asked_with
from optimize_eval.findings.wording import MINUS, count, number, signed
from optimize_eval.reports.cells import p_value, short_interval
from optimize_eval.reports.columns import columns, wrapped
from optimize_eval.reports.inert import shortened
from optimize_eval.reports.terminal.table import Column, layout_table

_MOST_ROWS = 30
_MOST_WORST = 3  # rows whose worst examples are shown
_FEW_WORST = 2  # of each but the first
_SHOWN_TEXT = 300
_MOST_NAMED = 5
_HEAD = 12

Row = Mapping[str, Any]
Compared = Mapping[str, Any]


def render(compared: Compared, *, width: int) -> str:
    """Lay out everything."""
    lines = wrapped(" ", f"{compared['verdict']['text']}.", width)
    for point in compared["verdict"]["points"]:
        lines += wrapped(f"  {point['mark']} ", point["text"], width)
    for caveat in compared["caveats"]:
        lines += wrapped("  ! ", caveat, width)
    lines += wrapped(_head("A, before"), compared["a"]["run"], width)
    lines += wrapped(_head("B, after"), compared["b"]["run"], width)
    for rows in _tables(compared):
        lines += _table(rows, width)
    lines += _worst(compared, width)
    return "\n".join([*lines, *_only(compared, width)])


def _tables(compared: Compared) -> Iterator[list[Row]]:
    """Give the rows of each evaluator and task model, those of the deciding split first, then the gravest."""
    for asked in dict.fromkeys(map(_asked, compared["rows"])):
        yield _gravest_first([row for row in compared["rows"] if _asked(row) == asked], compared)


def _asked(row: Row) -> str:
    return asked_with(row["evaluator"], row["task_model"])


def _gravest_first(rows: Sequence[Row], compared: Compared) -> list[Row]:
    decided = compared["decided_on"]
    return sorted(
        rows,
        key=lambda row: (row["split"] != decided, GRAVEST_FIRST.index(standing(row)), row["diff"] or 0.0),
    )


def _table(rows: Sequence[Row], width: int) -> list[str]:
    shown = rows[:_MOST_ROWS]
    given = [
        Column("candidate", [row["candidate"] for row in shown], is_name=True),
        Column("split", [row["split"] for row in shown], is_text=True),
        Column("Δ", [_difference(row) for row in shown]),
        Column("A → B", [_means(row) for row in shown]),
        Column("95 % CI", [short_interval(row["ci"]) if row["se"] else "" for row in shown]),
        Column("p (Holm)", [p_value(row["p_holm"]) for row in shown]),
        Column(f"+ = {MINUS}", [f"{row['improved']} {row['unchanged']} {row['regressed']}" for row in shown]),
        Column("failing", [_failing(row) for row in shown]),
    ]
    lines = [*wrapped(" ", f"{_asked(rows[0])}: B against A", width), *layout_table(given, width)]
    if more := len(rows) - len(shown):
        lines += wrapped(" ", f"… and {count(more, 'more row')}: see --json", width)
    return lines


def _difference(row: Row) -> str:
    mark = sign(row)
    return f"{'' if mark == '·' else mark + ' '}{'' if row['diff'] is None else signed(row['diff'])}".strip()


def _means(row: Row) -> str:
    means = row["means"]
    return "" if None in means.values() else f"{number(means['a'])} → {number(means['b'])}"


def _failing(row: Row) -> str:
    both = row["failing_in_both"]
    return f"{row['fixed'] + both:,} → {row['newly_failing'] + both:,}"


def _worst(compared: Compared, width: int) -> list[str]:
    """Show the worst examples of the gravest row, some of other regressions, and what was said of them."""
    rows = [row for row in _gravest_first(compared["rows"], compared) if row["worst"]]
    lines: list[str] = []
    for row in [*rows[:1], *(row for row in rows[1:] if row["is_regression"])][:_MOST_WORST]:
        lines += wrapped(_head("" if lines else "worst"), _whose(row), width)
        for one in row["worst"][: _FEW_WORST if row is not rows[0] else None]:
            lines += _example(one, width)
    return lines


def _whose(row: Row) -> str:
    before, after = row["candidate_in_a"], row["candidate"]
    return f"{after if before == after else f'{before} → {after}'} on {_asked(row)} (A → B)"


def _example(one: Mapping[str, Any], width: int) -> list[str]:
    before, after = one["a"], one["b"]
    scores = f"{number(before['score'])} → {after['kind'] or number(after['score'])}"
    said = (after["reason"] if after["kind"] is None else after["message"]) or ""
    lines = _beside(f"   {_place(one)}{scores}  ", shortened(said, _SHOWN_TEXT), width)
    if before["reason"]:
        lines += wrapped("      A said: ", shortened(before["reason"], _SHOWN_TEXT), width)
    return lines


def _beside(head: str, text: str, width: int) -> list[str]:
    """Put a text beside its heading, or below it where the terminal is too narrow."""
    if columns(head) <= width // 2:
        return wrapped(head, text, width)
    return [*wrapped("   ", head, width), *(wrapped("      ", text, width) if text else [])]


def _place(one: Mapping[str, Any]) -> str:
    before, after = one["a"]["line"], one["b"]["line"]
    if after is None:
        return ""
    return f"{one['split']} {after}{'' if before == after else f' (A: {before})'}  "


def _only(compared: Compared, width: int) -> list[str]:
    lines: list[str] = []
    for name in ("a", "b"):
        if told := list(_left(compared[f"only_in_{name}"])):
            lines += wrapped(_head(f"only in {name.upper()}"), "; ".join(told), width)
    return lines


def _left(only: Mapping[str, Any]) -> Iterator[str]:
    for axis, names in only.items():
        if axis == "examples":
            yield from (f"{count(many, 'example')} of {split}" for split, many in names.items())
        elif names:
            shown = [str(name or "none") for name in names[:_MOST_NAMED]]
            more = [f"{len(names) - _MOST_NAMED:,} more"] if len(names) > _MOST_NAMED else []
            what = axis.replace("_", " ")
            yield f"{what if len(names) > 1 else what[:-1]} {', '.join([*shown, *more])}"


def _head(name: str) -> str:
    return f" {name:<{_HEAD - 1}}"
