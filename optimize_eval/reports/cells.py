"""What stands in the cells of a summary's tables, and what of it is shown: alike in all reports."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from optimize_eval.findings.claims.failures import IF_ALIKE, SURELY
from optimize_eval.findings.rows import MARKS
from optimize_eval.findings.summary import compare, gap
from optimize_eval.findings.wording import count, number, signed
from optimize_eval.store.layout import SINGLE

Row = Mapping[str, Any]
Summary = Mapping[str, Any]

MOST_ROWS = 30
MOST_FAILURES = 6
SHOWN_TEXT = 300

_ALIKE = ("evaluator", "task_model", "split", "kind", "first_message")
_MOST_NAMED = 3

_OVERFIT = {
    gap.OVERFITS: "OVERFITS",
    gap.PART_LOST: "part lost",
    gap.UNDECIDED: "undecided",
    gap.KEPT: "kept",
    gap.NO_GAIN: "no train gain",
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
    is_sure = d["mark"] != compare.BETTER or d.get("despite_failures", SURELY) in {SURELY, IF_ALIKE}
    mark = MARKS[d["mark"] if is_sure else compare.HINT_BETTER]
    return f"{'' if mark == '·' else mark + ' '}{signed(d['diff'])}"


def overfit(row: Row) -> str:
    return _OVERFIT[row["overfit"]["state"]] if row["overfit"] else "too few"


def half_width(s: Mapping[str, Any]) -> str:
    return "" if s["ci"] is None else number((s["ci"][1] - s["ci"][0]) / 2)


def ends(s: Mapping[str, Any]) -> str:
    """Write both ends of a mean's interval, without zeros that say nothing."""
    return "" if s["ci"] is None else " ".join(_short(end) for end in s["ci"])


def _short(value: float) -> str:
    text = number(value)
    return text.removeprefix("0") if text.startswith("0.") else text


def short_interval(ci: Sequence[float]) -> str:
    return f"{signed(ci[0])} {signed(ci[1])}"


def p_value(p: float | None) -> str:
    return "" if p is None else f"{p:.3f}" if p >= 0.001 else "<.001"  # noqa: PLR2004  three decimals


def failed(row: Row) -> int:
    return sum(s["failed"] for s in row["splits"].values())


def worst_of(row: Row, summary: Summary) -> list[Mapping[str, Any]]:
    """Choose the examples that got worse; of the baseline those where it does worse than on average."""
    limit = mean_of(row, summary) if is_baseline(row, summary) else float("inf")
    return [one for one in row["worst"] if one["line"] is not None and one["score"] < limit]


def got_worse_nowhere(row: Row, summary: Summary) -> str:
    """Say that a candidate lost on no example, where that is so; else nothing."""
    split = summary["decided_on"]
    d = row["vs_baseline"] and row["vs_baseline"][split]
    if not d or d["losses"] or not d["n_pairs"] or split == SINGLE:
        return ""
    pairs = count(d["n_pairs"], f"{split} pair")
    return f"{row['candidate']} is below {summary['baseline']} on none of {pairs}"


def words_of(failures: Mapping[str, Any]) -> str:
    """Put together what the first of some failures said, and what it said besides."""
    besides = failures.get("first_side_info")
    return f"{failures['first_message']} {besides}" if besides else str(failures["first_message"])


def most_frequent(summary: Summary) -> list[Mapping[str, Any]]:
    """Sort the failures, the most frequent first; what failed alike on several candidates is one entry."""
    alike: dict[tuple[Any, ...], dict[str, Any]] = {}
    for entry in summary["failures"]:
        key = tuple(entry[name] for name in _ALIKE)
        merged = alike.setdefault(key, {**entry, "count": 0, "candidates": {}})
        merged["count"] += entry["count"]
        merged["candidates"][entry["candidate"]] = None
    return sorted(alike.values(), key=lambda entry: -entry["count"])


def who_failed(entry: Mapping[str, Any]) -> str:
    """Name the candidates of an entry; of many the first."""
    names = list(entry["candidates"])
    more = [f"{len(names) - _MOST_NAMED} more"] if len(names) > _MOST_NAMED else []
    return ", ".join([*names[:_MOST_NAMED], *more])
