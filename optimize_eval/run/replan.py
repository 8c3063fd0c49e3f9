"""The inputs of a run, found again as run.json names them; evaluators that are added to it later.

All that differ are listed at once, with line or name, before anything is called.

They join what the last command named, and are part of it until another names what it wants. What a run is
about is found again by run.replan.
"""

import hashlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import field, replace
from typing import TYPE_CHECKING, Any, NamedTuple

from optimize_eval.base.errors import UsageError
from optimize_eval.base.evaluator import EvaluatorSpec
from optimize_eval.base.frozen import frozen
from optimize_eval.base.names import distinct
from optimize_eval.data.candidates import Candidate
from optimize_eval.data.datasets import ParsedFile, where_of
from optimize_eval.evaluators.kinds import identify
from optimize_eval.programs.identity import Identity
from optimize_eval.run.plan import Plan, plan_run, stored_program
from optimize_eval.run.splits import SplitSource
from optimize_eval.store.layout import Split
from optimize_eval.store.opened_run import StoredRun, extend
from optimize_eval.store.run_document import RunDocument, StoredCandidate, StoredProgram, current

if TYPE_CHECKING:
    from optimize_eval.data.example import Example

OPTIONS = {"train": "--dataset", "val": "--valset", "test": "--testset"}

_THE_FILE = "the task file"
_CANDIDATES = "--candidate or --candidates"
_SHOWN = 10


class MissingInput(NamedTuple):
    """Something of a run that is not as it was, and the option that says where it is now."""

    what: str
    option: str


def plan_again(
    specs: Sequence[Any],
    document: RunDocument,
    readings: Mapping[str, ParsedFile | None],
    texts: Iterable[Candidate],
) -> Plan:
    """Plan the same inputs for other evaluators; raises UsageError where the inputs have changed."""
    lost: list[MissingInput] = []
    layout = document.selection
    sources = [_source(split, readings.get(split.name), lost.append) for split in _splits(document)]
    candidates = _candidates(document, list(texts), lost.append)
    if lost:
        raise _not_the_same(lost)
    return plan_run(
        specs,
        candidates,
        sources,
        task_models=layout.task_models,
        models=models_of(document),
        repeats=layout.repeats,
        baseline=layout.baseline,
        seed=layout.seed,
    )


def models_of(document: RunDocument) -> list[Identity]:
    """Give the models that a run called, by their names."""
    return [
        Identity(name=model.name, text=model.text, files=(), sha256=model.sha256)
        for model in document.selected_models
    ]


def examples_again(document: RunDocument, readings: Mapping[str, ParsedFile | None]) -> list[SplitSource]:
    """Find a run's examples again; raises UsageError where they are not the same."""
    lost: list[MissingInput] = []
    sources = [_source(split, readings.get(split.name), lost.append) for split in _splits(document)]
    if lost:
        raise _not_the_same(lost)
    return sources


def _splits(document: RunDocument) -> list[Split]:
    return [split for split in document.selection.splits if split.lines != (None,)]


def _source(split: Split, reading: ParsedFile | None, lose: Callable[[MissingInput], None]) -> SplitSource:
    """Choose the lines that the run has; it ignores others in the file."""
    name = split.name
    if reading is None:
        file = f" ({split.file})" if split.file else ""
        lose(
            MissingInput(
                f"run.json does not say where the {name} examples{file} are", OPTIONS.get(name, _THE_FILE)
            )
        )
        return SplitSource(name=name, file="", examples=())
    option = OPTIONS.get(name, _THE_FILE)
    at: dict[int | None, Example] = {example.line: example for example in reading.examples}
    chosen: list[Example] = []
    for problem in reading.problems:
        lose(MissingInput(str(problem), option))
    for line, digest in zip(split.lines, split.sha256, strict=True) if not reading.problems else ():
        example = at.get(line)
        if example is None:
            lose(
                MissingInput(
                    f"{reading.path}:{line}: there is no example {where_of(reading.path)} any more", option
                )
            )
        elif _sha256(example.raw) != digest:
            lose(
                MissingInput(
                    f"{reading.path}:{line}: the example has changed since the run{example.in_file}", option
                )
            )
        else:
            chosen.append(example)
    return SplitSource(name=name, file=reading.path, examples=tuple(chosen))


def _candidates(
    document: RunDocument, loaded: Sequence[Candidate], lose: Callable[[MissingInput], None]
) -> tuple[Candidate, ...]:
    by_digest = {_sha256(candidate.text.encode()): candidate.text for candidate in loaded}
    names = {candidate.name for candidate in loaded}
    return tuple(_candidate(candidate, by_digest, names, lose) for candidate in document.selected_candidates)


