"""What stands in the cells of a summary's tables, and what of it is shown: alike in all reports."""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Generic, NamedTuple, TypeVar

from optimize_eval.base.frozen import frozen
from optimize_eval.findings import comparison
from optimize_eval.findings.board_shapes import ModelPair
from optimize_eval.findings.difference_words import MARKS, holds_over_all
from optimize_eval.findings.summary_parts import LowScore, Row
from optimize_eval.findings.summary_shape import FailureGroup, SkipGroup, Summary
from optimize_eval.findings.verdict import STEERED
from optimize_eval.findings.wording import MINUS, count, evaluator_label, left_out_by, number, signed
from optimize_eval.statistics.differences import ScoreDifference
from optimize_eval.statistics.estimates import Interval
from optimize_eval.store.layout import SINGLE

MOST_ROWS = 30
MOST_FAILURES = 6
SHOWN_TEXT = 300

_MOST_NAMED = 3
_MOST_WORSE = 3
_WIDE, _LARGE, _NEAR_ZERO = 0.05, 100.0, 0.01  # of an interval and its ends: where two decimals are enough
_FEWEST = 2  # of candidates and of models, in a matrix

_Group = TypeVar("_Group", FailureGroup, SkipGroup)

_OVERFIT = {
    comparison.OVERFITS: "OVERFITS",
    comparison.PART_LOST: "part lost",
    comparison.UNDECIDED: "undecided",
    comparison.KEPT: "kept",
    comparison.NO_GAIN: "no gain",
    None: "too few",
}


def tables_of(summary: Summary) -> list[list[Row]]:
    """Give the rows of each evaluator and task model, sorted by mean; none while a run is not complete.

    Those that have no scores on the deciding split are for others alone, and in no table.
    """
    return [] if summary.units.owed or summary.changed else list(_tables(summary))


class Matrix(NamedTuple):
    """The means of an evaluator, candidates by task models, as the tables have them one by one."""

    evaluator: str
    models: Sequence[str]
    means: Mapping[str, Sequence[float | None]]  # of each candidate, in the order of the models


def matrices_of(summary: Summary) -> list[Matrix]:
    """Give a matrix for each evaluator with several candidates and several task models."""
    by_evaluator: dict[str, dict[str, dict[str, float | None]]] = {}
    for rows in tables_of(summary):
        for row in rows:
            means = by_evaluator.setdefault(row.evaluator, {}).setdefault(row.candidate, {})
            means[row.task_model or ""] = row.splits[summary.decided_on].mean
    return [made for name, means in by_evaluator.items() if (made := _matrix(name, means))]


def _matrix(evaluator: str, means: Mapping[str, Mapping[str, float | None]]) -> Matrix | None:
    models = list(dict.fromkeys(model for row in means.values() for model in row))
    if min(len(models), len(means)) < _FEWEST or len(means) > MOST_ROWS:
        return None
    return Matrix(
        evaluator, models, {name: [row.get(model) for model in models] for name, row in means.items()}
    )


def _tables(summary: Summary) -> Iterator[list[Row]]:
    there = [row for row in summary.rows if summary.decided_on in row.splits]
    where = dict.fromkeys((row.evaluator, row.task_model) for row in there)
    for evaluator, task_model in where:
        rows = [r for r in summary.rows if (r.evaluator, r.task_model) == (evaluator, task_model)]
        if all(row.splits[summary.decided_on].mean is None for row in rows):
            continue  # there is nothing to lay out; its failures are told
        yield sorted(rows, key=lambda row: -mean_of(row, summary))


def title_of(row: Row, summary: Summary) -> str:
    """Name the evaluator of a table; a scorer of a task in YAML as people do, then as gates do."""
    label = evaluator_label(row.evaluator, row.task_model)
    names = (metric.display_name for metric in summary.metrics if metric.evaluator == row.evaluator)
    name = next(names, "")
    return f"{name} ({label})" if name else label


def shown_rows(rows: Sequence[Row], summary: Summary, most: int = MOST_ROWS) -> list[Row]:
    """Choose the rows that there is room for; neither the baseline nor a winner is left out."""
    kept = {summary.baseline, summary.verdict.winner}
    return [row for index, row in enumerate(rows) if index < most or row.candidate in kept]


def mean_of(row: Row, summary: Summary) -> float:
    mean = row.splits[summary.decided_on].mean
    return float("-inf") if mean is None else float(mean)


def is_baseline(row: Row, summary: Summary) -> bool:
    return bool(row.candidate == summary.baseline)


def difference(d: ScoreDifference, summary: Summary) -> str:
    """Write a difference with the sign of what it may be called; no lead that failures may hide is shown.

    Where the examples steered a search, it may be called nothing.
    """
    if summary.verdict.state == STEERED:
        return signed(d.diff)
    return signed_mark(d.mark, d.diff, is_sure=holds_over_all(d))


def signed_mark(mark: str, diff: float | None, *, is_sure: bool) -> str:
    sign = MARKS[comparison.HINT_BETTER if mark == comparison.BETTER and not is_sure else mark]
    return f"{'' if sign == '·' else sign + ' '}{signed(diff)}"


def overfit(row: Row) -> str:
    return _OVERFIT[row.overfit.state if row.overfit else None]


def ends(ci: Interval | None) -> str:
    r"""Write both ends of a mean's interval in as few digits as tell them apart.

    >>> [ascii(ends(ci)) for ci in ((0.5681, 0.7012), (0.571, 0.579), (0.0, 0.25))]
    ["'0.57\\u20130.70'", "'0.571\\u20130.579'", "'0.00\\u20130.25'"]
    """
    if ci is None:
        return ""
    low, high = (_in_short(end, ci) for end in ci)
    return f"{low} to {high}" if low.startswith(MINUS) else f"{low}\N{EN DASH}{high}"


