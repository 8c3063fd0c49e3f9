"""A scorer made live: what each kind of them does, as one table."""

from collections.abc import Callable, Mapping
from typing import Any

from optimize_eval.base.protocol import Skip
from optimize_eval.tasks.definitions.score import code, evidence, judges, parts, shipped
from optimize_eval.tasks.definitions.score.fields import Case, case_of
from optimize_eval.tasks.definitions.score.rag.scorer import rag_checker
from optimize_eval.tasks.definitions.score.scored import Scored, failing
from optimize_eval.tasks.definitions.score.tools import Tools
from optimize_eval.tasks.definitions.solve.trace import Trace
from optimize_eval.templates import hosted

_KINDS: Mapping[type, Callable[[Any, Tools], Callable[[Case, float], Scored | Skip]]] = {
    parts.Bleu: shipped.bleu,
    parts.StringEquals: shipped.string_equals,
    parts.ChoiceEquals: shipped.choice_equals,
    parts.FunctionCalls: shipped.function_calls,
    parts.Program: shipped.program,
    parts.Classifier: judges.classifier,
    parts.JudgeScore: judges.judge_score,
    parts.Labeler: judges.labeler,
    parts.RagChecker: rag_checker,
    parts.PythonScorer: code.python,
    parts.AllSamplesScorer: code.all_samples,
    parts.Evidence: evidence.of_system,
}


class LiveScorer:
    """Scores samples; safe to call from several threads. Its tools are not its own to close."""

    def __init__(self, scorer: parts.Scorer, tools: Tools) -> None:
        self.key = scorer.key
        with failing(self.key):
            self._score = _KINDS[type(scorer.how)](scorer.how, tools)
        hosted.hold()

    def score(
        self, sample: Mapping[str, Any], trace: Trace | None, deadline: float, *, place: int | None = None
    ) -> Scored | Skip:
        """Score before `deadline`, or raise EvaluationError.

        `place` is the sample's index among all, which code for all samples wants.
        """
        with failing(self.key):
            return self._score(case_of(sample, trace, place), deadline)

    def close(self) -> None:
        hosted.release()
