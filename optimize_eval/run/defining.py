"""Tasks in YAML as a session runs them: each is read, and each of its scorers is an evaluator.

Beside what is called, run.json keeps of tasks their metrics and rules, and what their code runs in: each way
that a session had, in their order, found out before the first call. Another way is no other evaluator: what
code may do is no part of what it computes, and code that does what it may not fails. So scores stay, and who
reads them is told.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from difflib import get_close_matches
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from optimize_eval.base.documents import JsonDict, JsonMapping
from optimize_eval.base.errors import DataError, UsageError
from optimize_eval.base.evaluator import EvaluatorSpec
from optimize_eval.data.foreign_files import name_tools
from optimize_eval.evaluators import command_kind
from optimize_eval.evaluators.kinds import SERVED_RETRIES, check_examples, named_apart, parse_evaluator
from optimize_eval.models.model_kinds import ModelSpec
from optimize_eval.run.host import Say
from optimize_eval.run.prompting import model_specs
from optimize_eval.run.splits import SplitSource
from optimize_eval.store.opened_run import StoredRun
from optimize_eval.store.run_json import read_document, write_document
from optimize_eval.tasks.targets import (
    CODE,
    TASKS,
    Given,
    RecordTask,
    SampleTask,
    WrittenTask,
    definitions_in,
    has_code,
    model_keys,
    samples_of,
    ways_kept,
    with_task,
)

if TYPE_CHECKING:
    from optimize_eval.base.checks import Keys
    from optimize_eval.run.prompting import Prompting
    from optimize_eval.tasks.code import Hosting
    from optimize_eval.tasks.definition import Scorer, TaskDefinition


_CANDIDATE = "{{ candidate }}"


def scorers_among(
    specs: tuple[EvaluatorSpec, ...], given: Given, say: Say
) -> tuple[tuple[EvaluatorSpec, ...], bool]:
    """Read the tasks in YAML among evaluators, and say whether there are any; raises DataError."""
    if any(isinstance(spec.target, WrittenTask) for spec in specs):
        return expanded(specs, given, say), True
    if given.is_something:
        raise UsageError(
            "--config, --config-file, --model-key and --max-turns are for tasks in YAML, and none is named",
            hint="name one: -e task:task.yaml",
        )
    check_sandbox(specs, given)
    return tuple(at_level(spec, given.sandbox) for spec in specs), False


def expanded(specs: Iterable[EvaluatorSpec], given: Given, say: Say) -> tuple[EvaluatorSpec, ...]:
    """Put an evaluator for each scorer in the place of each task in YAML; raises DataError."""
    return named_apart(one for spec in specs for one in _scorers_of(spec, given, say))


def check_sandbox(specs: Iterable[EvaluatorSpec], given: Given) -> None:
    """Refuse a sandbox where nothing that is named would run in it."""
    if given.sandbox and not any(runs_code(spec) or isinstance(spec.target, WrittenTask) for spec in specs):
        raise UsageError(
            "--sandbox is for code of tasks in YAML and for @code_exec, and none is named",
            hint="omit it: an evaluator of yours runs with your rights",
        )


def named_scorers(
    spec: EvaluatorSpec, name: str | None, given: Given, say: Say
) -> Iterator[tuple[EvaluatorSpec, str | None]]:
    """Give an evaluator, or those of a task in YAML, each with its name where it was given one."""
    for one in _scorers_of(spec, given, say):
        yield one, None if name is None else one.name


def _scorers_of(spec: EvaluatorSpec, given: Given, say: Say) -> Iterator[EvaluatorSpec]:
    written = spec.target
    if not isinstance(written, WrittenTask):
        yield at_level(spec, given.sandbox)
        return
    known = written.given.over(given)
    task = read_task(Path(spec.cwd or ".", written.path), known)
    name = task.key if spec.name == Path(written.path).stem else spec.name
    yield from scorers_of(task, spec, known, say, name=name)


def read_task(path: Path, given: Given) -> "TaskDefinition":
    """Read a task with its parameters; raises DataError with all that is wrong, or whose file it is."""
    from optimize_eval.tasks.yaml.loading import load_task  # noqa: PLC0415  it reads YAML

    keys = partial(keys_of_evaluators, str(path.parent))
    try:
        return load_task(str(path), given.config, evaluator_keys=keys, folder=given.folder)
    except DataError as error:
        raise name_tools(error) from None


def keys_of_evaluators(folder: str) -> "Keys":
    """List what a scorer that is any evaluator takes: few tasks have one."""
    from optimize_eval.config.sweep_files import evaluator_keys  # noqa: PLC0415  it loads all kinds

    return evaluator_keys(folder)


def scorers_of(
    task: "TaskDefinition",
    spec: EvaluatorSpec,
    given: Given,
    say: Say,
    *,
    name: str = "",
    models: tuple[ModelSpec, ...] = (),
    are_called: bool = True,
) -> Iterator[EvaluatorSpec]:
    """Make the evaluators of a task's scorers, named by the task where it has no `name`.

    Verdicts are about the first. `models` are those under test, where they are known; scorers that are not
    called need no judge.
    """
    if not task.scorers:
        raise UsageError(f"the task {task.key} has no scorer", hint="give it one: see docs/tasks.md")
    outputs = models[0].outputs if models else ""
    keyed = _keyed(
        task, ModelSpec(how=spec.change(target=None), outputs=outputs), given, say, has_judges=are_called
    )
    sandbox = given.sandbox if has_code((task.solver, task.scorers)) else ""
    for scorer in sorted(task.scorers, key=lambda scorer: not scorer.ranks):
        program = _program_of(scorer, task.path, spec, given.sandbox)
        target = SampleTask(
            task=task,
            scorer=scorer,
            models=models,
            keyed=keyed,
            program=program,
            sandbox=sandbox,
            max_turns=given.max_turns,
        )
        retries = SERVED_RETRIES if spec.retries is None and any(model_keys(scorer.how)) else spec.retries
        yield replace(
            spec,
            target=target,
            name=f"{name or task.key}.{scorer.key}",
            text=spec.text or f"task:{task.path}",
            score_range=scorer.score_range,
            retries=retries,
        )


def _program_of(scorer: "Scorer", path: str, defaults: EvaluatorSpec, sandbox: str) -> EvaluatorSpec | None:
    """Make the evaluator that a scorer is; programs that a task names are beside it."""
    keys = scorer.evaluator_keys
    if keys is None:
        return None
    folder = str(Path(path).parent)
    if scorer.is_shipped:
        name, target = command_kind.shipped_program(keys["use"])
        return EvaluatorSpec(
            name=name,
            text=keys["use"],
            target=target,
            timeout=defaults.timeout,
            cwd=folder,
            retries=0,
            manners=defaults.manners,
        )
    start = EvaluatorSpec(timeout=defaults.timeout, cwd=folder, manners=defaults.manners)
    if keys.keys() == {"use"}:
        return at_level(parse_evaluator(keys["use"], start), sandbox)
    from optimize_eval.config.sweep_files import read_evaluator, spec_of  # noqa: PLC0415  few need it

    return at_level(spec_of(read_evaluator(keys, path), start, {}), sandbox)


_THEIRS = "$"  # between a provider and its model, whose dots are gone


def model_text(key: str, given: Mapping[str, str]) -> tuple[str, str]:
    """Find the model that a key stands for, and what to say of how it was found.

    >>> model_text("judge", {"judge": "openai/gpt-4o-mini"})
    ('openai/gpt-4o-mini', '')
    >>> model_text("openai$gpt-4-1-nano", {})[0]
    'openai/gpt-4-1-nano'
    """
    if key in given:
        return given[key], ""
    provider, theirs, name = key.partition(_THEIRS)
    if theirs and provider and name:
        text = f"{provider}/{name}"
        note = f"the model {key} is called {text}: if its name has dots, --model-key '{key}={provider}/NAME'"
        return text, note
    if "/" in key or ":" in key:
        return key, ""
    close = get_close_matches(key, given, n=1)
    instead = f", not {close[0]}=…" if close else ""
    hint = f"say which: --model-key {key}=PROVIDER/MODEL{instead}"
    raise UsageError(f"no model is given for the key {key!r}", hint=hint)


def _keyed(
    task: "TaskDefinition", usual: ModelSpec, given: Given, say: Say, *, has_judges: bool
) -> Mapping[str, ModelSpec]:
    """Make the models that a task names by keys: its solver's, and its scorers' where these are called."""
    found = {}
    scorers = task.scorers if has_judges else ()
    for key in dict.fromkeys((*model_keys(task.solver), *model_keys(scorers))):
        text, note = model_text(key, given.model_keys)
        if note:
            say(f"note: {note}")
        found[key] = model_specs([text], usual)[0]
    return found


def unranked_among(specs: Iterable[EvaluatorSpec]) -> list[str]:
    """Name the scorers of tasks in YAML that rank nobody: quality checks, and those that give labels."""
    return [spec.name for spec in specs if (target := samples_of(spec)) and not target.scorer.ranks]


def check_definitions(
    specs: Sequence[EvaluatorSpec],
    named: Sequence[object],
    prompting: "Prompting | None",
    sources: Sequence[SplitSource],
) -> None:
    """Refuse what does not fit the tasks in YAML among evaluators."""
    for task in definitions_in(specs):
        _check_models(task, prompting)
        _check_candidates(task, named)
        if not sources:
            raise UsageError(
                f"the task {task.key} is about rows, and none are named", hint="name them: --dataset FILE"
            )
    check_level(specs)


def _check_models(task: "TaskDefinition", prompting: "Prompting | None") -> None:
    if task.entity == "system":
        raise UsageError(f"the task {task.key} is about no samples", hint=f"optimize-eval bench {task.path}")
    if prompting and prompting.prompts:
        raise UsageError(f"the task {task.key} says itself what models are sent", hint="omit --prompt")
    if task.calls_model and not prompting:
        raise UsageError(
            f"the task {task.key} is about a model, and none is named",
            hint="name one with --model: cmd:./model, openai/gpt-4o-mini",
        )
    if prompting and not task.calls_model:
        raise UsageError(f"the task {task.key} calls no model", hint="omit --model, or run it apart")


def _check_candidates(task: "TaskDefinition", named: Sequence[object]) -> None:
    """Refuse candidates that a task never looks at, and a task that is given none."""
    if task.names_candidate and not named:
        raise UsageError(
            f"the task {task.key} holds {_CANDIDATE}, and no candidate is named",
            hint="name what is put there: --candidate 'prompts/*.txt'",
        )
    if named and not task.names_candidate:
        raise UsageError(
            f"no text of the task {task.key} holds {_CANDIDATE}: each candidate would be the same",
            hint=f"write {_CANDIDATE} where the candidate belongs, or rank models: optimize-eval bench",
        )


_WHOSE = "no row that takes part"


def check_columns(specs: Iterable[EvaluatorSpec], sources: Sequence[SplitSource], say: Say) -> None:
    """Refuse a task for which each sample would fail, and tell of columns that may do without.

    Raises DataError with every place that names a column which no row has, or with the examples that an
    evaluator can score no candidate on.
    """
    specs = tuple(specs)
    examples = [(source.file, example) for source in sources for example in source.examples]
    for spec in specs:
        check_examples(spec, examples)
    tasks = definitions_in(specs)
    if not tasks:
        return
    from optimize_eval.tasks.yaml.task_data import absent  # noqa: PLC0415  most runs have no task in YAML

    rows = [example.value for source in sources for example in source.examples]
    missing = [one for task in tasks for one in absent(task.columns, rows, _WHOSE)]
    if needed := [one.place for one in missing if one.is_needed]:
        raise DataError(needed)
    for one in missing:
        say(f"note: {one.place}")


_RIGHTS: JsonMapping = {"sandbox": "none"}  # of who starts it


def runs_code(spec: EvaluatorSpec) -> bool:
    """Return True if an evaluator runs what models write, by itself or as a metric of tasks in JSONL."""
    metrics = spec.target.metrics if isinstance(spec.target, RecordTask) else (spec,)
    return any(map(command_kind.runs_code, metrics))


def at_level(spec: EvaluatorSpec, sandbox: str) -> EvaluatorSpec:
    """Let it run that in a sandbox of this level; empty: as it says itself."""
    if not isinstance(spec.target, RecordTask):
        return command_kind.at_level(spec, sandbox)
    metrics = tuple(command_kind.at_level(metric, sandbox) for metric in spec.target.metrics)
    return with_task(spec, metrics=metrics)


def level_of(specs: Iterable[EvaluatorSpec]) -> str:
    """Say at which level a session runs tasks' code; empty where it has the user's rights."""
    return next((target.sandbox for target in map(samples_of, specs) if target and target.sandbox), "")


def check_level(specs: Iterable[EvaluatorSpec]) -> None:
    """Refuse a level that this machine cannot keep."""
    if level := level_of(specs):
        _host(level)


def _host(level: str) -> "Hosting":
    """Find out how code runs at a level; raises UsageError where this machine cannot keep it."""
    from optimize_eval.tasks.code import hosting  # noqa: PLC0415  most runs enclose nothing

    return hosting(level)


def with_ways_of(
    run: StoredRun, specs: Iterable[EvaluatorSpec], sources: Mapping[str, Sequence[StoredRun]], say: Say
) -> StoredRun:
    """Let a run keep what the code ran in whose scores it has from others; it is not this session's level."""
    settings = run.document.settings
    own = ways_kept(settings) or [_RIGHTS]
    of_code = [spec.name for spec in specs if _has_code(spec)]
    others = {other.folder: _ways_of(other) for name in of_code for other in sources.get(name, ())}
    ways = [*own]
    for folder, there in others.items():
        if any(way not in own for way in there):
            say(f"note: code ran otherwise in {folder}, of which scores are reused: {_named(there)}")
        ways += [way for way in there if way not in ways]
    if ways == own:
        return run
    changed = {**settings, CODE: ways}
    run = replace(run, document=replace(run.document, settings=changed))
    write_document(run.folder, run.document)
    return run


