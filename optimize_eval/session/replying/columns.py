"""Columns that tasks in YAML name, held against the rows that take part, before anything is called."""

from collections.abc import Iterable, Sequence

from optimize_eval.base.errors import DataError
from optimize_eval.base.evaluator import EvaluatorSpec
from optimize_eval.run.splits import SplitSource
from optimize_eval.session.host import Say
from optimize_eval.tasks.defined import defined_of

_WHOSE = "no row that takes part"


def check_columns(specs: Iterable[EvaluatorSpec], sources: Sequence[SplitSource], say: Say) -> None:
    """Refuse a task for which each sample would fail, and tell of columns that may do without.

    Raises DataError with every place that names a column which no row has.
    """
    tasks = {id(target.task): target.task for target in map(defined_of, specs) if target}
    if not tasks:
        return
    from optimize_eval.tasks.yaml.task_data import absent  # noqa: PLC0415  most runs have no task in YAML

    rows = [example.value for source in sources for example in source.examples]
    missing = [one for task in tasks.values() for one in absent(task.columns, rows, _WHOSE)]
    if needed := [one.place for one in missing if one.is_needed]:
        raise DataError(needed)
    for one in missing:
        say(f"note: {one.place}")
