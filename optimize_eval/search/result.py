"""What a search found: its tree, its findings beside the verdict, and search.json.

state               what it means
seed_only           no other candidate came out ahead in the search
flat_scores         all scores were equal: they do not say what is better
missing_diagnostics nothing better was found, and proposers saw scores without any reason
unfinished          the search, or its final sweep, was stopped: what is ahead is so in the search only
failed              the search could not go on

All other states are those of the final sweep's summary, whose verdict is the only one of a folder.

The document has the keys of a result's, so that whoever reads one reads the other.
"""

import difflib
from collections.abc import Iterator, Mapping
from dataclasses import field, replace
from math import fsum
from pathlib import Path
from typing import Any

from optimize_eval.base.frozen import frozen
from optimize_eval.findings.documents import to_dict
from optimize_eval.findings.summary_shape import Point, Summary, Verdict
from optimize_eval.findings.wording import RUNNING, ahead_so_far, count, how_far
from optimize_eval.search.components import ONLY, Goal, Texts, components_as_text, shown
from optimize_eval.search.ending import FAILED, Why
from optimize_eval.search.search_plan import FEWEST, Searched
from optimize_eval.store.folder import holder
from optimize_eval.store.layout import SINGLE
from optimize_eval.store.listing import Found, StoredSearch, read_search


@frozen
class Node:
    """A candidate; `values` are what GEPA was given for the examples that choose, failures as penalties."""

    number: int  # 0 is the seed
    texts: Texts
    parents: tuple[int, ...]
    proposer: str  # empty for the seed; "merge" where two parents were merged
    note: str
    calls: int  # of the budget, when it was found
    values: Mapping[str, float]
    failed: int = 0
    train: float | None = None  # mean on the minibatch that it was accepted for

    @property
    def text(self) -> str:
        return components_as_text(self.texts)

    @property
    def mean(self) -> float:
        return fsum(self.values.values()) / len(self.values)

    @property
    def name(self) -> str:
        return "seed" if not self.number else f"p{self.number}"

    def to_dict(self) -> dict[str, Any]:
        return {
            "name": self.name,
            "candidate": shown(self.texts),
            "parents": ["seed" if not parent else f"p{parent}" for parent in self.parents],
            "proposer": self.proposer or None,
            "note": self.note or None,
            "calls": self.calls,
            "search_mean": self.mean,
            "failed": self.failed,
        }


@frozen
class CurvePoint:
    """A point of the curve of scores against calls."""

    calls: int
    best: float


@frozen
class Counts:
    """What was done in a search."""

    calls: int
    budget: int
    failed: int = 0  # calls
    skipped: int = 0
    proposals: int = 0  # that proposers replied with
    proposer_calls: int
    proposer_failures: int
    refused: Mapping[str, int]
    tokens: int
    iterations: int = 0
    rejected: int = 0  # proposals that were no better on their minibatch


@frozen
class SearchOutcome:
    """A finished search, before its final sweep."""

    nodes: tuple[Node, ...]
    why: Why
    sentence: str
    counts: Counts
    has_side_info: bool  # whether any record said more than a score
    is_flat: bool  # all scores of the search were equal
    notes: tuple[str, ...] = ()
    errors: Mapping[str, int] = field(default_factory=dict)  # of proposers, by their words

    def counted(self) -> dict[str, Any]:
        """Give what no record of the journal says but the one of its end."""
        return {
            "counts": to_dict(self.counts),
            "has_side_info": self.has_side_info,
            "is_flat": self.is_flat,
            "notes": list(self.notes),
            "errors": dict(self.errors),
        }

    @property
    def seed(self) -> Node:
        return self.nodes[0]

    @property
    def best(self) -> Node:
        """The first of those with the highest mean in the search."""
        return max(self.nodes, key=lambda node: (node.mean, -node.number))

    def top(self, most: int) -> tuple[Node, ...]:
        """Choose the candidates besides the seed that are worth a final look, the best first."""
        return tuple(sorted(self.nodes[1:], key=lambda node: (-node.mean, node.number))[:most])

    def lineage(self, node: Node) -> tuple[Node, ...]:
        """Walk from the seed to a candidate by first parents."""
        path = [node]
        while path[-1].parents:
            path.append(self.nodes[path[-1].parents[0]])
        return tuple(reversed(path))

    @property
    def curve(self) -> tuple[CurvePoint, ...]:
        """Tell how the best mean grew with the calls."""
        best, steps = float("-inf"), []
        for node in self.nodes:
            best = max(best, node.mean)
            steps.append(CurvePoint(calls=node.calls, best=best))
        return tuple(steps)


