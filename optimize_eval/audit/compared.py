"""Estimates in the shapes that summary.json has, and what skips, failures and rules leave of them."""

import math
from collections.abc import Callable, Hashable, Mapping, Sequence
from typing import TypeVar

from optimize_eval.audit import numerics
from optimize_eval.audit.axes import Record
from optimize_eval.audit.journaled import CellRecords, JournaledRun, Values, are_ruled_apart, one_sided
from optimize_eval.audit.rows_left_out import is_doubted

_Key = TypeVar("_Key", bound=Hashable)
Families = Callable[[_Key], Hashable]
AlsoTried = Callable[[Sequence[_Key]], tuple[int, bool]]

OF_D = (
    *("diff", "se", "ci", "p", "p_holm", "test", "n_pairs", "units", "comparisons", "dropped"),
    *("wins", "ties", "losses", "at_most", "mark"),
)
OF_ALL_ROWS = ("diff", "ci", "p", "p_holm", "mark")
_OF_ENDS = ("diff", "ci", "p", "p_holm")

_FEWEST = 10  # units of a hint, examples of a flagged gap
_ALL_FLIPS, _MOST_FLIPPED, _FLIPPED_AMONG_MANY = 14, 1000, 50  # units


def mean_of(values: Values, labels: numerics.Labels, *, is_clustered: bool, is_unit: bool) -> Record:
    """Estimate the mean of the examples that have a score."""
    known = [(value, label) for value, label in zip(values, labels, strict=True) if value is not None]
    scores = [value for value, _ in known]
    mean = numerics.average(scores)
    numbers: Record = {"mean": mean, "se": None, "ci": None, "method": None, "n": len(known), "df": None}
    spread = None if mean is None else numerics.spread(scores, mean, [label for _, label in known])
    if mean is None or spread is None:
        return numbers
    se, units = spread
    is_share = {*scores} <= {0, 1}
    numbers |= {"se": se, "df": units - 1}
    if is_share and not is_clustered:
        return numbers | {"ci": numerics.wilson(mean, len(known)), "method": "wilson"}
    if is_unit:
        most = len(known) if is_share else math.inf
        ci = numerics.wilson_effective(mean, se, units, units - 1, most)
        return numbers | {"ci": ci, "method": "wilson_effective"}
    method = ("cluster_t" if is_clustered else "t") if se else None
    return numbers | {"ci": numerics.around(mean, se, units - 1), "method": method}


def split_numbers(cell: CellRecords, run: JournaledRun, split: str) -> Record:
    of = run.splits[split]
    numbers = mean_of(cell.means, of.labels, is_clustered=of.is_clustered, is_unit=cell.is_unit)
    bounds = [_plain_mean(cell.with_failures(score)) for score in (0.0, 1.0)] if cell.is_unit else None
    return numbers | {
        "repeats": run.axes.repeats,
        "scored": cell.scored,
        "failed": cell.failed,
        "skipped": cell.skipped,
        "coverage": cell.coverage,
        "bounds": None if bounds == [None, None] else bounds,
        "within_sd": _within(cell) if run.axes.repeats > 1 else None,
        "between_sd": numerics.deviation([[value for value in cell.means if value is not None]]),
        "failures": dict(cell.kinds),
    }


def _within(cell: CellRecords) -> float | None:
    return numerics.deviation(example.scores for example in cell.examples)


def _plain_mean(values: Values | None) -> float | None:
    return numerics.average([value for value in values or () if value is not None])


def count_moves(pairs: Sequence[numerics.Pair], dropped: int) -> Record:
    """Begin a difference: who is ahead how often; no test, and nothing corrected."""
    moves = [after - before for before, after in pairs]
    return {
        "n_pairs": len(moves),
        "dropped": dropped,
        "wins": sum(move > 0 for move in moves),
        "ties": sum(move == 0 for move in moves),
        "losses": sum(move < 0 for move in moves),
        **dict.fromkeys(("se", "ci", "df", "p", "p_holm", "test")),
        "comparisons": 1,
    }


