"""The end of a command that ran a session: it prints the result and what to do next, and exits."""

import shlex
from contextlib import AbstractContextManager, nullcontext
from dataclasses import replace
from pathlib import Path

import typer

from optimize_eval.base import errors
from optimize_eval.base.documents import to_dict
from optimize_eval.base.errors import CannotGoOn
from optimize_eval.cli import gates, output
from optimize_eval.cli.command_line import same_command
from optimize_eval.cli.host import Terminal
from optimize_eval.cli.interrupts import Interrupted
from optimize_eval.config.commands import BenchCommand, RunCommand
from optimize_eval.config.printing import ShownOptions
from optimize_eval.findings.wording import failed_in_short
from optimize_eval.run import ending
from optimize_eval.run.calls import Finished
from optimize_eval.run.sweeps import Prepared, carry_out


def viewed(folder: Path, *, is_wanted: bool) -> AbstractContextManager[None]:
    """Serve a run while it goes on, if that is wanted."""
    if not is_wanted:
        return nullcontext()
    from optimize_eval.cli.viewing import served_meanwhile  # noqa: PLC0415  few are looked at

    return served_meanwhile(folder)


def carry_out_run(
    prepared: Prepared, options: RunCommand | BenchCommand, *, recheck: int | None = None
) -> None:
    """Call what a run owes, and print what came of it."""
    with viewed(prepared.folder, is_wanted=options.view):
        finished = carry_out(prepared, Terminal(quiet=options.quiet), recheck=recheck)
        show(finished, options)
        end(finished, folder=prepared.folder, out=options.out)


def show(finished: Finished, shown: ShownOptions, *, has_out: bool = True) -> None:
    """Print the result of a run; `has_out` where the command has --out."""
    summary, folder = finished.summary, str(finished.stored.folder)
    if shown.as_json:
        rechecked = [called.rechecked.to_dict() for called in finished.calls if called.rechecked]
        document = {"run": folder, "status": str(finished.status), "verdict": to_dict(summary.verdict)}
        document |= {
            "summary": summary.to_dict(),
            **({"recheck": rechecked[0]} if rechecked else {}),
            **gates.gates_to_dict(finished.gates),
        }
        output.emit_json(document)
    elif shown.quiet:
        output.emit(f"{summary.verdict.text}{failed_in_short(summary.rows)}\n{folder}")
    else:
        _show_summary(finished, has_out=has_out, has_details=shown.details)


def _show_summary(finished: Finished, *, has_out: bool, has_details: bool) -> None:
    """Print the result for people, without what `end` says on stderr: who scored nothing, how to go on."""
    from optimize_eval.reports.terminal import answer, summary as whole  # noqa: PLC0415, I001  only for people

    ends = [called.ended for called in finished.calls]
    broken = {progress.name for ended in ends for progress in ended.broken}
    summary = finished.summary
    if broken and not summary.units.scored and not summary.units.skipped:
        output.emit(" no result: nothing was scored.")
        return
    failures = tuple(entry for entry in summary.failures if entry.evaluator not in broken)
    render = whole.render if has_details else answer.render
    run = whole.ShownRun(
        name=shlex.quote(str(finished.stored.folder)),
        own=finished.stored.document.own_evaluators if has_out else [],
        goes_on=not broken and not summary.units.owed,
    )
    output.emit(render(replace(summary, failures=failures), run, output.screen()))


def end(
    finished: Finished,
    *,
    folder: Path | None = None,
    out: str | None = None,
    again: str = "",
) -> None:
    """Say what happened besides the result, gates last; exit with the code of what did not finish.

    `folder` is that of the run where the command has --out, `out` the value of --out, `again` how to call a
    changed evaluator again where --replace is not the way.
    """
    for called in finished.calls:
        for line in ending.explained(called, same_command, folder=folder, out=out):
            output.say(line)
    ends = [called.ended for called in finished.calls]
    if any(ended.mostly_failed or (ended.broken and not ended.reason) for ended in ends):
        gates.say_missed(finished.gates)
    bad = next((ended for ended in ends if errors.of_calls(ended)), None)
    if bad and bad.changed:
        options = " ".join(f"--replace {shlex.quote(name)}" for name in bad.changed)
        raise CannotGoOn(
            ending.changed(bad),
            hint=f"leave its files as they are, then {again or f'call it again with {options}'}",
        )
    for words in () if bad else finished.off_scale:
        output.say(f"error: {words}")
    leave(errors.of_session(ends, is_off_scale=bool(finished.off_scale)))
    gates.end_with_gates(finished.gates)


def leave(code: int) -> None:
    """End the command with its code, if that is not one of a good end; what there is to say was said."""
    if code == errors.INTERRUPTED:
        raise Interrupted
    if code:
        raise typer.Exit(code)