BETTER, SEED_ONLY, UNFINISHED = "better", "seed_only", "unfinished"
FLAT, UNEXPLAINED, COULD_NOT = "flat_scores", "missing_diagnostics", "failed"

NOTHING_AHEAD = frozenset({SEED_ONLY, FLAT, UNEXPLAINED})

_NOT_SHOWN = "not_shown"
_DONE = {Why.PERFECT, Why.NOTHING_TO_TEACH}

GUIDANCE: Mapping[str | None, str] = {
    SEED_ONLY: "try a larger --budget, another proposer, or say more in --objective and --background",
    FLAT: "let the evaluator give partial credit, so that what is a little better scores a little more",
    UNEXPLAINED: 'let the evaluator say why: every key beside "score" reaches the proposer',
    "worse": "what proposers learned from train did not hold beyond it: try more train examples, or a "
    "larger --minibatch",
    _NOT_SHOWN: "give more held-out examples: the dry run says which difference they can show",
}


@frozen
class Result:
    """The candidate that comes out, and what may be said of it."""

    best: Node
    verdict: Verdict

    @property
    def is_better(self) -> bool:
        return self.verdict.state == BETTER


def without_summary(outcome: SearchOutcome, goal: Goal, seed: str, *, is_cut_short: bool) -> Verdict:
    """Say what came out where no final sweep came to its end."""
    if outcome.why in FAILED:
        return of_nothing(outcome)
    if not is_cut_short and (alone := of_seed(outcome, goal, seed)):
        return alone
    return Verdict(text=so_far(outcome.best, outcome.seed, seed), state=UNFINISHED)


def of_seed(outcome: SearchOutcome, goal: Goal, seed: str) -> Verdict | None:
    """Say that nothing came out ahead of the seed in the search; None where something did."""
    if outcome.best.number:
        return None
    if is_unchanged(outcome):
        nothing = f"no call of the search left anything to improve on {goal.name}"
        text = f"{seed} is unchanged: {nothing if is_done(outcome) else outcome.sentence}"
        return Verdict(text=text, state=SEED_ONLY)
    if outcome.is_flat:
        text = f"every candidate scored the same on {goal.name}: that does not say which is better"
        return Verdict(text=text, state=FLAT)
    tried = count(outcome.counts.proposals, "proposal")
    text = f"no candidate came out ahead of {seed} in the search, after {tried}"
    return Verdict(text=text, state=SEED_ONLY if outcome.has_side_info else UNEXPLAINED)


def of_nothing(outcome: SearchOutcome) -> Verdict:
    """Say why not even the seed has a score."""
    if outcome.why in FAILED:
        return Verdict(text=f"the search could not go on: {outcome.sentence}", state=COULD_NOT)
    text = f"there is no result yet, as the seed is not scored: {outcome.sentence}"
    return Verdict(text=text, state=UNFINISHED)


def is_unchanged(outcome: SearchOutcome) -> bool:
    """Return True if the search ended well and nothing but the seed was ever scored."""
    is_alone = len(outcome.nodes) == 1 and not outcome.counts.rejected
    return is_alone and outcome.why in {Why.NO_NEW_TEXT, *_DONE}


def is_done(outcome: SearchOutcome) -> bool:
    """Return True if that is because the seed cannot be better."""
    return is_unchanged(outcome) and outcome.why in _DONE


def so_far(best: Node, first: Node, seed: str) -> str:
    """Say how far a search came that has no final sweep yet."""
    return ahead_so_far(best.name if best.number else None, best.mean, seed, first.mean)


def notes_on(verdict: Verdict, outcome: SearchOutcome, plan: Searched) -> Iterator[Point]:
    """Say of the search what belongs to the verdict."""
    yield from _about_parts(plan)
    if len(plan.goal.climbed) > 1:
        yield Point(mark="·", text=f"the search climbed {plan.goal.name}; the verdict is about the first")
    is_clear = (bool(outcome.nodes) and is_done(outcome)) or (
        verdict.state == _NOT_SHOWN and plan.roles.steered_by is not None
    )
    if (guidance := GUIDANCE.get(verdict.state)) and not is_clear:
        yield Point(mark="→", text=guidance)
    yield from _about_search(outcome, plan.goal)


