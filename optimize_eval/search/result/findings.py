"""What a search says beside the verdict of its final sweep, and in its place where that decides nothing.

state               what it means
seed_only           no other candidate came out ahead in the search
flat_scores         all scores were equal: they do not say what is better
missing_diagnostics nothing better was found, and proposers saw scores without any reason
unfinished          the search, or its final sweep, was stopped: what is ahead is so in the search only
failed              the search could not go on

All other states are those of the final sweep's summary, whose verdict is the only one of a folder.
"""

from collections.abc import Iterator, Mapping

from optimize_eval.base.frozen import frozen
from optimize_eval.findings.summary_shape import Point, Verdict
from optimize_eval.findings.wording import ahead_so_far, count
from optimize_eval.search.ending import FAILED, Why
from optimize_eval.search.goal import Goal
from optimize_eval.search.plan import Searched
from optimize_eval.search.result.tree import Node, SearchOutcome
from optimize_eval.search.roles import FEWEST
from optimize_eval.store.layout import SINGLE

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


def notes(verdict: Verdict, outcome: SearchOutcome, plan: Searched) -> Iterator[Point]:
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
