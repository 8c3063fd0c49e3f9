"""Candidates × evaluators × examples: a run prepared, opened, called and summarised."""

import re
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import field, replace
from pathlib import Path
from typing import TYPE_CHECKING

from optimize_eval.base.documents import JsonDict, JsonMapping
from optimize_eval.base.errors import UsageError
from optimize_eval.base.evaluator import EvaluatorSpec, Sighted
from optimize_eval.base.frozen import frozen
from optimize_eval.base.protocol import check_task_model
from optimize_eval.config.compared import BoardGateOptions, ComparisonOptions
from optimize_eval.data.candidates import THE_TASK, Candidate, CandidatePath
from optimize_eval.data.selection import parse_selection
from optimize_eval.run.begin_or_resume import (
    NO_GATES,
    Handling,
    folder_of,
    gate_settings,
    hold_run,
    look_at,
    look_for_reuse,
    note_changes,
)
from optimize_eval.run.calls import Finished, call, examine, live_for, summarise
from optimize_eval.run.defining import check_columns, check_definitions, dated_in, kept_in, level_of, ways_in
from optimize_eval.run.host import Host, Say
from optimize_eval.run.inputs import (
    Examples,
    check_stdin,
    load_all_candidates,
    load_splits,
    note_copies_in,
    note_leaks,
    note_missing_fields,
    overlaps_in,
    stored_paths,
)
from optimize_eval.run.plan import Plan, document_of, plan_run
from optimize_eval.run.prompting import Prompting, with_outputs, with_samples
from optimize_eval.store.folder import refuse_foreign
from optimize_eval.store.growth import program_change
from optimize_eval.store.opened_run import StoredRun
from optimize_eval.store.run_document import (
    CHOSEN_AFTER,
    KEEP,
    LEAKS,
    OVERLAPS,
    SEARCHED,
    RunDocument,
    StoredProgram,
    current,
    layout_of,
    with_overlaps,
)
from optimize_eval.store.run_json import read_document, settings_in
from optimize_eval.tasks.targets import samples_of, task_of

if TYPE_CHECKING:
    from optimize_eval.run.confirming import RunDemands

_IN_BRACES = re.compile(r"\{\{ ?([A-Za-z_][\w-]*) ?\}\}")


@frozen
class SweepInputs:
    """What is compared, by the names of options; all of it is loaded, so another candidate is a `replace`."""

    specs: tuple[EvaluatorSpec, ...]
    candidates: tuple[Candidate, ...]
    examples: Examples
    named: Sequence[CandidatePath] = ()  # where candidates came from
    what: ComparisonOptions = ComparisonOptions()  # the axes beside candidates, and how examples belong
    margins: Sequence[str] = ()
    prompting: Prompting | None = None  # where models are called: which, and about which prompts
    splits_of: Mapping[str, Sequence[str]] = field(default_factory=dict)  # of evaluators for some alone

    @property
    def called(self) -> tuple[EvaluatorSpec, ...]:
        """Give the evaluators as they are called: of replies, where models are called."""
        specs = with_samples(self.specs, self.examples.sources)
        return self.prompting.around(specs) if self.prompting else specs

    def plan(self) -> Plan:
        """Put the axes together; raises UsageError where they do not fit each other."""
        prompting = self.prompting
        models = prompting.identities if prompting else ()
        names = [model.name for model in models] or self.what.task_models
        plan = plan_run(
            self.called,
            self.candidates,
            self.examples.sources,
            task_models=[check_task_model(name) for name in names] or [None],
            models=models,
            repeats=self.what.repeats,
            baseline=self.what.baseline,
            seed=self.what.seed,
            cluster_by=self.what.cluster_by,
            group_by=self.what.group_by,
            splits_of=self.splits_of,
        )
        return replace(plan, layout=replace(plan.layout, margins=self._margins(plan)))

    def _margins(self, plan: Plan) -> dict[str, float]:
        if not self.margins:
            return {}
        from optimize_eval.findings.forecast import parse_margins  # noqa: PLC0415  most runs have none

        return parse_margins(self.margins, plan.layout)


