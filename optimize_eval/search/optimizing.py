"""An optimization from its task to its result: the search, the final sweep, and what may be said.

The final sweep: the seed and the best of a search as an ordinary run, which grows and alone is believed.

What the search has scored is not called again: its records are planted into the run's journal where units are
owed. Failures are not, so they are retried here.
"""

from collections.abc import Callable, Iterable, Sequence
from contextlib import closing, suppress
from dataclasses import replace
from pathlib import Path

from optimize_eval.base.documents import JsonDict, JsonMapping
from optimize_eval.base.errors import OptimizeEvalError, State
from optimize_eval.base.frozen import frozen
from optimize_eval.base.outcome import Progress
from optimize_eval.data.candidates import Candidate
from optimize_eval.evaluators.kinds import identify
from optimize_eval.programs.identity import Identity
from optimize_eval.run.begin_or_resume import Handling, hold_run
from optimize_eval.run.calls import Finished, call, examine, live_for, summarise
from optimize_eval.run.defining import level_of
from optimize_eval.run.host import Host, Say
from optimize_eval.run.inputs import note_leaks_among
from optimize_eval.run.live import Clock
from optimize_eval.run.plan import Plan
from optimize_eval.run.prompting import writing_to
from optimize_eval.run.sweeps import SweepInputs, prepare
from optimize_eval.search.candidate_tree import Node, SearchOutcome
from optimize_eval.search.recorded_scores import OF_ITS_PLACE, Elsewhere, scored_in
from optimize_eval.search.result import Result, document, keys_of_search, of_seed, result_of
from optimize_eval.search.scorer import Examples, LiveScorer
from optimize_eval.search.search_plan import SearchPlan
from optimize_eval.search.searching import check, search
from optimize_eval.search.state import SearchState, header_of
from optimize_eval.search.stopping import FAILED, Meter, SearchLimits, Why
from optimize_eval.store import journal
from optimize_eval.store.folder import (
    EVALUATIONS,
    JOURNAL,
    MANIFEST,
    OUTPUTS,
    OUTPUTS_SCHEMA,
    PROPOSALS,
    SEARCH,
    SUMMARY,
    hold_lock,
    refuse_foreign,
    write_json,
)
from optimize_eval.store.layout import SINGLE, Split
from optimize_eval.store.opened_run import StoredRun, open_stored
from optimize_eval.store.reusable import AUTO, folders_of
from optimize_eval.store.run_document import KEEP
from optimize_eval.store.run_json import settings_in
from optimize_eval.store.tried import keep_tried, keep_tried_elsewhere, note_finalists


def choose_finalists(outcome: SearchOutcome, top: int) -> tuple[Node, ...]:
    """Choose who is compared with the seed at the end: the best means of the search, each text once."""
    chosen: dict[str, Node] = {}
    for node in outcome.top(len(outcome.nodes)):
        if node.text != outcome.seed.text:
            chosen.setdefault(node.text, node)
    return tuple(chosen.values())[:top]


def _sweep(
    comparison: SweepInputs,
    candidates: Sequence[Candidate],
    folder: Path,
    handling: Handling,
    host: Host,
    *,
    searched: JsonMapping,
) -> Finished:
    """Compare them with the first, the seed, on all examples; records of an earlier sweep stay."""
    what = comparison.what.with_options(baseline=candidates[0].name)
    comparison = replace(comparison, candidates=tuple(candidates), what=what)
    prepared = prepare(comparison, handling, host.say, out=str(folder), searched=searched)
    # a search may well begin with a candidate that fails on everything
    settings = replace(handling.settings(prepared.plan), demands_each=False)
    with (
        live_for(prepared.plan, settings, host) as live,
        hold_run(folder, prepared.plan, prepared.document, handling, _say_nothing) as stored,
    ):
        if not searched.get("steered_by"):
            note_finalists(stored, [candidate.name for candidate in candidates])
        _keep_tried(stored, handling.reuse)
        _plant(stored, prepared.plan, folder / EVALUATIONS)
        called = call(prepared.plan, stored, settings, host, live)
        examine(stored, lambda: prepared.plan, host.say, sandbox=level_of(prepared.plan.specs))
        summary = summarise(stored).summary
    return Finished(stored=stored, summary=summary, calls=(called,))


def _keep_tried(stored: StoredRun, reuse: Sequence[str]) -> None:
    """Keep what was tried in folders that the search took scores from, be it none of this sweep's."""
    names = {record.get("reused_from") for _, record in scored_in(stored.folder / EVALUATIONS)}
    for folder, _ in folders_of(stored.folder, reuse):
        if folder.name in names and (folder / MANIFEST).is_file():
            with suppress(OptimizeEvalError):
                keep_tried_elsewhere(stored, open_stored(folder))


