"""The metrics and rules of a stored run changed: its scores become other numbers, and nothing is called."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial

from optimize_eval.errors import UsageError
from optimize_eval.evaluator import EvaluatorSpec
from optimize_eval.run.plan import Plan
from optimize_eval.run.replan import plan_again
from optimize_eval.session.calling import Finished, summarise
from optimize_eval.session.host import Say
from optimize_eval.session.inputs import load_candidates_again, read_again
from optimize_eval.session.replying.examining import examine, kept_in
from optimize_eval.session.replying.prompting import of_stored
from optimize_eval.store.folder import locked, refuse_foreign, write_document
from optimize_eval.store.manifest import evaluators_of, is_bench
from optimize_eval.store.stored import StoredRun, open_stored
from optimize_eval.tasks.definitions.score.kept import TASKS, joined


def remeasure(
    run: str,
    specs: Sequence[EvaluatorSpec],
    say: Say,
    *,
    splits: Mapping[str, str | None],
    candidates: Sequence[str] = (),
    lists: Sequence[str] = (),
) -> Finished:
    """Give a run the metrics and rules that these scorers have now, and summarise it again."""
    folder = open_stored(run).folder  # a folder without a run is not made one by locking it
    refuse_foreign(folder)
    with locked(folder):
        stored = open_stored(folder)
        known = _known(stored, specs, say)
        planned = partial(_planned, stored, known, splits, candidates, lists)
        stored = with_tasks_of(stored, known, planned, say)
        summary = summarise(stored)
    return Finished(stored=stored, summary=summary, calls=())


def with_tasks_of(
    stored: StoredRun, specs: Sequence[EvaluatorSpec], planned: Callable[[], Plan], say: Say
) -> StoredRun:
    """Let a run have the metrics and rules of these scorers, and apply them; most evaluators are none."""
    told = kept_in(specs).get(TASKS)
    if not told:
        return stored
    settings = stored.document.get("settings", {})
    changed = {**settings, TASKS: joined(settings.get(TASKS, ()), told)}
    stored = replace(
        stored,
        document={**stored.document, "settings": changed},
        manifest={**stored.manifest, "settings": changed},
    )
    examine(stored, planned, say)
    if changed != settings:
        write_document(stored.folder, stored.document)
    return stored


def _known(stored: StoredRun, specs: Sequence[EvaluatorSpec], say: Say) -> list[EvaluatorSpec]:
    """Find the scorers that the run has."""
    if is_bench(stored.manifest):
        raise UsageError(
            f"{stored.folder} is a bench", hint="run its command again: changed metrics call no model"
        )
    names = [one["name"] for one in evaluators_of(stored.manifest)]
    known = [spec for spec in specs if spec.name in names]
    if not known:
        there = ", ".join(names)
        raise UsageError(
            f"the run has no {', '.join(spec.name for spec in specs)}",
            hint=f"it has {there}; rescore -e task:FILE adds scorers",
        )
    for spec in specs:
        if spec.name not in names:
            say(f"note: the run has no {spec.name}; rescore -e task:FILE adds it")
    return known


def _planned(
    stored: StoredRun,
    specs: Sequence[EvaluatorSpec],
    splits: Mapping[str, str | None],
    candidates: Sequence[str],
    lists: Sequence[str],
) -> Plan:
    manifest = stored.manifest
    own = of_stored(specs, manifest, stored.folder)
    texts = load_candidates_again(manifest, candidates, lists)
    return plan_again(own, manifest, read_again(manifest, splits), texts)
