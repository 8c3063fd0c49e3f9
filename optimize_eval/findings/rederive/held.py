"""What skips of one side, and rules that leave rows out, make of differences, which are computed again."""

from collections.abc import Callable, Hashable, Mapping
from typing import TypeVar

from optimize_eval.findings.rederive.compared import OF_ALL_ROWS, Told
from optimize_eval.findings.rederive.journal import CellRecords, Values, are_ruled_apart, one_sided
from optimize_eval.findings.rederive.numerics import average

_SHORT = ("diff", "ci", "p", "p_holm")
_Key = TypeVar("_Key", bound=Hashable)


def held_differences(
    plain: Mapping[_Key, Told],
    cells: Mapping[_Key, tuple[CellRecords, CellRecords]],
    against: Callable[[_Key, Values, Values], Told],
    correct: Callable[[Mapping[_Key, Told]], dict[_Key, Told]],
) -> dict[_Key, Told]:
    """Correct differences; `beside` is what is told of each besides, `holds` whether that leaves its mark."""
    done = {key: d | {"beside": {}, "holds": True} for key, d in correct(plain).items()}

    def again(values: Mapping[_Key, tuple[Values | None, Values | None]]) -> dict[_Key, Told]:
        known = {key: (a, b) for key, (a, b) in values.items() if a is not None and b is not None}
        others = correct({**plain, **{key: against(key, a, b) for key, (a, b) in known.items()}})
        return {key: others[key] for key in known}

    alone = {key: many for key, pair in cells.items() if (many := one_sided(*pair))}
    at_worst = again({key: _ends(plain[key], *cells[key]) for key in alone}) if alone else {}
    at_zero = again({key: _zeros(*cells[key]) for key in alone}) if alone else {}
    for key, many in alone.items():
        worst, zero = at_worst.get(key), at_zero.get(key)
        despite = _despite("better" if (plain[key]["diff"] or 0) > 0 else "worse", worst, zero)
        done[key]["holds"] = despite == "surely"
        done[key]["beside"] = {
            "skipped_for_one": many,
            "despite_failures": despite,
            "at_worst": worst and {name: worst[name] for name in _SHORT},
            "at_zero": zero and {name: zero[name] for name in _SHORT},
        }
    ruled = [key for key, pair in cells.items() if are_ruled_apart(*pair)]
    for key, d in again({key: _whole(*cells[key]) for key in ruled}).items() if ruled else ():
        done[key]["holds"] = done[key]["holds"] and d["mark"] == done[key]["mark"]
        done[key]["beside"] |= {"over_all_rows": {name: d[name] for name in OF_ALL_ROWS}}
    return done


def _ends(d: Told, a: CellRecords, b: CellRecords) -> tuple[Values | None, Values | None]:
    """Count against the one that is ahead."""
    as_a, as_b = (1.0, 0.0) if (d["diff"] or 0) > 0 else (0.0, 1.0)
    return a.counted_as(as_a, b), b.counted_as(as_b, a)


def _zeros(a: CellRecords, b: CellRecords) -> tuple[Values | None, Values | None]:
    return a.counted_as(0.0, b), b.counted_as(0.0, a)


def _whole(a: CellRecords, b: CellRecords) -> tuple[Values, Values]:
    first, second = ([average(one) for one in cell.whole] for cell in (a, b))
    return first, second


def _despite(mark: str, worst: Told | None, zero: Told | None) -> str:
    if worst is None or zero is None:
        return "unbounded"
    if worst["mark"] == mark:
        return "surely"
    return "if_both_count_as_zero" if zero["mark"] == mark else "no"


def mark_as_held(d: Told) -> str:
    """Call a difference a hint that does not hold."""
    mark = str(d["mark"])
    return mark if d["holds"] or mark not in {"better", "worse"} else f"hint_{mark}"
