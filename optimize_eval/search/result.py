"""The result of a search: what may be said of it, and search.json, made at its end or again of its folder.

state               what it means
seed_only           no other candidate came out ahead in the search
flat_scores         all scores were equal: they do not say what is better
missing_diagnostics nothing better was found, and proposers saw scores without any reason
unfinished          the search, or its final sweep, was stopped: what is ahead is so in the search only
failed              the search could not go on

All other states are those of the final sweep's summary, whose verdict is the only one of a folder.

The document has the keys of a result's, so that whoever reads one reads the other. To make it again, for
`report --check`, nothing is searched: the journal has the candidates in their order, what the search was
about, and what it had counted at its end; all else is made of these, and of the final sweep.
"""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from math import fsum
from pathlib import Path

from optimize_eval.base.documents import JsonDict, JsonMapping, to_dict
from optimize_eval.base.frozen import frozen
from optimize_eval.findings.summary_shape import Point, Summary, Verdict
from optimize_eval.findings.wording import ahead_so_far, count
from optimize_eval.reports.searched import SCHEMA, unified_diff
from optimize_eval.search.candidate_tree import Node, SearchOutcome
from optimize_eval.search.components import as_value
from optimize_eval.search.goal import Goal
from optimize_eval.search.recorded_scores import scored_in
from optimize_eval.search.search_plan import FEWEST, Aim
from optimize_eval.search.stopping import FAILED, PAUSED, Why
from optimize_eval.store import journal
from optimize_eval.store.folder import EVALUATIONS, JOURNAL
from optimize_eval.store.layout import SINGLE
from optimize_eval.store.listing import StoredSearch
from optimize_eval.store.opened_run import StoredRun

BETTER, SEED_ONLY, UNFINISHED = "better", "seed_only", "unfinished"
FLAT, UNEXPLAINED, COULD_NOT = "flat_scores", "missing_diagnostics", "failed"

NOTHING_AHEAD = frozenset({SEED_ONLY, FLAT, UNEXPLAINED})

_NOT_SHOWN = "not_shown"
_DONE = {Why.PERFECT, Why.NOTHING_TO_TEACH}

GUIDANCE: Mapping[str | None, str] = {
    SEED_ONLY: "Try a larger --budget, another proposer, or a longer --objective or --background",
    FLAT: "Let the evaluator give partial credit, so that a slightly better text scores slightly higher",
    UNEXPLAINED: 'Let the evaluator say why: the proposer sees every key beside "score"',
    "worse": "The gain on train did not carry over: try more train examples, or a larger --minibatch",
    _NOT_SHOWN: "Give more held-out examples: --dry-run says which difference they can find",
}


def without_summary(outcome: SearchOutcome, goal: Goal, seed: str, *, is_cut_short: bool) -> Verdict:
    """Say what came out where no final sweep came to its end."""
    if outcome.why in FAILED:
        return of_nothing(outcome)
    if not is_cut_short and (alone := of_seed(outcome, goal, seed)):
        return alone
    best = outcome.best
    text = ahead_so_far(best.name if best.number else None, best.mean, seed, outcome.seed.mean)
    return Verdict(text=text, state=UNFINISHED)


def of_seed(outcome: SearchOutcome, goal: Goal, seed: str) -> Verdict | None:
    """Say that nothing came out ahead of the seed in the search; None where something did."""
    if outcome.best.number:
        return None
    if is_unchanged(outcome):
        nothing = f"the search found nothing to improve on {goal.name}"
        text = f"No winner: {seed} is unchanged, because {nothing if is_done(outcome) else outcome.sentence}"
        return Verdict(text=text, state=SEED_ONLY)
    if outcome.is_flat:
        text = f"No winner: every candidate has the same score on {goal.name}"
        return Verdict(text=text, state=FLAT)
    tried = count(outcome.counts.proposals, "proposal")
    text = f"No winner: no candidate scored higher than {seed} in the search ({tried})"
    return Verdict(text=text, state=SEED_ONLY if outcome.has_side_info else UNEXPLAINED)


