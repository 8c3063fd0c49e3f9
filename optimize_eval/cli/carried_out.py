"""A session of a run as commands carry it out: asked with progress shown, summed up, told, its end explained.

What the plan is, and which folder it goes to, is decided by the commands themselves.
"""

import re
import shlex
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Any

import typer

from optimize_eval.cli import output
from optimize_eval.cli.interrupts import Interrupted, stoppable
from optimize_eval.cli.options import OnFailure
from optimize_eval.cli.progress import PAUSES, display
from optimize_eval.cli.session import Reaper, owned_processes
from optimize_eval.connect import connect
from optimize_eval.errors import CannotGoOn, FailureKind, UsageError
from optimize_eval.reach import by_hand
from optimize_eval.reach.masked import masked
from optimize_eval.run.plan import Plan
from optimize_eval.run.progress import Progress
from optimize_eval.run.recheck import Rechecked, recheck
from optimize_eval.run.resume import default_folder, former_folder
from optimize_eval.run.reuse import reuse
from optimize_eval.run.runner import Ended, Runner, Settings, Status
from optimize_eval.run.stop import Stop
from optimize_eval.store.folder import JOURNAL, SUMMARY, write_json
from optimize_eval.store.growing.elsewhere import known_elsewhere
from optimize_eval.store.growing.unnamed import unnamed
from optimize_eval.store.stored import StoredRun

Watch = Callable[[Sequence[Progress]], None]

_ENDS_RECHECK = "Ctrl-C ends the recheck; the run is done"
_TOO_MANY_FAILURES = 4
_MOST_SLOTS = 1024
_ALL = 100
_SHARE = re.compile(r"(\d{1,3}(?:\.\d+)?)%")
_NOT_STARTED = (FailureKind.NOT_FOUND, FailureKind.START_FAILED)
_LONGEST_LINE = 2000
_LONG = "with the candidate, -e and --example FILE:LINE"


def check_slots(concurrency: int) -> None:
    if concurrency > _MOST_SLOTS:
        raise UsageError(f"--concurrency {concurrency} is too many", hint=f"at most {_MOST_SLOTS:,}")


def check_reachable(plan: Plan) -> None:
    """Make each evaluator once: a key, a variable or a file that is missing is told before there is a run."""
    for spec in plan.specs:
        connect(spec).close()


def most_failures(text: str | None, calls: int) -> int | None:
    """Read --max-failures, a count or a share of the calls."""
    if text is None:
        return None
    if (share := _SHARE.fullmatch(text)) and float(share[1]) <= _ALL:
        return int(calls * float(share[1]) / _ALL)
    if text.isascii() and text.isdigit():
        return int(text)
    raise UsageError(
        f"--max-failures {text!r} is neither a count nor a share",
        hint="write a count from 0, such as 20, or a share from 0% to 100%, such as 5%",
    )


