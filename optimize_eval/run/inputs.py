"""What is loaded before the first call: the examples of the splits, what they share, the candidates.

Where they were is kept in run.json, so that a later session finds the same files again. All that differ from
what the run had are listed at once, with line or name, before anything is called. Evaluators that are added
later join what the last command named, and are part of it until another names what it wants.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import field, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from optimize_eval.base.documents import JsonDict, JsonMapping
from optimize_eval.base.errors import UsageError
from optimize_eval.base.evaluator import EvaluatorSpec
from optimize_eval.base.files import STDIN
from optimize_eval.base.frozen import frozen
from optimize_eval.base.names import distinct
from optimize_eval.data.candidates import Candidate, CandidatePath, field_candidates, load_candidates
from optimize_eval.data.datasets import (
    MAX_RECORDS,
    ParsedFile,
    describe_copies,
    load_examples,
    read_dataset,
    where_of,
)
from optimize_eval.data.example import Example, Rows
from optimize_eval.data.leaks import Overlaps, overlaps_of
from optimize_eval.data.selection import EVERYTHING, Selection
from optimize_eval.evaluators.kinds import identify
from optimize_eval.findings.leakage import leakages_of
from optimize_eval.programs.identity import Identity
from optimize_eval.run.host import Say
from optimize_eval.run.plan import Plan, plan_run, sha256_of, stored_program
from optimize_eval.run.splits import SplitSource, choose
from optimize_eval.store.layout import Layout, Split
from optimize_eval.store.opened_run import StoredRun, extend
from optimize_eval.store.run_document import (
    OVERLAPS,
    RunDocument,
    StoredCandidate,
    StoredPaths,
    StoredProgram,
    current,
    with_overlaps,
)

if TYPE_CHECKING:
    from optimize_eval.tasks.prompts import PromptFile


_MOST_FIELDS = 3  # that are named
_STDIN = "stdin"  # how run.json names what came there
_IN_NO_FILE = {_STDIN: "came on stdin", Rows.NAME: "were handed over by a program"}


class AllRows:
    """All rows of a run's files, until it is known what these have in common; then they are let go."""

    def __init__(self, splits: Mapping[str, Sequence[Example]]) -> None:
        self._splits = splits
        self._overlaps: Overlaps | None = None

    def with_parts(self, parts: Mapping[str, Sequence[Example]]) -> "AllRows":
        """Give the parts of a file that was cut, as they take part, in place of it."""
        return AllRows({**parts, **{name: rows for name, rows in self._splits.items() if name not in parts}})

    def overlaps(self, known: JsonMapping, candidates: Iterable[str] = ()) -> Overlaps:
        """Find what they have in common, or take it from what is known of the same rows.

        Fields that are `candidates` are no part of what a row says.
        """
        if self._overlaps is None:
            self._overlaps = overlaps_of(self._splits, known, candidates)
            self._splits = {}
        return self._overlaps


@frozen
class Examples:
    """The files of a run's splits by their names, how much is taken of each, and what that is."""

    files: Mapping[str, str]
    paths: tuple[str | None, ...]  # as they were named, None where a split was not
    limit: int | None
    sample: int | None
    selection: Selection
    sources: tuple[SplitSource, ...]
    rows: AllRows | None = None  # of tasks in YAML none

    @property
    def names(self) -> dict[str, str]:
        """Give the files' names as run.json has them."""
        return {
            split: Path(path).name.encode(errors="replace").decode() for split, path in self.files.items()
        }


def load_splits(
    named: Mapping[str, str | None],
    say: Say,
    *,
    limit: int | None = None,
    sample: int | None = None,
    seed: int = 0,
    selection: Selection = EVERYTHING,
) -> Examples:
    """Load the files of the splits that are named; all their problems are listed at once."""
    files = {split: path for split, path in named.items() if path is not None}
    check_stdin(files.values())
    is_whole = limit is sample is None and not selection
    examples = load_examples(files.values(), most=MAX_RECORDS if is_whole else None)
    every = dict(zip(files, examples, strict=True))
    files = {split: _STDIN if path == STDIN else path for split, path in files.items()}
    selected = selection.of(every)
    for note in selection.notes(files, every, selected):
        say(f"note: {note}")
    take = partial(choose, limit=limit, sample=sample, seed=seed)
    sources = tuple(
        SplitSource(
            name=split,
            file=files[split],
            examples=take(there, split=split),
        )
        for split, there in selected.items()
        if there
    )
    for source in sources:
        check_size(source)
    paths = (*named.values(),)
    return Examples(
        files=files,
        paths=paths,
        limit=limit,
        sample=sample,
        selection=selection,
        sources=sources,
        rows=AllRows(every),
    )


