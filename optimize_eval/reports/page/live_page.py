"""A run, or two, as a page sees it while it goes on: the parts of the file, made again when a journal grew.

A run that is large is not read at each question: never more often than a tenth of the time goes into reading.
"""

import hashlib
import threading
import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from optimize_eval.base import strict_json
from optimize_eval.base.errors import State
from optimize_eval.base.frozen import frozen
from optimize_eval.findings.diff_boards import compare_boards, with_metrics
from optimize_eval.findings.diff_runs import compare_runs
from optimize_eval.findings.stored_boards import is_board, load_with_examples, own_boards, stored_board
from optimize_eval.reports.page import document
from optimize_eval.reports.page.columns import AxisNames
from optimize_eval.reports.page.comparison_page import boards_source, runs_source
from optimize_eval.reports.page.details import block_of
from optimize_eval.reports.searched import unfinished_on_a_page
from optimize_eval.reports.source import (
    Examples,
    PageSource,
    bench_on_a_page,
    examples_of,
    search_source,
    source_of,
)
from optimize_eval.store.beside import pair_runs
from optimize_eval.store.folder import EVALUATIONS, JOURNAL, MANIFEST, PROPOSALS, SUMMARY
from optimize_eval.store.listing import ListedRun, list_runs, read_search
from optimize_eval.store.opened_run import open_stored

REST = 10.0  # times as long as reading took

_WRITTEN = (MANIFEST, JOURNAL, SUMMARY, PROPOSALS, EVALUATIONS)

Stamp = tuple[object, ...]


@frozen
class Snapshot:
    """The parts of a page at one moment; `tag` is another one where they are others."""

    tag: str
    head: bytes
    columns: bytes
    examples: bytes
    source: PageSource
    axes: AxisNames
    contents: Mapping[str, Examples]  # of examples, from their files, by split

    def block(self, split: int, place: int) -> bytes | None:
        """Give one example in full; None where there is no such example."""
        if not (0 <= split < len(self.axes.lines) and 0 <= place < len(self.axes.lines[split])):
            return None
        return block_of(self.source, self.axes, [(split, place)], self.contents)


class Live:
    """One run that may go on."""

    def __init__(self, folder: Path, rest: float = REST) -> None:
        self.folder = folder
        self._rest = rest
        self._lock = threading.Lock()
        self._stamp: Stamp = ()
        self._snapshot: Snapshot | None = None
        self._not_before = 0.0

    def now(self) -> Snapshot:
        """Give the run as it is; as it was a moment ago where reading takes long."""
        with self._lock:
            if self._snapshot and time.monotonic() < self._not_before:
                return self._snapshot
            self._snapshot = self._look()
            return self._snapshot

    def _look(self) -> Snapshot:
        listed = [listed_run(folder) for folder in self.folders]
        stamp = tuple(_stamp_of(run) for run in listed)
        if stamp == self._stamp and self._snapshot:
            return self._snapshot
        begun = time.monotonic()
        snapshot = self.read(listed)
        self._stamp, end = stamp, time.monotonic()
        self._not_before = end + self._rest * (end - begun)
        return snapshot

    @property
    def folders(self) -> Sequence[Path]:
        return [self.folder]

    def read(self, listed: Sequence[ListedRun]) -> Snapshot:
        (run,) = listed
        source = _source(run.folder, is_running=run.state is State.RUNNING)
        return _snapshot(source, run, title=run.folder.resolve().name)


class LivePair(Live):
    """Two runs, or benches, against each other."""

    def __init__(self, a: Path, b: Path, rest: float = REST, *, force: bool = False) -> None:
        super().__init__(b, rest)
        self._a = a
        self._force = force

    @property
    def folders(self) -> Sequence[Path]:
        return [self._a, self.folder]

    def read(self, listed: Sequence[ListedRun]) -> Snapshot:
        a, b = listed
        title = f"{a.folder.resolve().name} → {b.folder.resolve().name}"
        return _snapshot(compared_source(a.folder, b.folder, force=self._force), b, title=title)


def compared_source(a: Path, b: Path, *, force: bool) -> PageSource:
    """Read two runs or two benches as `diff` does; raises UsageError where they are not comparable."""
    options = " --force" if force else ""
    if is_board(str(a)) or is_board(str(b)):
        boards = compare_boards(load_with_examples(str(a)), load_with_examples(str(b)), force=force)
        return boards_source(str(a), str(b), with_metrics(boards, str(a), str(b)), options)
    before, after = open_stored(a), open_stored(b)
    paired = pair_runs(before, after, force=force)
    return runs_source(before, after, paired, compare_runs(before, after, force=force), options)


def listed_run(folder: Path) -> ListedRun:
    """Look how a run stands; a folder that is none is refused by opening it."""
    runs = [run for run in list_runs(folder) if run.folder == folder]
    return runs[0] if runs else ListedRun(folder=folder, state=State.UNFINISHED, changed_at=0, bytes=0)


def _stamp_of(listed: ListedRun) -> Stamp:
    return listed.state, *(_look_of(listed.folder / name) for name in _WRITTEN)


def _snapshot(source: PageSource, listed: ListedRun, *, title: str) -> Snapshot:
    axes = AxisNames(source.run)
    columns, content = document.read(source, axes, title=title, place=str(listed.folder))
    state = {"state": str(listed.state), "changed_at": listed.changed_at}
    text = strict_json.dumps_own({**content, "live": state})
    return Snapshot(
        tag=hashlib.sha256(text).hexdigest()[:16],
        head=text,
        columns=columns.to_bytes(),
        examples=document.to_json(document.examples_of(source.run)),
        source=source,
        axes=axes,
        contents=examples_of(source.run),
    )


def _source(folder: Path, *, is_running: bool) -> PageSource:
    """Read a run, or a search that has none yet."""
    search = None if (folder / MANIFEST).exists() and not is_running else read_search(folder)
    if search and not (folder / MANIFEST).exists():
        return search_source(search, is_running=is_running)
    stored = open_stored(folder)
    boards = None
    if stored.document.is_bench and (board := stored_board(stored)):
        boards = {"": board, **own_boards(stored)}
    source = bench_on_a_page(stored, source_of(stored, boards=boards))
    if search and source.search is None:  # its final sweep goes on
        return replace(source, search=unfinished_on_a_page(search, is_running=True))
    return source


def _look_of(path: Path) -> tuple[int, int] | None:
    try:
        stat = path.stat()
    except OSError:
        return None
    return stat.st_mtime_ns, stat.st_size
