"""A search from its plan to what it found: proposers connected, GEPA driven, everything counted.

How pairs are scored and where that is recorded is the scorer's; the final sweep, which alone is believed,
comes after this.
"""

from collections import Counter
from dataclasses import replace

from optimize_eval.base.errors import UsageError
from optimize_eval.run.host import Stop
from optimize_eval.search.candidate_tree import Counts, SearchOutcome
from optimize_eval.search.components import Texts, is_plain, plain
from optimize_eval.search.goal import Scorer
from optimize_eval.search.panel import WORDS, Panel, Refusal, Screen
from optimize_eval.search.proposals import ProposalRequest
from optimize_eval.search.search_plan import SearchPlan
from optimize_eval.search.state import SearchState
from optimize_eval.search.stopping import PAUSED, Brakes, Meter, Over, Purse, SearchLimits, Why

_LEAST_IDLE = 20  # iterations
_CUT_SHORT = PAUSED | {Why.EVALUATOR}  # within a step, whose calls the budget had all given


def search(
    plan: SearchPlan,
    scorer: Scorer,
    state: SearchState,
    limits: SearchLimits,
    stop: Stop,
    meter: Meter | None = None,
) -> SearchOutcome:
    """Search until the budget is spent, or there is another reason to end."""
    check(plan)
    meter = meter or Meter()
    purse = Purse(limits.budget)
    stop.end_at(limits.ends_at)
    idle = max(_LEAST_IDLE, 2 * -(-len(plan.roles.learn) // plan.minibatch))
    perfect = 1.0 if plan.goal.is_unit else None
    brakes = Brakes(limits, stop, purse, meter, idle=idle, perfect=perfect)
    screen = Screen({} if plan.from_scratch else plan.seed, plan.most_letters, plan.fault)
    with Panel(plan.proposers, state, stop, meter) as panel:
        try:
            seed = _first_text(plan, panel, screen) if plan.from_scratch else plan.seed
        except Over as over:
            return _nothing(panel, screen, purse, over)
        return _evolve(replace(plan, seed=seed), scorer, state, purse, brakes, screen, panel)


def check(plan: SearchPlan) -> None:
    """Refuse what could not be searched, before anything is called."""
    if not plan.proposers:
        raise UsageError(
            "a search needs a proposer",
            hint="name a program, --proposer './propose.sh', or a model, --reflection-model PROVIDER/MODEL",
        )
    if plan.merge and is_plain(plan.seed):
        raise UsageError("--merge joins components, and the candidate is one text", hint="omit --merge")
    if plan.merge and not plan.goal.is_unit:
        raise UsageError("--merge needs scores from 0 to 1", hint="omit --merge, or --score-range any")
    if plan.from_scratch and not plan.objective:
        raise UsageError("--from-scratch starts from the objective", hint="give --objective TEXT")


def _evolve(
    plan: SearchPlan,
    scorer: Scorer,
    state: SearchState,
    purse: Purse,
    brakes: Brakes,
    screen: Screen,
    panel: Panel,
) -> SearchOutcome:
    from optimize_eval.search.evolution import Adapter, Reflector, Watcher, evolve  # noqa: PLC0415

    adapter = Adapter(scorer, plan.goal, purse, state, plan.text_of)
    reflector = Reflector(plan, panel, screen, brakes)
    watcher = Watcher(plan, purse, brakes, adapter.tally, state)
    over = evolve(plan, adapter, reflector, watcher)
    tally = adapter.tally
    if over.why is Why.NO_NEW_TEXT and not reflector.admitted and not screen.has_nothing_new:
        over = Over(Why.PROPOSER, f"no proposal could be used: {over.sentence}")
    return SearchOutcome(
        nodes=tuple(watcher.nodes),
        why=over.why,
        sentence=over.sentence,
        counts=replace(
            _counts(purse, panel, screen),
            calls=scorer.made if over.why in _CUT_SHORT else purse.spent,
            failed=tally.failed,
            skipped=tally.skipped,
            proposals=reflector.proposed,
            iterations=watcher.iterations,
            rejected=watcher.rejected,
        ),
        has_side_info=tally.has_side_info,
        is_flat=len(tally.scores) < 2,  # noqa: PLR2004
        notes=_notes(watcher.errors, screen),
        errors=_errors(panel),
    )


def _first_text(plan: SearchPlan, panel: Panel, screen: Screen) -> Texts:
    """Let a proposer write the candidate that the search starts from."""
    request = ProposalRequest(texts=plain(""), objective=plan.objective, background=plan.background)
    why = ""
    for _ in range(3):
        reply = panel.propose([request])[0]
        if reply.proposal is None:
            why = reply.failure
            continue
        texts = screen.admit(reply.proposal, plain(""))
        if not isinstance(texts, Refusal):
            return texts
        why = WORDS[texts]
    raise Over(Why.PROPOSER, f"no text to start from was proposed: {why}")


def _nothing(panel: Panel, screen: Screen, purse: Purse, over: Over) -> SearchOutcome:
    return SearchOutcome(
        nodes=(),
        why=over.why,
        sentence=over.sentence,
        counts=_counts(purse, panel, screen),
        has_side_info=False,
        is_flat=False,
        errors=_errors(panel),
    )


def _counts(purse: Purse, panel: Panel, screen: Screen) -> Counts:
    return Counts(
        calls=purse.spent,
        budget=purse.limit,
        proposer_calls=panel.calls,
        proposer_failures=len(panel.failures),
        refused={str(refusal): count for refusal, count in sorted(screen.refused.items())},
        tokens=panel.tokens,
    )


def _errors(panel: Panel) -> dict[str, int]:
    return dict(Counter(reply.failure for reply in panel.failures).most_common(10))


def _notes(errors: list[Exception], screen: Screen) -> tuple[str, ...]:
    of_gepa = (
        [f"{len(errors)} iterations of GEPA ended with an error; the first: {errors[0]}"] if errors else []
    )
    refused = [
        f"{count} proposal{'s' * (count != 1)} refused: {WORDS[refusal]}"
        for refusal, count in sorted(screen.refused.items())
    ]
    return (*of_gepa, *refused)
