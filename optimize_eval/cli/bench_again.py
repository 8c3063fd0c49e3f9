"""What a bench's models said, scored by another evaluator: for `rescore`, and for `bench -e`.

No model is called: outputs are read from the run's folder, in the place of the models.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

from optimize_eval.cli import output
from optimize_eval.cli.carried_out import Session, session, summarise
from optimize_eval.cli.leaderboards import Board, keep, make_board, path_of, tell
from optimize_eval.connect import task_spec
from optimize_eval.datasets import Example, Reading
from optimize_eval.errors import UsageError
from optimize_eval.protocol import ScoreRange
from optimize_eval.reach import EvaluatorSpec, TaskSpecification
from optimize_eval.run.again import plan_again
from optimize_eval.run.plan import Plan
from optimize_eval.run.rescore import Settled, Wanted, add, is_owed, settle
from optimize_eval.run.runner import Ended, Settings, Status
from optimize_eval.store.folder import OUTPUTS
from optimize_eval.store.manifest import Manifest
from optimize_eval.store.stored import StoredRun, open_stored
from optimize_eval.tasks import TaskFile, load_tasks


class Bench:
    """A bench that is scored by another evaluator: one for each model, which reads what the model said."""

    def __init__(
        self, run: StoredRun, wanted: Sequence[Wanted], files: Sequence[TaskFile] | None = None
    ) -> None:
        """Take the task files, or load them from where they were."""
        if len(wanted) > 1:
            raise UsageError("a bench is rescored by one evaluator at a time", hint="give -e once")
        if wanted[0].spec.score_range is not ScoreRange.UNIT:
            raise UsageError("a leaderboard has scores from 0 to 1", hint="leave --score-range away")
        self._manifest = run.manifest
        self._scorer = wanted[0].spec
        self._files = files or _files_again(run.manifest)
        self._models = list(_apart(run.manifest["evaluators"]))
        self.wanted = [_rescoring(run, model, self._scorer) for model in self._models]

    def readings(self) -> dict[str, Reading | None]:
        """Give tasks as the examples that they were in the run."""
        names = [split["name"] for split in self._manifest["splits"]]
        there = [file for file in self._files if file.tasks]
        return {name: _reading(file) for name, file in zip(names, there, strict=True)}

    def tell(self, run: StoredRun, models: Sequence[str], status: str, *, quiet: bool, as_json: bool) -> None:
        """Make a leaderboard by the new scores, and print it."""
        board = self.board(run, models)
        path = path_of(run.folder, self._scorer.name)
        tell({"": board} if board else {}, path, status, quiet=quiet, as_json=as_json)

    def board(self, run: StoredRun, models: Sequence[str]) -> Board | None:
        """Make a leaderboard by the new scores, and keep it beside the bench's own."""
        name = self._scorer.name
        settings = {**self._manifest["settings"], "scorer": name}
        called = [one["name"] for one in self._models]
        names = dict(zip(models, called, strict=True))
        board = make_board(run, self._files, names, settings=settings, metric=name)
        keep(board, path_of(run.folder, name))
        return board


class Own(NamedTuple):
    """What became of a bench's own metric: its board, and how the session went if there was one."""

    board: Board | None
    done: Session
    plan: Plan | None


def score_by(
    metrics: Sequence[EvaluatorSpec],
    folder: Path,
    files: Sequence[TaskFile],
    settings: Callable[[Plan], Settings],
    *,
    quiet: bool,
) -> dict[str, Own]:
    """Score by further evaluators what the models of a bench said, up to a stop; its folder is locked."""
    scored: dict[str, Own] = {}
    for metric in metrics:
        own = scored[metric.name] = _score_by(metric, folder, files, settings, quiet=quiet)
        if own.done.ended.status in {Status.INTERRUPTED, Status.OUT_OF_TIME}:
            break
    return scored


def _score_by(
    metric: EvaluatorSpec,
    folder: Path,
    files: Sequence[TaskFile],
    settings: Callable[[Plan], Settings],
    *,
    quiet: bool,
) -> Own:
    run = open_stored(folder)
    bench = Bench(run, [Wanted(spec=metric, given=None)], files)
    settled = settle(run, bench.wanted)
    names = [spec.name for spec in settled.specs]
    done, plan = Session(ended=nothing_called(run, settled)), None
    if is_owed(run, settled):
        plan = plan_again(settled.specs, run.manifest, bench.readings(), ())
    run = add(run, settled.additions)
    if plan:
        done = session(plan, run, settings(plan), quiet=quiet)
    summarise(run)
    return Own(bench.board(run, names), done, plan)


def _files_again(manifest: Manifest) -> list[TaskFile]:
    """Load the task files of a bench from where they were, with the tasks that it asked."""
    settings = manifest["settings"]
    paths = (settings.get("paths") or {}).get("splits") or {}
    files = []
    for split in manifest["splits"]:
        path = paths.get(split["name"])
        if path is None:
            raise UsageError(f"run.json does not tell where {split['file']} was", hint="bench it once more")
        file = load_tasks(path, format=settings.get("format"))
        asked = set(split["lines"])
        tasks = tuple(task for task in file.tasks if task.line in asked)
        files.append(replace(file, name=Path(split["name"]).stem, tasks=tasks))
    return files


def _apart(models: Sequence[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    """Give each model once: what one that was given twice said is written down, and scored, once."""
    first: dict[str, str] = {}
    for model in models:
        name = first.setdefault(model["text"], model["name"])
        if name == model["name"]:
            yield model
        else:
            output.say(f"note: {model['name']} is the same model as {name}, which is scored for both")


def _rescoring(run: StoredRun, model: dict[str, Any], scorer: EvaluatorSpec) -> Wanted:
    outputs = (run.folder / OUTPUTS).absolute()
    how = EvaluatorSpec(timeout=scorer.timeout, workers=scorer.workers, retries=scorer.retries)
    task = TaskSpecification(scorer=scorer)
    spec = task_spec(f"replay:{outputs}#{model['text']}", (), how, task)
    return Wanted(spec=replace(spec, name=f"{model['name']}.{scorer.name}"), given=None)


def _reading(file: TaskFile) -> Reading:
    examples = tuple(Example(raw=task.raw, line=task.line, value={}) for task in file.tasks)
    return Reading(path=file.path, examples=examples, problems=())


def nothing_called(stored: StoredRun, settled: Settled) -> Ended:
    changed = tuple(name for name in settled.known if name in stored.ledger.changed)
    return Ended(status=Status.DONE, reason="", progress=(), broken=(), notes=(), changed=changed)