def note_missing_fields(sources: Sequence[SplitSource], say: Say) -> None:
    """Name the fields that all examples of the first split have, and none of another: calls may need them."""
    for source in sources[1:]:
        missing = dict.fromkeys(sources[0].examples[0].value)
        for example in source.examples:
            missing = {key: None for key in missing if key not in example.value}
            if not missing:
                break
        every = [key for key in missing if all(key in example.value for example in sources[0].examples)]
        if every:
            named = ", ".join(f'"{key}"' for key in every[:_MOST_FIELDS])
            say(
                f"note: no {source.name} example has the field {named}, which all {sources[0].name} examples "
                f"have: an evaluator that reads it fails on {source.name}"
            )


def check_stdin(files: Iterable[str | None], candidates: Sequence[CandidatePath | Candidate] = ()) -> None:
    """Refuse to read stdin for two things: it comes once."""
    from_stdin = [*files].count(STDIN) + [*candidates].count(CandidatePath(STDIN))
    if from_stdin > 1:
        raise UsageError("stdin (-) can be one thing only", hint="save the others to files, and name these")


def check_size(source: SplitSource) -> None:
    if (many := len(source.examples)) > MAX_RECORDS:
        raise UsageError(
            f"{source.file}: {many:,} records are too many for one run",
            hint=f"take fewer of them: --sample or --limit of at most {MAX_RECORDS}",
        )


def note_copies(source: SplitSource, copies: Mapping[int, int], say: Say) -> None:
    """Say which records are there already, each of these `copies` with the line of the first."""
    if copies:
        say(f"note: {source.file}: {describe_copies(copies, source.examples)}")


def load_all_candidates(
    named: Sequence[CandidatePath | Candidate], fields: Sequence[str]
) -> tuple[Candidate, ...]:
    """Load candidates from files and lists, or take them from the examples' own fields."""
    if fields:
        if named:
            raise UsageError(
                "--candidate-field takes the candidates from the examples",
                hint="omit --candidate and --candidates",
            )
        return field_candidates([*fields])
    return load_candidates(named)


def stored_paths(splits: Mapping[str, str], candidates: Sequence[CandidatePath]) -> JsonDict:
    """Make of paths as they were given what run.json keeps of them; one that is not UTF-8 cannot be kept."""
    return {
        "splits": {split: path for split, path in splits.items() if path and path != STDIN and is_utf8(path)},
        "candidate": [path for path, is_list in candidates if not is_list and is_utf8(path)],
        "candidates": [path for path, is_list in candidates if is_list and is_utf8(path)],
    }


def refuse_results(document: RunDocument) -> None:
    """Raise UsageError for a run of another tool's results: what was scored is not in it."""
    if document.origin:
        raise UsageError(
            f"the run has results of {document.origin.get('tool')}, and not the examples themselves",
            hint="score outputs: optimize-eval run --candidate-field FIELD -e EVALUATOR --dataset FILE",
        )


def read_again(document: RunDocument, named: Mapping[str, str | None]) -> dict[str, ParsedFile | None]:
    """Read the files of a run's splits, where an option names them or where they were."""
    refuse_results(document)
    paths = document.paths.splits or {}
    splits = [split.name for split in document.selection.splits]
    for split, path in named.items():
        if path is not None and split not in splits:
            raise UsageError(f"{path}: the run has no {split} examples", hint="omit the option")
    files = {split: named.get(split) or paths.get(split) for split in splits}
    for split, path in files.items():
        if path in _IN_NO_FILE and not Path(path).exists():
            raise UsageError(
                f"the {split} examples {_IN_NO_FILE[path]}, and a run keeps no data",
                hint=f"put them into a file again, and name it: {OPTIONS[split]} FILE",
            )
    return {split: None if path is None else read_dataset(path, most=None) for split, path in files.items()}


def load_candidates_again(
    document: RunDocument, paths: Sequence[str], lists: Sequence[str]
) -> tuple[Candidate, ...]:
    """Load candidates that options name, then what still can be loaded from where they were."""
    refuse_results(document)
    if (paths or lists) and any(candidate.field for candidate in document.selected_candidates):
        raise UsageError("the run's candidates are fields of its examples", hint="omit the options")
    stored = document.paths
    if document.models and stored.prompts is not None:
        return _prompts_again([*paths, *lists], stored)
    were = [path for path in stored.candidate or () if path != STDIN]
    here = load_candidates(_candidate_paths(paths, lists))
    return (*here, *_still_there(_candidate_paths(were, stored.candidates or ())))


