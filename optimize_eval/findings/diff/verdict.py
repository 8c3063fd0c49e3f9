"""What a comparison of two runs is called in words: the worst row as a sentence, the others as points."""

from collections.abc import Mapping, Sequence
from typing import Any

from optimize_eval.findings.diff import regressions
from optimize_eval.findings.diff.regressions import GRAVEST_FIRST, standing
from optimize_eval.findings.documents import from_dict
from optimize_eval.findings.rows import MARKS, asked_with, no_difference_in, too_few
from optimize_eval.findings.shapes.difference import ScoreDifference
from optimize_eval.findings.summary import compare
from optimize_eval.findings.wording import count, interval, number, p_value, signed
from optimize_eval.store.layout import SINGLE

Row = Mapping[str, Any]

_MOST_POINTS = 8
_SIGNS = {
    regressions.WORSE: "▼",
    regressions.WORSE_AS_ZEROS: "▼",
    regressions.FAILS_UNBOUNDED: "!",
    regressions.NOT_BETTER_AS_ZEROS: "!",
    regressions.BETTER: "▲",
}
_WORDS = {
    regressions.WORSE: "{who} is worse{where} by {amount}",
    regressions.BETTER: "{who} is better{where} by {amount}",
    regressions.WORSE_AS_ZEROS: "{who} is worse{where} when failures count as 0, by {amount}",
    regressions.NOT_BETTER_AS_ZEROS: (
        "{who} is ahead{where} where both were scored, by {amount}, but not when failures count as 0"
    ),
    regressions.FAILS_UNBOUNDED: (
        "{who} fails{where}{asked} where it had scores, and what those calls would have scored has no bound"
    ),
    regressions.MAY_BE_WORSE: "{who} may be worse{where}, a hint only, by {amount}",
    regressions.MAY_BE_BETTER: "{who} may be better{where}, a hint only, by {amount}",
    regressions.SAME: "{who} scores the same{where}{asked} in both runs",
}
_COUNTED = {
    "improved": "improved",
    "regressed": "regressed",
    "newly_failing": "newly failing",
    "newly_failing_in_part": "newly failing in part",
    "fixed": "fixed",
    "failing_in_both": "failing in both",
    "not_asked": "not called",
}


def judge(rows: Sequence[Row], deciding: str) -> dict[str, Any]:
    """Say what came out: the most severe of the first evaluator on the deciding split first."""
    if len(rows) > 1 and all(standing(row) == regressions.SAME for row in rows):
        return {"text": f"no score changed in any of {count(len(rows), 'comparison')}", "points": []}
    lead = rows[0]["evaluator"], rows[0]["task_model"]
    ranked = sorted(
        rows,
        key=lambda row: (
            standing(row) == regressions.SAME,
            (row["evaluator"], row["task_model"]) != lead or row["split"] != deciding,
            GRAVEST_FIRST.index(standing(row)),
            -abs(row["diff"] or 0.0),
        ),
    )
    has_others = any((row["evaluator"], row["task_model"]) != lead for row in rows)
    first, *others = ranked
    rest = [row for row in others if standing(row) != regressions.SAME]
    rest.sort(key=lambda row: GRAVEST_FIRST.index(standing(row)))
    points = [
        {"mark": sign(row), "text": sentence(row, has_others=has_others)} for row in rest[:_MOST_POINTS]
    ]
    if more := len(rest) - len(points):
        points.append(
            {"mark": "·", "text": f"and {count(more, 'more comparison')}, none of them more severe"}
        )
    if same := len(others) - len(rest):
        points.append({"mark": "·", "text": f"no score changed in {count(same, 'other comparison')}"})
    return {"text": sentence(first, has_others=has_others), "points": points}


def sign(row: Row) -> str:
    return _SIGNS.get(standing(row), MARKS[row["mark"]])


def sentence(row: Row, *, has_others: bool) -> str:
    """Say of one row what it amounts to, with the numbers behind it."""
    who = str(row["candidate"])
    where = "" if row["split"] == SINGLE else f" on {row['split']}"
    by = f" {asked_with(row['evaluator'], row['task_model'])}" if has_others else ""
    return f"{_said(row, who, where, by)}: {counts(row)}"


def _said(row: Row, who: str, where: str, by: str) -> str:
    what = standing(row)
    if what == regressions.OPEN:
        return _open(row, who, where, by)
    d = row["at_lower_bound"] if what == regressions.WORSE_AS_ZEROS else row
    amount = _amount(d, by) if "{amount}" in _WORDS[what] else ""
    return _WORDS[what].format(who=who, where=where, asked=_asked(by), amount=amount)


def _open(row: Row, who: str, where: str, by: str) -> str:
    if row["mark"] == compare.TOO_FEW:
        why = too_few(from_dict(ScoreDifference, row))
        return f"too few to say whether {who} changed{where}{_asked(by)} ({why})"
    if row["ci"] is None:
        told = no_difference_in(from_dict(ScoreDifference, row)) if not row["diff"] else _amount(row, by)
        return f"no difference is shown for {who}{where}{_asked(by)}: {told}"
    if row["margin"] and row["margin"]["equivalent"]:
        told = f"{signed(row['diff'])}{by} (90 % CI {interval(row['margin']['ci90'])})"
        return f"{who} does not differ{where} by more than {number(row['margin']['margin'])}: {told}"
    most = number(max(abs(end) for end in row["ci"]))
    told = f"{signed(row['diff'])}{by} (95 % CI {interval(row['ci'])}, {p_value(_p(row))})"
    return f"no difference is shown for {who}{where}: {told}, none larger than {most}"


def _asked(by: str) -> str:
    return by and f" ({by.strip()})"


def _amount(d: Row, by: str) -> str:
    """Write how much, without its sign, and how sure that is."""
    amount = f"{number(abs(d['diff']))}{by}"
    if d["ci"] is None:
        return f"exactly {amount} on all {count(d['n_pairs'], 'example')} ({p_value(_p(d))})"
    ends = sorted(map(abs, d["ci"]))
    return f"{amount} (95 % CI {interval(ends, number)}, {p_value(_p(d))})"


def _p(d: Row) -> float | None:
    p: float | None = d["p_holm"] if d["p_holm"] is not None else d["p"]
    return p


def counts(row: Row) -> str:
    """Count examples by what became of them."""
    told = [f"{row[key]:,} {words}" for key, words in _COUNTED.items() if row[key]]
    if not row["improved"] and not row["regressed"] and row["unchanged"]:
        told.insert(0, f"{row['unchanged']:,} unchanged")
    return ", ".join(told) or "nothing was scored in both"