def compare(
    a: Values,
    b: Values,
    run: JournaledRun,
    split: str,
    places: Sequence[int] | None = None,
    family: int = 1,
) -> Record:
    """Compare b with a on the examples that both have a score for; Holm comes later."""
    among, of = range(len(a)) if places is None else places, run.splits[split]
    at = [index for index in among if a[index] is not None and b[index] is not None]
    pairs = [((a[index] or 0.0), (b[index] or 0.0)) for index in at]
    labels, moves = [of.labels[index] for index in at], [after - before for before, after in pairs]
    d = count_moves(pairs, len(among) - len(at))
    d |= {"can_confirm": not is_doubted(run.leaks, run.deciding), "diff": numerics.average(moves)}
    units = numerics.by_label(moves, labels)
    d |= {"units": len(units), "of_units": (units, numerics.by_label([1.0] * len(moves), labels))}
    spread = None if d["diff"] is None else numerics.spread(moves, d["diff"], labels)
    if spread:
        se, many = spread
        d |= {"se": se, "df": many - 1, "ci": numerics.around(d["diff"], se, many - 1)}
        if not of.is_clustered and {score for pair in pairs for score in pair} <= {0, 1}:
            d |= {"p": numerics.mcnemar(d["wins"], d["losses"]), "test": "mcnemar"}
        else:
            d["p"], d["test"] = p_value_of(
                units, d["diff"], se, run.axes.seed, may_flip=run.may_flip, family=family
            )
    d["at_most"] = 1 - 0.05 ** (1 / d["units"]) if moves and d["ties"] == len(moves) else None
    return d


def p_value_of(
    units: Sequence[float], mean: float, se: float, seed: int, *, may_flip: bool, family: int = 1
) -> tuple[float, str]:
    """Give the p value of a mean of units: by flipping their signs, where these are few, else by its t."""
    if not se:
        return (2.0 ** (1 - len(units)) if mean else 1.0), "flip_exact"
    if len(units) <= _ALL_FLIPS:
        return numerics.flips(units, seed), "flip_exact"
    if may_flip and len(units) <= (_MOST_FLIPPED if family <= 100 else _FLIPPED_AMONG_MANY):  # noqa: PLR2004
        return numerics.flips(units, seed, family), "flip"
    return numerics.two_sided(mean / se, len(units) - 1), "t"


def _nothing(_keys: Sequence[object]) -> tuple[int, bool]:
    return 0, True


def _families(keys: Sequence[_Key], family: Families[_Key]) -> list[list[_Key]]:
    families: dict[Hashable, list[_Key]] = {}
    for key in keys:
        families.setdefault(family(key), []).append(key)
    return [*families.values()]


def sizes(keys: Sequence[_Key], family: Families[_Key], also: AlsoTried[_Key] = _nothing) -> dict[_Key, int]:
    """Count for each comparison how many it is corrected for."""
    return {
        key: len(together) + others
        for together in _families(keys, family)
        for others, _ in [also(together)]
        for key in together
    }


def correct(
    plain: Mapping[_Key, Record], family: Families[_Key], also: AlsoTried[_Key] = _nothing
) -> dict[_Key, Record]:
    """Correct the p values that belong together, then say what each difference may be called."""
    done = dict(plain)
    for together in _families([*plain], family):
        others, can_confirm = also(together)
        keys = [key for key in together if plain[key]["p"] is not None]
        for key, p in zip(keys, numerics.holm([plain[key]["p"] for key in keys], others), strict=True):
            done[key] = plain[key] | {
                "p_holm": p,
                "comparisons": len(keys) + others,
                "can_confirm": can_confirm and plain[key].get("can_confirm", True),
            }
    return {key: d | {"mark": mark(d)} for key, d in done.items()}


def mark(d: Record) -> str:
    if d["p"] is None or not numerics.is_decidable(d["units"], d["comparisons"]):
        return "too_few"
    is_open = d["ci"] is not None and d["ci"][0] <= 0 <= d["ci"][1]
    is_hint = d["p_holm"] >= numerics.ALPHA or not d.get("can_confirm", True)
    if is_open or not d["diff"] or (is_hint and (d["ci"] is None or d["units"] < _FEWEST)):
        return "no_difference"
    return ("hint_" if is_hint else "") + ("better" if d["diff"] > 0 else "worse")


def gap_of(a: Record, b: Record, value: str) -> Record | None:
    """Subtract two independent estimates."""
    if None in {a[value], a["se"], b[value], b["se"]}:
        return None
    se = math.hypot(a["se"], b["se"])
    df = numerics.satterthwaite([(estimate["se"] ** 2, estimate["df"]) for estimate in (a, b)])
    gap = a[value] - b[value]
    return {
        "value": gap,
        "se": se,
        "ci": numerics.around(gap, se, df),
        "df": df,
        "p": numerics.two_sided(gap / se, df) if se else None,
    }