def _ways_of(run: StoredRun) -> list[JsonMapping]:
    return ways_kept(run.document.settings) or [_RIGHTS]


def _has_code(spec: EvaluatorSpec) -> bool:
    target = samples_of(spec)
    if target is None:
        return False
    return has_code((target.task.solver, target.scorer))


def _named(ways: Sequence[JsonMapping]) -> str:
    return "; ".join("with the user's rights" if way == _RIGHTS else str(way["sandbox"]) for way in ways)


def ways_in(specs: Iterable[EvaluatorSpec], before: JsonMapping, say: Say) -> JsonDict:
    """Make what run.json keeps, beside the settings that it has from `before`.

    Raises UsageError where this machine cannot keep the level.
    """
    level = level_of(specs)
    known = ways_kept(before)
    if not level and not known:
        return {}
    way = _host(level or _RIGHTS["sandbox"]).to_dict()
    for missing in way.get("missing", ()):
        say(f"note: the sandbox of the tasks' code is not whole: {missing}")
    known = known or ([_RIGHTS] if TASKS in before else [])
    return {CODE: [*known, way] if way not in known else [*known]}


def kept_in(specs: Iterable[EvaluatorSpec]) -> JsonDict:
    """Make what run.json keeps of tasks: their metrics and rules, which are no part of what is called."""
    named = [spec for spec in specs if samples_of(spec)]
    if not named:
        return {}
    from optimize_eval.tasks.stored_tasks import kept_tasks, to_dict  # noqa: PLC0415

    return {TASKS: [to_dict(task) for task in kept_tasks(named)]}


def dated_in(folder: Path, kept: JsonMapping, before: JsonMapping) -> JsonDict:
    """Date the rules and metrics of tasks that are others than a run of this folder made scores with."""
    document = read_document(folder) if TASKS in kept and TASKS in before else None
    if document is None or not any(cell.scored for cell in document.cells):
        return {}
    from optimize_eval.tasks.stored_tasks import dated  # noqa: PLC0415  see kept_in

    return {TASKS: dated(before[TASKS], kept[TASKS])}


def rules_of(specs: Iterable[EvaluatorSpec]) -> list[Any]:
    """Write the rules that leave rows out, by tasks that have some."""
    tasks = next(iter(kept_in(specs).values()), ())
    return [task["actions"] for task in tasks if "actions" in task]