def short_interval(ci: Sequence[float]) -> str:
    """Write both ends of a difference's interval.

    >>> short_interval((0.1449, 0.3651)), short_interval((0.003, 0.119))
    ('+0.14 to +0.37', '+0.003 to +0.119')
    """
    signs = ["" if number(end).startswith(MINUS) else "+" for end in ci]
    return " to ".join(sign + _in_short(end, ci) for sign, end in zip(signs, ci, strict=True))


def _in_short(end: float, ci: Sequence[float]) -> str:
    """Write an end with two decimals where that neither hides the other one nor on which side of 0 it is."""
    is_wide = ci[1] - ci[0] >= _WIDE and max(map(abs, ci)) < _LARGE
    is_clear = all(end == 0 or abs(end) >= _NEAR_ZERO for end in ci)
    return f"{end:.2f}".replace("-", MINUS) if is_wide and is_clear else number(end)


def p_value(p: float | None) -> str:
    return "" if p is None else f"{p:.3f}" if p >= 0.001 else "<.001"  # noqa: PLR2004  three decimals


def failed(row: Row) -> int:
    return sum(s.failed for s in row.splits.values())


def skipped(row: Row) -> int:
    return sum(s.skipped for s in row.splits.values())


def worst_of(row: Row, summary: Summary) -> list[LowScore]:
    """Choose the examples that got worse; of the baseline those where it does worse than on average."""
    limit = mean_of(row, summary) if is_baseline(row, summary) else float("inf")
    return [one for one in row.worst if one.line is not None and one.score < limit]


def worse_rows(rows: Sequence[Row], summary: Summary) -> list[Row]:
    """Choose who is worse than the baseline besides the first row, who lost most first.

    Where the baseline itself is the first, that is who is below it at all.
    """
    first, *others = rows
    marks = MARKS if is_baseline(first, summary) else {comparison.WORSE, comparison.HINT_WORSE}
    known = [(row, d) for row in others if (d := row.against_baseline(summary.decided_on))]
    lost = [(d.diff, row) for row, d in known if d.mark in marks and d.diff is not None and d.diff < 0]
    return [row for _, row in sorted(lost, key=lambda pair: pair[0])[:_MOST_WORSE]]


def got_worse_nowhere(row: Row, summary: Summary) -> str:
    """Say that a candidate lost on no example, where that is so; else nothing."""
    split = summary.decided_on
    d = row.against_baseline(split)
    if not d or d.losses or not d.n_pairs or split == SINGLE:
        return ""
    pairs = count(d.n_pairs, f"{split} pair")
    return f"{row.candidate} is not below {summary.baseline} on any of {pairs}"


def words_of(group: FailureGroup) -> str:
    """Put together what the first of some failures said, and what it said besides."""
    besides = group.first_side_info
    return f"{group.first_message} {besides}" if besides else group.first_message


@frozen
class Alike(Generic[_Group]):
    """What ended alike on several candidates or splits; `first` stands for all, `count` is their sum."""

    first: _Group
    members: tuple[_Group, ...]
    count: int
    candidates: tuple[str, ...]


def most_frequent(summary: Summary) -> list[Alike[FailureGroup]]:
    """Sort the failures, the most frequent first; what failed alike on several candidates is one entry."""
    return _alike(summary.failures, lambda one: (one.kind, one.stage, one.first_message))


def most_skipped(summary: Summary) -> list[Alike[SkipGroup]]:
    """Sort the skips, the most frequent first; what was skipped alike on several candidates is one entry."""
    return _alike(summary.skips, lambda one: () if one.excluded_by else (one.first_message,))


def why_skipped(entry: Alike[SkipGroup]) -> str:
    """Give the rules that left rows out, each with its rows of all members, or the first reason."""
    rules = sum((Counter(member.excluded_by) for member in entry.members), Counter[str]())
    return left_out_by(rules) if rules else entry.first.first_message


def _alike(groups: Iterable[_Group], kind: Callable[[_Group], tuple[str, ...]]) -> list[Alike[_Group]]:
    alike: dict[tuple[object, ...], list[_Group]] = {}
    for one in groups:
        key = one.evaluator, one.task_model, kind(one)
        alike.setdefault(key, []).append(one)
    entries = [
        Alike(
            first=members[0],
            members=tuple(members),
            count=sum(group.count for group in members),
            candidates=tuple(dict.fromkeys(group.candidate for group in members)),
        )
        for members in alike.values()
    ]
    return sorted(entries, key=lambda entry: -entry.count)


def candidates_of(entry: Alike[FailureGroup] | Alike[SkipGroup]) -> str:
    """Name the candidates of an entry; of many the first."""
    names = entry.candidates
    more = [f"{len(names) - _MOST_NAMED} more"] if len(names) > _MOST_NAMED else []
    return ", ".join([*names[:_MOST_NAMED], *more])


_HINTS = {comparison.BETTER: comparison.HINT_BETTER, comparison.WORSE: comparison.HINT_WORSE}


def lead(pair: ModelPair) -> str:
    """Write a difference; one that failures, skips or rules could have made is marked as a hint."""
    d = pair.difference
    if d.diff is None:
        return ""
    mark = d.mark if pair.holds else _HINTS.get(d.mark, d.mark)
    return signed_mark(mark, d.diff, is_sure=True)
