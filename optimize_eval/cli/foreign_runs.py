"""What another tool wrote, as the run that a command is about: for as long as the command takes, or kept."""

import shlex
from collections.abc import Sequence
from pathlib import Path

import typer

from optimize_eval.base import files
from optimize_eval.base.errors import UsageError
from optimize_eval.cli import output
from optimize_eval.config.declared import declared
from optimize_eval.config.foreign_options import (
    MatchedResultsOptions,
    OtherResultsOptions,
    ReadResultsOptions,
)
from optimize_eval.run.calls import summarise
from optimize_eval.store.folder import JOURNAL, MANIFEST, PROPOSALS
from optimize_eval.store.opened_run import StoredRun
from optimize_eval.store.run_document import RunDocument

_PATTERNS = ("*.eval", "*.json", "*.jsonl", "*.csv")  # of what other tools write into folders
_OURS = (MANIFEST, JOURNAL, PROPOSALS)
_GLANCE = 200  # bytes, in which each file of ours says whose it is


def as_runs(
    context: typer.Context,
    named: Sequence[str] | None,
    options: ReadResultsOptions,
    *,
    has_summary: bool,
    of_one: str = "",
) -> Sequence[StoredRun | str | None]:
    """Give the run that is named or, of files of another tool, a run for each task that they are of.

    `of_one` is an option that allows one task alone, if there is such.
    """
    paths = named or ()
    if not any(map(_is_foreign, paths)):
        _refuse_options(options)
        if len(paths) > 1:
            raise UsageError(
                f"there are {len(paths)} runs, and one is reported at a time",
                hint="name one; two are compared by `optimize-eval diff RUN_A RUN_B`",
            )
        return [paths[0] if paths else None]
    from optimize_eval.cli import foreign_folders  # noqa: PLC0415  few reports are of such

    kept = options if isinstance(options, OtherResultsOptions) else OtherResultsOptions(**vars(options))
    folder = Path(kept.out) if kept.out else foreign_folders.folder_for_now(context)
    runs = foreign_folders.store_runs(context, paths, kept, folder, of_one)
    if not (kept.out or has_summary):
        return runs
    for run in runs:
        summarise(run)
    return [str(run.folder) for run in runs]  # which say more by now


def _is_foreign(path: str) -> bool:
    """Return True if a path is a file, and none of ours, or a folder that no command of ours has made."""
    try:
        if Path(path).is_dir():
            return not _has_runs(Path(path)) and any(
                is_there for pattern in _PATTERNS for is_there in Path(path).rglob(pattern)
            )
        is_file = Path(path).is_file()
        return is_file and not Path(path).name.startswith(("run.json", "leaderboard")) and not _is_ours(path)
    except (OSError, ValueError):
        return False


def _has_runs(folder: Path) -> bool:
    return any((each / name).exists() for each in (folder, *folder.iterdir()) for name in _OURS)


def _is_ours(path: str) -> bool:
    with files.open_file(path) as stream:
        head = stream.read(_GLANCE)
    return b'"optimize-eval.' in head or b'"overall_score"' in head  # a leaderboard names no schema first


def as_two_runs(
    context: typer.Context, before: str, after: str | None, options: MatchedResultsOptions
) -> tuple[str, str | None]:
    """Give two runs that are named or, of files of another tool, folders that have equal lines."""
    foreign = [path for path in (before, after) if path and _is_foreign(path)]
    if not foreign:
        _refuse_options(options)
        return before, after
    if after is None:
        raise UsageError(
            f"diff needs something to compare {before} with",
            hint=f"name two: optimize-eval diff {shlex.quote(before)} FILE",
        )
    from optimize_eval.cli.foreign_folders import store_two  # noqa: PLC0415  see above

    return store_two(context, before, after, options, foreign)


def _refuse_options(options: ReadResultsOptions) -> None:
    for name, option in declared(type(options)).items():
        if getattr(options, name) != option.default:
            raise UsageError(
                f"{option.flags[0]} is for files of other tools, and none is named",
                hint="name a file, such as promptfoo's results.json; a run has what it was made with",
            )


def say_origin(document: RunDocument, *, is_result: bool) -> None:
    """Say whose numbers these are, and what has to be known of them."""
    says = document.origin.get("says", ())
    if is_result:
        (head, *points), screen = says or [""], output.screen()
        lines = screen.wrap(" ", head) if head else []
        lines += [line for point in points for line in screen.wrap("  · ", point)]
        output.emit("\n".join(lines)) if lines else None
    else:
        for line in says:
            output.say(f"note: {line}")
