"""A search as a command carries it out and reports it: told before, shown after, its end explained."""

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import orjson
import typer

from optimize_eval.base import endings
from optimize_eval.base.endings import State
from optimize_eval.base.errors import UsageError
from optimize_eval.cli import output
from optimize_eval.cli.destination import Destination
from optimize_eval.cli.host import Terminal
from optimize_eval.reports.searched import result_without_run
from optimize_eval.store.folder import MANIFEST, PROPOSALS, SEARCH, holder
from optimize_eval.store.listing import read_search, stopped_session
from optimize_eval.store.opened_run import StoredRun

if TYPE_CHECKING:
    from optimize_eval.search.components import Texts
    from optimize_eval.search.optimizing import Optimized, SearchTask
    from optimize_eval.search.result import SearchOutcome


def carry_out(
    task: "SearchTask", file: str | None, *, fresh: bool, quiet: bool, as_json: bool, require_better: bool
) -> None:
    from optimize_eval.search.optimizing import begin_anew, optimize_task  # noqa: PLC0415  see optimize

    _check(file, task.folder, as_json=as_json)
    if fresh:
        begin_anew(task.folder)
    _tell_plan(task)
    done = optimize_task(task, Terminal(quiet=quiet))
    written = _write(done, task, file, require_better=require_better)
    document = {**done.document, "output_file": written}
    if as_json:
        output.emit_json(document)
    elif written and Destination(written).is_stdout:  # which is the candidate's alone
        output.say(document["verdict"]["text"])
    elif quiet:
        from optimize_eval.findings.wording import failed_in_short  # noqa: PLC0415  see optimize

        failed = failed_in_short(done.finished.summary.rows) if done.finished else ""
        output.emit(f"{document['verdict']['text']}{failed}\n{task.folder}")
    else:
        from optimize_eval.reports.terminal.search import render  # noqa: PLC0415  only for people

        told = {**document, "resume": ""}  # which stderr says at the end
        output.emit(render(output.fitted(told), width=output.width(), paint=output.paint()))
    _end(done, task, require_better=require_better)


def _check(file: str | None, folder: "Path", *, as_json: bool) -> None:
    """Refuse at once what the best candidate cannot be written to at the end."""
    if file is None:
        return
    Destination(file).check(folder)
    if as_json and Destination(file).is_stdout:
        raise UsageError(
            "--json and -o - would both write to stdout", hint="name a file with -o, or omit --json"
        )


def _tell_plan(task: "SearchTask") -> None:
    """Say before the first call what it costs, and what the budget has room for."""
    from optimize_eval.search.optimizing import final_calls  # noqa: PLC0415  see optimize

    needs = task.plan.needs
    most = final_calls(task.comparison, 1 + task.plan.finalists)
    output.say(
        f"search: at most {task.limits.budget:,} calls (one accepted proposal takes up to "
        f"{needs.calls(1) - needs.calls(0):,} after {needs.calls(0):,} for the seed); "
        f"final sweep: at most {most:,} more"
    )


def _write(done: "Optimized", task: "SearchTask", file: str | None, *, require_better: bool) -> str | None:
    """Write the best; where a gain is required and none is shown, the seed, and the other beside it."""
    if file is None or done.result is None:
        return None
    best, is_shown = done.result.best, done.result.is_better
    destination = Destination(file)
    if require_better and not is_shown:
        if destination.is_file:  # beside a device there is no place for another
            _write_file(Destination(f"{file}.unproven"), _written(task, best.texts))
        _write_file(destination, _written(task, done.found.seed.texts))
    else:
        _write_file(destination, _written(task, best.texts))
    return file


def _written(task: "SearchTask", texts: "Texts") -> bytes:
    """Write a candidate in the form of the seed's file."""
    from optimize_eval.search.components import shown  # noqa: PLC0415  see optimize

    if task.plan.prompt:
        return task.plan.prompt.written(texts).encode()
    value = shown(texts)
    return (
        value.encode() if isinstance(value, str) else orjson.dumps(value, option=orjson.OPT_INDENT_2) + b"\n"
    )


def _write_file(destination: Destination, data: bytes) -> None:
    try:
        destination.write([data])
    except OSError as error:
        raise UsageError(
            f"{destination.text} cannot be written: {error.strerror}", hint="choose another -o"
        ) from None


def _end(done: "Optimized", task: "SearchTask", *, require_better: bool) -> None:
    from optimize_eval.cli.ending import end, leave, same_command  # noqa: PLC0415  see optimize

    if code := endings.of_search(done.found.why, has_sweep=bool(done.finished)):
        output.say(f"{_why(done.found)}\n  {same_command()}")
        leave(code)
    if done.finished:
        end(done.finished, folder=task.folder, out=str(task.folder))
    if require_better and not (done.result and done.result.is_better):
        output.say("no gain is shown (--require-better)")
        raise typer.Exit(endings.MISSED)


def _why(found: "SearchOutcome") -> str:
    """Say why a search did not come to its end, up to the command that goes on."""
    so_far = f"{found.counts.calls:,} of at most {found.counts.budget:,} calls are done; to resume:"
    match endings.SEARCH_STATES[found.why]:
        case State.INTERRUPTED:
            return f"interrupted: {so_far}"
        case State.OVER_BUDGET:
            return f"over budget: {found.sentence}; {so_far}"
        case State.OUT_OF_TIME:
            return f"out of time (--max-time): {so_far}"
    return f"error: {found.sentence}\n  after fixing it, run:"


def show(document: Mapping[str, Any]) -> bool:
    """Print it; False where somebody edited it."""
    from optimize_eval.reports.terminal import search  # noqa: PLC0415  few runs are of a search

    try:
        text = search.render(output.fitted(document), width=output.width(), paint=output.paint())
    except (LookupError, TypeError, ValueError, AttributeError):
        return False
    output.emit(text)
    return True


def is_unfinished(folder: Path) -> bool:
    """Return True if a folder holds a search that has no final sweep."""
    return (folder / PROPOSALS).is_file() and not (folder / MANIFEST).exists()


def is_done(folder: Path) -> bool:
    """Return True if a search without a final sweep came to its end with nothing to compare."""
    stored = read_search(folder)
    return bool(stored and holder(folder) is None and result_without_run(folder, stored.status))


def show_unfinished(folder: Path, *, as_json: bool) -> None:
    """Print what a search came to that has no final sweep: it found nothing to compare, or was stopped."""
    from optimize_eval.search.result import search_so_far  # noqa: PLC0415  see show

    document: Mapping[str, Any] = search_so_far(folder) or {}
    document = result_without_run(folder, document["status"]) or document
    if as_json:
        output.emit_json(document)
    elif not show(document):
        raise UsageError(
            f"{folder / SEARCH} is not as optimize wrote it", hint="run the search's command again"
        )


def note_later(stored: StoredRun) -> None:
    """Say of a run that its search was continued, and stopped before another final sweep."""
    if stopped := stopped_session(stored.folder):
        command = f"; to resume:\n  {stopped.command}" if stopped.command else ""
        how = stopped.sentence or "it was killed"
        output.say(f"note: the search was continued since, and has no other result yet: {how}{command}")
