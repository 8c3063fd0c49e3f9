"""What a session leaves: the run as it stands, its numbers, and how its calls ended."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from optimize_eval.findings.board.shapes import Board
from optimize_eval.run.runner import Status
from optimize_eval.session.calling import Called
from optimize_eval.store.stored import StoredRun

if TYPE_CHECKING:
    from optimize_eval.findings.shapes.summary import Summary
    from optimize_eval.findings.summary.gates import Gate


@dataclass(frozen=True, slots=True, kw_only=True)
class Finished:
    """A session that came to an end, be it before all was called.

    A bench has several spans of calls, one for its models and one for each metric of its own. `boards` are
    leaderboards by the names of such metrics, the bench's own without one; empty while calls are owed.
    """

    stored: StoredRun
    summary: "Summary"
    calls: tuple[Called, ...]
    boards: Mapping[str, Board] = field(default_factory=dict)
    gates: "tuple[Gate, ...]" = ()
    off_scale: tuple[str, ...] = ()  # words for judges whose scores were on another scale too often

    @property
    def status(self) -> Status:
        """Say how it ended: the first span that did not come to its end speaks for all."""
        ends = (called.ended.status for called in self.calls)
        return next((status for status in ends if status is not Status.DONE), Status.DONE)
