"""Metrics of tasks: a scorer's fields over all samples become numbers; pure, whatever the rows are of."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from optimize_eval.findings.metrics.shape import ScorerMetrics
    from optimize_eval.store.layout import Layout
    from optimize_eval.store.stored import StoredRun


def metrics_of(run: "StoredRun", layout: "Layout") -> "tuple[ScorerMetrics, ...]":
    """Compute the metrics of all tasks of a run; most runs have none."""
    settings = run.manifest.get("settings")
    if not isinstance(settings, dict) or "tasks" not in settings:
        return ()
    from optimize_eval.findings.metrics.of_run import metrics_in  # noqa: PLC0415  most runs have none

    return metrics_in(run, layout)
