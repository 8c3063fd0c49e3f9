"""The metrics of the tasks in a run, from its journal and run.json alone."""

from collections.abc import Iterator, Mapping, Sequence
from functools import partial

from optimize_eval.findings.metrics.measuring import Values, tabulate
from optimize_eval.findings.metrics.rows import (
    Excluded,
    Recorded,
    TaskRows,
    counted,
    excluded_in,
    rows_in,
    sampled,
)
from optimize_eval.findings.metrics.shape import MetricFault, ScorerMetrics
from optimize_eval.store.layout import Layout
from optimize_eval.store.stored import StoredRun
from optimize_eval.tasks.definition import PythonMetric, digest_of, digest_of_code
from optimize_eval.tasks.kept import KeptScorer, KeptTask, tasks_in

CodeKey = tuple[str, str]  # the digests of code and rows

_NOT_APPLIED = "the task's rules were not applied to these rows yet: run the command again"


def metrics_in(run: StoredRun, layout: Layout) -> tuple[ScorerMetrics, ...]:
    """Compute the metrics of all tasks of a run, in the run's order."""
    return tuple(_all(run, layout, tasks_in(run.manifest["settings"])))


def _all(run: StoredRun, layout: Layout, tasks: Sequence[KeptTask]) -> Iterator[ScorerMetrics]:
    computed = run.ledger.ledger.computed
    of_code = code_values(computed)
    with run.reader() as reader:
        for task in tasks:
            for rows in rows_in(run, layout, task, reader):
                excluded = excluded_in(computed, rows)
                present = (scorer for scorer in task.scorers if scorer.evaluator in rows.cells)
                yield from (_metrics(rows, scorer, excluded, of_code) for scorer in present)


def code_values(computed: Sequence[Recorded]) -> dict[CodeKey, Values | str]:
    """Read what code made of rows, by the digests of both; a text says why it failed.

    Numbers whose lines are not all there, as the journal was cut off among them, are none.
    """
    found: dict[CodeKey, dict[str, float | None] | str] = {}
    whole: dict[CodeKey, int] = {}
    for one in computed:
        if "metric" not in one:
            continue
        key = one["snippet"], one["rows"]
        values, whole[key] = found.get(key), one.get("of", 0)
        if "error" in one:
            found[key] = one["error"]
        elif not isinstance(values, dict):
            found[key] = values = {}
        if isinstance(values, dict) and one.get("name") is not None:
            values[one["name"]] = one["value"]
    return {key: said for key, said in found.items() if isinstance(said, str) or len(said) >= whole[key]}


def _metrics(
    rows: TaskRows, scorer: KeptScorer, excluded: Excluded | None, of_code: Mapping[CodeKey, Values | str]
) -> ScorerMetrics:
    task, where = rows.task, rows.cells[scorer.evaluator]
    samples = sampled(rows, scorer, excluded or Excluded())
    digest = digest_of(counted(samples)) if _has_code(scorer) else ""
    chosen = () if excluded is None else scorer.metrics
    found = partial(_found, of_code, digest)
    table = tabulate(chosen, [one for one, _ in samples], found, is_evidence=scorer.is_evidence)
    return ScorerMetrics(
        evaluator=where.evaluator,
        task=task.key,
        scorer=scorer.key,
        display_name=": ".join(filter(None, (task.display_name, scorer.display_name or scorer.key))),
        description=task.description,
        purpose=scorer.purpose,
        candidate=where.candidate,
        task_model=where.task_model,
        split=where.split,
        table=table,
        rule_faults=excluded.faults if excluded else (),
        problem=_NOT_APPLIED if excluded is None else "",
    )


def _has_code(scorer: KeptScorer) -> bool:
    return any(isinstance(metric, PythonMetric) for metric in scorer.metrics or ())


def _found(of_code: Mapping[CodeKey, Values | str], rows: str, metric: PythonMetric) -> Values | None:
    values = of_code.get((digest_of_code(metric), rows))
    if isinstance(values, str):
        raise MetricFault(values)
    return values
