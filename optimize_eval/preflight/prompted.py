"""The prompts and models of a sweep file, checked without a call: what `run` would refuse."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from optimize_eval.base.errors import DataError, Problem, UsageError
from optimize_eval.base.evaluator import EvaluatorSpec
from optimize_eval.base.frozen import frozen
from optimize_eval.config.model_tables import load_models
from optimize_eval.config.prompts import NAMES, check_prompting
from optimize_eval.config.sweep_files import SUFFIX, KeyPlace, Sweep
from optimize_eval.data.candidates import Candidate
from optimize_eval.data.selection import parse_selection
from optimize_eval.evaluators.kinds import kind_of
from optimize_eval.evaluators.task_kind import task_spec
from optimize_eval.models.model_kinds import CMD, Tasks, parse_model, program_spec, tasks_of
from optimize_eval.preflight.data_files import CheckedFile
from optimize_eval.run.splits import SplitSource, choose
from optimize_eval.tasks.of_replies import extraction_of
from optimize_eval.tasks.prompts import Where, check_prompts, load_prompts
from optimize_eval.tasks.templates import hosted


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
        loaded = [_loaded(pattern, sweep.options.get("system"), where) for pattern in patterns]
    finally:
        hosted.close()
    return CheckedPrompts(
        files=tuple(file for file, _ in loaded),
        prompts=tuple(prompt for _, prompts in loaded for prompt in prompts),
        problems=(*_contradictions(sweep, patterns), *_models(sweep)),
    )


def _examples(options: Mapping[str, Any], sources: Iterable[SplitSource]) -> list[Where] | None:
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
        for example in choose(examples, split=name, recorded=(), **how)
    ]


def _loaded(
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
            fault = "" if text in sweep.models else _missing(text, how)
        except UsageError as error:
            yield sweep.problem(where, f"{error.message}: {error.hint}")
        else:
            if fault:
                yield sweep.problem(where, f"{text}: {fault}", "no_program")


def _missing(text: str, how: EvaluatorSpec) -> str:
    if text.endswith(SUFFIX):
        load_models(text)
        return ""
    spec = task_spec(text, (), how, Tasks())
    named = parse_model(tasks_of(spec).model)
    if named.kind != CMD:
        return ""
    program = program_spec(named.rest, spec)
    return kind_of(program).missing(program)
