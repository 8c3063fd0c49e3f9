"""Side information that is not the same on train and val: shifts beyond three standard errors.

Made of what summary.json has of each key: counts, means, standard deviations, rates.
"""

import math
from collections.abc import Iterable, Iterator, Mapping

from optimize_eval.base.frozen import frozen
from optimize_eval.findings.shapes import Distribution, SideInfoEntry, Truths, ValuesAtPath

_BEYOND = 3.0  # standard errors
_FEWEST = 10  # values on each side

Keys = Mapping[str, ValuesAtPath]


@frozen
class Drift:
    """A key of a cell that shifts from train to val, in standard deviations or percentage points."""

    evaluator: str
    candidate: str
    task_model: str | None
    key: str
    unit: str
    shift: float


def drifts(entries: Iterable[SideInfoEntry]) -> Iterator[Drift]:
    """List the shifts from train to val, each with the cell and the key that it is of."""
    cells: dict[tuple[str, str, str | None], dict[str, Keys]] = {}
    for entry in entries:
        where = entry.where.evaluator, entry.where.candidate, entry.where.task_model
        cells.setdefault(where, {})[entry.where.split] = entry.keys
    for (evaluator, candidate, task_model), splits in cells.items():
        for key, unit, shift in _shifts(splits.get("train", {}), splits.get("val", {})):
            yield Drift(
                evaluator=evaluator,
                candidate=candidate,
                task_model=task_model,
                key=key,
                unit=unit,
                shift=shift,
            )


def _shifts(train: Keys, val: Keys) -> Iterator[tuple[str, str, float]]:
    for key in sorted(train.keys() & val.keys()):
        numbers = _shift_of_numbers(train[key].numbers, val[key].numbers)
        rates = _shift_of_rates(train[key].booleans, val[key].booleans)
        for unit, shift in (("sd", numbers), ("points", rates)):
            if shift is not None:
                yield key, unit, shift


def _shift_of_numbers(train: Distribution | None, val: Distribution | None) -> float | None:
    """Give the shift in standard deviations of train, where it is one."""
    if train is None or val is None or train.mean is None or val.mean is None:
        return None
    if train.sd is None or val.sd is None:
        return None
    error = math.hypot(train.sd / math.sqrt(train.n), val.sd / math.sqrt(val.n))
    change = val.mean - train.mean
    return change / train.sd if train.sd and _is_beyond(change, error, min(train.n, val.n)) else None


def _shift_of_rates(train: Truths | None, val: Truths | None) -> float | None:
    """Give the shift in percentage points, where it is one."""
    if train is None or val is None:
        return None
    error = math.sqrt(sum(one.rate * (1 - one.rate) / one.n for one in (train, val)))
    change = val.rate - train.rate
    return 100 * change if _is_beyond(change, error, min(train.n, val.n)) else None


def _is_beyond(change: float, error: float, fewest: int) -> bool:
    return fewest >= _FEWEST and abs(change) > _BEYOND * error > 0
