"""What a run gave, for programs: the Run that `load_run(folder)`, `sweep` and `bench` return.

Its numbers are a Summary, summaries; how they are computed is up to findings, how a record is read to store.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

from optimize_eval.base import errors
from optimize_eval.base.documents import JsonMapping
from optimize_eval.base.frozen import frozen
from optimize_eval.findings.board_shapes import Board
from optimize_eval.findings.demands import recall_board_demands, recall_demands
from optimize_eval.findings.gates import Gate
from optimize_eval.findings.metric_rows import records_of
from optimize_eval.findings.stored_boards import own_boards, stored_board
from optimize_eval.findings.stored_summary import Findings
from optimize_eval.findings.summary_shape import Summary
from optimize_eval.store.listing import state_of
from optimize_eval.store.opened_run import note_of, open_stored
from optimize_eval.store.records import Records


@frozen
class Ending:
    """How the session ended that made a run, and what a command would have said of it on stderr."""

    status: str
    exit_code: int
    notes: tuple[str, ...] = ()
    gates: tuple[Gate, ...] = ()


@dataclass(frozen=True, kw_only=True)
class Run:
    """A run on disk, as its journal was when it was opened, or when its session ended.

    A notebook shows its verdict and tables, of a bench its boards.
    """

    folder: Path
    records: Records
    ending: Ending | None = field(default=None, repr=False)
    computed: Summary | None = field(default=None, repr=False)  # its summary, if that is known

    def __repr__(self) -> str:
        done, calls = len(self.records), self.records.run.layout.size
        return f"<run {str(self.folder)!r}: {done:,} of {calls:,} calls done>"

    def _repr_html_(self) -> str:
        from optimize_eval.reports.notebook import render, render_boards  # noqa: PLC0415  only in notebooks

        run = str(self.folder)
        if boards := self._boards:
            return render_boards(boards, run, self.notes)
        return render(self.summary, run, self.notes)

    @property
    def status(self) -> str:
        """Say how it ended: done, interrupted, too_many_failures, out_of_time; also running, unfinished."""
        return self.ending.status if self.ending else str(state_of(self.folder))

    @property
    def note(self) -> str | None:
        """Give what people noted of it."""
        return note_of(self.records.run.document)

    @property
    def exit_code(self) -> int | None:
        """Give what the command exits with that ends so; None where it has not ended."""
        if self.ending:
            return self.ending.exit_code
        state = state_of(self.folder)
        if state not in errors.OF_A_STATE:
            return None
        return errors.OF_A_STATE[state] or errors.MISSED * any(not gate.is_met for gate in self.gates)

    @cached_property
    def gates(self) -> tuple[Gate, ...]:
        """Give what became of each demand that the run, or bench, has to meet."""
        run = self.records.run
        if self.ending:
            return self.ending.gates
        if not run.document.is_bench:
            return recall_demands(run, self.summary)
        boards = {**self._boards}
        board = boards.pop("", None)
        return recall_board_demands(self._findings, board, boards) if board else ()

    @property
    def notes(self) -> tuple[str, ...]:
        """Give what a command would have said on stderr: what failed, and what to do."""
        return self.ending.notes if self.ending else ()

    @cached_property
    def summary(self) -> Summary:
        """Compute the summary from the journal, on first use."""
        return self.computed or self._findings.summary

    @cached_property
    def _findings(self) -> Findings:
        return Findings(run=self.records.run)

    @cached_property
    def boards(self) -> Mapping[str, JsonMapping]:
        """Give the leaderboards of a bench by the names of its own metrics, its own board without one."""
        return {name: board.to_dict() for name, board in self._boards.items()}

    @cached_property
    def _boards(self) -> Mapping[str, Board]:
        run = self.records.run
        board = stored_board(run) if run.document.is_bench else None
        return {"": board, **own_boards(run)} if board else {}


def load_run(path: str | Path) -> Run:
    """Open a run's folder for reading; raises UsageError where there is no run.

    Needs neither its evaluators nor its data. `summary` has the numbers, `records` each outcome.
    """
    run = open_stored(path)
    return Run(folder=run.folder, records=records_of(run))
