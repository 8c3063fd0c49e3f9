"""What a bench of tasks in YAML loads before the first call: the tasks, one or a suite, and their data."""

import hashlib
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from difflib import get_close_matches
from functools import partial
from pathlib import Path

from optimize_eval.base import strict_json
from optimize_eval.base.errors import DataError, OptimizeEvalError, Problem, UsageError
from optimize_eval.base.evaluator import EvaluatorSpec
from optimize_eval.base.frozen import frozen
from optimize_eval.data.datasets import copies_of, load_examples
from optimize_eval.data.example import Example
from optimize_eval.data.selection import Selection
from optimize_eval.findings.wording import count
from optimize_eval.models.model_kinds import ModelSpec
from optimize_eval.run.bench_files import FoundTask
from optimize_eval.run.defining import check_columns, keys_of_evaluators, read_task, scorers_of
from optimize_eval.run.host import Say
from optimize_eval.run.inputs import check_size, note_copies
from optimize_eval.run.prompting import with_samples
from optimize_eval.run.splits import SplitSource, choose
from optimize_eval.tasks.definition import Entity, TaskDefinition
from optimize_eval.tasks.targets import DIALECT, Given, samples_of
from optimize_eval.tasks.task_files import BoardFile, BoardItem
from optimize_eval.tasks.yaml.loading import Checked, check_task
from optimize_eval.tasks.yaml.task_data import Dataset, dataset_of, left_out

_MOST_TAGS = 10


def read_suite(files: Sequence[FoundTask], given: Given, tags: Sequence[str]) -> list[TaskDefinition]:
    """Read tasks, or those that have one of the tags; raises DataError with all faults."""
    if not tags and (len(files) == 1 or not given.config):
        return _read([(file.path, replace(given, folder=file.folder)) for file in files])
    checked = {file: _checked(file) for file in files}
    if wrong := [problem for one in checked.values() for problem in one.problems]:
        raise DataError(wrong)
    _check_tags(tags, checked.values())
    chosen = {file: one for file, one in checked.items() if not tags or set(tags) & set(one.tags)}
    return _read(_given_each(chosen, given))


def _checked(file: FoundTask) -> Checked:
    keys = partial(keys_of_evaluators, str(Path(file.path).parent))
    return check_task(file.path, evaluator_keys=keys, folder=file.folder)


def _read(wanted: Iterable[tuple[str, Given]]) -> list[TaskDefinition]:
    problems: list[Problem] = []
    tasks: list[TaskDefinition] = []
    for path, given in wanted:
        try:
            tasks.append(read_task(Path(path), given))
        except DataError as error:
            problems += error.problems
    if problems:
        raise DataError(problems)
    return tasks


def _check_tags(tags: Sequence[str], tasks: Iterable[Checked]) -> None:
    known = list(dict.fromkeys(tag for task in tasks for tag in task.tags))
    there = f"there are {', '.join(known[:_MOST_TAGS])}" if known else "omit --tag: no task has any"
    for tag in tags:
        if tag not in known:
            close = get_close_matches(tag, known, n=1)
            raise UsageError(
                f"no task has the tag {tag!r}", hint=f"did you mean {close[0]}?" if close else there
            )


def _given_each(tasks: Mapping[FoundTask, Checked], given: Given) -> list[tuple[str, Given]]:
    """Give each task the parameters that it declares, and to all what none does: each then says so."""
    every = {key for task in tasks.values() for key in task.parameters}
    return [
        (
            file.path,
            replace(
                given,
                folder=file.folder,
                config={
                    key: value
                    for key, value in given.config.items()
                    if key in task.parameters or key not in every
                },
            ),
        )
        for file, task in tasks.items()
    ]


@frozen
class Part:
    """How much of each dataset takes part."""

    selection: Selection
    limit: int | None
    sample: int | None
    seed: int


@frozen
class BenchedTask:
    """A task with its samples, the evaluators of its scorers, and what a board knows of it."""

    definition: TaskDefinition
    source: SplitSource | None  # None: of a system, which has no rows
    scorers: tuple[EvaluatorSpec, ...]  # the first is the one that ranks
    file: BoardFile


def load_defined(
    files: Sequence[FoundTask],
    how: EvaluatorSpec,
    given: Given,
    part: Part,
    say: Say,
    *,
    tags: Sequence[str] = (),
    models: tuple[ModelSpec, ...] = (),
) -> list[BenchedTask]:
    """Load tasks with their samples, maybe those of some tags alone; raises DataError with all faults."""
    tasks = read_suite(files, given, tags)
    _check_keys(tasks)
    for task in tasks:
        _check_benched(task)
    benched = [_benched(task, how, given, part, say, models) for task in tasks]
    _check_data(tasks, given)
    return benched


