"""A bench whose models' replies are scored by another evaluator, whatever the tasks' own scorers are.

No model is called: replies are read from the run's folder.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from optimize_eval.base.errors import UsageError
from optimize_eval.base.evaluator import EvaluatorSpec
from optimize_eval.base.protocol import ScoreRange
from optimize_eval.data.candidates import Candidate
from optimize_eval.data.datasets import ParsedFile
from optimize_eval.evaluators.task_kind import stored_spec
from optimize_eval.findings.board_models import BenchedModel, is_of_former_layout, models_scored_by
from optimize_eval.findings.board_shapes import Board
from optimize_eval.run.plan import Plan
from optimize_eval.run.replan import plan_again
from optimize_eval.run.rescore import WantedEvaluator
from optimize_eval.session.benching.boards import make_board, path_of
from optimize_eval.session.benching.task_files import files_again, readings_of
from optimize_eval.session.host import Say
from optimize_eval.session.replying.former_bench import FormerScorers
from optimize_eval.session.replying.identities import stored_models
from optimize_eval.store.stored import StoredRun
from optimize_eval.tasks import TaskFile
from optimize_eval.tasks.defined import DIALECT


class Bench:
    """A bench, and another evaluator for its models' replies."""

    def __init__(
        self,
        run: StoredRun,
        wanted: Sequence[WantedEvaluator],
        say: Say,
        files: Sequence[TaskFile] | None = None,
    ) -> None:
        """Take the task files, or load them from where they were."""
        if run.manifest.get("settings", {}).get("format") == DIALECT:
            raise UsageError(
                f"{run.folder} is of tasks in YAML, which name their own scorers",
                hint="give the task another scorer, and run the bench again, which calls no model for it",
            )
        if len(wanted) > 1:
            raise UsageError("a bench is rescored by one evaluator at a time", hint="give -e once")
        if wanted[0].spec.score_range is not ScoreRange.UNIT:
            raise UsageError("a leaderboard has scores from 0 to 1", hint="omit --score-range")
        self._manifest = run.manifest
        self._name = wanted[0].spec.name
        self.path = path_of(run.folder, self._name)  # of the board by the new scores
        self._files = files or files_again(run.manifest)
        former = is_of_former_layout(run.manifest)
        self._scorers = (FormerScorers if former else _Scorer)(run, wanted[0].spec, say)
        self.wanted = self._scorers.wanted

    def plan(self, run: StoredRun, specs: Sequence[EvaluatorSpec], texts: Iterable[Candidate] = ()) -> Plan:
        """Plan what the bench was about for the new evaluators."""
        return self._scorers.plan(run, specs, readings_of(run.manifest, self._files), texts)

    def board(self, run: StoredRun, evaluators: Sequence[str]) -> Board | None:
        """Make a leaderboard by the new scores, which `evaluators` gave."""
        settings = {**self._manifest["settings"], "scorer": self._name}
        models = self._scorers.models(run, evaluators)
        return make_board(run, self._files, models, self.path, settings=settings, metric=self._name)


class _Scorer:
    """The evaluator of what all models replied to all tasks."""

    def __init__(self, run: StoredRun, scorer: EvaluatorSpec, say: Say) -> None:
        spec = stored_spec(scorer, stored_models(run.manifest, run.folder))
        self.wanted = [WantedEvaluator(spec=spec, given=None)]
        first: dict[str, str] = {}
        for model in run.manifest["models"]:
            name = first.setdefault(model["sha256"], model["name"])
            if name != model["name"]:
                say(f"note: {model['name']} is the same model as {name}, which is scored for both")

    def plan(
        self,
        run: StoredRun,
        specs: Sequence[EvaluatorSpec],
        readings: Mapping[str, ParsedFile | None],
        texts: Iterable[Candidate],
    ) -> Plan:
        return replace(plan_again(specs, run.manifest, readings, texts), by_model=True)

    def models(self, run: StoredRun, evaluators: Sequence[str]) -> tuple[BenchedModel, ...]:
        return models_scored_by(run, evaluators[0])
