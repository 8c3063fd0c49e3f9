"""A run as it stands on disk, opened for reading: its axes, and where each unit's newest record is.

Needs the folder and nothing else: no evaluator, no dataset. Going on with a run is run.resume's.
"""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

from optimize_eval.errors import UsageError
from optimize_eval.store.folder import JOURNAL, MANIFEST, read_manifest
from optimize_eval.store.layout import Layout
from optimize_eval.store.ledger import OWED, SCORED, SKIPPED, Ledger, Reader
from optimize_eval.store.manifest import Manifest, NotARun, layout_of, since_of


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredRun:
    """The folder of a run and what its files say."""

    folder: Path
    manifest: Manifest
    ledger: Ledger

    @property
    def layout(self) -> Layout:
        return self.ledger.layout

    @property
    def owed(self) -> int:
        """Count the units that have no record yet."""
        return self.ledger.count(OWED, range(self.layout.size))

    def set_margins(self, margins: Mapping[str, float]) -> None:
        """Look at the run with other margins than those it was given."""
        self.ledger.layout = replace(self.ledger.layout, margins=margins)

    def is_unused(self, evaluator: str) -> bool:
        """Return True if an evaluator has scored and skipped nothing: another may have its place."""
        units = self.layout.units_of(evaluator)
        return not (self.ledger.count(SCORED, units) or self.ledger.count(SKIPPED, units))

    @contextmanager
    def reader(self) -> Iterator[Reader]:
        """Open the journal for reading the records of one cell after the other."""
        with self.ledger.reader(self.folder / JOURNAL) as reader:
            yield reader


def open_stored(run: str | Path) -> StoredRun:
    """Open a run by its folder or by its run.json; raises UsageError where there is none."""
    folder = Path(run).parent if Path(run).name == MANIFEST else Path(run)
    manifest = read_manifest(folder)
    if manifest is None or not (folder / JOURNAL).exists():
        raise UsageError(
            f"there is no run in {str(run)!r}", hint="name a folder that `optimize-eval run` made"
        )
    try:
        layout, plan = layout_of(manifest)
    except NotARun as error:
        told = error.message.removeprefix(MANIFEST)
        raise NotARun(f"{folder / MANIFEST}{told}", hint=error.hint) from None
    return read_run(folder, manifest, layout, plan)


def read_run(folder: Path, manifest: Manifest, layout: Layout, plan: str) -> StoredRun:
    """Read the journal of a run whose run.json is known."""
    ledger = Ledger.read(folder / JOURNAL, layout, plan, since_of(manifest))
    return StoredRun(folder=folder, manifest=manifest, ledger=ledger)
