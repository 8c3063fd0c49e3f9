"""Estimates in the shapes that summary.json has, and what skips, failures and rules leave of them."""

import math
from collections.abc import Callable, Hashable, Mapping, Sequence
from typing import Any, TypeVar

from optimize_eval.audit import numerics
from optimize_eval.audit.journaled import CellRecords, JournaledRun, Values, are_ruled_apart, one_sided
from optimize_eval.audit.leaks import doubted
from optimize_eval.audit.numerics import average

Told = dict[str, Any]
_Key = TypeVar("_Key", bound=Hashable)

OF_D = (
    *("diff", "se", "ci", "p", "p_holm", "test", "n_pairs", "units", "comparisons", "dropped"),
    *("wins", "ties", "losses", "at_most", "mark"),
)
OF_ALL_ROWS = ("diff", "ci", "p", "p_holm", "mark")

_FEWEST = 10  # units of a hint, examples of a flagged gap


def mean_of(values: Values, labels: numerics.Labels, *, is_clustered: bool, is_unit: bool) -> Told:
    """Estimate the mean of the examples that have a score."""
    at = [index for index, value in enumerate(values) if value is not None]
    there = [value for value in values if value is not None]
    mean = numerics.average(there)
    told: Told = {"mean": mean, "se": None, "ci": None, "method": None, "n": len(at), "df": None}
    found = None if mean is None else numerics.spread(there, mean, [labels[place] for place in at])
    if mean is None or found is None:
        return told
    se, units = found
    is_share = set(there) <= {0, 1}
    told |= {"se": se, "df": units - 1}
    if is_share and not is_clustered:
        return told | {"ci": numerics.wilson(mean, len(at)), "method": "wilson"}
    if is_unit:
        most = len(at) if is_share else math.inf
        ci = numerics.wilson_effective(mean, se, units, units - 1, most)
        return told | {"ci": ci, "method": "wilson_effective"}
    method = ("cluster_t" if is_clustered else "t") if se else None
    return told | {"ci": numerics.around(mean, se, units - 1), "method": method}


def split_numbers(cell: CellRecords, run: JournaledRun, split: str) -> Told:
    of = run.splits[split]
    told = mean_of(cell.means, of.labels, is_clustered=of.is_clustered, is_unit=cell.is_unit)
    bounds = [_plain_mean(cell.with_failures(score)) for score in (0.0, 1.0)] if cell.is_unit else None
    return told | {
        "repeats": run.repeats,
        "scored": cell.scored,
        "failed": cell.failed,
        "skipped": cell.skipped,
        "coverage": cell.coverage,
        "bounds": None if bounds == [None, None] else bounds,
        "within_sd": numerics.deviation(cell.scores) if run.repeats > 1 else None,
        "between_sd": numerics.deviation([[value for value in cell.means if value is not None]]),
        "failures": dict(cell.kinds),
    }


def _plain_mean(values: Values | None) -> float | None:
    return numerics.average([value for value in values or () if value is not None])


def compare(
    a: Values,
    b: Values,
    run: JournaledRun,
    split: str,
    places: Sequence[int] | None = None,
    family: int = 1,
) -> Told:
    """Compare b with a on the examples that both have a score for; Holm comes later."""
    among = range(len(a)) if places is None else places
    at = [place for place in among if a[place] is not None and b[place] is not None]
    pairs = [((a[place] or 0.0), (b[place] or 0.0)) for place in at]
    d = [after - before for before, after in pairs]
    labels = [run.labels(split)[place] for place in at]
    told: Told = {
        "can_confirm": not doubted(run.leaks, run.deciding),
        "n_pairs": len(d),
        "dropped": len(among) - len(at),
        "wins": sum(one > 0 for one in d),
        "ties": sum(one == 0 for one in d),
        "losses": sum(one < 0 for one in d),
        "units": len(set(labels)),
        "diff": numerics.average(d),
        **dict.fromkeys(("se", "ci", "df", "p", "p_holm", "test")),
        "comparisons": 1,
    }
    told["of_units"] = numerics.by_label(d, labels), numerics.by_label([1.0] * len(d), labels)
    found = None if told["diff"] is None else numerics.spread(d, told["diff"], labels)
    if found:
        se, many = found
        told |= {"se": se, "df": many - 1, "ci": numerics.around(told["diff"], se, many - 1)}
        is_share = not run.splits[split].is_clustered and {score for pair in pairs for score in pair} <= {
            0,
            1,
        }
        units = numerics.by_label(d, labels)
        told["p"], told["test"] = _test(told, units, run, family, is_share=is_share)
    told["at_most"] = 1 - 0.05 ** (1 / told["units"]) if d and told["ties"] == len(d) else None
    return told