def _candidate(
    entry: StoredCandidate,
    by_digest: Mapping[str, str],
    names: set[str],
    lose: Callable[[MissingInput], None],
) -> Candidate:
    """Find a text by its digest, under any name; run.json has the small ones itself."""
    name = entry.name
    if entry.field:
        return Candidate(name=name, field=entry.field)
    text = by_digest.get(entry.sha256)
    if text is None and name in names:
        lose(MissingInput(f"candidate {name} has changed since the run", _CANDIDATES))
    elif text is None:
        text = entry.text
        if text is None or _sha256(text.encode()) != entry.sha256:
            lose(
                MissingInput(
                    f"candidate {name} is missing, and was too long to be kept in run.json", _CANDIDATES
                )
            )
    return Candidate(name=name, text=text or "")


def _not_the_same(lost: Sequence[MissingInput]) -> UsageError:
    lines = [f"  {missing.what}" for missing in lost[:_SHOWN]]
    if len(lost) > _SHOWN:
        lines.append(f"  … and {len(lost) - _SHOWN:,} more")
    options = ", ".join(dict.fromkeys(missing.option for missing in lost))
    return UsageError(
        "\n".join(["the inputs have changed since this run; nothing was called:", *lines]),
        hint=f"restore the inputs, or say where they are now: {options}",
    )


def _sha256(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


@frozen
class WantedEvaluator:
    """An evaluator that a command names; `given` is its explicit name, NAME=, if it has one."""

    spec: EvaluatorSpec
    given: str | None


@frozen
class Settled:
    """Evaluators by the names that they have in the run, and what run.json is to have as additions."""

    specs: tuple[EvaluatorSpec, ...]
    additions: tuple[StoredProgram, ...]
    known: tuple[str, ...]  # of them, those that the run had already
    renamed: Mapping[str, str] = field(default_factory=dict)  # those whose names the run has for others


def settle(run: StoredRun, wanted: Iterable[WantedEvaluator]) -> Settled:
    """Find which evaluators the run has already, and name the others apart from all that are there."""
    additions = [*run.document.additions]
    before = chosen = {*run.layout.evaluators}
    specs: dict[str, EvaluatorSpec] = {}
    renamed: dict[str, str] = {}
    present: list[str] = []
    for item in wanted:
        entry = stored_program(identify(item.spec), item.spec.score_range)
        named = {**current(run.document.evaluators), **current(additions)}
        if name := _same(entry, item.given or item.spec.name, [*named.values()]):
            present += [] if name in specs else [name]
            additions += [] if name in chosen else [named[name]]
        else:
            taken = [other for other in named if other in specs or not _is_unused(run, other)]
            name = _new_name(item, taken)
            others = [added for added in additions if added.name != name]
            additions = [*others, replace(entry, name=name)]
            renamed |= {name: item.spec.name} if name != item.spec.name in before else {}
        chosen = {*chosen, name}
        specs[name] = replace(item.spec, name=name)
    return Settled(
        specs=tuple(specs.values()), additions=tuple(additions), known=tuple(present), renamed=renamed
    )


def add(run: StoredRun, additions: Sequence[StoredProgram]) -> StoredRun:
    """Write additions down, before anything is called, and read the run with them."""
    return extend(run.folder, run.document.with_additions(additions), None)


def is_owed(run: StoredRun, settled: Settled) -> bool:
    """Return True if there is anything to call: without it no file of the run's is needed."""
    layout = run.document.with_additions(settled.additions).selection
    view = run.ledger.of(layout)
    names = [spec.name for spec in settled.specs]
    return any(name not in settled.known or view.owed(layout.units_of(name)) for name in names)


def humans_in(document: RunDocument) -> list[str]:
    """Give the fields in which people judged, by what the judges of a run say."""
    judges = [evaluator.judge for evaluator in document.selected_evaluators]
    return [path for judge in judges for path in judge.get("human") or ()]


def _same(entry: StoredProgram, called: str, named: Sequence[StoredProgram]) -> str | None:
    """Name the evaluator of a run that is the same one; of several the one that is called the same."""
    essence = entry.sha256, entry.score_range
    names = [program.name for program in named if (program.sha256, program.score_range) == essence]
    return called if called in names else next(iter(names), None)


def _new_name(wanted: WantedEvaluator, taken: Sequence[str]) -> str:
    if wanted.given in taken:
        raise UsageError(
            f"the run has another evaluator {wanted.given}: the command, its files or the score range differ",
            hint="give this one a name of its own, NAME=…",
        )
    return distinct([*dict.fromkeys(taken), wanted.spec.name])[-1]


def _is_unused(run: StoredRun, name: str) -> bool:
    """Return True if a name that the run's own command did not give has never scored: another may have it."""
    own = {*run.layout.evaluators}.difference(run.document.added)
    return name not in own and run.is_unused(name)