def _about_parts(plan: Searched) -> Iterator[Point]:
    learn, choose = plan.roles.learn, plan.roles.choose
    if learn.split == SINGLE:
        return
    if plan.roles.is_divided:
        text = (
            f"proposers learned from {count(len(learn), 'example')} of {learn.split}, and "
            f"{len(choose):,} others of {choose.split} chose"
        )
        yield Point(mark="·", text=text)
    else:
        text = (
            f"proposers learned from what chose, all of train: {count(len(learn), 'example')} "
            f"are too few for two parts of at least {FEWEST}"
        )
        yield Point(mark="!", text=text)


def _about_search(outcome: SearchOutcome, goal: Goal) -> Iterator[Point]:
    if outcome.why not in FAILED:
        yield Point(mark="·", text=f"the search ended: {outcome.sentence}")
    if outcome.counts.failed:
        failed = count(outcome.counts.failed, "call")
        yield Point(
            mark="!",
            text=f"{failed} of the search failed: each counted as {_penalty(goal)}, "
            "and proposers were told why",
        )
    if outcome.counts.skipped:
        yield Point(
            mark="·",
            text=f"{count(outcome.counts.skipped, 'skip')} in the search took the mean of their batch",
        )
    for failure, times in outcome.errors.items():
        yield Point(mark="!", text=f"proposers failed {count(times, 'time')}: {failure}")
    for note in outcome.notes:
        yield Point(mark="·", text=note)


def _penalty(goal: Goal) -> str:
    return "0" if goal.is_unit else "1 less than the lowest score"


def plateau(outcome: SearchOutcome) -> tuple[bool, str]:
    """Say whether the search had stopped getting better, and what to do about that."""
    if outcome.why is Why.PLATEAU:
        return True, f"{outcome.sentence}; {GUIDANCE[SEED_ONLY]}"
    half = outcome.counts.calls / 2
    last = max((node.calls for node in outcome.nodes if node is outcome.best), default=0)
    if outcome.nodes and last <= half:
        return True, f"nothing better came in the second half of the search; {GUIDANCE[SEED_ONLY]}"
    return False, "the best mean of the search was still rising: a larger --budget may find more"


SCHEMA = "optimize-eval.optimize.v1"

_RESUMABLE = {UNFINISHED, COULD_NOT}
_MOST_DIAGNOSTICS = 10
_LONGEST_DIFF = 2_000  # lines


def document(
    result: Result | None,
    outcome: SearchOutcome,
    plan: Searched,
    *,
    seed: str,
    folder: str,
    final_calls: int,
    summary: Summary | None,
    spent: Mapping[str, Any] | None = None,
    command: str | None = None,
) -> dict[str, Any]:
    """Make it; `summary` is the final sweep's, `spent` of the search's models, `command` resumes it."""
    best = result.best if result else None
    verdict = result.verdict if result else of_nothing(outcome)
    notes = tuple(notes_on(verdict, outcome, plan))
    fields = {
        "schema": SCHEMA,
        "run": folder,
        "run_dir": folder,
        "status": str(outcome.why),
        "ended": outcome.sentence,
        "resume": command if verdict.state in _RESUMABLE else None,
        "verdict": to_dict(replace(verdict, points=(*verdict.points, *notes))),
        "notes": [to_dict(note) for note in notes],  # of its points, those that the summary does not have
        "best_artifact": shown(best.texts) if best else None,
        "best": _name(best, seed),
        **_calls(outcome, final_calls),
        "score_summary": _scores(outcome),
        "top_diagnostics": _diagnostics(summary, _name(best, seed), plan.goal),
        **_plateau(outcome),
        "proposals": _proposals(outcome),
        "goal": {
            name: weight for name, weight in zip(plan.goal.names, plan.goal.weights, strict=True) if weight
        },
        "candidates": [_node_fields(node, seed) for node in outcome.nodes],
        "lineage": [_name(node, seed) for node in outcome.lineage(best)] if best else [],
        "curve": [{"calls": step.calls, "best": step.best} for step in outcome.curve],
        "diff": unified_diff(outcome.seed, best, seed) if best and best.number else "",
        "spent": spent,
        "summary": summary and summary.to_dict(),
    }
    signal = failure_signal(result, outcome)
    return fields | ({"evaluator_failure_signal": signal} if signal else {})


def _calls(outcome: SearchOutcome, final: int) -> dict[str, Any]:
    calls, budget = outcome.counts.calls, outcome.counts.budget
    return {
        "calls": {"search": calls, "final": final},
        "total_metric_calls": calls,
        "budget": budget,
        "budget_utilization": calls / budget if budget else None,
    }


