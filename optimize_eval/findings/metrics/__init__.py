"""Metrics of tasks: a scorer's fields over all samples become numbers; pure, whatever the rows are of."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from optimize_eval.findings.metrics.shape import ScorerMetrics
    from optimize_eval.store.layout import Layout
    from optimize_eval.store.records import LeftOut, Records
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


def records_of(run: "StoredRun") -> "Records":
    """Give a run's records, those of rows that rules leave out with these rules."""
    from optimize_eval.store.records import Records  # noqa: PLC0415  most sessions read none

    return Records(run, left_out)


def left_out(run: "StoredRun") -> "LeftOut":
    """Find the units that rules of tasks leave out; none in most runs, which have no rules."""
    if not _has_tasks(run):
        return {}
    from optimize_eval.findings.metrics.excluded import units_left_out  # noqa: PLC0415  see above

    return units_left_out(run)


def _has_tasks(run: "StoredRun") -> bool:
    settings = run.manifest.get("settings")
    return isinstance(settings, dict) and "tasks" in settings
