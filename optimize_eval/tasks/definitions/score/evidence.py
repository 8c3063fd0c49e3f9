"""System tasks: code that looks at a system by itself, and gives numbers with their reasons."""

from collections.abc import Mapping
from typing import Any

from optimize_eval.tasks.definitions.score.fields import Case
from optimize_eval.tasks.definitions.score.parts import Evidence
from optimize_eval.tasks.definitions.score.scored import Scored, kind, number, unusable
from optimize_eval.tasks.definitions.score.shipped import Scoring
from optimize_eval.tasks.definitions.score.tools import Tools
from optimize_eval.tasks.definitions.snippets import Snippets

_FUNCTION = "compute_evidence"
_SHAPE = '{"metrics": {"NAME": {"value": 1, "reason": "…"}}}'


def of_system(how: Evidence, tools: Tools) -> Scoring:
    def score(_case: Case, deadline: float) -> Scored:
        return computed_evidence(how.snippet, tools.snippets, deadline)

    return score


def computed_evidence(snippet: str, snippets: Snippets, deadline: float) -> Scored:
    """Run a system task's code; its first metric is the number. Raises EvaluationError."""
    metrics = _metrics(snippets.call(snippet, _FUNCTION, {}, deadline))
    values = {name: _value(name, metric) for name, metric in metrics.items()}
    reasons = {name: metric["reason"] for name, metric in metrics.items() if metric.get("reason")}
    return Scored(
        primary=next(iter(values.values())),
        scores=values,
        metadata={"reasons": reasons} if reasons else {},
    )


def _metrics(returned: Any) -> Mapping[str, Any]:
    metrics = returned.get("metrics") if isinstance(returned, Mapping) else None
    if not isinstance(metrics, Mapping):
        raise unusable(f"compute_evidence returned {kind(returned)} without metrics: it returns {_SHAPE}")
    if not metrics:
        raise unusable("compute_evidence returned no metrics")
    if "" in metrics:
        raise unusable("compute_evidence returned a metric without a name")
    return metrics


def _value(name: str, metric: Any) -> float:
    match metric:
        case {"value": bool() | int() | float() as value}:
            return number(value)
        case {"value": value}:
            raise unusable(f"the value of the metric {name!r} is {kind(value)}, not a number")
    raise unusable(f"the metric {name!r} has no value: it is {_SHAPE}")
