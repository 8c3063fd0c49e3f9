"""What `rescore` needs of a bench: its task files again, and what its models said in the place of the models.

No model is asked: outputs are read from the run's folder, and scored by other evaluators.
"""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from optimize_eval.cli import output
from optimize_eval.cli.leaderboards import keep, make_board, path_of, tell
from optimize_eval.connect import task_spec
from optimize_eval.datasets import Example, Reading
from optimize_eval.errors import UsageError
from optimize_eval.protocol import ScoreRange
from optimize_eval.reach import EvaluatorSpec, TaskSpecification
from optimize_eval.run.folder import OUTPUTS
from optimize_eval.run.manifest import Manifest
from optimize_eval.run.rescore import Wanted
from optimize_eval.run.stored import StoredRun
from optimize_eval.tasks import TaskFile, load_tasks


class Bench:
    """A bench that is scored by another evaluator: one for each model, which reads what the model said."""

    def __init__(self, run: StoredRun, wanted: Sequence[Wanted]) -> None:
        if len(wanted) > 1:
            raise UsageError("a bench is rescored by one evaluator at a time", hint="give -e once")
        if wanted[0].spec.score_range is not ScoreRange.UNIT:
            raise UsageError("a leaderboard has scores from 0 to 1", hint="leave --score-range away")
        self._manifest = run.manifest
        self._scorer = wanted[0].spec
        self._files = _files_again(run.manifest)
        self._models = list(_apart(run.manifest["evaluators"]))
        self.wanted = [_rescoring(run, model, self._scorer) for model in self._models]

    def readings(self) -> dict[str, Reading | None]:
        """Give tasks as the examples that they were in the run."""
        names = [split["name"] for split in self._manifest["splits"]]
        return {name: _reading(file) for name, file in zip(names, self._files, strict=True)}

    def tell(self, run: StoredRun, models: Sequence[str], status: str, *, quiet: bool, as_json: bool) -> None:
        """Make a leaderboard by the new scores, beside the bench's own."""
        name = self._scorer.name
        settings = {**self._manifest["settings"], "scorer": name}
        called = [one["name"] for one in self._models]
        names = dict(zip(models, called, strict=True))
        board = make_board(run, self._files, names, settings=settings, metric=name)
        path = path_of(run.folder, name)
        keep(board, path)
        tell({"": board} if board else {}, path, status, quiet=quiet, as_json=as_json)


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