def of_nothing(outcome: SearchOutcome) -> Verdict:
    """Say why not even the seed has a score."""
    if outcome.why in FAILED:
        return Verdict(text=f"The search could not continue: {outcome.sentence}", state=COULD_NOT)
    text = f"No result: the search ended before its seed was scored ({outcome.sentence})"
    return Verdict(text=text, state=UNFINISHED)


def is_unchanged(outcome: SearchOutcome) -> bool:
    """Return True if the search ended well and nothing but the seed was ever scored."""
    is_alone = len(outcome.nodes) == 1 and not outcome.counts.rejected
    return is_alone and outcome.why in {Why.NO_NEW_TEXT, *_DONE}


def is_done(outcome: SearchOutcome) -> bool:
    """Return True if that is because the seed cannot be better."""
    return is_unchanged(outcome) and outcome.why in _DONE


def notes_on(verdict: Verdict, outcome: SearchOutcome, aim: Aim) -> Iterator[Point]:
    """Say of the search what belongs to the verdict."""
    yield from _about_parts(aim)
    if len(aim.goal.climbed) > 1:
        yield Point(
            mark="·", text=f"The search improved {aim.goal.name}, and the verdict is about the first of them"
        )
    is_clear = (bool(outcome.nodes) and is_done(outcome)) or (
        verdict.state == _NOT_SHOWN and aim.roles.steered_by is not None
    )
    if (guidance := GUIDANCE.get(verdict.state)) and not is_clear:
        yield Point(mark="→", text=guidance)
    yield from _about_search(outcome, aim.goal)


def _about_parts(aim: Aim) -> Iterator[Point]:
    learn, choose = aim.roles.learn, aim.roles.choose
    if learn.split == SINGLE:
        return
    if aim.roles.is_divided:
        text = (
            f"Proposers saw {count(len(learn), f'{learn.split} example')}, and {len(choose):,} other "
            f"{choose.split} examples chose the best"
        )
        yield Point(mark="·", text=text)
    else:
        text = (
            f"Proposers saw the examples that chose the best: {count(len(learn), 'train example')} are "
            f"too few for two parts of at least {FEWEST}"
        )
        yield Point(mark="!", text=text)


def _about_search(outcome: SearchOutcome, goal: Goal) -> Iterator[Point]:
    if outcome.why not in FAILED:
        yield Point(mark="·", text=f"The search stopped: {outcome.sentence}")
    if outcome.counts.failed:
        failed = count(outcome.counts.failed, "call")
        yield Point(
            mark="!",
            text=f"{failed} of the search failed: each counted as {_penalty(goal)}, and proposers saw why",
        )
    if outcome.counts.skipped:
        skips = count(outcome.counts.skipped, "skipped call")
        yield Point(mark="·", text=f"{skips} of the search counted as the mean of the batch")
    for failure, times in outcome.errors.items():
        yield Point(mark="!", text=f"Proposers failed {count(times, 'time')}: {failure}")
    for note in outcome.notes:
        yield Point(mark="·", text=note)


def _penalty(goal: Goal) -> str:
    return "0" if goal.is_unit else "1 less than the lowest score"


def plateau(outcome: SearchOutcome) -> tuple[bool, str]:
    """Say whether the search had stopped getting better, and what to do about that."""
    if outcome.why is Why.PLATEAU:
        return True, f"{outcome.sentence}. {GUIDANCE[SEED_ONLY]}"
    half = outcome.counts.calls / 2
    last = max((node.calls for node in outcome.nodes if node is outcome.best), default=0)
    if outcome.nodes and last <= half:
        return True, f"The second half of the search found nothing better. {GUIDANCE[SEED_ONLY]}"
    return False, "The best mean of the search was still rising: a larger --budget may find more"


_RESUMABLE = {UNFINISHED, COULD_NOT}
_MOST_DIAGNOSTICS = 10


@frozen
class Result:
    """The candidate that comes out, and what may be said of it."""

    best: Node
    verdict: Verdict

    @property
    def is_better(self) -> bool:
        return self.verdict.state == BETTER


