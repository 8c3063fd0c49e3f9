"""A sweep file with every file that it names, checked without a call; all problems at once."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from typing import Any

from optimize_eval.base.errors import DataError, Problem, UsageError
from optimize_eval.base.evaluator import EvaluatorSpec
from optimize_eval.base.protocol import ScoreRange
from optimize_eval.config.sweep_files import KeyPlace, Sweep, read_sweep
from optimize_eval.data.candidates import Candidate, CandidatePath, field_candidates, load_candidates
from optimize_eval.data.datasets import MAX_RECORDS, ParsedFile, read_dataset
from optimize_eval.evaluators.kinds import kind_of
from optimize_eval.findings.gates import check_gap_reachable, check_reachable
from optimize_eval.preflight.data_files import CheckedFile, of_reading
from optimize_eval.preflight.overlapping import with_leaks
from optimize_eval.preflight.prompted import check_prompted
from optimize_eval.run.splits import SplitSource, check_fields, check_labels
from optimize_eval.store.manifest import KEEP, LEAKS

SPLITS = {"dataset": "train", "valset": "val", "testset": "test"}


def check_sweep(path: str) -> list[CheckedFile]:
    """Check a sweep file and what it names: datasets, candidates, prompts, programs, models."""
    sweep, problems = read_sweep(path)
    most = None if {"limit", "sample"} & sweep.options.keys() else MAX_RECORDS
    readings = {key: read_dataset(sweep.options[key], most=most) for key in SPLITS if key in sweep.options}
    sources = [_source(SPLITS[key], reading) for key, reading in readings.items()]
    listed = [_loaded(one) for one in sweep.candidates]
    prompted = check_prompted(sweep, sources)
    candidates, wrong = _together(sweep, listed)
    problems += [
        *wrong,
        *_missing(sweep),
        *_idle_gates(sweep),
        *prompted.problems,
        *_between(sweep, sources, candidates or [*prompted.prompts]),
    ]
    return [
        CheckedFile(path=path, kind="sweep", count=len(sweep.entries), problems=_in_order(problems)),
        *with_leaks(
            [replace(of_reading(one), split=SPLITS[key]) for key, one in readings.items()],
            keeps_leaks=sweep.options.get(LEAKS) == KEEP,
        ),
        *(
            CheckedFile(path=name, kind="candidates", count=len(found), problems=wrong)
            for name, found, wrong in listed
        ),
        *prompted.files,
    ]


def _in_order(problems: Iterable[Problem]) -> tuple[Problem, ...]:
    return tuple(sorted(problems, key=lambda problem: problem.line or 0))


def _source(split: str, reading: ParsedFile) -> SplitSource:
    return SplitSource(name=split, file=reading.path, examples=reading.examples)


def _together(
    sweep: Sweep, listed: Sequence[tuple[str, Sequence[Candidate], Sequence[Problem]]]
) -> tuple[list[Candidate], tuple[Problem, ...]]:
    """Load all candidates as a run does, which gives them their names."""
    if any(problems for *_, problems in listed):
        return [one for _, candidates, _ in listed for one in candidates], ()
    try:
        return [*load_candidates(sweep.candidates)], ()
    except UsageError as error:
        return [], (sweep.problem(KeyPlace("run", 0, "candidates"), error.message, "bad_candidate"),)


def _loaded(named: CandidatePath) -> tuple[str, tuple[Candidate, ...], tuple[Problem, ...]]:
    """Load what one pattern or list names, by itself."""
    try:
        return named.path, load_candidates([named]), ()
    except DataError as error:
        return named.path, (), error.problems
    except UsageError as error:
        return named.path, (), (Problem(path=named.path, rule="no_candidate", reason=error.message),)


def _missing(sweep: Sweep) -> Iterator[Problem]:
    """Look for the program of each evaluator, its folder and the script that it runs."""
    for entry, spec in zip(sweep.entries, sweep.specs(EvaluatorSpec(), {}), strict=True):
        kind = kind_of(spec)
        if fault := kind.missing(spec):
            where = KeyPlace("evaluator", entry.number, next(iter(kind.targets())))
            yield sweep.problem(where, f"{spec.name}: {fault}", "no_program")


def _idle_gates(sweep: Sweep) -> Iterator[Problem]:
    """Look for gates that can never be met, or never be missed."""
    options = sweep.options
    specs = sweep.specs(EvaluatorSpec(score_range=ScoreRange(options.get("score_range", "unit"))), {})
    for text in options.get("fail_under", ()):
        name, _, least = text.rpartition("=")
        of = max(
            (spec for spec in specs if f"{name}@".startswith(f"{spec.name}@")), key=_length, default=None
        )
        if of and of.score_range is ScoreRange.UNIT:
            yield from _problems(sweep, "fail_under", check_reachable, text, float(least), table="gates")
    if specs and "max_gap" in options:
        ranges = [spec.score_range for spec in specs]
        yield from _problems(sweep, "max_gap", check_gap_reachable, options["max_gap"], ranges, table="gates")


def _length(spec: EvaluatorSpec) -> int:
    return len(spec.name)


def _between(sweep: Sweep, sources: list[SplitSource], candidates: list[Candidate]) -> Iterator[Problem]:
    """Check what has to fit together: baseline and candidates, fields and labels and examples."""
    options = sweep.options
    chosen = field_candidates(options["candidate_fields"]) if "candidate_fields" in options else candidates
    names = [candidate.name for candidate in chosen]
    if names and options.get("baseline", names[0]) not in names:
        where, hint = KeyPlace("run", 0, "baseline"), ", ".join(names[:20])
        yield sweep.problem(
            where, f"baseline: no candidate is called {options['baseline']!r}: there are {hint}"
        )
    usable = [source for source in sources if source.examples]
    for source in usable:
        yield from _problems(
            sweep, "candidate_fields", check_fields, source, options.get("candidate_fields", ())
        )
    labels = options.get("cluster_by"), options.get("group_by", ())
    if usable:
        yield from _problems(sweep, "group_by" if labels[1] else "cluster_by", check_labels, usable, *labels)


def _problems(sweep: Sweep, key: str, check: Any, *arguments: Any, table: str = "run") -> Iterator[Problem]:
    try:
        check(*arguments)
    except DataError as error:
        yield from error.problems
    except UsageError as error:
        yield sweep.problem(KeyPlace(table, 0, key), f"{key}: {error.message}")
