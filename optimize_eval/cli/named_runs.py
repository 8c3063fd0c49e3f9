"""The run that a command is about where it names none: of those under runs/, the one that ended last."""

from pathlib import Path

from optimize_eval.base.errors import State, UsageError
from optimize_eval.cli import output
from optimize_eval.store.listing import ListedRun, list_runs

_USUAL = Path("runs")  # where commands make them


def choose_run(named: str | None) -> str:
    """Give the run that is named, or else the one that ended last, and say which that is."""
    return named if named is not None else _newest(list_runs(_USUAL), "RUN")


def choose_other_run(before: str, named: str | None, *, is_bench: bool) -> str:
    """Give the run that is named, or else the one of `before`'s kind that ended last, and is not `before`."""
    if named is not None:
        return named
    others = [run for run in list_runs(_USUAL) if not _is_same(run.folder, before) and _kind(run) == is_bench]
    return _newest(others, "RUN_B")


def choose_shown(named: str | None) -> str:
    """Give what is named to look at, the run that ended last or, where none has, the folder of all."""
    if named is not None:
        return named
    runs = list_runs(_USUAL)
    return _newest(runs, "RUN") if any(run.ended_at for run in runs) else str(_USUAL)


def choose_finished_run() -> str:
    """Give the run of candidates that was finished last: none that is to be resumed, and no bench."""
    finished = [run for run in list_runs(_USUAL) if run.state is State.DONE and _kind(run) is False]
    return _newest([run for run in finished if run.search is None], "RUN")


def _newest(runs: list[ListedRun], metavar: str) -> str:
    ended = [run for run in runs if run.ended_at is not None]
    if not ended:
        raise UsageError(
            f"no {metavar} is named, and no {'other ' * (metavar != 'RUN')}run under {_USUAL}/ has ended",
            hint="name the folder of a run; `optimize-eval runs DIR` lists those of a folder",
        )
    newest = max(ended, key=lambda run: run.ended_at or "")
    output.say(f"note: {newest.folder}, which ended last")
    return str(newest.folder)


def _is_same(folder: Path, named: str) -> bool:
    return any(folder.resolve() == path.resolve() for path in (Path(named), Path(named).parent))


def _kind(run: ListedRun) -> bool | None:
    return run.axes.is_bench if run.axes else None