def result_of(
    outcome: SearchOutcome, aim: Aim, seed: str, summary: Summary | None, *, has_run: bool
) -> Result | None:
    """Say who comes out; `summary` is the final sweep's, where this came to its end. None without a score."""
    if not outcome.nodes:
        return None
    if summary is None:
        is_cut_short = has_run or outcome.why in PAUSED
        verdict = without_summary(outcome, aim.goal, seed, is_cut_short=is_cut_short)
        return Result(best=outcome.best, verdict=verdict)
    return Result(best=best_of(outcome, summary, aim, seed), verdict=summary.verdict)


def best_of(outcome: SearchOutcome, summary: Summary, aim: Aim, seed: str) -> Node:
    """Choose who comes out: the winner, else the best mean, before a test set that of the search."""
    verdict = summary.verdict
    if verdict.state in NOTHING_AHEAD:
        return outcome.seed
    nodes = {seed if node is outcome.seed else node.name: node for node in outcome.nodes}
    if verdict.winner:
        return nodes[verdict.winner]
    if aim.roles.has_test:
        return outcome.best
    means = dict(_means(summary, aim.goal))
    best = max(means, key=lambda name: (means[name], -nodes[name].number), default=seed)
    return nodes[best]


def _means(summary: Summary, goal: Goal) -> Iterator[tuple[str, float]]:
    """Give the candidates' means by the goal; who has none of what is climbed is not there."""
    weights = dict(zip(goal.names, goal.weights, strict=True))
    by_name: dict[str, list[tuple[float, float]]] = {}
    for row in summary.rows:
        mean = row.splits[summary.decided_on].mean
        if mean is not None and weights[row.evaluator]:
            by_name.setdefault(row.candidate, []).append((mean, weights[row.evaluator]))
    for name, means in by_name.items():
        yield name, fsum(mean * weight for mean, weight in means) / fsum(weight for _, weight in means)


def document(
    result: Result | None,
    outcome: SearchOutcome,
    aim: Aim,
    *,
    seed: str,
    folder: str,
    final_calls: int,
    summary: Summary | None,
    spent: JsonMapping | None = None,
    command: str | None = None,
) -> JsonDict:
    """Make it; `summary` is the final sweep's, `spent` of the search's models, `command` resumes it."""
    best = result.best if result else None
    verdict = result.verdict if result else of_nothing(outcome)
    notes = tuple(notes_on(verdict, outcome, aim))
    fields = {
        "schema": SCHEMA,
        "run": folder,
        "run_dir": folder,
        "status": str(outcome.why),
        "ended": outcome.sentence,
        "resume": command if verdict.state in _RESUMABLE else None,
        "verdict": to_dict(replace(verdict, points=(*verdict.points, *notes))),
        "notes": [to_dict(note) for note in notes],  # of its points, those that the summary does not have
        "best_artifact": as_value(best.texts) if best else None,
        "best": _name(best, seed),
        **_calls(outcome, final_calls),
        "score_summary": _scores(outcome),
        "top_diagnostics": _diagnostics(summary, _name(best, seed), aim.goal),
        **_plateau(outcome),
        "proposals": _proposals(outcome),
        "goal": {
            name: weight for name, weight in zip(aim.goal.names, aim.goal.weights, strict=True) if weight
        },
        "candidates": [_node_fields(node, seed) for node in outcome.nodes],
        "lineage": [_name(node, seed) for node in outcome.lineage(best)] if best else [],
        "curve": [{"calls": step.calls, "best": step.best} for step in outcome.curve],
        "diff": unified_diff(outcome.seed.texts, best.texts, seed, best.name) if best and best.number else "",
        "spent": spent,
        "summary": summary and summary.to_dict(),
    }
    signal = failure_signal(result, outcome)
    return fields | ({"evaluator_failure_signal": signal} if signal else {})


def _calls(outcome: SearchOutcome, final: int) -> JsonDict:
    calls, budget = outcome.counts.calls, outcome.counts.budget
    return {
        "calls": {"search": calls, "final": final},
        "total_metric_calls": calls,
        "budget": budget,
        "budget_utilization": calls / budget if budget else None,
    }


