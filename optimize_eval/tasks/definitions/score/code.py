"""Scorers that are code of a task: called for each sample, or once for all of them."""

import threading
from collections.abc import Sequence
from copy import copy
from typing import Any

from optimize_eval.base.errors import EvaluationError
from optimize_eval.models.shared import stays
from optimize_eval.tasks.definitions.score.fields import Case, plain
from optimize_eval.tasks.definitions.score.parts import AllSamplesScorer, PythonScorer
from optimize_eval.tasks.definitions.score.scored import Scored, kind, scored_by_code, unusable
from optimize_eval.tasks.definitions.score.shipped import Scoring
from optimize_eval.tasks.definitions.score.tools import Tools

_FUNCTION = "compute_scores"


def python(how: PythonScorer, tools: Tools) -> Scoring:
    def score(case: Case, deadline: float) -> Scored:
        output = {} if case.trace is None else {"solver_output": plain(case.trace)}
        arguments = {"sample": case.sample, **output}
        return scored_by_code(tools.snippets.call(how.snippet, _FUNCTION, arguments, deadline))

    return score


def all_samples(how: AllSamplesScorer, tools: Tools) -> Scoring:
    listed = _Listed(how.snippet, tools)

    def score(case: Case, deadline: float) -> Scored:
        if case.place is None:
            raise unusable("it is not known which of all samples this is")
        return scored_by_code(listed.at(case.place, deadline))

    return score


class _Listed:
    """What code returns for all samples: it is called by whoever wants its entry first, the others wait."""

    def __init__(self, code: str, tools: Tools) -> None:
        self._code = code
        self._tools = tools
        self._calling = threading.Lock()
        self._entries: Sequence[Any] | EvaluationError | None = None

    def at(self, place: int, deadline: float) -> Any:
        with self._calling:
            if self._entries is None:
                self._entries = self._called(deadline)
        if isinstance(self._entries, EvaluationError):
            raise copy(self._entries)
        return self._entries[place]

    def _called(self, deadline: float) -> Sequence[Any] | EvaluationError:
        """Call it; the code's own failure stays one, as another call would make the same again."""
        samples = self._tools.samples()
        try:
            returned = self._tools.snippets.call(self._code, _FUNCTION, {"samples": samples}, deadline)
            return _checked(returned, len(samples))
        except EvaluationError as error:
            if not stays(error):
                raise
            return error.with_traceback(None)


def _checked(returned: Any, count: int) -> Sequence[Any]:
    if not isinstance(returned, list):
        raise unusable(f"compute_scores returned {kind(returned)}, not a list")
    if len(returned) != count:
        raise unusable(f"compute_scores returned {len(returned)} entries for {count} samples")
    return returned
