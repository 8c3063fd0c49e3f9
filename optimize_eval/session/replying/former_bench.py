"""A bench of an earlier version, whose models were its evaluators, scored by another evaluator.

That is one evaluator for each model, which reads the model's outputs in its place, and is named MODEL.SCORER.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from optimize_eval.base.evaluator import EvaluatorSpec
from optimize_eval.data.candidates import Candidate
from optimize_eval.data.datasets import ParsedFile
from optimize_eval.evaluators.task_kind import task_spec
from optimize_eval.findings.board_models import BenchedModel, former_models
from optimize_eval.models.model_kinds import Tasks
from optimize_eval.run.plan import Plan
from optimize_eval.run.replan import plan_again
from optimize_eval.run.rescore import WantedEvaluator
from optimize_eval.session.host import Say
from optimize_eval.store.folder import OUTPUTS
from optimize_eval.store.stored import StoredRun

Entry = Mapping[str, Any]  # an evaluator of run.json, which is a model


class FormerScorers:
    """The evaluators of the models' outputs."""

    def __init__(self, run: StoredRun, scorer: EvaluatorSpec, say: Say) -> None:
        self._models = list(_distinct_models(run.manifest["evaluators"], say))
        self.wanted = [_rescoring(run, model, scorer) for model in self._models]

    def plan(
        self,
        run: StoredRun,
        specs: Sequence[EvaluatorSpec],
        readings: Mapping[str, ParsedFile | None],
        texts: Iterable[Candidate],
    ) -> Plan:
        return plan_again(specs, run.manifest, readings, texts)

    def models(self, run: StoredRun, evaluators: Sequence[str]) -> tuple[BenchedModel, ...]:
        """Give the models with the new scores, which `evaluators` gave, one for each of them."""
        named = zip(evaluators, [model["name"] for model in self._models], strict=True)
        return former_models(run, dict(named))


def _distinct_models(models: Sequence[Entry], say: Say) -> Iterator[Entry]:
    """Give each model once: the outputs of one that was given twice are stored, and scored, once."""
    first: dict[str, str] = {}
    for model in models:
        name = first.setdefault(model["text"], model["name"])
        if name == model["name"]:
            yield model
        else:
            say(f"note: {model['name']} is the same model as {name}, which is scored for both")


def _rescoring(run: StoredRun, model: Entry, scorer: EvaluatorSpec) -> WantedEvaluator:
    outputs = (run.folder / OUTPUTS).absolute()
    how = EvaluatorSpec(timeout=scorer.timeout, workers=scorer.workers, retries=scorer.retries)
    task = Tasks(scorer=scorer, replayed=model.get("model_sha256", ""))
    spec = task_spec(f"replay:{outputs}#{model['text']}", (), how, task)
    return WantedEvaluator(spec=replace(spec, name=f"{model['name']}.{scorer.name}"), given=None)
