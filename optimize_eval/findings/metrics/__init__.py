"""Metrics of tasks: a scorer's fields over all samples become numbers; pure, whatever the rows are of."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from optimize_eval.findings.metrics.shape import ScorerMetrics
    from optimize_eval.store.layout import Layout
    from optimize_eval.store.stored import StoredRun
    from optimize_eval.store.view import CountsAs


def metrics_of(run: "StoredRun", layout: "Layout") -> "tuple[ScorerMetrics, ...]":
    """Compute the metrics of all tasks of a run; most runs have none."""
    if not _has_tasks(run):
        return ()
    from optimize_eval.findings.metrics.of_run import metrics_in  # noqa: PLC0415  most runs have none

    return metrics_in(run, layout)


def counts_as(run: "StoredRun") -> "CountsAs | None":
    """Let records of rows that rules leave out count as skipped; None for most runs, which have no rules."""
    if not _has_tasks(run):
        return None
    from optimize_eval.findings.metrics.excluded import with_excluded_skipped  # noqa: PLC0415  see above

    return with_excluded_skipped(run)


def _has_tasks(run: "StoredRun") -> bool:
    settings = run.manifest.get("settings")
    return isinstance(settings, dict) and "tasks" in settings
