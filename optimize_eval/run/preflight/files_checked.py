"""A sweep file or a task in YAML checked with every file that it names, without a call."""

import os
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

from optimize_eval.base.checks import demand_behind
from optimize_eval.base.documents import JsonMapping
from optimize_eval.base.errors import DataError, EvaluationError, Problem, UsageError
from optimize_eval.base.evaluator import EvaluatorSpec
from optimize_eval.base.frozen import frozen
from optimize_eval.base.protocol import ScoreRange
from optimize_eval.config.model_tables import load_models
from optimize_eval.config.prompts import NAMES, check_prompting
from optimize_eval.config.sweep_files import KeyPlace, Sweep, evaluator_keys, read_sweep
from optimize_eval.config.values import SUFFIX
from optimize_eval.data.candidates import Candidate, CandidatePath, field_candidates, load_candidates
from optimize_eval.data.datasets import MAX_RECORDS, ParsedFile, read_dataset
from optimize_eval.data.example import Example
from optimize_eval.data.selection import parse_selection
from optimize_eval.evaluators.kinds import check_examples, kind_of, parse_evaluator
from optimize_eval.findings.gates import check_gap_reachable, check_reachable
from optimize_eval.models.model_kinds import ModelSpec, program_of
from optimize_eval.run.preflight.data_files import CheckedFile, has_checks, of_reading, with_leaks
from optimize_eval.run.prompting import model_of
from optimize_eval.run.splits import SplitSource, check_fields, check_labels, choose
from optimize_eval.store.run_document import KEEP, LEAKS
from optimize_eval.tasks.of_replies import extraction_of
from optimize_eval.tasks.prompts import Where, check_prompts, load_prompts
from optimize_eval.tasks.templates import hosted
from optimize_eval.tasks.yaml.loading import check_task

_CHECKS = "@checks"
TASK_YAML = "task_yaml"


def check_definition(path: str, folder: str = "") -> CheckedFile:
    """Check a task's file, which may be one of a folder that was named."""
    parent = os.path.dirname(path)  # noqa: PTH120  as it is written
    checked = check_task(path, evaluator_keys=partial(evaluator_keys, parent), folder=folder)
    return CheckedFile(
        path=path,
        kind=TASK_YAML,
        count=int(not checked.problems),
        problems=tuple(checked.problems),
        notes=tuple(checked.notes),
        ids=() if checked.problems else (checked.key,),
    )


def with_checks(checked: CheckedFile) -> CheckedFile:
    """Note what the shipped @checks cannot make of the rows' checks; another evaluator may read them."""
    rows = [(checked.path, row) for row in checked.rows if has_checks(row)]
    wrong = _wrong_examples(parse_evaluator(_CHECKS, EvaluatorSpec()), rows)
    notes = tuple(
        replace(problem, field="checks", reason=f"{_CHECKS} cannot make this: {problem.reason}")
        for problem in wrong
    )
    return replace(checked, notes=(*checked.notes, *notes))


def _wrong_examples(spec: EvaluatorSpec, examples: Sequence[tuple[str, Example]]) -> Sequence[Problem]:
    try:
        check_examples(spec, examples)
    except DataError as error:
        return error.problems
    except EvaluationError:  # what may be wrong with the evaluator is said elsewhere
        return ()
    return ()


@frozen
class CheckedPrompts:
    """What each pattern of prompts names, the prompts of all, and what is wrong beside them."""

    files: tuple[CheckedFile, ...]
    prompts: tuple[Candidate, ...]
    problems: tuple[Problem, ...]


def check_prompted(sweep: Sweep, sources: Iterable[SplitSource]) -> CheckedPrompts:
    """Load the prompts, render them over the examples, and look for the models."""
    patterns = sweep.options.get("prompts", ())
    where = _examples(sweep.options, sources) if patterns else None
    try:
        loaded = [_loaded_prompts(pattern, sweep.options.get("system"), where) for pattern in patterns]
    finally:
        hosted.close()
    return CheckedPrompts(
        files=tuple(file for file, _ in loaded),
        prompts=tuple(prompt for _, prompts in loaded for prompt in prompts),
        problems=(*_contradictions(sweep, patterns), *_models(sweep)),
    )


def _examples(options: JsonMapping, sources: Iterable[SplitSource]) -> list[Where] | None:
    """List the examples that a run takes; None where a file of them has to be fixed first."""
    every = {source.name: source for source in sources}
    if any(not source.examples for source in every.values()):
        return None
    try:
        selection = parse_selection(options.get("filters", ()), options.get("ids", ()))
        selected = selection.of({name: source.examples for name, source in every.items()})
    except UsageError:
        return None
    how = {"limit": options.get("limit"), "sample": options.get("sample"), "seed": options.get("seed", 0)}
    return [
        Where(every[name].file, example)
        for name, examples in selected.items()
        if examples
        for example in choose(examples, split=name, **how)
    ]


