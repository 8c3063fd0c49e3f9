"""What run.json keeps of tasks beside what is called: metrics and rules, and what code runs in.

Of tasks' code run.json keeps each way that a session had, in their order, found out before the first call.
Another way is no other evaluator: what code may do is no part of what it computes, and code that does what
it may not fails. So scores stay, and who reads them is told.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from optimize_eval.base.evaluator import EvaluatorSpec
from optimize_eval.evaluators import command_kind
from optimize_eval.run.host import Say
from optimize_eval.store.opened_run import StoredRun
from optimize_eval.store.run_json import read_document, write_document
from optimize_eval.tasks.targets import CODE, TASKS, RecordTask, samples_of, ways_kept, with_task
from optimize_eval.tasks.task_identity import has_code

_RIGHTS: Mapping[str, Any] = {"sandbox": "none"}  # of who starts it


def runs_code(spec: EvaluatorSpec) -> bool:
    """Return True if an evaluator runs what models write, by itself or as a metric of tasks in JSONL."""
    metrics = spec.target.metrics if isinstance(spec.target, RecordTask) else (spec,)
    return any(map(command_kind.runs_code, metrics))


def at_level(spec: EvaluatorSpec, sandbox: str) -> EvaluatorSpec:
    """Let it run that in a sandbox of this level; empty: as it says itself."""
    if not isinstance(spec.target, RecordTask):
        return command_kind.at_level(spec, sandbox)
    metrics = tuple(command_kind.at_level(metric, sandbox) for metric in spec.target.metrics)
    return with_task(spec, metrics=metrics)


def level_of(specs: Iterable[EvaluatorSpec]) -> str:
    """Say at which level a session runs tasks' code; empty where it has the user's rights."""
    return next((target.sandbox for target in map(samples_of, specs) if target and target.sandbox), "")


def check_level(specs: Iterable[EvaluatorSpec]) -> None:
    """Refuse a level that this machine cannot keep."""
    if level := level_of(specs):
        from optimize_eval.tasks.code import hosting  # noqa: PLC0415  see ways_in

        hosting(level)


def with_ways_of(
    run: StoredRun, specs: Iterable[EvaluatorSpec], sources: Mapping[str, Sequence[StoredRun]], say: Say
) -> StoredRun:
    """Let a run keep what the code ran in whose scores it has from others; it is not this session's level."""
    settings = run.document.settings
    own = ways_kept(settings) or [_RIGHTS]
    of_code = [spec.name for spec in specs if _has_code(spec)]
    others = {other.folder: _ways_of(other) for name in of_code for other in sources.get(name, ())}
    ways = [*own]
    for folder, there in others.items():
        if any(way not in own for way in there):
            say(f"note: code ran otherwise in {folder}, of which scores are reused: {_named(there)}")
        ways += [way for way in there if way not in ways]
    if ways == own:
        return run
    changed = {**settings, CODE: ways}
    run = replace(run, document=replace(run.document, settings=changed))
    write_document(run.folder, run.document)
    return run


def _ways_of(run: StoredRun) -> list[Mapping[str, Any]]:
    return ways_kept(run.document.settings) or [_RIGHTS]


def _has_code(spec: EvaluatorSpec) -> bool:
    target = samples_of(spec)
    if target is None:
        return False
    return has_code((target.task.solver, target.scorer))


def _named(ways: Sequence[Mapping[str, Any]]) -> str:
    return "; ".join("with the user's rights" if way == _RIGHTS else str(way["sandbox"]) for way in ways)


def ways_in(specs: Iterable[EvaluatorSpec], before: Mapping[str, Any], say: Say) -> dict[str, Any]:
    """Make what run.json keeps, beside the settings that it has from `before`.

    Raises UsageError where this machine cannot keep the level.
    """
    level = level_of(specs)
    known = ways_kept(before)
    if not level and not known:
        return {}
    from optimize_eval.tasks.code import NONE, hosting  # noqa: PLC0415  most runs enclose nothing

    way = hosting(level or NONE).to_dict()
    for missing in way.get("missing", ()):
        say(f"note: the sandbox of the tasks' code is not whole: {missing}")
    known = known or ([{"sandbox": NONE}] if TASKS in before else [])
    return {CODE: [*known, way] if way not in known else [*known]}


def kept_in(specs: Iterable[EvaluatorSpec]) -> dict[str, Any]:
    """Make what run.json keeps of tasks: their metrics and rules, which are no part of what is called."""
    named = [spec for spec in specs if samples_of(spec)]
    if not named:
        return {}
    from optimize_eval.tasks.stored_tasks import kept_tasks, to_dict  # noqa: PLC0415

    return {TASKS: [to_dict(task) for task in kept_tasks(named)]}


def dated_in(folder: Path, kept: Mapping[str, Any], before: Mapping[str, Any]) -> dict[str, Any]:
    """Date the rules and metrics of tasks that are others than a run of this folder made scores with."""
    document = read_document(folder) if TASKS in kept and TASKS in before else None
    if document is None or not any(cell.scored for cell in document.cells):
        return {}
    from optimize_eval.tasks.stored_tasks import dated  # noqa: PLC0415  see kept_in

    return {TASKS: dated(before[TASKS], kept[TASKS])}


def rules_of(specs: Iterable[EvaluatorSpec]) -> list[Any]:
    """Write the rules that leave rows out, by tasks that have some."""
    tasks = next(iter(kept_in(specs).values()), ())
    return [task["actions"] for task in tasks if "actions" in task]
