"""How a session ended, and a recheck: what people should know, what to do about it, the exit code."""

import shlex
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Protocol

from optimize_eval.base import errors
from optimize_eval.base.documents import JsonMapping
from optimize_eval.base.errors import FailureKind, State
from optimize_eval.base.evaluator import EvaluatorSpec
from optimize_eval.base.outcome import Failed, Progress
from optimize_eval.evaluators import kinds
from optimize_eval.evaluators.command_kind import name_of_command
from optimize_eval.findings.wording import evaluator_label, total_in_words
from optimize_eval.models.model_kinds import program_of
from optimize_eval.programs.exchange import argv_of
from optimize_eval.programs.not_started import command_meant
from optimize_eval.run.calls import CallSpan, Finished, Rechecked
from optimize_eval.run.plan import Plan
from optimize_eval.run.runner import SessionEnd
from optimize_eval.tasks.targets import models_of, task_of


class Again(Protocol):
    """How to start the same session again, with more options, and evaluators as they were meant."""

    def __call__(self, *more: str, instead: Mapping[str, str] = ...) -> str: ...


_NOT_STARTED = (FailureKind.NOT_FOUND, FailureKind.START_FAILED)
_LONGEST_LINE = 2000
_LONG = "with the candidate, -e and --example FILE:LINE"


def exit_code(finished: Finished) -> int:
    """Give what a command exits with that ends so."""
    return errors.of_session(
        (called.ended for called in finished.calls),
        is_off_scale=bool(finished.off_scale),
        misses_gate=not all(gate.is_met for gate in finished.gates),
    )


def changed(ended: SessionEnd) -> str:
    """Say which evaluators were not the same program from the first call to the last."""
    return f"{', '.join(ended.changed)} changed while being called"


def explained(
    called: CallSpan, again: Again, *, folder: Path | None = None, out: str | None = None
) -> Iterator[str]:
    """Say what went on beside the result, and what to do about it.

    `folder` is the run's where a session may name it by --out, and `out` what that said.
    """
    if called.rechecked:
        yield render(called.rechecked)
    if called.plan:
        yield from _end(called, called.plan, again, folder, out)


def _end(called: CallSpan, plan: Plan, again: Again, folder: Path | None, out: str | None) -> Iterator[str]:
    ended = called.ended
    yield from (f"note: {note}" for note in ended.notes)
    for progress in _each_at_fault(ended.broken):
        yield from _explain_broken(progress, plan)
    yield from map(_mostly_failed, _each_at_fault(ended.mostly_failed))
    done = sum(progress.done for progress in ended.progress)
    so_far = f"{done:,} of {plan.layout.size:,} calls are done"
    if ended.status is State.INTERRUPTED:
        yield f"interrupted: {so_far}; to resume:\n  {again()}"
    elif ended.status is State.OVER_BUDGET:
        yield from _over(ended, so_far, again)
    elif ended.status is State.OUT_OF_TIME:
        yield f"out of time (--max-time): {so_far}; to resume:\n  {again()}"
    elif (ended.reason and done < plan.layout.size) or ended.broken:
        yield from _to_go_on(called, plan, again, folder, out)
    elif ended.reason:
        yield f"too many failures: {ended.reason}"


def _over(ended: SessionEnd, so_far: str, again: Again) -> Iterator[str]:
    """Say which cap paused a session, and how to go on."""
    if ended.needs_estimates:
        how = "--estimate-tokens counts characters ÷ 4, an estimate"
        yield f"{ended.over}; {so_far}; {how}; to resume with it:\n  {again('--estimate-tokens')}"
        return
    yield f"{ended.over}; {so_far}; to resume:\n  {again()}"


