"""Where the page of a run or a diff is written to; its path is the result."""

import shlex
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from optimize_eval.base.errors import CannotGoOn, UsageError
from optimize_eval.cli import output
from optimize_eval.cli.destination import Destination
from optimize_eval.config.printing import DiffOptions, ReportOptions
from optimize_eval.findings.board_shapes import Board
from optimize_eval.findings.diff_shapes import BoardDiff, RunDiff
from optimize_eval.findings.summary_shape import Summary
from optimize_eval.reports.page.comparison_page import boards_source, runs_source
from optimize_eval.reports.page.document import MOST, commands_of, pieces
from optimize_eval.reports.source import PageSource, bench_on_a_page, search_source, source_of
from optimize_eval.store.beside import pair_runs
from optimize_eval.store.folder import holder
from optimize_eval.store.listing import read_search
from optimize_eval.store.opened_run import StoredRun

FILE, SOME_FILE, DIFF_FILE = "report.html", "some.html", "diff.html"
LEAST = 1.0  # MB
_OF_PAGES = frozenset({"--format", "-o", "--output", "--max-mb"})  # each with a value


@dataclass(frozen=True, slots=True)
class PageOptions:
    """What options say of the page; nothing where the report is something else."""

    output: str | None = None
    max_mb: float | None = None
    full: bool = False

    @property
    def most(self) -> float | None:
        if self.full and self.max_mb is not None:
            raise UsageError("--full and --max-mb exclude each other", hint="give one of the two")
        if self.max_mb is not None and not LEAST <= self.max_mb < float("inf"):
            raise UsageError(
                f"--max-mb {self.max_mb:g} is not a size of a page",
                hint=f"at least {LEAST:g}; --full for everything",
            )
        return None if self.full else self.max_mb or MOST


def page_options(asked: ReportOptions | DiffOptions, *, is_page: bool) -> PageOptions:
    """Read the options of the page; refuse them in a report that is something else."""
    for name, given in (("-o", asked.output), ("--max-mb", asked.max_mb), ("--full", asked.full)):
        if not is_page and given not in {None, False}:
            other = "redirect the report: … > FILE" if name == "-o" else f"omit {name}"
            raise UsageError(f"{name} belongs to --format html", hint=f"add --format html, or {other}")
    return PageOptions(asked.output, asked.max_mb, asked.full)


def write_page(
    stored: StoredRun,
    options: PageOptions,
    *,
    summary: Summary | None = None,
    boards: Mapping[str, Board] | None = None,
    chosen: str = "",
) -> None:
    """Write the page of a run and say where it is; `chosen` are the options that chose some examples."""
    place = str(stored.folder)
    given = summary.to_dict() if summary else None
    source = bench_on_a_page(stored, source_of(stored, summary=given, boards=boards))
    files = _files_named(stored)
    if chosen or files:
        source = replace(source, more={"commands": commands_of(source.run, place, chosen, files)})
    usual = _page_folder(stored) / (SOME_FILE if chosen else FILE)
    write_source(source, options, usual=usual, title=_title_of(stored), place=place)


def _files_named(stored: StoredRun) -> str:
    """Give other tools' files as the command named them, without what asked for a page."""
    words = iter(shlex.split(stored.document.origin.get("shown_as") or ""))
    kept = [word for word in words if not (word in _OF_PAGES and next(words, None)) and word != "--full"]
    return shlex.join(kept)


def _title_of(stored: StoredRun) -> str:
    """Name a run by its folder, other tools' results by their files."""
    origin = stored.document.origin
    files = [str(file["name"]) for file in origin.get("files", ())] if origin.get("shown_as") else []
    more = f" and {len(files) - 1} more" if len(files) > 1 else ""
    return f"{files[0]}{more}" if files else stored.folder.resolve().name


def _page_folder(stored: StoredRun) -> Path:
    """Give the run's folder; that of other tools' results goes with the command, so here."""
    return Path() if stored.document.origin.get("shown_as") else stored.folder


def write_page_of_search(folder: Path, options: PageOptions) -> None:
    """Write the page of a search that has no run yet."""
    search = read_search(folder)
    if search is None:
        raise UsageError(f"there is no search in {folder} any more", hint="name another folder")
    source = search_source(search, is_running=holder(folder) is not None)
    write_source(source, options, usual=folder / FILE, title=folder.resolve().name, place=str(folder))


def write_source(source: PageSource, options: PageOptions, *, usual: Path, title: str, place: str) -> None:
    """Write a page to where options say, else to its usual place, and say where it is."""
    most = options.most
    destination = Destination(options.output or str(usual))
    try:
        destination.check()
        destination.write(pieces(source, title=title, place=place, most=most))
    except OSError as error:
        raise _not_written(Path(destination.text), error) from None
    if not destination.is_stdout:
        output.emit(str(Path(destination.text)))


def _not_written(path: Path, error: OSError) -> Exception:
    if not path.parent.is_dir():
        return UsageError(
            f"{path} cannot be written: there is no folder {str(path.parent)!r}",
            hint="make it, or name another",
        )
    return CannotGoOn(
        f"{path} could not be written: {error.strerror}",
        hint="make room, look at the permissions, or name another file with -o; then run it again",
    )


def write_runs(a: StoredRun, b: StoredRun, diff: RunDiff, options: PageOptions, *, force: bool) -> None:
    """Write the page of two runs; its usual place is beside what the second has."""
    source = runs_source(a, b, pair_runs(a, b, force=force), diff, _force_flag(force))
    title = _title(a.folder, b.folder)
    write_source(source, options, usual=_page_folder(b) / DIFF_FILE, title=title, place=str(b.folder))


def write_boards(a: str, b: str, diff: BoardDiff, options: PageOptions, *, force: bool) -> None:
    """Write that of two leaderboards; of one that is a file, its folder is the place."""
    folders = [path if path.is_dir() else path.parent for path in (Path(a), Path(b))]
    source = boards_source(a, b, diff, _force_flag(force))
    usual = folders[1] / DIFF_FILE
    write_source(source, options, usual=usual, title=_title(*folders), place=str(folders[1]))


def _force_flag(force: bool) -> str:
    return " --force" if force else ""


def _title(a: Path, b: Path) -> str:
    return f"{a.resolve().name} → {b.resolve().name}"