def _plateau(outcome: SearchOutcome) -> JsonDict:
    is_plateau, guidance = plateau(outcome)
    is_stopped = outcome.why is Why.PLATEAU
    return {
        "plateau_detected": is_plateau,
        "plateau_guidance": guidance,
        "early_stopped": is_stopped,
        "stopped_at_iteration": outcome.counts.iterations if is_stopped else None,
    }


def _proposals(outcome: SearchOutcome) -> JsonDict:
    return {
        "calls": outcome.counts.proposer_calls,
        "failed": outcome.counts.proposer_failures,
        "proposed": outcome.counts.proposals,
        "refused": dict(outcome.counts.refused),
        "rejected": outcome.counts.rejected,
        "accepted": max(0, len(outcome.nodes) - 1),
        "tokens": outcome.counts.tokens,
    }


def failure_signal(result: Result | None, outcome: SearchOutcome) -> dict[str, str] | None:
    """Tell, as the reference does, that the evaluator itself stands in the way."""
    if outcome.why is Why.EVALUATOR:
        return {"kind": "evaluator_failed", "message": outcome.sentence}
    if outcome.is_flat and outcome.nodes:
        is_zero = not any(outcome.seed.values.values())
        kind = "repeated_zero_scores" if is_zero else "flat_scores"
        return {"kind": kind, "message": GUIDANCE[FLAT]}
    if result and result.verdict.state == UNEXPLAINED:
        return {"kind": UNEXPLAINED, "message": GUIDANCE[UNEXPLAINED]}
    return None


def _scores(outcome: SearchOutcome) -> JsonDict:
    means = [node.mean for node in outcome.nodes]
    if not means:
        return {"initial": None, "latest": None, "best": None, "num_candidates": 0}
    return {
        "initial": means[0],
        "latest": means[-1],
        "best": max(means),
        "delta_latest_vs_initial": means[-1] - means[0],
        "delta_best_vs_initial": max(means) - means[0],
        "num_candidates": len(means),
    }


def _diagnostics(summary: Summary | None, best: str | None, goal: Goal) -> list[JsonDict]:
    """List the means of numbers in the best candidate's side info."""
    if summary is None:
        return []
    return [
        {"name": key, "value": values.numbers.mean}
        for entry in summary.side_info
        if (entry.where.candidate, entry.where.split) == (best, summary.decided_on)
        and entry.where.evaluator in goal.names
        for key, values in entry.keys.items()
        if values.numbers
    ][:_MOST_DIAGNOSTICS]


def _name(node: Node | None, seed: str) -> str | None:
    return None if node is None else node.name if node.number else seed


def _node_fields(node: Node, seed: str) -> JsonDict:
    fields = node.to_dict()
    parents = [seed if parent == "seed" else parent for parent in fields["parents"]]
    return fields | {"name": _name(node, seed), "parents": parents}


def make_again(
    search: StoredSearch, stored: StoredRun | None, summary: Summary | None, shown_as: str
) -> JsonDict:
    """Make the document again; raises LookupError where its run is about candidates that were found later."""
    outcome, aim = SearchOutcome.read(search), Aim.read(search.about["plan"])
    whole = summary if stored and stored.ledger.is_complete else None
    return document(
        result_of(outcome, aim, search.seed, whole, has_run=stored is not None),
        outcome,
        aim,
        seed=search.seed,
        folder=shown_as,
        final_calls=_beyond_search(stored, search.folder) if stored else 0,
        summary=summary,
        spent=search.ending.get("spent"),
        command=search.about.get("command") or None,
    )


def keys_of_search(folder: Path) -> set[str]:
    """Give the keys of the calls that the search made, or that it took from elsewhere."""
    recorded = {key for key, _ in scored_in(folder / EVALUATIONS)}
    return recorded | {key for key, record in scored_in(folder / JOURNAL) if "reused_from" in record}


def _beyond_search(stored: StoredRun, folder: Path) -> int:
    """Count the calls of the final sweep that the search had not made."""
    names = set(stored.layout.candidates)
    records = (journal.glance(entry.line) for entry in journal.entries(folder / JOURNAL))
    keys = {record["key"] for record in records if "key" in record and record.get("candidate") in names}
    return stored.layout.size - len(keys & keys_of_search(folder))
