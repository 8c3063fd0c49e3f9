"""The calls of a session: what is owed of a plan, then the recheck if there is to be one; what it leaves.

What the plan is, and whose folder it goes to, is decided by sweeps, benches and rescoring. A recheck calls
scored units again, to see whether their scores are still those of the journal, whose records stay: the result
is noted in a line of its own that only informs. Side information may differ.
"""

import contextlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import field, replace
from functools import partial
from threading import Lock
from typing import TYPE_CHECKING, Annotated

from optimize_eval.base.documents import IF_ANY, JsonDict, JsonMapping, to_dict
from optimize_eval.base.errors import State
from optimize_eval.base.frozen import frozen
from optimize_eval.base.outcome import Failed, Outcome, Progress, Skipped
from optimize_eval.base.spent import Spending, SpendingTotal
from optimize_eval.run.engine import Lane
from optimize_eval.run.host import Host, Say, Stop
from optimize_eval.run.live import BrokenOff, Work, usages_of
from optimize_eval.run.plan import Plan, Unit
from optimize_eval.run.runner import Runner, SessionEnd, Settings
from optimize_eval.run.whereabouts import Evaluators, evaluators_at
from optimize_eval.store import journal
from optimize_eval.store.command_units import View
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


Answer = tuple[Unit, Outcome]

_AXES = ("evaluator", "candidate", "task_model", "split", "line", "repeat")
_LONGEST_MESSAGE = 2048


@frozen
class Rechecked:
    """The result; fewer were `called` than `chosen` where somebody stopped it."""

    chosen: int
    asked: int
    same: int
    changed: tuple[JsonDict, ...]
    failed: tuple[JsonDict, ...]
    spent: Annotated[SpendingTotal | None, IF_ANY] = None  # on models, which the run's totals have, too

    def to_dict(self) -> JsonDict:
        return to_dict(self)


def recheck(
    plan: Plan,
    run: StoredRun,
    wanted: int,
    *,
    settings: Settings,
    stop: Stop,
    watch: Callable[[Sequence[Progress]], None],
) -> Rechecked:
    """Call so many scored units again, or all if there are fewer; the run's session is over.

    The session's caps hold, and end it where they are used up.
    """
    part = run.ledger.of(plan.layout)
    chosen = chosen_again(plan.layout, part, wanted)
    called, broken_off = _call_again(plan, chosen, settings, stop, watch)
    answers = sorted(called, key=lambda answer: answer[0].number)
    with part.reader(run.folder / JOURNAL) as reader:
        records = [reader.record(unit.number) for unit, _ in answers]
        before = [record["score"] for record in records if record]
    usages = [
        usage for unit, outcome in answers for usage in usages_of(unit, outcome.spent, outcome.output)
    ] + [usage for unit in broken_off for usage in unit.usages]
    result = _compare(answers, before, sum(map(len, chosen)), usages)
    _note(run, result, usages)
    return result


def chosen_again(layout: Layout, part: View, wanted: int) -> list[list[int]]:
    """Choose scored units by the run's seed, as many of each evaluator as there are enough of."""
    scored = [part.scored(layout.units_of(name)) for name in layout.evaluators]
    shares = _shares([len(units) for units in scored], wanted)
    from random import Random  # noqa: PLC0415  most runs recheck nothing

    draw = Random(f"{layout.seed} recheck")  # noqa: S311  a sample, no secret
    return [
        [units[index] for index in sorted(draw.sample(range(len(units)), share))]
        for units, share in zip(scored, shares, strict=True)
    ]


def _shares(sizes: Sequence[int], wanted: int) -> list[int]:
    """Share a number out evenly; what one has too few for goes to the others."""
    shares = [0] * len(sizes)
    left = wanted
    smallest_first = sorted(range(len(sizes)), key=lambda index: sizes[index])
    for others, index in zip(range(len(sizes), 0, -1), smallest_first, strict=True):
        shares[index] = min(sizes[index], -(-left // others))
        left -= shares[index]
    return shares


def _call_again(
    plan: Plan,
    chosen: Sequence[Sequence[int]],
    settings: Settings,
    stop: Stop,
    watch: Callable[[Sequence[Progress]], None],
) -> tuple[list[Answer], list[BrokenOff]]:
    """Call as a session does, and journal nothing."""
    answers: list[Answer] = []
    progress = Progress("recheck", total=sum(map(len, chosen)), done=0)
    counting = Lock()

    def take_answer(answer: Answer) -> None:
        unit, outcome = answer
        with counting:
            answers.append(answer)
            progress.count(outcome, unit.coordinates)
        if isinstance(outcome, Failed) and outcome.retry_after:
            live.rest(unit.evaluator, min(outcome.retry_after, plan.specs[unit.evaluator].timeout))

    def tick() -> None:
        live.end_if_over()
        progress.waiting = live.waiting
        watch([progress])

    with evaluators_at(settings.cluster, plan.specs, plan.identities, stop, settings.caps) as live:
        lanes = [
            Lane(units=units, capacity=partial(live.capacity, index)) for index, units in enumerate(chosen)
        ]
        work = Work(
            plan.unit,
            lambda unit, outcome, _: (unit, outcome),
            take_answer,
            lambda: stop.is_requested or settings.caps.is_over,
        )
        live.engine(settings.slots, tick).run(lanes, work)
    return answers, live.broken_off


def _compare(
    answers: Sequence[Answer], before: Iterable[float], chosen: int, usages: Iterable[JsonMapping]
) -> Rechecked:
    changed, failed = [], []
    for (unit, outcome), score in zip(answers, before, strict=True):
        where = {axis: unit.coordinates.get(axis) for axis in _AXES}
        if isinstance(outcome, Failed):
            failed.append(where | {"kind": str(outcome.kind), "message": _text(outcome.message)})
        elif isinstance(outcome, Skipped):
            changed.append(where | {"before": score, "after": None, "message": _text(outcome.message)})
        elif (now := None if outcome.is_unranked else outcome.score) != score:
            changed.append(where | {"before": score, "after": now})
    same = len(answers) - len(changed) - len(failed)
    spent = Spending()
    for usage in usages:
        spent.take(usage, [usage])
    return Rechecked(
        chosen=chosen,
        asked=len(answers),
        same=same,
        changed=tuple(changed),
        failed=tuple(failed),
        spent=spent.of_run,
    )


def _note(run: StoredRun, result: Rechecked, usages: Sequence[JsonMapping]) -> None:
    """Write it down, with each call of a model as records have them, and the cell that it was for."""
    ledger = run.ledger.ledger
    with contextlib.closing(journal.Journal(run.folder / JOURNAL, ledger.end)) as noted:
        noted.append(journal.seal({"recheck": result.to_dict(), **({"usage": usages} if usages else {})}))
    ledger.end = noted.end
    for usage in usages:
        ledger.spending.take(usage, [usage])


def _text(message: str) -> str:
    return message[:_LONGEST_MESSAGE].encode(errors="replace").decode()


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

    run.note_counts()
    note_beside(run)
    findings = Findings(run=run, keep=keep)
    summary = findings.summary
    note_shown(run, findings.shown)  # before it is shown: what a kill leaves counts one too many
    write_json(run.folder / SUMMARY, summary.to_dict())
    return findings


def examine(stored: StoredRun, planned: Callable[[], Plan], say: Say, *, sandbox: str = "") -> None:
    """Let the code and the rules of tasks in YAML make their numbers, once no call is owed."""
    if TASKS in stored.document.settings and not stored.owed:
        from optimize_eval.run.code_metrics import compute_code_metrics  # noqa: PLC0415  most runs have none

        compute_code_metrics(stored, planned, say, sandbox)
