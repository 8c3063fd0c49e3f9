"""The calls of a session: what is owed of a plan, then the recheck if there is to be one; and what it leaves.

What the plan is, and whose folder it goes to, is decided by sweeps, benches and rescoring.
"""

from collections.abc import Callable, Collection, Mapping
from dataclasses import field, replace
from functools import partial
from typing import TYPE_CHECKING

from optimize_eval.base.endings import State
from optimize_eval.base.frozen import frozen
from optimize_eval.run.host import Host, Say
from optimize_eval.run.plan import Plan
from optimize_eval.run.recheck import Rechecked, recheck
from optimize_eval.run.runner import Runner, SessionEnd, Settings
from optimize_eval.run.whereabouts import Evaluators, evaluators_at
from optimize_eval.store.folder import JOURNAL, SUMMARY, write_json
from optimize_eval.store.layout import Layout
from optimize_eval.store.opened_run import StoredRun
from optimize_eval.store.tried import note_beside, note_shown
from optimize_eval.tasks.targets import TASKS

if TYPE_CHECKING:
    from optimize_eval.findings.board_shapes import Board
    from optimize_eval.findings.cells import Keep
    from optimize_eval.findings.gates import Gate
    from optimize_eval.findings.stored_summary import Findings
    from optimize_eval.findings.summary_shape import Summary


@frozen
class CallSpan:
    """What became of the calls, and of the recheck after them; `plan` is None where nothing was owed."""

    ended: SessionEnd
    plan: Plan | None = None
    rechecked: Rechecked | None = None
    scored_models: tuple[str, ...] = ()  # of those that replied to prompts


@frozen
class Finished:
    """A session that came to an end, be it before all was called.

    A bench has several spans of calls, one for its models and one for each metric of its own. `boards` are
    leaderboards by the names of such metrics, the bench's own without one; empty while calls are owed.
    """

    stored: StoredRun
    summary: "Summary"
    calls: tuple[CallSpan, ...]
    boards: "Mapping[str, Board]" = field(default_factory=dict)
    gates: "tuple[Gate, ...]" = ()
    off_scale: tuple[str, ...] = ()  # words for judges whose scores were on another scale too often

    @property
    def status(self) -> State:
        """Say how it ended: the first span that did not come to its end speaks for all."""
        ends = (called.ended.status for called in self.calls)
        return next((status for status in ends if status is not State.DONE), State.DONE)


def live_for(plan: Plan, settings: Settings, host: Host) -> Evaluators:
    """Give the evaluators of a plan, which are made when they are entered."""
    specs = [spec.change(keep_stderr=settings.keep_stderr) for spec in plan.specs]
    models = [str(name) for name in plan.layout.task_models] if plan.by_model else ()
    return evaluators_at(settings.cluster, specs, plan.identities, host.stop, settings.caps, models)


def call(
    plan: Plan,
    stored: StoredRun,
    settings: Settings,
    host: Host,
    live: Evaluators,
    *,
    again: int | None = None,
) -> CallSpan:
    """Make the owed calls of a plan's evaluators, which may be some of the run's; then recheck so many.

    The evaluators are closed when these calls are made.
    """
    with host.calling():
        with host.watching(is_recheck=False) as watch:
            runner = Runner(plan, stored.ledger, settings, live, stop=host.stop, watch=watch)
            ended = runner.run(stored.folder / JOURNAL)
        is_scored = stored.ledger.ledger.is_scored
        scored = tuple(model.name for model in plan.models if is_scored(model.name))
        called = CallSpan(ended=ended, plan=plan, scored_models=scored)
        if again is None:
            return called
        if ended.status is not State.DONE:
            host.say("recheck: skipped; it calls again once a run is done")
            return called
        with host.watching(is_recheck=True) as watch:
            rechecked = recheck(
                plan,
                stored,
                again,
                settings=settings,
                stop=host.stop,
                watch=watch,
            )
    return replace(called, rechecked=rechecked)


def summarise(run: StoredRun, keep: "Keep | None" = None) -> "Findings":
    """Compute the summary from the journal, and write it beside it; what it shows is noted there."""
    from optimize_eval.findings.stored_summary import Findings  # noqa: PLC0415  a plain --help needs no statistics
    from optimize_eval.findings.tried import shown_by  # noqa: PLC0415  see above

    run.note_counts()
    note_beside(run)
    findings = Findings(run=run, keep=keep)
    summary = findings.summary
    note_shown(run, shown_by(run, summary))  # before it is shown: what a kill leaves counts one too many
    write_json(run.folder / SUMMARY, summary.to_dict())
    return findings


def examine(stored: StoredRun, planned: Callable[[], Plan], say: Say, *, sandbox: str = "") -> None:
    """Let the code and the rules of tasks in YAML make their numbers, once no call is owed."""
    if TASKS in stored.document.settings and not stored.owed:
        from optimize_eval.run.code_metrics import compute_code_metrics  # noqa: PLC0415  most runs have none

        compute_code_metrics(stored, planned, say, sandbox)


def off_scale(
    summary: "Summary", evaluators: Collection[str], layout: Layout | None = None
) -> tuple[str, ...]:
    """Say of these evaluators which of them scored on another scale too often; of a bench's by model."""
    from optimize_eval.findings.measures import beyond_scale  # noqa: PLC0415  see summarise

    if layout is None:
        return beyond_scale(summary, evaluators)
    from optimize_eval.findings.board_models import name_of  # noqa: PLC0415  most runs are none

    return beyond_scale(summary, evaluators, partial(name_of, layout=layout))