def final_calls(comparison: SweepInputs, candidates: int) -> int:
    """Count the calls of a final sweep of so many candidates where none is recorded."""
    examples = sum(len(source.examples) for source in comparison.examples.sources) or 1
    return len(comparison.specs) * candidates * examples * comparison.what.repeats


def _say_nothing(_note: str) -> None:
    """Be silent: what an earlier sweep compared is of no interest to who searches on."""


def _plant(stored: StoredRun, plan: Plan, evaluations: Path) -> None:
    """Write what is known of owed units into the journal, by the names that they have there."""
    view = stored.ledger
    owed = [plan.unit(number) for number in view.owed(range(plan.layout.size))]
    records = dict(scored_in(evaluations, {unit.key for unit in owed}))
    planted = [unit for unit in owed if unit.key in records]
    if not planted:
        return
    with closing(journal.Journal(stored.folder / JOURNAL, view.ledger.end)) as written:
        written.append(journal.seal(journal.header(view.ledger.run, Clock().now())))
        for unit in planted:
            line = journal.seal({"key": unit.key, **unit.coordinates, **_record_of(records[unit.key])})
            view.enter(unit.number, records[unit.key]["outcome"], written.append(line))
    view.ledger.end = written.end


def _record_of(record: JsonMapping) -> JsonDict:
    return {key: value for key, value in record.items() if key not in OF_ITS_PLACE}


@frozen
class SearchTask:
    """The inputs of an optimization; `comparison` has no candidates yet."""

    plan: SearchPlan
    comparison: SweepInputs
    seed_name: str
    limits: SearchLimits
    handling: Handling
    folder: Path
    task_model: str | None = None

    @property
    def model(self) -> Identity | None:
        """Give the model that replies, where the candidates are prompts."""
        prompting = self.comparison.prompting
        return prompting.identities[0] if prompting else None

    def note_leaks(self, say: Say) -> Sequence[Split]:
        """Say which examples splits have in common before any call, and give that."""
        before = settings_in(self.folder, fresh=self.handling.fresh)
        keeps_leaks = self.comparison.what.leaks == KEEP
        return note_leaks_among(self.comparison.examples, say, keeps_leaks=keeps_leaks, before=before)

    @property
    def about(self) -> JsonDict:
        """Give what the search's journal has for whoever looks at it from outside."""
        specs = self.comparison.called
        return {
            "command": self.handling.command,
            "budget": self.limits.budget,
            "seed": self.seed_name,
            "goal": self.plan.goal.name,
            "evaluators": list(self.plan.goal.names),
            "programs": {spec.name: (identify(spec).sha256, spec.score_range) for spec in specs},
            "note": self.handling.note,
            "splits": {source.name: len(source.examples) for source in self.comparison.examples.sources},
            "plan": self.plan.to_dict(),
        }


@frozen
class Optimized:
    """What came out."""

    outcome: SearchOutcome
    result: Result | None
    finished: Finished | None
    document: JsonMapping


def optimize_task(task: SearchTask, host: Host) -> Optimized:
    """Search, compare the best with the seed on all examples, and say what that shows."""
    check(task.plan)
    refuse_foreign(task.folder)
    task.note_leaks(host.say)
    meter = Meter(task.handling.caps)
    outcome = _search(task, host, meter)
    finished = _final(task, outcome, host)
    summary = finished.summary if finished and finished.status is State.DONE else None
    result = result_of(outcome, task.plan, task.seed_name, summary, has_run=finished is not None)
    result_document = document(
        result,
        outcome,
        task.plan,
        seed=task.seed_name,
        folder=str(task.folder),
        final_calls=_beyond_search(finished),
        summary=finished.summary if finished else None,
        spent=meter.to_dict(),
        command=task.handling.command or None,
    )
    if finished or not (task.folder / SUMMARY).exists():  # else an earlier result stands
        write_json(task.folder / SEARCH, result_document)
    return Optimized(outcome=outcome, result=result, finished=finished, document=result_document)


