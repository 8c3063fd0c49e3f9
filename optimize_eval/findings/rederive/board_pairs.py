"""The models of a leaderboard in pairs, once more: what one is ahead of the other, as failures leave it."""

import math
from collections.abc import Sequence
from itertools import combinations

from optimize_eval.findings.rederive import numerics
from optimize_eval.findings.rederive.compared import OF_ALL_ROWS, Told, correct
from optimize_eval.findings.rederive.journal import CellRecords, Values, are_ruled_apart, one_sided

_OF_D = (
    *("diff", "se", "ci", "p", "p_holm", "test", "n_pairs", "units", "comparisons", "dropped"),
    *("wins", "ties", "losses", "mark"),
)
_MOST_FLIPPED = 50

Pairs = list[numerics.Pair]


def pairs_of(models: Sequence[Told], sizes: Sequence[int], seed: int) -> list[Told]:
    couples = list(combinations(models, 2))
    may_flip = len(couples) <= _MOST_FLIPPED

    def against(before: Values, after: Values) -> Told:
        return _compare(_by_task(before, sizes), _by_task(after, sizes), seed, may_flip=may_flip)

    cells = {(a["adapter"], b["adapter"]): (a["records"], b["records"]) for a, b in couples}
    plain = {names: against(a.means, b.means) for names, (a, b) in cells.items()}
    whole = {
        names: against(*([numerics.average(one) for one in cell.whole] for cell in pair))
        for names, pair in cells.items()
        if are_ruled_apart(*pair)
    }
    over_all = correct(plain | whole, lambda _: 0)
    found = []
    for (a, b), d in correct(plain, lambda _: 0).items():
        told = {"a": a, "b": b, **{key: d[key] for key in _OF_D}, **_held(d, *cells[a, b], sizes, seed)}
        if (a, b) in whole:
            told["over_all_rows"] = {key: over_all[a, b][key] for key in OF_ALL_ROWS}
        found.append(told)
    return found


def _held(d: Told, a: CellRecords, b: CellRecords, sizes: Sequence[int], seed: int) -> Told:
    """Say what becomes of a difference with failures, and many skips of one side, as scores."""

    def holds(as_a: float, as_b: float) -> bool:
        before, after = a.counted_as(as_a, b) or [], b.counted_as(as_b, a) or []
        return _holds(d, _by_task(before, sizes), _by_task(after, sizes), seed)

    alone = one_sided(a, b)
    worst = (1.0, 0.0) if (d["diff"] or 0) > 0 else (0.0, 1.0)
    told = {"holds_at_lower_bound": holds(0.0, 0.0), "holds_at_worst": holds(*worst)}
    return told | ({"skipped_for_one": alone} if alone else {})


def _by_task(values: Values, sizes: Sequence[int]) -> list[Values]:
    given = iter(values)
    return [[next(given) for _ in range(size)] for size in sizes]


def _compare(a: Sequence[Values], b: Sequence[Values], seed: int, *, may_flip: bool) -> Told:
    tasks: list[Pairs] = [
        [(x, y) for x, y in zip(mine, other, strict=True) if x is not None and y is not None]
        for mine, other in zip(a, b, strict=True)
    ]
    there = [pairs for pairs in tasks if pairs]
    d = [y - x for pairs in there for x, y in pairs]
    told: Told = {
        "n_pairs": len(d),
        "dropped": sum(map(len, a)) - len(d),
        "wins": sum(one > 0 for one in d),
        "ties": sum(one == 0 for one in d),
        "losses": sum(one < 0 for one in d),
        **dict.fromkeys(("diff", "se", "ci", "df", "p", "p_holm", "test")),
        "comparisons": 1,
    }
    over_tasks = fixed([[y - x for x, y in pairs] for pairs in there])
    units = _units(there, is_fixed=over_tasks is not None)
    moves = [y - x for x, y in units]
    told["units"] = len(moves)
    if not there:
        return told
    means = [sum(y - x for x, y in pairs) / len(pairs) for pairs in there]
    told["diff"] = sum(means) / len(means)
    plain = numerics.spread(moves, sum(moves) / len(moves), range(len(moves)))
    if plain is None:
        return told
    told["se"], told["df"] = over_tasks or (plain[0], plain[1] - 1)
    ci = numerics.around(told["diff"], told["se"], told["df"])
    told["ci"] = ci and (max(-1.0, ci[0]), min(1.0, ci[1]))  # two scores from 0 to 1 differ by no more
    told["p"], told["test"] = _test(units, plain[0], seed, may_flip=may_flip)
    return told


def _units(tasks: Sequence[Pairs], *, is_fixed: bool) -> Pairs:
    """Give what is flipped: pairs by their weight in their task, or else whole tasks."""
    if not is_fixed:
        return [
            (
                numerics.total(x for x, _ in pairs) / len(pairs),
                numerics.total(y for _, y in pairs) / len(pairs),
            )
            for pairs in tasks
        ]
    is_even = len({len(pairs) for pairs in tasks}) == 1
    return [(x, y) if is_even else (x / len(pairs), y / len(pairs)) for pairs in tasks for x, y in pairs]


def _test(units: Pairs, se: float, seed: int, *, may_flip: bool) -> tuple[float, str]:
    moves = [y - x for x, y in units]
    if {score for pair in units for score in pair} <= {0, 1}:
        return numerics.mcnemar(sum(one > 0 for one in moves), sum(one < 0 for one in moves)), "mcnemar"
    mean = sum(moves) / len(moves)
    if not se:
        return (2.0 ** (1 - len(moves)) if mean else 1.0), "flip_exact"
    if len(moves) <= 14:  # noqa: PLR2004
        return numerics.flips(moves, seed), "flip_exact"
    if len(moves) <= 1000 and may_flip:  # noqa: PLR2004
        return numerics.flips(moves, seed), "flip"
    return numerics.two_sided(mean / se, len(moves) - 1), "t"


def _holds(d: Told, a: Sequence[Values], b: Sequence[Values], seed: int) -> bool:
    """Return True if a difference goes the same way, and as surely, with failures as scores."""
    other = _compare(a, b, seed, may_flip=False)
    if d["p"] is None or other["p"] is None:
        return False
    return _sign(d) in {0, _sign(other)}


def _sign(d: Told) -> int:
    if d["ci"] is None:
        return 0 if d["p"] >= numerics.ALPHA else int(d["diff"] > 0) - int(d["diff"] < 0)
    return int(d["ci"][0] > 0) - int(d["ci"][1] < 0)


def win_rate(name: str, pairs: Sequence[Told]) -> float | None:
    rates = [
        (d["wins" if d["b"] == name else "losses"] + d["ties"] / 2) / d["n_pairs"]
        for d in pairs
        if name in {d["a"], d["b"]} and d["n_pairs"]
    ]
    return sum(rates) / len(rates) if rates else None


def fixed(tasks: Sequence[Sequence[float]]) -> tuple[float, float] | None:
    """Give the error of a mean over these tasks and its degrees of freedom; None where one has one score."""
    if not tasks or min(map(len, tasks)) <= 1:
        return None
    deviations = [0.0 if len(set(values)) == 1 else numerics.deviation([values]) or 0.0 for values in tasks]
    squares = [(sd * sd / len(values), len(values) - 1) for sd, values in zip(deviations, tasks, strict=True)]
    df = numerics.satterthwaite(squares)
    if math.isinf(df):  # nothing varies
        df = numerics.satterthwaite([(1 / len(values), len(values) - 1) for values in tasks])
    return math.sqrt(sum(square for square, _ in squares)) / len(tasks), df