def _loaded_prompts(
    pattern: str, system: str | None, where: Sequence[Where] | None
) -> tuple[CheckedFile, tuple[Candidate, ...]]:
    problems: Sequence[Problem] = ()
    try:
        prompts = load_prompts([pattern], system)
    except DataError as error:
        return CheckedFile(path=pattern, kind="prompts", count=0, problems=tuple(error.problems)), ()
    except UsageError as error:
        problem = Problem(path=pattern, rule="no_prompt", reason=error.message)
        return CheckedFile(path=pattern, kind="prompts", count=0, problems=(problem,)), ()
    try:
        if where is not None:
            check_prompts(prompts, where)
    except DataError as error:
        problems = error.problems
    file = CheckedFile(path=pattern, kind="prompts", count=len(prompts), problems=tuple(problems))
    return file, tuple(prompt.candidate for prompt in prompts)


def _contradictions(sweep: Sweep, patterns: Sequence[str]) -> Iterator[Problem]:
    """Check what does not go together, as `run` does."""
    options = sweep.options
    models = options.get("models") or ([*sweep.models] if patterns else ())
    others = (*sweep.candidates, *options.get("candidate_fields", ()))
    try:
        check_prompting(
            prompts=patterns,
            models=models,
            others=others,
            task_models=options.get("task_models", ()),
            system=options.get("system"),
            extract=options.get("extract"),
            words=NAMES,
        )
        extraction_of(options.get("extract") or "")
    except UsageError as error:
        key = next((key for key in ("prompts", "models", "system", "extract") if key in options), "")
        yield sweep.problem(KeyPlace("run", 0, key), f"{error.message}: {error.hint}")


def _models(sweep: Sweep) -> Iterator[Problem]:
    """Look for what each model names, also for the script that a program runs."""
    how = EvaluatorSpec(cwd=str(Path(sweep.path).parent))
    for text in sweep.options.get("models", ()):
        where = KeyPlace("run", 0, "models")
        try:
            fault = "" if text in sweep.models else _missing_models(text, how)
        except UsageError as error:
            yield sweep.problem(where, f"{error.message}: {error.hint}")
        else:
            if fault:
                yield sweep.problem(where, f"{text}: {fault}", "no_program")


def _missing_models(text: str, how: EvaluatorSpec) -> str:
    if text.endswith(SUFFIX):
        load_models(text)
        return ""
    program = program_of(model_of(text, ModelSpec(how=how)))
    return kind_of(program).missing(program) if program else ""


SPLITS = {"dataset": "train", "valset": "val", "testset": "test"}


def check_sweep(path: str) -> list[CheckedFile]:
    """Check a sweep file and what it names: datasets, candidates, prompts, programs, models."""
    sweep, problems = read_sweep(path)
    most = None if {"limit", "sample"} & sweep.options.keys() else MAX_RECORDS
    readings = {key: read_dataset(sweep.options[key], most=most) for key in SPLITS if key in sweep.options}
    sources = [_source(SPLITS[key], reading) for key, reading in readings.items()]
    listed = [_load(candidate) for candidate in sweep.candidates]
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
            [_of_sweep(sweep, key, reading) for key, reading in readings.items()],
            keeps_leaks=sweep.options.get(LEAKS) == KEEP,
        ),
        *(
            CheckedFile(path=name, kind="candidates", count=len(loaded), problems=wrong)
            for name, loaded, wrong in listed
        ),
        *prompted.files,
    ]


def _of_sweep(sweep: Sweep, key: str, reading: ParsedFile) -> CheckedFile:
    """Check a dataset as what the sweep's evaluators can score on, too."""
    checked = replace(of_reading(reading), split=SPLITS[key])
    examples = [(reading.path, row) for row in checked.rows]
    specs = [spec for spec in sweep.specs(EvaluatorSpec(), {}) if not kind_of(spec).missing(spec)]
    wrong = [problem for spec in specs for problem in _wrong_examples(spec, examples)]
    return replace(checked, problems=(*checked.problems, *wrong))


def _in_order(problems: Iterable[Problem]) -> tuple[Problem, ...]:
    return tuple(sorted(problems, key=lambda problem: problem.line or 0))


def _source(split: str, reading: ParsedFile) -> SplitSource:
    return SplitSource(name=split, file=reading.path, examples=reading.examples)


def _together(
    sweep: Sweep, listed: Sequence[tuple[str, Sequence[Candidate], Sequence[Problem]]]
) -> tuple[list[Candidate], tuple[Problem, ...]]:
    """Load all candidates as a run does, which gives them their names."""
    if any(problems for *_, problems in listed):
        return [candidate for _, candidates, _ in listed for candidate in candidates], ()
    try:
        return [*load_candidates(sweep.candidates)], ()
    except UsageError as error:
        return [], (sweep.problem(KeyPlace("run", 0, "candidates"), error.message, "bad_candidate"),)


def _load(named: CandidatePath) -> tuple[str, tuple[Candidate, ...], tuple[Problem, ...]]:
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
        is_of_calls = any(demand_behind(spec.name, name) for spec in specs)
        if (of and of.score_range is ScoreRange.UNIT) or (is_of_calls and not of):
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