def _plateau(outcome: SearchOutcome) -> dict[str, Any]:
    is_plateau, guidance = plateau(outcome)
    is_stopped = outcome.why is Why.PLATEAU
    return {
        "plateau_detected": is_plateau,
        "plateau_guidance": guidance,
        "early_stopped": is_stopped,
        "stopped_at_iteration": outcome.counts.iterations if is_stopped else None,
    }


def _proposals(outcome: SearchOutcome) -> dict[str, Any]:
    return {
        "calls": outcome.counts.proposer_calls,
        "failed": outcome.counts.proposer_failures,
        "proposed": outcome.counts.proposals,
        "refused": dict(outcome.counts.refused),
        "rejected": outcome.counts.rejected,
        "accepted": max(0, len(outcome.nodes) - 1),
        "tokens": outcome.counts.tokens,
    }


def unified_diff(seed: Node, best: Node, name: str) -> str:
    """Write what changed from the seed to the best, component by component."""
    lines: list[str] = []
    for part, before in seed.texts.items():
        suffix = "" if len(seed.texts) == 1 else f":{part}"
        lines += difflib.unified_diff(
            before.splitlines(), best.texts[part].splitlines(), name + suffix, best.name + suffix, lineterm=""
        )
    cut = [f"… {len(lines) - _LONGEST_DIFF:,} more lines"] if len(lines) > _LONGEST_DIFF else []
    return "\n".join([*lines[:_LONGEST_DIFF], *cut])


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


def _scores(outcome: SearchOutcome) -> dict[str, Any]:
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


def _diagnostics(summary: Summary | None, best: str | None, goal: Goal) -> list[dict[str, Any]]:
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


def _node_fields(node: Node, seed: str) -> dict[str, Any]:
    fields = node.to_dict()
    parents = [seed if parent == "seed" else parent for parent in fields["parents"]]
    return fields | {"name": _name(node, seed), "parents": parents}


def search_so_far(folder: Path) -> dict[str, Any] | None:
    """Say how far the search in a folder came; None where there is none."""
    stored = read_search(folder)
    return None if stored is None else _document(stored, is_running=holder(folder) is not None)


def _document(stored: StoredSearch, *, is_running: bool) -> dict[str, Any]:
    nodes = [_node(one, number) for number, one in enumerate(stored.found)]
    best = max(nodes, key=lambda node: (node.mean, -node.number), default=None)
    status = RUNNING if is_running else stored.status
    progress = how_far(stored.calls, stored.budget, status, stored.sentence)
    names = [stored.name_of(one) for one in stored.found]
    means = [float(one["search_mean"]) for one in stored.found]
    return {
        "schema": SCHEMA,
        "run": str(stored.folder),
        "run_dir": str(stored.folder),
        "status": status,
        "ended": stored.sentence,
        "resume": None if is_running else stored.command or None,
        "verdict": {
            "text": _sentence(nodes, best, stored.seed),
            "points": [{"mark": "·", "text": progress}],
            "state": COULD_NOT if status in FAILED else UNFINISHED,
            "winner": None,
            "by": None,
        },
        "best_artifact": stored.found[best.number]["candidate"] if best else None,
        "best": names[best.number] if best else None,
        "calls": {"search": stored.calls, "final": 0},
        "budget": stored.budget,
        "candidates": [{**one, "name": name} for one, name in zip(stored.found, names, strict=True)],
        "lineage": [],
        "curve": [
            {"calls": one["calls"], "best": max(means[: index + 1])} for index, one in enumerate(stored.found)
        ],
        "diff": unified_diff(nodes[0], best, stored.seed) if best and best.number else "",
        "summary": None,
    }


def _sentence(nodes: list[Node], best: Node | None, seed: str) -> str:
    if best is None:
        return "there is no result yet: the search has not scored its seed"
    return so_far(best, nodes[0], seed)


def _node(found: Found, number: int) -> Node:
    """Make a node of what is recorded of it, as far as its mean and its text go."""
    candidate = found["candidate"]
    texts: Texts = {ONLY: candidate} if isinstance(candidate, str) else candidate
    return Node(
        number=number,
        texts=texts,
        parents=(),
        proposer=found.get("proposer") or "",
        note=found.get("note") or "",
        calls=found["calls"],
        values={"": float(found["search_mean"])},
    )
