"""Metrics that are code: run once over all rows that count, in the processes of tasks' code."""

from collections.abc import Mapping, Sequence
from typing import Any

from optimize_eval.base.errors import EvaluationError
from optimize_eval.tasks.definitions.score.metrics import PythonMetric
from optimize_eval.tasks.definitions.score.scored import kind, number, unusable
from optimize_eval.tasks.definitions.snippets import Snippets

STAGE = "metric"

_FUNCTION = "compute_metrics"


def computed(
    metric: PythonMetric, rows: Sequence[Mapping[str, Any]], snippets: Snippets, deadline: float
) -> Mapping[str, float]:
    """Compute a metric's numbers by their names; raises EvaluationError, whose stage is "metric".

    A row is the side info of a scored sample: scores, and perhaps metadata.
    """
    scores = [{"values": row["scores"], "metadata": row.get("metadata", {})} for row in rows]
    try:
        return _checked(snippets.call(metric.snippet, _FUNCTION, {"scores": scores}, deadline))
    except EvaluationError as error:
        error.message = f"{STAGE} {metric.key or 'python'}: {error.message}"
        error.stage = STAGE
        raise


def _checked(returned: Any) -> Mapping[str, float]:
    if not isinstance(returned, Mapping):
        raise unusable(f"compute_metrics returned {kind(returned)}, not numbers by their names")
    for name, value in returned.items():
        if not isinstance(value, bool | int | float):
            raise unusable(f"compute_metrics returned {kind(value)} as {name!r}, not a number")
    return {name: number(value) for name, value in returned.items()}
