"""A bench whose models' outputs are scored by another evaluator: one for each model, which reads its outputs.

No model is called: outputs are read from the run's folder, in the place of the models.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from optimize_eval.errors import UsageError
from optimize_eval.evaluator import EvaluatorSpec
from optimize_eval.findings.board.cells import scored_by
from optimize_eval.findings.board.shapes import Board
from optimize_eval.kinds.task import task_spec
from optimize_eval.protocol import ScoreRange
from optimize_eval.rows.datasets import Example, ParsedFile
from optimize_eval.run.rescore import WantedEvaluator
from optimize_eval.session.boards import make_board, path_of
from optimize_eval.session.host import Say
from optimize_eval.store.folder import OUTPUTS
from optimize_eval.store.manifest import Manifest
from optimize_eval.store.stored import StoredRun
from optimize_eval.tasks import TaskFile, load_tasks
from optimize_eval.tasks.target import Tasks

BenchedModel = Mapping[str, Any]  # an evaluator of run.json


class Bench:
    """A bench, and another evaluator for its models' outputs."""

    def __init__(
        self,
        run: StoredRun,
        wanted: Sequence[WantedEvaluator],
        say: Say,
        files: Sequence[TaskFile] | None = None,
    ) -> None:
        """Take the task files, or load them from where they were."""
        if len(wanted) > 1:
            raise UsageError("a bench is rescored by one evaluator at a time", hint="give -e once")
        if wanted[0].spec.score_range is not ScoreRange.UNIT:
            raise UsageError("a leaderboard has scores from 0 to 1", hint="omit --score-range")
        self._manifest = run.manifest
        self._scorer = wanted[0].spec
        self.path = path_of(run.folder, self._scorer.name)  # of the board by the new scores
        self._files = files or _files_again(run.manifest)
        self._models = list(_distinct_models(run.manifest["evaluators"], say))
        self.wanted = [_rescoring(run, model, self._scorer) for model in self._models]

    def readings(self) -> dict[str, ParsedFile | None]:
        """Give tasks as the examples that they were in the run."""
        names = [split["name"] for split in self._manifest["splits"]]
        there = [file for file in self._files if file.tasks]
        return {name: _reading(file) for name, file in zip(names, there, strict=True)}

    def board(self, run: StoredRun, evaluators: Sequence[str]) -> Board | None:
        """Make a leaderboard by the new scores, which `evaluators` gave, one for each model."""
        name = self._scorer.name
        named = zip(evaluators, [model["name"] for model in self._models], strict=True)
        models = scored_by(run, dict(named))
        settings = {**self._manifest["settings"], "scorer": name}
        return make_board(run, self._files, models, self.path, settings=settings, metric=name)


def _files_again(manifest: Manifest) -> list[TaskFile]:
    """Load the task files of a bench from where they were, with the tasks that it had."""
    settings = manifest["settings"]
    paths = (settings.get("paths") or {}).get("splits") or {}
    files = []
    for split in manifest["splits"]:
        path = paths.get(split["name"])
        if path is None:
            raise UsageError(f"run.json does not say where {split['file']} was", hint="run the bench again")
        file = load_tasks(path, format=settings.get("format"))
        there = set(split["lines"])
        tasks = tuple(task for task in file.tasks if task.line in there)
        files.append(replace(file, name=Path(split["name"]).stem, tasks=tasks))
    return files


def _distinct_models(models: Sequence[BenchedModel], say: Say) -> Iterator[BenchedModel]:
    """Give each model once: the outputs of one that was given twice are stored, and scored, once."""
    first: dict[str, str] = {}
    for model in models:
        name = first.setdefault(model["text"], model["name"])
        if name == model["name"]:
            yield model
        else:
            say(f"note: {model['name']} is the same model as {name}, which is scored for both")


def _rescoring(run: StoredRun, model: BenchedModel, scorer: EvaluatorSpec) -> WantedEvaluator:
    outputs = (run.folder / OUTPUTS).absolute()
    how = EvaluatorSpec(timeout=scorer.timeout, workers=scorer.workers, retries=scorer.retries)
    task = Tasks(scorer=scorer, replayed=model.get("model_sha256", ""))
    spec = task_spec(f"replay:{outputs}#{model['text']}", (), how, task)
    return WantedEvaluator(spec=replace(spec, name=f"{model['name']}.{scorer.name}"), given=None)


def _reading(file: TaskFile) -> ParsedFile:
    examples = tuple(Example(raw=task.raw, line=task.line, value={}) for task in file.tasks)
    return ParsedFile(path=file.path, examples=examples, problems=())
