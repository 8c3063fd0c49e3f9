"""What `report` is about, a run or a bench, and what of it is computed when a format first looks at it."""

import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from optimize_eval.base import files
from optimize_eval.cli import output
from optimize_eval.cli.printed import checked
from optimize_eval.cli.printed.page import PageOptions
from optimize_eval.cli.printed.records import RecordLayout
from optimize_eval.findings import demands
from optimize_eval.findings import demands as board_demands
from optimize_eval.findings.board_shapes import Board
from optimize_eval.findings.demands import Demands
from optimize_eval.findings.gates import Gate
from optimize_eval.findings.stored_summary import SomeExamples, summarise_stored
from optimize_eval.findings.summary_shape import Summary
from optimize_eval.reports.searched import search_of, with_notes
from optimize_eval.store.folder import SUMMARY
from optimize_eval.store.stored import StoredRun, command_of, note_of

_LONGEST_SCHEMA = 100


@dataclass(frozen=True, kw_only=True)
class Reported:
    """A run on disk, and how what is made of it is laid out."""

    stored: StoredRun
    page: PageOptions
    records: RecordLayout

    @property
    def name(self) -> str:
        """Name the folder as a shell takes it."""
        return shlex.quote(str(self.stored.folder))

    @property
    def note(self) -> str | None:
        return note_of(self.stored.manifest)

    @property
    def command(self) -> str:
        """Give the words that start its last session again; empty where they are not known."""
        return command_of(self.stored.manifest, self.stored.folder)

    @property
    def noted(self) -> dict[str, str]:
        return {"note": self.note} if self.note else {}


@dataclass(frozen=True, kw_only=True)
class RunReport(Reported):
    """A run: its summary, its gates, the search that it ended."""

    demands: Demands = field(default_factory=Demands)
    some: SomeExamples | None = None
    is_by_cell: bool = False  # its parts were not all called with the same examples
    has_other_numbers: bool = False  # a margin, or a step's summary, is not that of summary.json
    of_a_bench: tuple[Gate, ...] | None = None  # its gates, where it is a bench without a board

    @property
    def part(self) -> StoredRun:
        """Give the run as if it had been about the examples that are reported."""
        return self.some.part(self.stored) if self.some else self.stored

    @property
    def needs_no_numbers(self) -> bool:
        return self.some is None and self.demands == Demands() and not self.has_other_numbers

    @cached_property
    def summary(self) -> Summary:
        if self.of_a_bench is None:
            _note_newer_rules(self.stored)
        return self.some.summarise(self.stored) if self.some else summarise_stored(self.stored)

    @cached_property
    def judged(self) -> Sequence[Gate]:
        """Judge the gates that were given."""
        if self.of_a_bench is not None:
            return self.of_a_bench
        return () if self.demands == Demands() else self.demands.judge(self.stored, self.summary)

    @property
    def gates(self) -> Sequence[Gate]:
        """Give these gates, else those that the run had; which are about all its examples."""
        if self.judged or self.some or self.of_a_bench is not None:
            return self.judged
        return self.recalled

    @property
    def recalled(self) -> Sequence[Gate]:
        return demands.recall_demands(self.stored, self.summary)

    @property
    def search(self) -> Mapping[str, Any] | None:
        """Give what the search said that the run ended."""
        if self.some or self.of_a_bench is not None:
            return None
        return search_of(self.stored.folder, self.summary.to_dict())

    @property
    def told(self) -> Summary:
        """Give the summary with what a search says beside it, where one chose its candidates."""
        return with_notes(self.summary, self.search)


@dataclass(frozen=True, kw_only=True)
class BenchReport(Reported):
    """A bench: its leaderboards by the names of its own metrics, its own without one, and their gates."""

    boards: Mapping[str, Board] = field(default_factory=dict)
    judged: tuple[Gate, ...] = ()

    @property
    def gates(self) -> Sequence[Gate]:
        """Give the gates that were given, else those that the bench had."""
        others = {**self.boards}
        return self.judged or board_demands.recall_board_demands(self.stored, others.pop(""), others)

    @cached_property
    def summary(self) -> Summary | None:
        """Give the summary where a task in YAML has metrics; other boards say all that there is."""
        settings = self.stored.manifest.get("settings", {})
        return summarise_stored(self.stored) if "tasks" in settings else None

    def as_run(self) -> RunReport:
        """Look at it as at a run, which it is while it has no board."""
        return RunReport(stored=self.stored, page=self.page, records=self.records, of_a_bench=self.judged)


def _note_newer_rules(stored: StoredRun) -> None:
    """Say that the numbers are not those of the summary that an older version wrote."""
    try:
        with files.opened(stored.folder / SUMMARY) as stream:
            is_older = checked.OLDER in stream.read(_LONGEST_SCHEMA)
    except OSError:
        return
    if is_older:
        output.say(
            "note: computed by newer rules than its summary.json, from the same journal, without a call"
        )
