"""What votes say of judges: shares of places, agreement of panels, comparisons without one of the judges."""

import statistics
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any

from optimize_eval.audit import numerics
from optimize_eval.audit.axes import Record
from optimize_eval.audit.compared import mean_of
from optimize_eval.audit.journaled import JournaledRun
from optimize_eval.audit.judged import bootstrap, interval_alpha

_PLACES = ("first", "tie", "second")
_MOST = 5


def votes_of(run: JournaledRun) -> Record:
    """Compute what is told of judges that compare, and of several votes."""
    judged = {entry["name"]: entry["judge"] for entry in run.kept if entry.get("judge")}
    calls = {name: [*_calls(run, name)] for name in run.evaluators if name in judged}
    calls = {name: those for name, those in calls.items() if those}
    pairs = [_pairs(name, judged[name], calls[name]) for name in calls if judged[name].get("against")]
    several = [
        name
        for name, those in calls.items()
        if any("judge" in vote for call in those for vote in call["votes"])
    ]
    panels = [_panel(run, name, judged[name].get("vote", "mean"), calls[name]) for name in several]
    return {key: value for key, value in {"judged_pairs": pairs, "panels": panels}.items() if value}


def _calls(run: JournaledRun, name: str) -> Iterator[Record]:
    """List the calls that have votes, or none as both texts were the same."""
    for key, cell in run.cells.items():
        evaluator, model, split, candidate = key
        for index, example in enumerate(cell.examples if evaluator == name else ()):
            for record in example.records:
                side = record.get("side_info", {}) if record["outcome"] == "scored" else {}
                votes = side.get("votes") or ([side | {"score": record["score"]}] if "better" in side else [])
                if votes or side.get("same"):
                    of = run.splits[split]
                    where = {"candidate": candidate, "task_model": model, "split": split}
                    yield where | {
                        "index": index,
                        "line": of.lines[index],
                        "cluster": (split, of.labels[index]),
                        "votes": votes,
                        "failed": side.get("failed_votes", {}),
                    }


def _pairs(name: str, judge: Record, calls: Sequence[Record]) -> Record:
    asked = [(call, vote["better"]) for call in calls for vote in call["votes"] if vote.get("better")]
    shares = [1 - sum(map(_PLACES.index, better)) / 4 for _, better in asked]
    first = _mean(shares, [call["cluster"] for call, _ in asked], is_unit=True)
    return {
        "evaluator": name,
        "against": judge["against"],
        "votes": len(asked),
        "first": first["mean"],
        "ci": first["ci"],
        "flipped": sum(better in (["first"] * 2, ["second"] * 2) for _, better in asked),
        "same": sum(not call["votes"] for call in calls),
    }


def _mean(values: Sequence[float], labels: Sequence[Any], *, is_unit: bool) -> Record:
    return mean_of(list(values), labels, is_clustered=True, is_unit=is_unit)


def _panel(run: JournaledRun, name: str, rule: str, calls: Sequence[Record]) -> Record:
    several = [call for call in calls if len(call["votes"]) > 1]
    clusters: dict[Any, list[list[float]]] = {}
    for call in several:
        clusters.setdefault(call["cluster"], []).append(_scores(call))
    value = interval_alpha([_scores(call) for call in several])
    ci = None if value is None else bootstrap([*clusters.values()], interval_alpha, run.axes.seed)
    voting = {vote.get("judge", "") for call in calls for vote in call["votes"]}
    failed = Counter(who for call in calls for who in call["failed"])
    apart = [(max(_scores(call)) - min(_scores(call)), call) for call in several]
    widest = sorted((pair for pair in apart if pair[0] > 0), key=lambda pair: pair[0], reverse=True)[:_MOST]
    return {
        "evaluator": name,
        "vote": rule,
        "units": len(several),
        "alpha": None if value is None else {"value": value, "ci": ci},
        "judges": [
            _judge(run, name, rule, calls, who, is_one_of=len(voting) > 1) | {"failed": failed[who]}
            for who in sorted(voting | {*failed})
        ],
        "most_varied": [
            {key: call[key] for key in ("candidate", "task_model", "split", "line")}
            | {"least": min(_scores(call)), "most": max(_scores(call))}
            for _, call in widest
        ],
    }


def _scores(call: Record, who: str | None = None, without: str | None = None) -> list[float]:
    return [
        vote["score"]
        for vote in call["votes"]
        if (who is None or vote.get("judge", "") == who) and (without is None or vote["judge"] != without)
    ]


def _judge(
    run: JournaledRun, name: str, rule: str, calls: Sequence[Record], who: str, *, is_one_of: bool
) -> Record:
    voted = [call for call in calls if _scores(call, who)]
    above = [statistics.fmean(_scores(call, who)) - statistics.fmean(_scores(call)) for call in voted]
    mean = _mean(above, [call["cluster"] for call in voted], is_unit=False)
    own = run.splits_for(name)
    split = run.deciding if run.deciding in own else own[0]
    here = [call for call in calls if call["split"] == split]
    turns = is_one_of and _sides(run, rule, here) != _sides(run, rule, here, who)
    return {
        "judge": who,
        "votes": sum(len(_scores(call, who)) for call in voted),
        "bias": mean["mean"],
        "ci": mean["ci"],
        "turns": turns,
    }


def _sides(
    run: JournaledRun, rule: str, calls: Sequence[Record], without: str | None = None
) -> dict[Any, int]:
    """Say on which side of 0 each candidate's interval lies."""
    scores: dict[Any, dict[int, list[float]]] = {}
    for call in calls:
        votes = _scores(call, without=without)
        if votes or not call["votes"]:
            of_column = scores.setdefault((call["candidate"], call["task_model"]), {})
            of_column.setdefault(call["index"], []).append(_vote(rule, votes) if votes else 0.5)
    labels = {call["index"]: call["cluster"] for call in calls}
    sides: dict[Any, int] = {}
    for (name, model), after in scores.items():
        before = scores.get((run.axes.baseline, model))
        if name != run.axes.baseline and before is not None:
            both = [index for index in sorted(after) if index in before]
            moves = [statistics.fmean(after[n]) - statistics.fmean(before[n]) for n in both]
            sides[name, model] = _side(moves, [labels[index] for index in both])
    return sides


def _side(moves: list[float], labels: Sequence[Any]) -> int:
    diff = numerics.average(moves)
    spread = None if diff is None else numerics.spread(moves, diff, labels)
    ends = numerics.around(diff, spread[0], spread[1] - 1) if diff is not None and spread else None
    low, high = ends or (diff or 0.0, diff or 0.0)
    return 1 if low > 0 else -1 if high < 0 else 0


def _vote(rule: str, votes: Sequence[float]) -> float:
    if rule == "majority":
        signs = sum((vote > 0.5) - (vote < 0.5) for vote in votes)  # noqa: PLR2004
        return 0.5 + 0.5 * ((signs > 0) - (signs < 0))
    if rule == "median":
        return statistics.median(votes)
    return min(votes) if rule == "all" else statistics.fmean(votes)
