"""What may be said of a search, in words and for programs: better, how sure, does it generalise; why not.

state               what it means
better              the best candidate is shown to be better than the seed on the deciding examples
not_shown           it is ahead there, by less than can be shown
seed_only           no other candidate came out ahead in the search
heldout_regression  what was better on train is worse than the seed on held-out examples
flat_scores         all scores were equal: there is nothing to improve
missing_diagnostics nothing better was found, and proposers saw scores without any reason
unfinished          the search, or its final sweep, was stopped: what is ahead is so in the search only
failed              the search could not go on
"""

from collections.abc import Iterator, Mapping

from optimize_eval.findings.searched import ahead_so_far
from optimize_eval.findings.shapes.difference import ScoreDifference
from optimize_eval.findings.shapes.row import Overfit
from optimize_eval.findings.summary import compare, gap
from optimize_eval.findings.wording import count, interval, number, p_value, signed
from optimize_eval.frozen import frozen
from optimize_eval.search.ending import FAILED, Why
from optimize_eval.search.goal import Goal
from optimize_eval.search.result.honest import Judged, Measured
from optimize_eval.search.result.tree import Node, SearchOutcome
from optimize_eval.statistics.families import fewest_units
from optimize_eval.store.layout import SINGLE

BETTER, NOT_SHOWN, SEED_ONLY, UNFINISHED = "better", "not_shown", "seed_only", "unfinished"
REGRESSION, FLAT, UNEXPLAINED, COULD_NOT = (
    "heldout_regression",
    "flat_scores",
    "missing_diagnostics",
    "failed",
)

_DONE = {Why.PERFECT, Why.NOTHING_TO_TEACH}

_WHERE = {"val": " on held-out data", "test": " on test data", "train": " on the train data", "single": ""}

GUIDANCE: Mapping[str, str] = {
    SEED_ONLY: "try a larger --budget, another proposer, or say more in --objective and --background",
    REGRESSION: "what proposers learn from train does not hold beyond it: give more train examples, or a "
    "larger --minibatch",
    FLAT: "let the evaluator give partial credit, so that what is a little better scores a little more",
    UNEXPLAINED: 'let the evaluator say why: every key beside "score" reaches the proposer',
    NOT_SHOWN: "give more val examples: the dry run says which difference they can show",
}


@frozen
class Result:
    """The candidate that comes out, and what stands behind it."""

    best: Node
    state: str
    leakage: int = 0  # held-out examples that are train's, too
    judged: Judged | None = None
    means: Mapping[str, Measured] | None = None  # on the deciding split, by name
    lost: Overfit | None = None  # of its train gain, as a run's summary has it
    tested: ScoreDifference | None = None  # its comparison with the seed on the test split


def state_of(outcome: SearchOutcome, best: Node, judged: Judged | None, *, is_worse_held_out: bool) -> str:
    """Name what came out."""
    if outcome.why in FAILED or not outcome.nodes:
        return COULD_NOT
    if judged and judged.is_better:
        return BETTER
    if outcome.is_flat and not is_unchanged(outcome):
        return FLAT
    if is_worse_held_out:
        return REGRESSION
    if best.number == 0:
        return SEED_ONLY if outcome.has_side_info or is_unchanged(outcome) else UNEXPLAINED
    return NOT_SHOWN


def sentence(result: Result, outcome: SearchOutcome, goal: Goal, seed: str, split: str) -> str:
    """Say in one sentence what came out."""
    where = _WHERE.get(split, f" on {split}")
    match result.state:
        case "failed":
            return f"the search could not go on: {outcome.sentence}"
        case "unfinished":
            return so_far(result.best, outcome.seed, seed)
        case "flat_scores":
            return f"every candidate scored the same on {goal.name}: there is nothing to improve"
        case "heldout_regression":
            return f"no candidate is better than {seed}{where}: what was better on train is worse there"
        case "seed_only" | "missing_diagnostics":
            return _of_seed(outcome, goal, seed, where)
    return _of_best(result, goal, seed, split)


def _of_seed(outcome: SearchOutcome, goal: Goal, seed: str, where: str) -> str:
    if is_unchanged(outcome):
        nothing = f"there is nothing to improve on {goal.name}"
        return f"{seed} is unchanged: {nothing if is_done(outcome) else outcome.sentence}"
    tried = count(outcome.counts.proposals, "proposal")
    return f"no candidate came out ahead of {seed}{where} after {tried}"


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


def _of_best(result: Result, goal: Goal, seed: str, split: str) -> str:
    where, name = _WHERE.get(split, f" on {split}"), result.best.name
    if split == SINGLE and result.means:
        before, after = (number(result.means[one].mean) for one in (seed, name))
        return f"{name} scores {after} on {goal.name}, {seed} {before}: one measurement each"
    if result.judged is None:
        return f"{name} is ahead of {seed} in the search; no final sweep was made"
    verb = "beats" if result.state == BETTER else "is not shown to be better than"
    return f"{name} {verb} {seed}{where}: {_gain(result.judged, goal)}"