def _check_keys(tasks: Sequence[TaskDefinition]) -> None:
    seen: dict[str, str] = {}
    for task in tasks:
        if (first := seen.setdefault(task.key, task.path)) != task.path:
            raise UsageError(
                f"{task.path} and {first} are both called {task.key}", hint="give each task a key of its own"
            )


def _check_data(tasks: Sequence[TaskDefinition], given: Given) -> None:
    """Refuse rows for a dataset that no task has: others would be scored in their place."""
    known = [task.dataset for task in tasks if task.dataset]
    unknown = [key for key in given.data if key not in known]
    if unknown and len(known) == len(tasks):
        close = get_close_matches(unknown[0], known, n=1)
        meant = f"did you mean {close[0]}?" if close else f"its tasks have {', '.join(dict.fromkeys(known))}"
        raise UsageError(f"--data {unknown[0]}: no task has this dataset", hint=meant)


def _check_benched(task: TaskDefinition) -> None:
    if task.names_candidate:
        raise UsageError(
            f"the task {task.key} holds {{{{ candidate }}}}: it compares candidates, not models",
            hint=f"optimize-eval run -e task:{task.path} --candidate FILE --model MODEL --dataset FILE",
        )


def _benched(
    task: TaskDefinition,
    how: EvaluatorSpec,
    given: Given,
    part: Part,
    say: Say,
    models: tuple[ModelSpec, ...],
) -> BenchedTask:
    source = None if task.entity is Entity.SYSTEM else _source(task, given, part, say)
    specs = scorers_of(task, how, given, say, models=models)
    scorers = with_samples(specs, [source] if source else [])
    check_columns(scorers, [source] if source else [], say)
    return BenchedTask(definition=task, source=source, scorers=scorers, file=_file(task, source, scorers[0]))


def _source(task: TaskDefinition, given: Given, part: Part, say: Say) -> SplitSource:
    """Read a task's samples, without those that its dataset's filters leave out, and choose among them."""
    try:
        dataset = dataset_of(task, given.data)
        every = load_examples([str(dataset.path)], most=None)[0]
    except DataError:
        raise
    except OptimizeEvalError as error:
        raise UsageError(f"{task.path}: {error.message}", hint=error.hint) from None
    out = left_out(dataset, every)
    if out:
        rows = f"{len(out):,} of {len(every):,} rows"
        say(f"note: {dataset.path}: {rows} are left out by {_filters_of(dataset, out)}")
    there = {task.key: [example for example in every if example.line not in out]}
    selected = part.selection.of(there)
    for note in part.selection.notes({task.key: str(dataset.path)}, there, selected):
        say(f"note: {note}")
    taken = choose(selected[task.key], split=task.key, limit=part.limit, sample=part.sample, seed=part.seed)
    if not taken:
        raise UsageError(f"{dataset.path}: no row takes part", hint="see the filters of the dataset")
    source = SplitSource(name=task.key, file=str(dataset.path), examples=taken)
    check_size(source)
    note_copies(source, copies_of(source.examples), say)
    return source


def _filters_of(dataset: Dataset, out: dict[int, str]) -> str:
    """Tell which filters do not hold, each of how many rows."""
    where = f"{dataset.described}: "
    counts = Counter(words.removeprefix(where) for words in out.values())
    return where + ", ".join(f"{words} ({count(many, 'row')})" for words, many in counts.items())


def _file(task: TaskDefinition, source: SplitSource | None, scorer: EvaluatorSpec) -> BoardFile:
    """Give what a board knows of a task."""
    data = Path(task.path).read_bytes()
    return BoardFile(
        path=task.path,
        name=task.key,
        dialect=DIALECT,
        sha256=hashlib.sha256(data).hexdigest(),
        tasks=tuple(_items(source, scorer)) if source else (),
    )


def _items(source: SplitSource, scorer: EvaluatorSpec) -> Iterator[BoardItem]:
    target = samples_of(scorer)
    metric = target.scorer.key if target else ""
    for example in source.examples:
        yield BoardItem(id=_id_of(example), line=example.line, metric=metric)


def _id_of(example: Example) -> str:
    value = example.value.get("id", example.line)
    return value if isinstance(value, str) else strict_json.dumps(value).decode()
