"""What stands in the cells of a summary's tables, and what of it is shown: alike in all reports."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from optimize_eval.aggregates import compare, gap
from optimize_eval.aggregates.rows import MARKS
from optimize_eval.aggregates.wording import number, signed

Row = Mapping[str, Any]
Summary = Mapping[str, Any]

MOST_ROWS = 30
MOST_FAILURES = 6
SHOWN_TEXT = 300

_OVERFIT = {
    gap.OVERFITS: "OVERFITS",
    gap.NO_GAP_SHOWN: "no gap shown",
    gap.UNDECIDED: "undecided",
    gap.NO_TRAIN_GAIN: "no train gain",
    None: "too few",
}


def tables_of(summary: Summary) -> list[list[Row]]:
    """Give the rows of each evaluator and task model, sorted by mean; none while a run is not complete."""
    return [] if summary["units"]["owed"] or summary["changed"] else list(_tables(summary))


def _tables(summary: Summary) -> Iterator[list[Row]]:
    where = dict.fromkeys((row["evaluator"], row["task_model"]) for row in summary["rows"])
    for evaluator, task_model in where:
        rows = [r for r in summary["rows"] if (r["evaluator"], r["task_model"]) == (evaluator, task_model)]
        if all(row["splits"][summary["decided_on"]]["mean"] is None for row in rows):
            continue  # there is nothing to lay out; its failures are told
        yield sorted(rows, key=lambda row: -mean_of(row, summary))


def shown_rows(rows: Sequence[Row], summary: Summary) -> list[Row]:
    """Choose the rows that there is room for; the baseline is never left out."""
    return [row for place, row in enumerate(rows) if place < MOST_ROWS or is_baseline(row, summary)]


def mean_of(row: Row, summary: Summary) -> float:
    mean = row["splits"][summary["decided_on"]]["mean"]
    return float("-inf") if mean is None else float(mean)


def is_baseline(row: Row, summary: Summary) -> bool:
    return bool(row["candidate"] == summary["baseline"])


def difference(d: Mapping[str, Any]) -> str:
    is_sure = d.get("ahead_at_lower_bound", True) is True or d["mark"] != compare.BETTER
    mark = MARKS[d["mark"] if is_sure else compare.HINT_BETTER]
    return f"{'' if mark == '·' else mark + ' '}{signed(d['diff'])}"


def overfit(row: Row) -> str:
    return _OVERFIT[row["overfit"]["state"]] if row["overfit"] else "too few"


def half_width(s: Mapping[str, Any]) -> str:
    return "" if s["ci"] is None else number((s["ci"][1] - s["ci"][0]) / 2)


def short_interval(ci: Sequence[float]) -> str:
    return f"{signed(ci[0])} {signed(ci[1])}"


def p_value(p: float | None) -> str:
    return "" if p is None else f"{p:.3f}" if p >= 0.001 else "<.001"  # noqa: PLR2004  three decimals


def failed(row: Row) -> int:
    return sum(s["failed"] for s in row["splits"].values())


def worst_of(row: Row, summary: Summary) -> list[Mapping[str, Any]]:
    """Choose the examples on which a candidate did worse than it does on average."""
    return [one for one in row["worst"] if one["line"] is not None and one["score"] < mean_of(row, summary)]


def words_of(failures: Mapping[str, Any]) -> str:
    """Put together what the first of some failures said, and what it said besides."""
    besides = failures.get("first_side_info")
    return f"{failures['first_message']} {besides}" if besides else str(failures["first_message"])


def most_frequent(summary: Summary) -> list[Mapping[str, Any]]:
    """Sort the kinds of failures, the most frequent first."""
    return sorted(summary["failures"], key=lambda entry: -entry["count"])