def _gain(judged: Judged, goal: Goal) -> str:
    d, fitted = judged.difference, judged.crossfit
    p = p_value(judged.comparison.p_holm)
    pairs = count(d.n_pairs, "pair")
    if judged.comparison.mark == compare.TOO_FEW:
        fewest = fewest_units(judged.comparison.comparisons)
        among = f" among {judged.among:,} candidates" if judged.among > 1 else ""
        return f"too few to say, {pairs}: it takes {fewest} to show anything{among}"
    if fitted and fitted.ci:
        return (
            f"{signed(fitted.diff)} {goal.name} after correcting for the choice among {judged.among:,} "
            f"(95 % CI {interval(fitted.ci)}, {p}, {pairs})"
        )
    if d.ci:
        among = f", corrected for the choice among {judged.among:,}" if judged.among > 1 else ""
        return f"{signed(d.diff)} {goal.name} (95 % CI {interval(d.ci)}, {p}, {pairs}{among})"
    return f"exactly {signed(d.diff)} {goal.name} on all {count(d.n_pairs, 'example')} ({p})"


def points(result: Result, outcome: SearchOutcome, goal: Goal, split: str) -> Iterator[dict[str, str]]:
    """Say what belongs to the sentence."""
    if split == "train":
        yield _point("!", "no example was held out: train chose, so these numbers are optimistic (--valset)")
    if result.leakage:
        leaked = count(result.leakage, "held-out example")
        yield _point("!", f"leakage: {leaked} equal a train example: they do not show whether it generalises")
    if result.judged and split != SINGLE:
        yield from _about_choice(result.judged)
    if result.lost and result.best.number:
        yield from _about_lost(result.lost)
    if result.tested:
        yield _point("·", f"on test data: {signed(result.tested.diff)} ({_ends(result.tested)})")
    is_clear = is_done(outcome) or (result.state == NOT_SHOWN and split == SINGLE)
    if (guidance := GUIDANCE.get(result.state)) and not is_clear:
        yield _point("→", guidance)
    yield from _about_search(outcome, goal)


def _about_search(outcome: SearchOutcome, goal: Goal) -> Iterator[dict[str, str]]:
    if outcome.why not in FAILED:
        yield _point("·", f"the search ended: {outcome.sentence}")
    if outcome.counts.failed:
        failed = count(outcome.counts.failed, "call")
        yield _point(
            "!",
            f"{failed} of the search failed: each counted as {_penalty(goal)}, and proposers were told why",
        )
    if outcome.counts.skipped:
        yield _point(
            "·", f"{count(outcome.counts.skipped, 'skip')} in the search took the mean of their batch"
        )
    for failure, times in outcome.errors.items():
        yield _point("!", f"proposers failed {count(times, 'time')}: {failure}")
    for note in outcome.notes:
        yield _point("·", note)


def _about_choice(judged: Judged) -> Iterator[dict[str, str]]:
    d, fitted = judged.difference, judged.crossfit
    if fitted and d.ci and number(fitted.diff) != number(d.diff):
        yield _point(
            "·",
            f"its plain gain, {signed(d.diff)} ({interval(d.ci)}), is optimistic: it was chosen among "
            f"{judged.among:,}",
        )
    if not judged.is_better and judged.comparison.mde:
        least = number(judged.comparison.mde)
        pairs = count(d.n_pairs, "example")
        yield _point("·", f"with {pairs}, a difference of {least} would be found in 80 of 100 runs")
    if judged.comparison.mark == compare.BETTER and not judged.holds_if_failures_count:
        yield _point("!", "calls failed, and it is not shown to be ahead where failures count against it")


def _about_lost(lost: Overfit) -> Iterator[dict[str, str]]:
    amount = f"lost gain {signed(lost.value)}" + (f" ({interval(lost.ci)})" if lost.ci else "")
    match lost.state:
        case gap.KEPT:
            yield _point(
                "✓", "it generalises: at least half of its train gain carries over to held-out examples"
            )
        case gap.UNDECIDED:
            yield _point("?", f"how much of its train gain carries over is undecided: {amount}")
        case gap.PART_LOST:
            yield _point("?", f"part of its train gain is lost on held-out examples: {amount}")
        case gap.OVERFITS:
            yield _point("✕", f"it overfits: {amount}")


def _penalty(goal: Goal) -> str:
    return "0" if goal.is_unit else "1 less than the lowest score"


def _ends(d: ScoreDifference) -> str:
    return f"95 % CI {interval(d.ci)}" if d.ci else "no interval"


def _point(mark: str, text: str) -> dict[str, str]:
    return {"mark": mark, "text": text}


def plateau(outcome: SearchOutcome) -> tuple[bool, str]:
    """Say whether the search had stopped getting better, and what to do about that."""
    if outcome.why is Why.PLATEAU:
        return True, f"{outcome.sentence}; {GUIDANCE[SEED_ONLY]}"
    half = outcome.counts.calls / 2
    last = max((node.calls for node in outcome.nodes if node is outcome.best), default=0)
    if outcome.nodes and last <= half:
        return True, f"nothing better came in the second half of the search; {GUIDANCE[SEED_ONLY]}"
    return False, "the search was still getting better: a larger --budget may find more"