def load_comparison(
    specs: tuple[EvaluatorSpec, ...],
    named: Sequence[CandidatePath | Candidate],
    fields: Sequence[str],
    what: ComparisonOptions,
    say: Say,
    *,
    margins: Sequence[str] = (),
    prompting: Prompting | None = None,
) -> SweepInputs:
    """Load what options name: candidates `named` or in `fields`."""
    check_stdin(what.files.values(), named)
    examples = load_splits(
        what.files,
        say,
        limit=what.limit,
        sample=what.sample,
        seed=what.seed,
        selection=parse_selection(what.filters, what.ids),
    )
    note_missing_fields(examples.sources, say)
    if prompting:
        prompting.check(examples.sources, say)
        prompting.note_twice(say)
    check_definitions(specs, [*named, *fields], prompting, examples.sources)
    check_columns(specs, examples.sources, say)
    if prompting and prompting.prompts:
        candidates = prompting.candidates
    else:
        candidates = candidates_of(specs, named, fields)
        _note_fields(specs, candidates, examples, named, say)
    return SweepInputs(
        specs=specs,
        candidates=candidates,
        examples=examples,
        prompting=prompting,
        named=[one for one in named if isinstance(one, CandidatePath)],
        what=what,
        margins=margins,
    )


def _note_fields(
    specs: Sequence[EvaluatorSpec],
    candidates: Sequence[Candidate],
    examples: Examples,
    named: Sequence[CandidatePath | Candidate],
    say: Say,
) -> None:
    """Ask whether a candidate that names a field of the data in braces is a prompt; tasks may put it in."""
    places = [(one.name, field) for one in candidates for field in _IN_BRACES.findall(one.text)]
    first = next((example for source in examples.sources for example in source.examples), None)
    has_tasks = any(map(task_of, specs))
    if not places or first is None or has_tasks:
        return
    if known := next(((name, field) for name, field in places if field in first.value), None):
        paths = [one.path for one in named if isinstance(one, CandidatePath) and not one.is_list]
        prompts = " ".join(f"--prompt {shlex.quote(path)}" for path in paths[:3]) or "--prompt FILE"
        say(
            f"note: the candidate {known[0]} is given to evaluators as it is, with {{{{{known[1]}}}}}, "
            f"a field of the data, in it: did you mean {prompts} --model MODEL?"
        )


def candidates_of(
    specs: Sequence[EvaluatorSpec], named: Sequence[CandidatePath | Candidate], fields: Sequence[str]
) -> tuple[Candidate, ...]:
    """Load candidates; where tasks in YAML are given none, the one that stands for that."""
    if not named and not fields and all(map(samples_of, specs)):
        return (THE_TASK,)
    return load_all_candidates(named, fields)


@frozen
class Prepared:
    """A run before its first call: nothing is written yet."""

    plan: Plan
    folder: Path
    document: RunDocument
    handling: Handling
    demands: "RunDemands | None" = None


def prepare(
    comparison: SweepInputs,
    handling: Handling,
    say: Say,
    *,
    out: str | None = None,
    stem: str = "run",
    gates: BoardGateOptions = NO_GATES,
    chosen_after: str | None = None,
    searched: JsonMapping | None = None,
) -> Prepared:
    """Plan a run, find its folder, and read what it has to reach.

    Its examples may be `chosen_after` a run, by its results; its candidates may be what was `searched`.
    """
    plan = comparison.plan()
    _note_twice(plan, say)
    handling.check(plan)
    folder = folder_of(stem, plan, comparison.examples.paths, out)
    refuse_foreign(folder)
    before = settings_in(folder, fresh=handling.fresh)
    after: JsonDict = {} if chosen_after is None else {CHOSEN_AFTER: chosen_after}
    if searched or SEARCHED in before:  # a split that steered a search does not forget that
        after[SEARCHED] = searched or {"steered_by": before[SEARCHED].get("steered_by")}
    common = overlaps_in(plan, comparison.examples, before)
    splits, keeps_leaks = with_overlaps(plan.layout.splits, common), comparison.what.leaks == KEEP
    plan = replace(plan, layout=replace(plan.layout, splits=splits, keeps_leaks=keeps_leaks))
    if not searched:  # of a search it was said at its start
        note_copies_in(plan.layout, comparison.examples, say)
        note_leaks(plan.layout, say)
    kept = {**_kept(comparison, handling, plan, gates), **after, **ways_in(plan.specs, before, say)}
    kept |= {**({OVERLAPS: common} if common else {}), **dated_in(folder, kept, before)}
    document = document_of(plan, comparison.examples.names, kept)
    if any(isinstance(spec.target, Sighted) for spec in plan.specs):
        from optimize_eval.run.labelling import with_people  # noqa: PLC0415  of judges alone

        said = before or _settings_of_former(folder)
        document = with_people(document, plan.specs, comparison.examples.sources, said, say)
    plan = with_outputs(plan, folder)
    demands = None
    if gate_settings(gates):
        from optimize_eval.run.confirming import read_before_calls  # noqa: PLC0415  most runs demand nothing

        demands = read_before_calls(document, folder, gates)
    return Prepared(plan=plan, folder=folder, document=document, handling=handling, demands=demands)


