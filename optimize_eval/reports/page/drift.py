"""Side information that is not the same on train and val: shifts beyond three standard errors.

Made of what summary.json has of each key: counts, means, standard deviations, rates.
"""

import math
from collections.abc import Iterator, Mapping
from typing import Any

_BEYOND = 3.0  # standard errors
_FEWEST = 10  # values on each side

Keys = Mapping[str, Any]


def drifts(summary: Mapping[str, Any]) -> list[dict[str, Any]]:
    """List the shifts from train to val, each with the cell and the key that it is of."""
    cells: dict[tuple[Any, ...], dict[str, Keys]] = {}
    for entry in summary["side_info"]:
        where = entry["evaluator"], entry["candidate"], entry["task_model"]
        cells.setdefault(where, {})[entry["split"]] = entry["keys"]
    return [
        {"evaluator": evaluator, "candidate": candidate, "task_model": task_model, **found}
        for (evaluator, candidate, task_model), splits in cells.items()
        for found in _drifts_of(splits.get("train", {}), splits.get("val", {}))
    ]


def _drifts_of(train: Keys, val: Keys) -> Iterator[dict[str, Any]]:
    for key in sorted(train.keys() & val.keys()):
        numbers = _shift_of_numbers(train[key].get("numbers"), val[key].get("numbers"))
        rates = _shift_of_rates(train[key].get("booleans"), val[key].get("booleans"))
        for unit, shift in (("sd", numbers), ("points", rates)):
            if shift is not None:
                yield {"key": key, "unit": unit, "shift": shift}


def _shift_of_numbers(train: Keys | None, val: Keys | None) -> float | None:
    """Give the shift in standard deviations of train, where it is one."""
    if not train or not val or None in {train["mean"], val["mean"], train["sd"], val["sd"]}:
        return None
    error = math.hypot(train["sd"] / math.sqrt(train["n"]), val["sd"] / math.sqrt(val["n"]))
    change = val["mean"] - train["mean"]
    return change / train["sd"] if train["sd"] and _is_beyond(change, error, train, val) else None


def _shift_of_rates(train: Keys | None, val: Keys | None) -> float | None:
    """Give the shift in percentage points, where it is one."""
    if not train or not val:
        return None
    error = math.sqrt(sum(one["rate"] * (1 - one["rate"]) / one["n"] for one in (train, val)))
    change = val["rate"] - train["rate"]
    return 100 * change if _is_beyond(change, error, train, val) else None


def _is_beyond(change: float, error: float, train: Keys, val: Keys) -> bool:
    return min(train["n"], val["n"]) >= _FEWEST and abs(change) > _BEYOND * error > 0
