"""The runs that may be looked at, by numbers that the listing gives: no path ever comes from a browser."""

import threading
from pathlib import Path

from optimize_eval.findings.wording import RUNNING, how_far
from optimize_eval.reports.page.live_page import REST, Live
from optimize_eval.store.listing import ListedRun, State, StoredSearch, list_runs


class Shelf:
    """One run, or all runs of a folder."""

    def __init__(self, folder: Path, rest: float = REST) -> None:
        self._folder = folder
        self._rest = rest
        self._lock = threading.Lock()
        self._numbers: dict[Path, str] = {}
        self._live: dict[str, Live] = {}

    def to_dict(self) -> dict[str, object]:
        """List the runs, the newest first."""
        runs = [run for run in list_runs(self._folder) if self._may_be_seen(run.folder)]
        is_one = [run.folder for run in runs] == [self._folder]
        return {"isOne": is_one, "runs": [self._entry(run) for run in runs]}

    def live(self, number: str) -> Live | None:
        """Give a run that was listed before."""
        return self._live.get(number)

    def _may_be_seen(self, folder: Path) -> bool:
        """Return False for what a symlink leads out of the folder to."""
        return folder == self._folder or folder.resolve().parent == self._folder.resolve()

    def _entry(self, run: ListedRun) -> dict[str, object]:
        with self._lock:
            number = self._numbers.setdefault(run.folder, str(len(self._numbers)))
            self._live.setdefault(number, Live(run.folder, self._rest))
        return {
            "id": number,
            "name": run.folder.resolve().name,
            "state": str(run.state),
            "verdict": run.verdict or (run.search and _progress_of(run.search, run.state)),
            "reason": run.reason,
            "created_at": run.created_at,
        }


def _progress_of(search: StoredSearch, state: State) -> str:
    status = RUNNING if state is State.RUNNING else search.status
    return how_far(search.calls, search.budget, status, search.sentence)