def _search(task: SearchTask, host: Host, meter: Meter) -> SearchOutcome:
    examples: Examples = {
        (source.name, example.line): example
        for source in task.comparison.examples.sources
        for example in source.examples
    } or {(SINGLE, None): None}
    specs = writing_to(task.folder, task.comparison.called)
    identities = [identify(spec) for spec in specs]
    elsewhere = Elsewhere(task.folder, task.handling.reuse, specs, identities)
    with hold_lock(task.folder), host.calling(), host.watching(is_recheck=False) as watch:
        _remake_headers(task, host)
        if task.model:
            elsewhere.copy_replies(task.model.text)
        state = SearchState(task.folder / PROPOSALS, task.plan.settings(), task.about)
        progress = Progress("search", total=task.limits.budget, done=0)
        try:
            with LiveScorer(
                specs,
                identities,
                examples,
                stop=host.stop,
                meter=meter,
                elsewhere=elsewhere,
                slots=task.handling.concurrency,
                cluster=task.handling.cluster,
                path=task.folder / EVALUATIONS,
                task_model=task.task_model,
                model=task.model,
                watch=lambda calls, waiting: _show(progress, calls, waiting, watch),
            ) as scorer:
                outcome = search(task.plan, scorer, state, task.limits, host.stop, meter)
                state.end(str(outcome.why), outcome.sentence, outcome.numbers() | {"spent": meter.to_dict()})
        finally:
            state.close()
        if outcome.why is Why.EVALUATOR and not outcome.nodes:
            _forget_failures(task.folder)
    for note in elsewhere.notes():
        host.say(f"note: {note}")
    return outcome


def _forget_failures(folder: Path) -> None:
    """Let an evaluator that scored nothing be fixed: the search starts over, with what others scored."""
    recorded = [journal.decode(entry.line) for entry in journal.entries(folder / PROPOSALS, journal.AGAIN)]
    _rewrite(folder / PROPOSALS, [record for record in recorded if record.keys() & {"schema", "ended_at"}])
    _rewrite(folder / EVALUATIONS, dict(scored_in(folder / EVALUATIONS)).values())


def _rewrite(path: Path, records: Iterable[JsonMapping]) -> None:
    kept = [journal.seal({key: value for key, value in record.items() if key != "crc"}) for record in records]
    draft = path.with_name(f".{path.name}")
    draft.write_bytes(b"".join(kept))
    draft.replace(path)


def _show(progress: Progress, calls: int, waiting: str, watch: Callable[[Sequence[Progress]], None]) -> None:
    progress.done = progress.called = calls
    progress.waiting = waiting
    watch([progress])


def _final(task: SearchTask, outcome: SearchOutcome, host: Host) -> Finished | None:
    """Sweep, unless there is nothing to compare, or the search was cut off."""
    if not outcome.nodes or outcome.why in {*FAILED, Why.INTERRUPTED, Why.COST}:
        return None
    chosen = choose_finalists(outcome, task.plan.finalists)
    if not chosen:
        return None
    texts = {node.name: task.plan.text_of(node.texts) for node in (outcome.seed, *chosen)}
    seed = Candidate(name=task.seed_name, text=texts.pop(outcome.seed.name))
    candidates = (seed, *(Candidate(name=name, text=text) for name, text in texts.items()))
    handling = replace(
        task.handling,
        fresh=False,  # what was there is gone, and what is there now is the search's
        reuse=[name for name in task.handling.reuse if name == AUTO or (Path(name) / MANIFEST).exists()],
    )
    searched = _words_of_search(task.plan, outcome, task.seed_name)
    return _sweep(task.comparison, candidates, task.folder, handling, host, searched=searched)


def _words_of_search(plan: SearchPlan, outcome: SearchOutcome, seed: str) -> JsonMapping:
    """Say what a summary of the final sweep has to know of the search."""
    alone = of_seed(outcome, plan.goal, seed)
    words = {"state": alone.state, "text": alone.text} if alone else None
    return {
        "steered_by": plan.roles.steered_by,
        "decides": "test" if plan.roles.has_test else None,
        "alone": words,
    }


def _beyond_search(finished: Finished | None) -> int:
    """Count the calls of a final sweep that the search had not made, whichever session made them."""
    if finished is None:
        return 0
    recorded = keys_of_search(finished.stored.folder)
    plans = [called.plan for called in finished.calls if called.plan]
    return sum(plan.unit(number).key not in recorded for plan in plans for number in range(plan.layout.size))


def _remake_headers(task: SearchTask, host: Host) -> None:
    """Make first lines again that are damaged; a search is replayed by digests of what was called."""
    headers = {
        OUTPUTS: {"schema": OUTPUTS_SCHEMA},
        PROPOSALS: header_of(task.plan.settings(), task.about),
    }
    for name, header in headers.items():
        if journal.remake_header(path := task.folder / name, header):
            host.say(f"note: the first line of {path} was damaged, and was made again")


def begin_anew(folder: Path) -> None:
    """Delete a search and its final run, so that the next one starts over; nothing of somebody else."""
    refuse_foreign(folder)
    with hold_lock(folder):
        keep_tried(folder)
        for name in (PROPOSALS, EVALUATIONS, SEARCH, MANIFEST, JOURNAL, SUMMARY, OUTPUTS):
            (folder / name).unlink(missing_ok=True)
