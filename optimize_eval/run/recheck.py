"""Scored units called again, to see whether their scores are still those of the journal.

The journal's records of these units stay: the result is reported, and noted in a line of its own that only
informs. Whether an answer has changed is decided by its score; side information may differ.
"""

import contextlib
import random
from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from threading import Lock
from typing import Any

from optimize_eval.engines import Lane
from optimize_eval.engines.local import LocalEngine
from optimize_eval.run.live import LiveEvaluators, crowded_out
from optimize_eval.run.outcome import Failed, Progress, Scored
from optimize_eval.run.plan import Plan, Unit
from optimize_eval.run.stop import Stop
from optimize_eval.store import journal
from optimize_eval.store.folder import JOURNAL
from optimize_eval.store.layout import Layout
from optimize_eval.store.stored import StoredRun
from optimize_eval.store.view import View

Answer = tuple[Unit, Scored | Failed]

_AXES = ("evaluator", "candidate", "task_model", "split", "line", "repeat")
_LONGEST_MESSAGE = 2048


@dataclass(frozen=True, slots=True, kw_only=True)
class Rechecked:
    """The result; fewer were `called` than `chosen` where somebody stopped it."""

    chosen: int
    asked: int
    same: int
    changed: tuple[dict[str, Any], ...]
    failed: tuple[dict[str, Any], ...]

    def to_dict(self) -> dict[str, Any]:
        return asdict(self)


def recheck(
    plan: Plan,
    run: StoredRun,
    wanted: int,
    *,
    slots: int,
    stop: Stop,
    watch: Callable[[Sequence[Progress]], None],
) -> Rechecked:
    """Call so many scored units again, or all if there are fewer; the run's session is over."""
    part = run.ledger.of(plan.layout)
    chosen = chosen_again(plan.layout, part, wanted)
    answers = sorted(_call_again(plan, chosen, slots, stop, watch), key=lambda answer: answer[0].number)
    with part.reader(run.folder / JOURNAL) as reader:
        records = [reader.record(unit.number) for unit, _ in answers]
        before = [record["score"] for record in records if record]
    result = _compared(answers, before, sum(map(len, chosen)))
    _note(run, result)
    return result


def chosen_again(layout: Layout, part: View, wanted: int) -> list[list[int]]:
    """Choose scored units by the run's seed, as many of each evaluator as there are enough of."""
    scored = [part.scored(layout.units_of(name)) for name in layout.evaluators]
    shares = _shares([len(units) for units in scored], wanted)
    draw = random.Random(f"{layout.seed} recheck")  # noqa: S311  a sample, no secret
    return [
        [units[place] for place in sorted(draw.sample(range(len(units)), share))]
        for units, share in zip(scored, shares, strict=True)
    ]


def _shares(sizes: Sequence[int], wanted: int) -> list[int]:
    """Share a number out evenly; what one has too few for goes to the others."""
    shares = [0] * len(sizes)
    left = wanted
    smallest_first = sorted(range(len(sizes)), key=lambda place: sizes[place])
    for others, place in zip(range(len(sizes), 0, -1), smallest_first, strict=True):
        shares[place] = min(sizes[place], -(-left // others))
        left -= shares[place]
    return shares


def _call_again(
    plan: Plan,
    chosen: Sequence[Sequence[int]],
    slots: int,
    stop: Stop,
    watch: Callable[[Sequence[Progress]], None],
) -> list[Answer]:
    """Call as a session does, and journal nothing."""
    answers: list[Answer] = []
    progress = Progress("recheck", total=sum(map(len, chosen)), done=0)
    counting = Lock()

    def done(answer: Answer) -> None:
        unit, outcome = answer
        with counting:
            answers.append(answer)
            progress.count(outcome, unit.coordinates)
        if isinstance(outcome, Failed) and outcome.retry_after:
            live.rest(unit.evaluator, min(outcome.retry_after, plan.specs[unit.evaluator].timeout))

    def tick() -> None:
        live.end_if_over()
        watch([progress])

    with LiveEvaluators(plan.specs, stop) as live:
        lanes = [
            Lane(units=units, capacity=partial(live.capacity, place)) for place, units in enumerate(chosen)
        ]
        LocalEngine(slots, tick).run(
            lanes,
            lambda numbers: live.answers([plan.unit(number) for number in numbers]),
            done,
            lambda: stop.is_requested,
            lambda answer: crowded_out(*answer),
        )
    return answers


def _compared(answers: Sequence[Answer], before: Iterable[float], chosen: int) -> Rechecked:
    changed, failed = [], []
    for (unit, outcome), score in zip(answers, before, strict=True):
        where = {axis: unit.coordinates.get(axis) for axis in _AXES}
        if isinstance(outcome, Failed):
            failed.append(where | {"kind": str(outcome.kind), "message": _text(outcome.message)})
        elif outcome.score != score:
            changed.append(where | {"before": score, "after": outcome.score})
    same = len(answers) - len(changed) - len(failed)
    return Rechecked(
        chosen=chosen, asked=len(answers), same=same, changed=tuple(changed), failed=tuple(failed)
    )


def _note(run: StoredRun, result: Rechecked) -> None:
    with contextlib.closing(journal.Journal(run.folder / JOURNAL, run.ledger.ledger.end)) as noted:
        noted.append(journal.sealed({"recheck": result.to_dict()}))
    run.ledger.ledger.end = noted.end


def _text(message: str) -> str:
    return message[:_LONGEST_MESSAGE].encode(errors="replace").decode()