def _test(
    d: Told, units: Sequence[float], run: JournaledRun, family: int, *, is_share: bool
) -> tuple[float, str]:
    if is_share:
        return numerics.mcnemar(d["wins"], d["losses"]), "mcnemar"
    if not d["se"]:
        return (2.0 ** (1 - len(units)) if d["diff"] else 1.0), "flip_exact"
    if len(units) <= 14:  # noqa: PLR2004
        return numerics.flips(units, run.seed), "flip_exact"
    if run.may_flip and len(units) <= (1000 if family <= 100 else 50):  # noqa: PLR2004
        return numerics.flips(units, run.seed, family), "flip"
    return numerics.two_sided(d["diff"] / d["se"], d["df"]), "t"


def _nothing(_keys: Sequence[Any]) -> tuple[int, bool]:
    return 0, True


def correct(
    found: Mapping[_Key, Told],
    family: Callable[[_Key], Hashable],
    also: Callable[[Sequence[_Key]], tuple[int, bool]] = _nothing,
) -> dict[_Key, Told]:
    """Correct the p values that belong together, then say what each difference may be called."""
    families: dict[Hashable, list[_Key]] = {}
    for key in found:
        families.setdefault(family(key), []).append(key)
    done = dict(found)
    for together in families.values():
        others, can_confirm = also(together)
        keys = [key for key in together if found[key]["p"] is not None]
        for key, p in zip(keys, numerics.holm([found[key]["p"] for key in keys], others), strict=True):
            done[key] = found[key] | {
                "p_holm": p,
                "comparisons": len(keys) + others,
                "can_confirm": can_confirm and found[key].get("can_confirm", True),
            }
    return {key: d | {"mark": mark(d)} for key, d in done.items()}


def mark(d: Told) -> str:
    if d["p"] is None or not numerics.is_decidable(d["units"], d["comparisons"]):
        return "too_few"
    is_open = d["ci"] is not None and d["ci"][0] <= 0 <= d["ci"][1]
    is_hint = d["p_holm"] >= numerics.ALPHA or not d.get("can_confirm", True)
    if is_open or not d["diff"] or (is_hint and (d["ci"] is None or d["units"] < _FEWEST)):
        return "no_difference"
    return ("hint_" if is_hint else "") + ("better" if d["diff"] > 0 else "worse")


def gap_of(a: Told, b: Told, value: str) -> Told | None:
    """Subtract two independent estimates."""
    if None in {a[value], a["se"], b[value], b["se"]}:
        return None
    se = math.hypot(a["se"], b["se"])
    df = numerics.satterthwaite([(one["se"] ** 2, one["df"]) for one in (a, b)])
    gap = a[value] - b[value]
    return {
        "value": gap,
        "se": se,
        "ci": numerics.around(gap, se, df),
        "df": df,
        "p": numerics.two_sided(gap / se, df) if se else None,
    }


def gap_numbers(train: Told, val: Told) -> Told | None:
    gap = gap_of(train, val, "mean")
    if gap is None:
        return None
    is_shown = gap["ci"] is not None and not gap["ci"][0] <= 0 <= gap["ci"][1]
    told = {key: gap[key] for key in ("value", "se", "ci")}
    told["df"] = gap["df"] if math.isfinite(gap["df"]) else None
    return told | {"flag": is_shown and min(train["n"], val["n"]) >= _FEWEST}


def estimate(d: Told) -> tuple[float, float, float]:
    return d["diff"], d["se"], d["df"]


def is_gain(d: Told) -> bool:
    if d["diff"] is None or d["diff"] <= 0:
        return False
    return bool(d["ci"][0] > 0 if d["ci"] else d["p"] is not None and d["p"] < numerics.ALPHA)


_SHORT = ("diff", "ci", "p", "p_holm")


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
