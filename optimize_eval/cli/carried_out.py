"""A session of a run as commands carry it out: asked with progress shown, summed up, told, its end explained.

What the plan is, and which folder it goes to, is decided by the commands themselves.
"""

import shlex
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import Any

import typer

from optimize_eval.cli import output
from optimize_eval.cli.progress import display
from optimize_eval.cli.session import Interrupted, Reaper, owned_processes, stoppable
from optimize_eval.errors import FailureKind
from optimize_eval.reach import by_hand
from optimize_eval.reach.masked import masked
from optimize_eval.run.folder import JOURNAL, SUMMARY, CannotGoOn, write_json
from optimize_eval.run.plan import Plan
from optimize_eval.run.progress import Progress
from optimize_eval.run.runner import Ended, Runner, Settings, Status
from optimize_eval.run.stop import Stop
from optimize_eval.run.stored import StoredRun

_TOO_MANY_FAILURES = 4
_NOT_STARTED = (FailureKind.NOT_FOUND, FailureKind.START_FAILED)
_LONGEST_LINE = 2000
_LONG = "with the candidate, -e and --example FILE:LINE"


def session(plan: Plan, stored: StoredRun, settings: Settings, *, quiet: bool) -> Ended:
    """Ask what is owed of a plan's evaluators, which may be some of the run's, and show how far it is."""
    stop = Stop()
    reap = Reaper()

    def watch(progress: Sequence[Progress]) -> None:
        shown(progress)
        reap()

    with owned_processes(), stoppable(stop):
        shown = display(stop, quiet=quiet)
        try:
            runner = Runner(plan, stored.ledger, settings, stop=stop, watch=watch)
            return runner.run(stored.folder / JOURNAL)
        finally:
            shown.close()


def summarise(run: StoredRun) -> dict[str, Any]:
    from optimize_eval.aggregates.summary import summarise_stored  # noqa: PLC0415  a plain --help needs no statistics

    summary = summarise_stored(run)
    write_json(run.folder / SUMMARY, summary)
    return summary


def tell(
    summary: Mapping[str, Any],
    ended: Ended,
    folder: Path,
    *,
    quiet: bool,
    as_json: bool,
    beside: Mapping[str, Any] = MappingProxyType({}),
) -> None:
    """Print the result; `beside` is what JSON has besides the summary."""
    if as_json:
        told = {"run": str(folder), "status": str(ended.status), "verdict": summary["verdict"]}
        output.emit_json({**told, "summary": summary, **beside})
    elif quiet:
        output.emit(f"{summary['verdict']['text']}\n{folder}")
    else:
        from optimize_eval.reports import terminal  # noqa: PLC0415  only for people

        output.emit(
            terminal.render(output.fitted(summary), width=output.width(), run=shlex.quote(str(folder)))
        )


def explain(ended: Ended, plan: Plan) -> None:
    """Say on stderr what went on beside the result, and what to do about it."""
    for note in ended.notes:
        output.say(f"note: {note}")
    for progress in ended.broken:
        _explain_broken(progress, plan)
    done = sum(progress.done for progress in ended.progress)
    told = f"{done:,} of {plan.layout.size:,} calls are done"
    if ended.status is Status.INTERRUPTED:
        output.say(f"interrupted: {told}; to go on:\n  {_same_command()}")
    elif ended.reason and done < plan.layout.size:
        output.say(f"stopped: {ended.reason}; {told}; when it is mended, go on:\n  {_same_command()}")
    elif ended.reason:
        output.say(f"too many failures: {ended.reason}")


def end(ended: Ended, *, anew: str = "start anew with --fresh") -> None:
    """Make the exit code of how a session ended."""
    if ended.changed:
        names = ", ".join(ended.changed)
        raise CannotGoOn(f"{names} changed while being asked", hint=f"let its files be, and {anew}")
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
    if number is not None and failed.kind not in _NOT_STARTED:
        line = by_hand.ask_once(plan.specs[place], plan.unit(number).payload)
        output.say(
            f"  try it: {line}" if len(line) <= _LONGEST_LINE else f"  try it: optimize-eval score, {_LONG}"
        )


def _same_command() -> str:
    command = shlex.join(["optimize-eval", *(word for word in sys.argv[1:] if word != "--fresh")])
    shown = masked(command)
    return command if shown == command else f"the same command again ({shown})"