def _settings_of_former(folder: Path) -> JsonMapping:
    """Read what a run that starts over kept, where it can be read: people do not label twice."""
    try:
        return settings_in(folder, fresh=False)
    except UsageError:
        return {}


def _note_twice(plan: Plan, say: Say) -> None:
    """Point out evaluators that are the same one, about the same splits: each is called."""
    first: dict[tuple[str, str, tuple[str, ...]], str] = {}
    for identity, score_range in zip(plan.identities, plan.layout.score_ranges, strict=True):
        splits = tuple(plan.layout.splits_of.get(identity.name, ()))
        other = first.setdefault((identity.sha256, score_range, splits), identity.name)
        if other != identity.name:
            say(f"note: {identity.name} is the same evaluator as {other}: each of them is called")


def look(prepared: Prepared, say: Say) -> StoredRun:
    """Find what is scored of a run as it is to be, with --reuse also in other runs; writes nothing."""
    fresh, replaced = prepared.handling.fresh, prepared.handling.replace
    run = look_at(prepared.folder, prepared.plan, prepared.document, fresh=fresh, replace=replaced)
    note_changes(run, say)
    for note in look_for_reuse(prepared.plan, run, prepared.handling.reuse):
        say(f"note: {note}")
    return run


def look_as_recorded(prepared: Prepared, say: Say) -> tuple[Plan, StoredRun]:
    """Find what a run has, by the evaluators and models that it recorded; say which are others now."""
    known = None if prepared.handling.fresh else read_document(prepared.folder, is_to_grow=True)
    if known is None:
        return prepared.plan, look(prepared, say)
    wanted = prepared.document
    evaluators = _recorded("evaluator", known.evaluators, wanted.evaluators, say)
    there = _recorded("model", known.models, wanted.models, say)
    digests = {model.name: model.sha256 for model in there}
    models = tuple(replace(model, sha256=digests[model.name]) for model in prepared.plan.models)
    plan = replace(prepared.plan, models=models)
    layout = layout_of(evaluators, wanted.selection, has_models=bool(there))
    document = replace(wanted, evaluators=evaluators, models=there, selection=layout)
    return plan, look(replace(prepared, plan=plan, document=document), say)


def _recorded(
    what: str, known: Sequence[StoredProgram], wanted: Sequence[StoredProgram], say: Say
) -> tuple[StoredProgram, ...]:
    """Give evaluators or models as a run recorded them, and those that it does not have as they are."""
    there = current(known)
    for entry in wanted:
        old = there.setdefault(entry.name, entry)
        if old.sha256 != entry.sha256:
            change = program_change(old, entry)
            say(f"note: {what} {entry.name} {change}; what is shown was recorded before that")
    return tuple(there[entry.name] for entry in wanted)


def carry_out(prepared: Prepared, host: Host, *, recheck: int | None = None) -> Finished:
    """Call what is owed, then so many scored calls again, and summarise what the journal has."""
    plan, handling = prepared.plan, prepared.handling
    settings = handling.settings(plan)
    with (
        live_for(plan, settings, host) as live,
        hold_run(prepared.folder, plan, prepared.document, handling, host.say) as stored,
    ):
        called = call(plan, stored, settings, host, live, again=recheck)
        examine(stored, lambda: plan, host.say, sandbox=level_of(plan.specs))
        fresh = prepared.demands.confirm(called, stored, settings, host) if prepared.demands else ()
        findings = summarise(stored)
    summary = findings.summary
    gates = prepared.demands.judge(stored, summary) if prepared.demands else ()
    off = findings.off_scale(plan.layout.evaluators)
    return Finished(stored=stored, summary=summary, calls=(called, *fresh), gates=gates, off_scale=off)


def _kept(comparison: SweepInputs, handling: Handling, plan: Plan, gates: BoardGateOptions) -> JsonDict:
    """Make what run.json keeps of the command's options, none of which is part of its plan."""
    examples, margins, prompting = comparison.examples, plan.layout.margins, comparison.prompting
    return {
        "concurrency": handling.concurrency,
        "limit": examples.limit,
        "sample": examples.sample,
        "on_failure": handling.on_failure,
        "paths": _paths(comparison),
        **examples.selection.to_dict(),
        **({"extract": prompting.extract} if prompting and prompting.extract else {}),
        **({"margins": dict(margins)} if margins else {}),
        **kept_in(plan.specs),
        **gate_settings(gates),
        **({LEAKS: KEEP} if plan.layout.keeps_leaks else {}),
    }


def _paths(comparison: SweepInputs) -> JsonDict:
    """Give where the inputs were, for a later command that needs them again."""
    paths = stored_paths(comparison.examples.files, comparison.named)
    prompting = comparison.prompting
    return {**paths, **prompting.stored()} if prompting else paths