def _prompts_again(paths: Sequence[str], stored: StoredPaths) -> tuple[Candidate, ...]:
    """Load prompts that options name, then those that are still where they were."""
    here = [prompt.candidate for prompt in read_prompts(paths, None)]
    for path in stored.prompts or ():
        with suppress(UsageError):
            here += [prompt.candidate for prompt in read_prompts([path], stored.system)]
    return tuple(here)


def read_prompts(paths: "Sequence[str | Candidate]", system: str | None) -> "tuple[PromptFile, ...]":
    """Read prompts as they were written."""
    from optimize_eval.tasks.prompts import load_prompts  # noqa: PLC0415  most runs have none

    return tuple(load_prompts(paths, system))


def _candidate_paths(paths: Iterable[str], lists: Iterable[str]) -> list[CandidatePath]:
    return [*(CandidatePath(path) for path in paths), *(CandidatePath(path, is_list=True) for path in lists)]


def _still_there(named: Sequence[CandidatePath]) -> tuple[Candidate, ...]:
    try:
        return load_candidates(named)  # together, so that they are named as they were
    except UsageError:
        pass
    candidates: list[Candidate] = []
    for name_or_path in named:
        with suppress(UsageError):
            candidates += load_candidates([name_or_path])
    return tuple(candidates)


def is_utf8(text: str) -> bool:
    """Return True if a text can be written down: names of files may hold any bytes."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def overlaps_in(plan: Plan, examples: Examples, before: JsonMapping) -> Overlaps:
    """Find what they have in common, or take it from the settings that the run had before.

    Splits that are tasks confirm nothing, so nothing is looked for.
    """
    if plan.layout.splits_of or examples.rows is None:
        return {}
    return _overlaps(
        examples.rows, before, [candidate.field for candidate in plan.candidates if candidate.field]
    )


def _overlaps(rows: AllRows, before: JsonMapping, candidates: Iterable[str] = ()) -> Overlaps:
    known = before.get(OVERLAPS)
    return rows.overlaps(known if isinstance(known, dict) else {}, candidates)


def note_leaks(layout: Layout, say: Say) -> None:
    """Say which examples leaked, and what becomes of them."""
    if not layout.splits_of:
        _note(layout.splits, say, keeps_leaks=layout.keeps_leaks)


def note_copies_in(layout: Layout, examples: Examples, say: Say) -> None:
    """Say which examples of a split say the same as an earlier one, by their values."""
    if examples.rows:
        _note_copies(layout.splits, examples, say)


def note_leaks_among(
    examples: Examples, say: Say, *, keeps_leaks: bool, before: JsonMapping | None = None
) -> Sequence[Split]:
    """Say of examples that no run is planned of yet what leaked and what is there twice, and give it."""
    if not examples.rows:
        return ()
    splits = [split_of(source.name, source.examples) for source in examples.sources]
    known = with_overlaps(splits, _overlaps(examples.rows, before or {}))
    _note_copies(known, examples, say)
    _note(known, say, keeps_leaks=keeps_leaks)
    return known


def _note_copies(splits: Sequence[Split], examples: Examples, say: Say) -> None:
    copies = {split.name: _copies_in(split) for split in splits if split.copies}
    for source in examples.sources:
        note_copies(source, copies.get(source.name, {}), say)


def _copies_in(split: Split) -> dict[int, int]:
    """Give the lines of copies, each with the first one of those that take part."""
    first: dict[int | None, int] = {}
    lines = [line for line in split.lines if line is not None]
    firsts = {line: first.setdefault(split.copies.get(line, line), line) for line in lines}
    return {line: earlier for line, earlier in firsts.items() if line != earlier}


def split_of(name: str, rows: Sequence[Example]) -> Split:
    """Make a split of which lines alone are known."""
    return Split(name=name, lines=tuple(row.line for row in rows), sha256=("",) * len(rows))


def _note(splits: Sequence[Split], say: Say, *, keeps_leaks: bool) -> None:
    if any(split.leaks for split in splits):
        for name, leakage in leakages_of(splits, keeps_leaks=keeps_leaks).items():
            say(f"note: {leakage.point(name)}")


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
        elif sha256_of(example.raw) != digest:
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
    by_digest = {sha256_of(candidate.text.encode()): candidate.text for candidate in loaded}
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
        if text is None or sha256_of(text.encode()) != entry.sha256:
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
