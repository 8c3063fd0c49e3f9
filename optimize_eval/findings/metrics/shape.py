"""What metrics give: documents of their numbers, with how many rows these are of, and why of no others."""

from collections.abc import Mapping, Sequence
from dataclasses import field
from typing import Annotated, Any

from optimize_eval.base.frozen import frozen
from optimize_eval.findings.documents import FLAT, IF_ANY
from optimize_eval.findings.wording import count

Row = Mapping[str, Any]  # a scorer's fields for one sample


@frozen
class Measured:
    """The results of one metric; a number that is not defined, such as 0/0, is None."""

    type: str
    values: Mapping[str, float | None] = field(default_factory=dict)
    n: int = 0  # rows that they are of
    missing: Annotated[int, IF_ANY] = 0  # rows in which a field is null or not there
    left_out: Annotated[int, IF_ANY] = 0  # rows with another answer than the two that count
    confusion: Annotated[Mapping[str, Mapping[str, int]], IF_ANY] = field(
        default_factory=dict
    )  # what is right → what was said → rows
    problem: Annotated[str, IF_ANY] = ""  # why there are no values


@frozen
class MetricsTable:
    """All metrics of a scorer. Each sample is scored, excluded or failed."""

    n_total: int
    n_scored: int  # which metrics are of
    n_excluded: Annotated[int, IF_ANY] = 0
    n_failed: Annotated[int, IF_ANY] = 0
    excluded_by: Annotated[Mapping[str, int], IF_ANY] = field(
        default_factory=dict
    )  # rules; a sample counts for each that excludes it
    metrics: tuple[Measured, ...] = ()


@frozen
class Sampled:
    """What a scorer has of a sample."""

    fields: Row | None  # None: it failed
    excluded_by: Sequence[str] = ()  # rules of the task's actions


class MetricFault(ValueError):
    """Why a metric cannot be computed of these rows."""


@frozen
class RuleFaults:
    """The rows that a rule could not be applied to; they are left in."""

    rule: str
    count: int
    line: int | None  # of the first of them
    repeat: int
    message: str

    def told(self, split: str) -> str:
        """Say which rows the rule leaves in, as it cannot be applied to them."""
        at = split if self.line is None else f"{split} {self.line}"
        rows = f"{count(self.count, 'row')}, which stay{'s' * (self.count == 1)} in"
        return f"the rule {self.rule} cannot be applied to {rows}; the first is {at}: {self.message}"


@frozen
class ScorerMetrics:
    """The metrics of one scorer of a task, for one candidate and model, on one split."""

    evaluator: str
    task: str
    scorer: str
    display_name: Annotated[str, IF_ANY] = ""  # what people call the scorer, and the task before it
    description: Annotated[str, IF_ANY] = ""  # of the task
    purpose: str = "score"
    candidate: str
    task_model: str | None
    split: str
    table: Annotated[MetricsTable, FLAT]
    rule_faults: Annotated[tuple[RuleFaults, ...], IF_ANY] = ()
    problem: Annotated[str, IF_ANY] = ""  # why there are no metrics