def _to_go_on(
    called: CallSpan, plan: Plan, again: Again, folder: Path | None, out: str | None
) -> Iterator[str]:
    """Give the command that goes on once what failed was fixed, as it was meant where that shows."""
    ended = called.ended
    names = {**_half_scored(ended, plan), **_models_half_scored(called, plan)}
    broken = _callees_broken(ended, plan)
    meant = {text: fixed for text, spec in broken.items() if (fixed := command_meant(spec))}
    stays = out or names or folder is None or any(_is_renamed(broken[text], meant[text]) for text in meant)
    here = () if stays else ("--out", str(folder))  # where a fix changes the plan
    instead = {text: text.removesuffix(broken[text].text) + fixed for text, fixed in meant.items()}
    when = "to go on" if meant and len(meant) == len(broken) else "after fixing it"
    yield f"{_why_stopped(ended, plan)}{when}, run:\n  {again(*here, instead=instead)}"
    if folder is not None and names:
        replacing = again(*(word for name in names.values() for word in ("--replace", name)))
        have = "have" if len(names) > 1 else "has"
        yield f"or, where the fix changes {', '.join(names)}, which {have} scores already:\n  {replacing}"


def _why_stopped(ended: SessionEnd, plan: Plan) -> str:
    """Say why not all calls were made, but for what was said of those that failed; empty where all were."""
    done = sum(progress.done for progress in ended.progress)
    owed = plan.layout.size - done
    if not ended.reason or not owed:
        return ""
    if ended.is_unproven:
        calls = "call (--no-preflight makes it" if owed == 1 else f"{owed:,} calls (--no-preflight makes them"
        return f"stopped before the other {calls} anyway); "
    return f"stopped: {ended.reason}; {done:,} of {plan.layout.size:,} calls are done; "


def _callees_broken(ended: SessionEnd, plan: Plan) -> dict[str, EvaluatorSpec]:
    """Give who answered nothing, by failures of their own, evaluators and models, by their texts."""
    callees = {}
    broken = {progress.name: progress for progress in ended.broken}
    for spec in (spec for spec in plan.specs if spec.name in broken):
        progress, task = broken[spec.name], task_of(spec)
        if not progress.models_at_fault:
            scorer = (*(task.of_all if task else ()), spec)[0]
            callees[scorer.text] = scorer
        for model in models_of(spec):
            if model.name in progress.models_at_fault:
                callees[model.text] = program_of(model) or model.as_caller
    return callees


def _is_renamed(spec: EvaluatorSpec, text: str) -> bool:
    """Return True if another command would give an evaluator another name."""
    argv = argv_of(spec)
    return spec.name == name_of_command(argv) != name_of_command(tuple(shlex.split(text)))


def _mostly_failed(progress: Progress) -> str:
    """Say that more than half of an evaluator's calls failed, and why the last one did."""
    calls = f"{progress.total - progress.skipped:,} calls{_not_skipped(progress)}"
    calls += f" of {progress.name}" * (progress.models_at_fault not in {(), (progress.name,)})
    what = f"error: {progress.at_fault} failed on {progress.own_failures:,} of {calls}, more than half"
    failed, which = progress.last_failure, "the last of its own" if progress.beside else "the last one"
    return f"{what}{_say_shared(progress)}; {which}, {failed.kind}: {_message_of(failed)}" if failed else what


def _say_shared(progress: Progress) -> str:
    """Say how many of the failures are models', where others are the evaluator's own."""
    models = progress.beside
    if not models:
        return ""
    own = progress.own_failures - sum(models.values())
    theirs = ", ".join(f"{many:,} model {name}'s" for name, many in models.items())
    return f": {own:,} of these failures {'is' if own == 1 else 'are'} its own, {theirs}"


def _message_of(failed: Failed) -> str:
    """Give a failure's message; that of a model's failure begins with that."""
    return failed.message.removeprefix("model: ") if failed.stage == "model" else failed.message


def _each_at_fault(broken: Iterable[Progress]) -> list[Progress]:
    """Let a model that failed each evaluator be told of once."""
    return [*{progress.at_fault: progress for progress in reversed([*broken])}.values()][::-1]


def _not_skipped(progress: Progress) -> str:
    return " that it did not skip" * (progress.skipped > 0)


