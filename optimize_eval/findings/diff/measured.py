"""What `diff` tells of metrics of tasks in YAML: each number of A beside that of B, and of how many rows."""

from collections.abc import Mapping
from dataclasses import field
from typing import Annotated

from optimize_eval.base.frozen import frozen
from optimize_eval.findings.documents import IF_ANY


@frozen
class MetricOfRun:
    """A number of a metric in one run; None where it is not defined, such as 0/0."""

    value: float | None
    n: int  # rows that it is of


@frozen
class MetricDiff:
    """A number of a metric in both runs; a run that does not have it has None."""

    name: str
    a: MetricOfRun | None
    b: MetricOfRun | None
    diff: float | None

    @property
    def has_moved(self) -> bool:
        return self.a != self.b


@frozen
class CountedRows:
    """The rows of a scorer in one run: those that metrics are of, and why the others are not among them."""

    n_total: int
    n_scored: int
    n_excluded: Annotated[int, IF_ANY] = 0
    n_failed: Annotated[int, IF_ANY] = 0
    excluded_by: Annotated[Mapping[str, int], IF_ANY] = field(default_factory=dict)
    problems: Annotated[tuple[str, ...], IF_ANY] = ()  # of metrics that have no numbers
    rule_faults: Annotated[tuple[str, ...], IF_ANY] = ()  # rules that cannot be applied to some rows


@frozen
class ScorerMetricsDiff:
    """The metrics of a scorer in both runs, for one candidate and model; a run without it has no rows."""

    evaluator: str
    display_name: Annotated[str, IF_ANY] = ""
    candidate: str
    candidate_in_a: str
    task_model: str | None
    task_model_in_a: str | None
    split: str
    a: CountedRows | None
    b: CountedRows | None
    metrics: tuple[MetricDiff, ...]

    @property
    def has_moved(self) -> bool:
        return self.a != self.b or any(metric.has_moved for metric in self.metrics)