def settings_of(
    plan: Plan, slots: int, on_failure: OnFailure, limit: str | None, *, keep_stderr: bool, probe: bool
) -> Settings:
    """Make of options how a plan is carried out; `limit` is what --max-failures says."""
    return Settings(
        slots=slots,
        abort_on_failure=on_failure is OnFailure.ABORT,
        most_failures=most_failures(limit, plan.layout.size),
        keep_stderr=keep_stderr,
        probe=probe,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Session:
    """What became of a session, and of the recheck after it if there was to be one."""

    ended: Ended
    rechecked: Rechecked | None = None


def session(
    plan: Plan, stored: StoredRun, settings: Settings, *, again: int | None = None, quiet: bool
) -> Session:
    """Ask what is owed of a plan's evaluators, which may be some of the run's, then so many once more."""
    stop = Stop()
    with owned_processes(), stoppable(stop):
        with _watched(stop, quiet=quiet) as watch:
            runner = Runner(plan, stored.ledger, settings, stop=stop, watch=watch)
            ended = runner.run(stored.folder / JOURNAL)
        if again is None:
            return Session(ended=ended)
        if ended.status is not Status.DONE:
            output.say("recheck: left out; it asks again once a run is done")
            return Session(ended=ended)
        with _watched(stop, quiet=quiet, hint=_ENDS_RECHECK) as watch:
            told = recheck(plan, stored, again, slots=settings.slots, stop=stop, watch=watch)
    return Session(ended=ended, rechecked=told)


@contextmanager
def _watched(
    stop: Stop, *, quiet: bool, hint: str = PAUSES
) -> Iterator[Callable[[Sequence[Progress]], None]]:
    """Show progress, and collect what evaluators left behind meanwhile."""
    reap = Reaper()
    shown = display(stop, quiet=quiet, hint=hint)

    def watch(progress: Sequence[Progress]) -> None:
        shown(progress)
        reap()

    try:
        yield watch
    finally:
        shown.close()


def folder_of(stem: str, plan: Plan, paths: Iterable[str | None], out: str | None) -> Path:
    """Choose a run's folder; one that an earlier version named in another way is found, and named.

    A bench's is named after its files alone: the models are what it compares, and they come and go.
    """
    texts = [spec.text for spec in plan.specs if not spec.task or not spec.task.model]
    folder = default_folder(stem, texts, paths) if out is None else Path(out)
    former = former_folder(stem, plan) if out is None and not folder.exists() else None
    if former:
        output.say(f"note: {former} has this run, named by an older rule: it goes on, as with --out {former}")
    return former or folder


def tell_notes(run: StoredRun) -> None:
    """Say what a command has changed in a run by what it names, and by what it does not."""
    for note in run.notes:
        output.say(f"note: {note}")
    if left := unnamed(run.document):
        folder = shlex.quote(str(run.folder))
        output.say(
            f"note: left out, as this command does not name it: {left}; "
            f"`optimize-eval report {folder} --all` shows it"
        )


def take_over(plan: Plan, run: StoredRun, named: Sequence[str]) -> None:
    """Copy what other runs have of what is owed, where it was asked for; else say which one has some."""
    for note in reuse(plan, run, named):
        output.say(f"note: {note}")
    if not named and (line := reusable(run)):
        output.say(f"note: {line}")


def reusable(run: StoredRun) -> str:
    """Say which other run has scored some of what is owed, and the words that take it; empty for none."""
    owed = run.owed_by_cell
    calls = sum(owed.values())
    found = known_elsewhere(run.folder, run.document, owed) if calls else None
    if found is None:
        return ""
    folder = shlex.quote(str(found.folder))
    return f"{found.calls:,} of {calls:,} calls are already scored in {found.folder}: --reuse {folder}"


def summarise(run: StoredRun) -> dict[str, Any]:
    from optimize_eval.aggregates.summary import summarise_stored  # noqa: PLC0415  a plain --help needs no statistics

    run.note_counts()
    summary = summarise_stored(run)
    write_json(run.folder / SUMMARY, summary)
    return summary


def tell(
    summary: Mapping[str, Any],
    done: Session,
    folder: Path,
    *,
    quiet: bool,
    as_json: bool,
    beside: Mapping[str, Any] = MappingProxyType({}),
) -> None:
    """Print the result; `beside` is what JSON has besides the summary."""
    if as_json:
        told = {"run": str(folder), "status": str(done.ended.status), "verdict": summary["verdict"]}
        rechecked = {"recheck": done.rechecked.to_dict()} if done.rechecked else {}
        output.emit_json({**told, "summary": summary, **rechecked, **beside})
    elif quiet:
        output.emit(f"{summary['verdict']['text']}\n{folder}")
    else:
        from optimize_eval.reports import terminal  # noqa: PLC0415  only for people

        output.emit(
            terminal.render(output.fitted(summary), width=output.width(), run=shlex.quote(str(folder)))
        )


def explain(session: Session, plan: Plan, *, folder: Path | None = None, out: str | None = None) -> None:
    """Say on stderr what went on beside the result, and what to do about it.

    `folder` is the run's where the command has --out, and `out` what that said.
    """
    if session.rechecked:
        from optimize_eval.reports.recheck import render  # noqa: PLC0415  only after a recheck

        output.say(render(session.rechecked))
    _explain_end(session.ended, plan, folder, out)


def _explain_end(ended: Ended, plan: Plan, folder: Path | None, out: str | None) -> None:
    for note in ended.notes:
        output.say(f"note: {note}")
    for progress in ended.broken:
        _explain_broken(progress, plan)
    done = sum(progress.done for progress in ended.progress)
    told = f"{done:,} of {plan.layout.size:,} calls are done"
    if ended.status is Status.INTERRUPTED:
        output.say(f"interrupted: {told}; to go on:\n  {_same_command()}")
    elif ended.reason and done < plan.layout.size:
        names = _half_scored(ended, plan)
        here = (
            () if out or names or folder is None else ("--out", str(folder))
        )  # where a fix changes the plan
        output.say(f"stopped: {ended.reason}; {told}; after fixing it, run:\n  {_same_command(*here)}")
        if folder is not None and names:
            anew = _same_command(*(word for name in names for word in ("--replace", name)))
            output.say(f"or, where the fix changes {', '.join(names)}, which has scores already:\n  {anew}")
    elif ended.reason:
        output.say(f"too many failures: {ended.reason}")


def _half_scored(ended: Ended, plan: Plan) -> list[str]:
    """Name the evaluators that failed and scored, and would not be the same ones once their files change."""
    files = {one.name: one.files for one in plan.identities}
    failed = [one for one in ended.progress if one.failed and one not in ended.broken]
    return [one.name for one in failed if files[one.name]]


def end(ended: Ended, *, anew: str = "") -> None:
    """Make the exit code of how a session ended."""
    if ended.changed:
        names = ", ".join(ended.changed)
        options = " ".join(f"--replace {shlex.quote(name)}" for name in ended.changed)
        raise CannotGoOn(
            f"{names} changed while being asked",
            hint=f"let its files be, and {anew or f'call it anew with {options}'}",
        )
    if ended.status is Status.INTERRUPTED:
        raise Interrupted
    if ended.status is Status.TOO_MANY_FAILURES:
        raise typer.Exit(_TOO_MANY_FAILURES)


def _explain_broken(progress: Progress, plan: Plan) -> None:
    failed = progress.last_failure
    if failed is None:
        return
    output.say(
        f"error: {progress.name} failed on every call ({progress.failed:,}), {failed.kind}: {failed.message}"
    )
    if failed.stderr.strip():
        output.say("  it wrote to stderr:")
        output.say("\n".join(f"    {line}" for line in failed.stderr.strip("\n").split("\n")[-5:]))
    if failed.hint:
        output.say(f"  try: {failed.hint}")
    place = plan.layout.evaluators.index(progress.name)
    number = plan.layout.number(progress.last_place)
    if number is not None and failed.kind not in _NOT_STARTED and not plan.specs[place].task:
        line = by_hand.ask_once(plan.specs[place], plan.unit(number).payload)
        output.say(
            f"  try it: {line}" if len(line) <= _LONGEST_LINE else f"  try it: optimize-eval score, {_LONG}"
        )


def _same_command(*more: str) -> str:
    command = shlex.join(["optimize-eval", *(word for word in sys.argv[1:] if word != "--fresh"), *more])
    shown = masked(command)
    return command if shown == command else f"the same command again ({shown})"