def _half_scored(ended: SessionEnd, plan: Plan) -> dict[str, str]:
    """Name those that failed and scored, and would not be the same ones once their files change."""
    files = {
        identity.name: identity.files for identity in (plan.models if plan.by_model else plan.identities)
    }
    others = [progress for progress in ended.progress if progress not in ended.broken]
    return {
        progress.name: progress.name
        for progress in others
        if progress.own_failures and files.get(progress.name) and not progress.models_at_fault
    }


def _models_half_scored(called: CallSpan, plan: Plan) -> dict[str, str]:
    """Name the models of which the same is true, each with what --replace calls it."""
    if plan.by_model:
        return {}
    failed = {name for progress in called.ended.progress for name in progress.unreplied}
    named = [model.name for model in plan.models if model.files and model.name in failed]
    return {f"model {name}": f"model:{name}" for name in named if name in called.scored_models}


def _explain_broken(progress: Progress, plan: Plan) -> Iterator[str]:
    failed = progress.last_failure
    if failed is None:
        return
    calls = f"every call{_not_skipped(progress)} ({progress.failed:,})"
    shared = f"{_say_shared(progress)}; the last of its own" if progress.beside else ""
    yield f"error: {progress.at_fault} failed on {calls}{shared}, {failed.kind}: {_message_of(failed)}"
    if failed.stderr.strip() not in failed.message:
        yield "  it wrote to stderr:"
        yield "\n".join(f"    {line}" for line in failed.stderr.strip("\n").split("\n")[-5:])
    if failed.hint:
        yield f"  try: {failed.hint}"
    number = plan.layout.number(progress.last_place)
    if number is None or failed.kind in _NOT_STARTED or progress.models_at_fault:
        return
    if line := kinds.call_once(plan.specs[plan.evaluator_of(number)], plan.unit(number).payload):
        yield f"  try it: {line if len(line) <= _LONGEST_LINE else f'optimize-eval score, {_LONG}'}"


_SHOWN = 10
_LONGEST = 200
_DIGITS = (3, 6, 17)  # the last are all that a float has
_HINT = (
    "a nondeterministic or changed evaluator: --repeats averages what varies, --fresh calls everything again"
)


def render(result: Rechecked) -> str:
    """Write lines for people."""
    if not result.chosen:
        return "recheck: nothing is scored that could be called again"
    stopped = f"; stopped before {result.chosen:,} were called" if result.asked < result.chosen else ""
    lines = [f"recheck: {result.same:,} of {result.asked:,} scores are the same{stopped}"]
    lines += _some([f"{_place(unit)}: {_change(unit)}" for unit in result.changed])
    lines += _some([f"{_place(unit)}: {_failure(unit)}" for unit in result.failed])
    if result.spent:
        lines.append(f"  it took {total_in_words(result.spent)}, which the totals include")
    if result.changed:
        lines.append(f"  try: {_HINT}")
    return "\n".join(lines)


def _some(lines: Sequence[str]) -> list[str]:
    more = [f"  … and {len(lines) - _SHOWN:,} more, which --json lists"] if len(lines) > _SHOWN else []
    return [*(f"  {line}" for line in lines[:_SHOWN]), *more]


def _place(one: JsonMapping) -> str:
    line = "" if one["line"] is None else f":{one['line']}"
    repeat = f", repeat {one['repeat']}" if one["repeat"] > 1 else ""
    label = evaluator_label(one["evaluator"], one["task_model"])
    return f"{label} on {one['candidate']}, {one['split']}{line}{repeat}".replace("\n", " ")


def _change(one: JsonMapping) -> str:
    """Write scores with the fewest digits that show them to differ; a call that skips now has none."""
    if one["after"] is None:
        return f"{one['before']:.{_DIGITS[0]}g} before, skipped now: {one['message'][:_LONGEST]}".replace(
            "\n", " "
        )
    pairs = [(f"{one['before']:.{digits}g}", f"{one['after']:.{digits}g}") for digits in _DIGITS]
    before, after = next((pair for pair in pairs if pair[0] != pair[1]), pairs[-1])
    return f"{before} before, {after} now"


def _failure(one: JsonMapping) -> str:
    return f"failed ({one['kind']}): {one['message'][:_LONGEST]}".replace("\n", " ")