def gap_numbers(train: Record, val: Record) -> Record | None:
    gap = gap_of(train, val, "mean")
    if gap is None:
        return None
    is_shown = gap["ci"] is not None and not gap["ci"][0] <= 0 <= gap["ci"][1]
    numbers = {key: gap[key] for key in ("value", "se", "ci")}
    numbers["df"] = gap["df"] if math.isfinite(gap["df"]) else None
    return numbers | {"flag": is_shown and min(train["n"], val["n"]) >= _FEWEST}


def estimate(d: Record) -> tuple[float, float, float]:
    return d["diff"], d["se"], d["df"]


def is_gain(d: Record) -> bool:
    if d["diff"] is None or d["diff"] <= 0:
        return False
    return bool(d["ci"][0] > 0 if d["ci"] else d["p"] is not None and d["p"] < numerics.ALPHA)


def held_differences(
    plain: Mapping[_Key, Record],
    cells: Mapping[_Key, tuple[CellRecords, CellRecords]],
    against: Callable[[_Key, Values, Values], Record],
    correct: Callable[[Mapping[_Key, Record]], dict[_Key, Record]],
    *,
    is_gain_wanted: bool = False,
) -> dict[_Key, Record]:
    """Correct differences; `beside` is what is told of each besides, `holds` whether that leaves its mark.

    Where a gain is wanted, of b over a, failures are held against it, too, besides skips of one side.
    """
    done = {key: d | {"beside": {}, "holds": True} for key, d in correct(plain).items()}

    def again(values: Mapping[_Key, tuple[Values | None, Values | None]]) -> dict[_Key, Record]:
        known = {key: (a, b) for key, (a, b) in values.items() if a is not None and b is not None}
        others = correct({**plain, **{key: against(key, a, b) for key, (a, b) in known.items()}})
        return {key: others[key] for key in known}

    alone = {key: one_sided(*pair) for key, pair in cells.items()}
    is_ahead = {key: is_gain_wanted or (plain[key]["diff"] or 0) > 0 for key in plain}
    is_open = {
        key: alone[key] or (is_gain_wanted and (a.failed or b.failed)) for key, (a, b) in cells.items()
    }
    opened = [key for key in cells if is_open[key]]
    at_worst = again({key: _ends(*cells[key], is_b_ahead=is_ahead[key]) for key in opened}) if opened else {}
    at_zero = again({key: _zeros(*cells[key]) for key in opened}) if opened else {}
    for key in opened:
        worst, zero = at_worst.get(key), at_zero.get(key)
        despite = _despite("better" if is_ahead[key] else "worse", worst, zero)
        done[key]["holds"] = despite == "surely"
        done[key]["beside"] = {
            **({"skipped_for_one": alone[key]} if alone[key] else {}),
            "despite_failures": despite,
            "at_worst": worst and {name: worst[name] for name in _OF_ENDS},
            "at_zero": zero and {name: zero[name] for name in _OF_ENDS},
        }
    ruled = [key for key, pair in cells.items() if are_ruled_apart(*pair)]
    for key, d in again({key: of_all_rows(*cells[key]) for key in ruled}).items() if ruled else ():
        done[key]["holds"] = done[key]["holds"] and d["mark"] == done[key]["mark"]
        done[key]["beside"] |= {"over_all_rows": {name: d[name] for name in OF_ALL_ROWS}}
    return done


def _ends(a: CellRecords, b: CellRecords, *, is_b_ahead: bool) -> tuple[Values | None, Values | None]:
    """Count against the one that is ahead."""
    as_a, as_b = (1.0, 0.0) if is_b_ahead else (0.0, 1.0)
    return a.counted_as(as_a, b), b.counted_as(as_b, a)


def _zeros(a: CellRecords, b: CellRecords) -> tuple[Values | None, Values | None]:
    return a.counted_as(0.0, b), b.counted_as(0.0, a)


def of_all_rows(a: CellRecords, b: CellRecords) -> tuple[Values, Values]:
    return a.means_of_all_rows, b.means_of_all_rows


def _despite(mark: str, worst: Record | None, zero: Record | None) -> str:
    if worst is None or zero is None:
        return "unbounded"
    if worst["mark"] == mark:
        return "surely"
    return "if_both_count_as_zero" if zero["mark"] == mark else "no"


def mark_as_held(d: Record) -> str:
    """Call a difference a hint that does not hold."""
    mark = str(d["mark"])
    return mark if d["holds"] or mark not in {"better", "worse"} else f"hint_{mark}"
