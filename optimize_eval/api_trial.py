"""`trial(…)`: what `preflight --good` does, for programs, tests and notebooks."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path

from optimize_eval.api import OneEvaluator, ProgramHost, beside, evaluators_of, listed_as
from optimize_eval.base.documents import JsonMapping
from optimize_eval.base.errors import UsageError
from optimize_eval.base.evaluator import EvaluatorSpec, KnownGood
from optimize_eval.base.frozen import frozen
from optimize_eval.base.protocol import ScoreRange, parse_score_range
from optimize_eval.data.example import Example, of_record
from optimize_eval.evaluators.kinds import Checks, kind_of
from optimize_eval.run.inputs import load_splits
from optimize_eval.run.preflight import BUDGET_OF_TRIAL
from optimize_eval.run.preflight.checklist import examine
from optimize_eval.run.preflight.examined import CheckOutcome, CheckStatus, Material
from optimize_eval.run.preflight.golds import Known, known_of
from optimize_eval.run.splits import SplitSource

_SLOTS = 1


@frozen
class Trial:
    """How an evaluator's trial ended: each check has a name, a status, a message and a line that shows it."""

    evaluator: str
    checks: tuple[CheckOutcome, ...]
    calls: int = 0

    @property
    def ok(self) -> bool:
        """Return True if nothing failed; warnings are no failures."""
        return not self.faults

    @property
    def faults(self) -> dict[str, str]:
        """Give what failed: messages by the names of checks."""
        return self._having(CheckStatus.FAIL)

    @property
    def warnings(self) -> dict[str, str]:
        return self._having(CheckStatus.WARN)

    def _having(self, status: CheckStatus) -> dict[str, str]:
        return {check.name: check.message for check in self.checks if check.status is status}


def trial(
    evaluator: OneEvaluator,
    dataset: str | Path | Iterable[JsonMapping] = (),
    *,
    good: str | Path,
    bad: str | Path | Iterable[str | Path] = (),
    near_misses: bool = True,
    score_range: ScoreRange | str = ScoreRange.UNIT,
    seconds: float = BUDGET_OF_TRIAL,
) -> Trial:
    """Put an evaluator on trial, as `preflight --good` does; in a test, assert that it is `ok`.

    The evaluator is given as to `sweep`. The dataset is a file or rows; `good` is the field of the right
    answer, or a file of a known good candidate, and what stands in the files `bad` has to score less.
    """
    host = ProgramHost()
    defaults = EvaluatorSpec(
        score_range=parse_score_range(score_range),
        good=KnownGood(str(good), str(good)),
        bad=tuple(map(str, listed_as("file", bad))),
    )
    (spec,) = evaluators_of([evaluator], defaults, host.say)
    if kind_of(spec).checks is Checks.TASKS:
        raise UsageError(f"{spec.text} is a task", hint="put its scorers on trial, each as an evaluator")
    known = known_of(spec, _sources(dataset, host.say), has_near_misses=near_misses)
    assert known is not None, "good is named"  # noqa: S101  for the checker
    examined = beside(lambda: examine(spec, _material(spec, known), seconds), host)
    return Trial(evaluator=spec.name, checks=tuple(examined.checks), calls=examined.calls_on_trial)


def _sources(
    dataset: str | Path | Iterable[JsonMapping], say: Callable[[str], None]
) -> Sequence[SplitSource]:
    if isinstance(dataset, str | Path):
        return load_splits({"train": str(dataset)}, say).sources
    examples = tuple(map(_example, range(1, len(rows := [*dataset]) + 1), rows))
    return [SplitSource(name="train", file="", examples=examples)] if examples else []


def _example(number: int, row: object) -> Example:
    if not isinstance(row, Mapping):
        raise UsageError(f"row {number} of the dataset is not a table: {row!r}", hint='write {"target": "…"}')
    return of_record(number, dict(row))


def _material(spec: EvaluatorSpec, known: Known) -> Material:
    sentinel = known.rows[0].payload  # is replaced, as all that is sent is known
    material = Material(splits={}, calls=1, slots=_SLOTS, sentinel=sentinel, known={spec.name: known})
    return material.of(known)
