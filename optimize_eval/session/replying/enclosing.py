"""What code runs in: that of a run's tasks, and that of models' replies.

Of tasks' code run.json keeps each way that a session had, in their order, found out before the first call.
Another way is no other evaluator: what code may do is no part of what it computes, and code that does what
it may not fails. So scores stay, and who reads them is told.
"""

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

from optimize_eval.evaluator import EvaluatorSpec
from optimize_eval.kinds import command
from optimize_eval.session.host import Say
from optimize_eval.tasks.definitions.target import CODE, TASKS, defined_of, ways_kept
from optimize_eval.tasks.target import Tasks


def runs_code(spec: EvaluatorSpec) -> bool:
    """Return True if an evaluator runs what models write, by itself or as a metric of tasks in JSONL."""
    metrics = spec.target.metrics if isinstance(spec.target, Tasks) else (spec,)
    return any(map(command.runs_code, metrics))


def at_level(spec: EvaluatorSpec, sandbox: str) -> EvaluatorSpec:
    """Let it run that in a sandbox of this level; empty: as it says itself."""
    if not isinstance(spec.target, Tasks):
        return command.at_level(spec, sandbox)
    metrics = tuple(command.at_level(metric, sandbox) for metric in spec.target.metrics)
    return replace(spec, target=replace(spec.target, metrics=metrics))


def level_of(specs: Iterable[EvaluatorSpec]) -> str:
    """Say at which level a session runs tasks' code; empty where it has the user's rights."""
    return next((target.sandbox for target in map(defined_of, specs) if target and target.sandbox), "")


def check_level(specs: Iterable[EvaluatorSpec]) -> None:
    """Refuse a level that this machine cannot keep."""
    if level := level_of(specs):
        from optimize_eval.tasks.definitions.hosting import hosting  # noqa: PLC0415  see ways_in

        hosting(level)


def ways_in(specs: Iterable[EvaluatorSpec], before: Mapping[str, Any], say: Say) -> dict[str, Any]:
    """Make what run.json keeps, beside the settings that it has from `before`.

    Raises UsageError where this machine cannot keep the level.
    """
    level = level_of(specs)
    known = ways_kept(before)
    if not level and not known:
        return {}
    from optimize_eval.tasks.definitions.hosting import NONE, hosting  # noqa: PLC0415  most runs enclose nothing

    way = hosting(level or NONE).to_dict()
    for missing in way.get("missing", ()):
        say(f"note: the sandbox of the tasks' code is not whole: {missing}")
    known = known or ([{"sandbox": NONE}] if TASKS in before else [])
    return {CODE: [*known, way] if way not in known else [*known]}
