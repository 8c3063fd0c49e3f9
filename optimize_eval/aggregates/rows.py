"""What one row of a summary says, as verdicts and points read it."""

from collections.abc import Mapping, Sequence
from typing import Any

from optimize_eval.aggregates import compare
from optimize_eval.aggregates.wording import count, signed
from optimize_eval.run.layout import Layout

Row = Mapping[str, Any]

MARKS = {
    compare.BETTER: "▲",
    compare.WORSE: "▼",
    compare.HINT_BETTER: "△",
    compare.HINT_WORSE: "▽",
    compare.NO_DIFFERENCE: "·",
    compare.TOO_FEW: "·",
}


def lead_name(layout: Layout) -> str:
    """Name the evaluator that leads and, where there are several task models, the first of them."""
    return asked_with(layout.evaluators[0], layout.task_models[0])


def asked_with(evaluator: str, task_model: str | None) -> str:
    """Name an evaluator and, where there is one, the model that it was asked about."""
    return evaluator if task_model is None else f"{evaluator} with {task_model}"


def is_lead(row: Row, layout: Layout) -> bool:
    return (row["evaluator"], row["task_model"]) == (layout.evaluators[0], layout.task_models[0])


def against_baseline(row: Row, split: str) -> Mapping[str, Any] | None:
    """Find a row's comparison with the baseline; None for the baseline itself."""
    against: Mapping[str, Any] | None = row["vs_baseline"]
    return against and against[split]


def known_difference(row: Row, split: str) -> Mapping[str, Any]:
    d = against_baseline(row, split)
    if d is None:
        raise ValueError(f"{row['candidate']} is the baseline")
    return d


def marked(rows: Sequence[Row], split: str, *marks: str) -> list[Row]:
    """List the rows that a split marks so, the largest difference first."""
    found = [(d["diff"], row) for row in rows if (d := against_baseline(row, split)) and d["mark"] in marks]
    return [row for _, row in sorted(found, key=lambda pair: -pair[0])]


def keeps_ahead(row: Row, split: str) -> bool:
    d = against_baseline(row, split)
    return d is not None and d.get("ahead_at_lower_bound", True) is True


def why_no_winner(row: Row, split: str) -> str:
    if row["splits"][split]["bounds"] is None:
        return "but calls failed, and what they would have scored has no bound"
    return "but not when failures count as 0"


def too_few(d: Mapping[str, Any]) -> str:
    """Say why a difference is not called anything."""
    pairs = count(d["n_pairs"], "pair")
    if d["n_pairs"] < compare.FEWEST_PAIRS:
        return f"{pairs} of scores, and {compare.FEWEST_PAIRS} are the least"
    if d["se"] is None:
        return f"{pairs}, all in one cluster or too large to compute with"
    if not d["diff"]:
        return f"{pairs}, and no difference in any of them"
    return (
        f"{pairs} that all differ by {signed(d['diff'])}, without the variation that an interval is made from"
    )
