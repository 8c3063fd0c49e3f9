"""The page of two runs or leaderboards against each other: which file it is, and of what it is made."""

from pathlib import Path

from optimize_eval.cli.printed.page import DIFF_FILE, PageOptions, write_source
from optimize_eval.findings.diff_shapes import BoardDiff, RunDiff
from optimize_eval.reports.page.diff import boards_source, runs_source
from optimize_eval.store.beside import pair_runs
from optimize_eval.store.stored import StoredRun


def write_runs(a: StoredRun, b: StoredRun, diff: RunDiff, options: PageOptions, *, force: bool) -> None:
    """Write the page of two runs; its usual place is beside what the second has."""
    source = runs_source(a, b, pair_runs(a, b, force=force), diff, _given(force))
    title = _title(a.folder, b.folder)
    write_source(source, options, usual=b.folder / DIFF_FILE, title=title, place=str(b.folder))


def write_boards(a: str, b: str, diff: BoardDiff, options: PageOptions, *, force: bool) -> None:
    """Write that of two leaderboards; of one that is a file, its folder is the place."""
    folders = [path if path.is_dir() else path.parent for path in (Path(a), Path(b))]
    source = boards_source(a, b, diff, _given(force))
    usual = folders[1] / DIFF_FILE
    write_source(source, options, usual=usual, title=_title(*folders), place=str(folders[1]))


def _given(force: bool) -> str:
    return " --force" if force else ""


def _title(a: Path, b: Path) -> str:
    return f"{a.resolve().name} → {b.resolve().name}"
