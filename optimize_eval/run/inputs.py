"""What is loaded before the first call: the examples of the splits, what they share, the candidates.

Where they were is kept in run.json, so that a later session finds the same files again; whether they are the
same is checked by run.replan.
"""

from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any

from optimize_eval.base.errors import UsageError
from optimize_eval.base.files import STDIN
from optimize_eval.base.frozen import frozen
from optimize_eval.data.candidates import Candidate, CandidatePath, field_candidates, load_candidates
from optimize_eval.data.datasets import MAX_RECORDS, ParsedFile, describe_copies, load_examples, read_dataset
from optimize_eval.data.example import Example, Rows
from optimize_eval.data.leaks import Overlaps, overlaps_of
from optimize_eval.data.selection import EVERYTHING, Selection
from optimize_eval.findings.leakage import leakages_of
from optimize_eval.run.host import Say
from optimize_eval.run.plan import Plan
from optimize_eval.run.replan import OPTIONS
from optimize_eval.run.splits import SplitSource, choose
from optimize_eval.store.layout import Layout, Split
from optimize_eval.store.run_document import OVERLAPS, RunDocument, with_overlaps

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

    def overlaps(self, known: Mapping[str, Any], candidates: Iterable[str] = ()) -> Overlaps:
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


def stored_paths(splits: Mapping[str, str], candidates: Sequence[CandidatePath]) -> dict[str, Any]:
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
    paths = document.paths.get("splits") or {}
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
    if document.models and "prompts" in stored:
        return _prompts_again([*paths, *lists], stored)
    were = [path for path in stored.get("candidate") or () if path != STDIN]
    here = load_candidates(_candidate_paths(paths, lists))
    return (*here, *_still_there(_candidate_paths(were, stored.get("candidates") or ())))


def _prompts_again(paths: Sequence[str], stored: Mapping[str, Any]) -> tuple[Candidate, ...]:
    """Load prompts that options name, then those that are still where they were."""
    from optimize_eval.tasks.prompts import load_prompts  # noqa: PLC0415  most runs have none

    here = [prompt.candidate for prompt in load_prompts(paths, None)]
    for path in stored.get("prompts") or ():
        with suppress(UsageError):
            here += [prompt.candidate for prompt in load_prompts([path], stored.get("system"))]
    return tuple(here)


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


def overlaps_in(plan: Plan, examples: Examples, before: Mapping[str, Any]) -> Overlaps:
    """Find what they have in common, or take it from the settings that the run had before.

    Splits that are tasks confirm nothing, so nothing is looked for.
    """
    if plan.layout.splits_of or examples.rows is None:
        return {}
    return _overlaps(
        examples.rows, before, [candidate.field for candidate in plan.candidates if candidate.field]
    )


def _overlaps(rows: AllRows, before: Mapping[str, Any], candidates: Iterable[str] = ()) -> Overlaps:
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
    examples: Examples, say: Say, *, keeps_leaks: bool, before: Mapping[str, Any] | None = None
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
