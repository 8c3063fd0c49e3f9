"""Scorers made live, as one table: evaluators, code of the task, systems that it looks at, judges."""

import threading
from collections.abc import Callable, Mapping, Sequence
from copy import copy
from functools import partial
from typing import Any

from optimize_eval.base import strict_json
from optimize_eval.base.documents import JsonMapping
from optimize_eval.base.errors import EvaluationError, UsageError
from optimize_eval.base.evaluator import Evaluator
from optimize_eval.base.protocol import Answer, Payload, Skip
from optimize_eval.models.shared import stays
from optimize_eval.tasks import definition
from optimize_eval.tasks.code import Snippets
from optimize_eval.tasks.definition import (
    COVERAGE,
    AllSamplesScorer,
    Bleu,
    ChoiceEquals,
    Evidence,
    FunctionCalls,
    Program,
    PythonMetric,
    PythonScorer,
    StringEquals,
    evaluator_keys,
)
from optimize_eval.tasks.scorer_parts import (
    Case,
    Scored,
    Scoring,
    Text,
    Tools,
    case_of,
    failing,
    kind,
    number,
    plain,
    scored_by_code,
    text_of,
    unusable,
)
from optimize_eval.tasks.templates.template import Native, native_of
from optimize_eval.tasks.trace import Trace

_SCORES_FUNCTION = "compute_scores"


def python(how: PythonScorer, tools: Tools) -> Scoring:
    def score(case: Case, deadline: float) -> Scored:
        output = {} if case.trace is None else {"solver_output": plain(case.trace)}
        arguments = {"sample": case.sample, **output}
        return scored_by_code(tools.snippets.call(how.snippet, _SCORES_FUNCTION, arguments, deadline))

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
            returned = self._tools.snippets.call(self._code, _SCORES_FUNCTION, {"samples": samples}, deadline)
            return _checked(returned, len(samples))
        except EvaluationError as error:
            if not stays(error):
                raise
            return error.with_traceback(None)


def _checked(returned: object, count: int) -> Sequence[Any]:
    if not isinstance(returned, list):
        raise unusable(f"compute_scores returned {kind(returned)}, not a list")
    if len(returned) != count:
        raise unusable(f"compute_scores returned {len(returned)} entries for {count} samples")
    return returned


_EVIDENCE_FUNCTION = "compute_evidence"
_SHAPE = '{"metrics": {"NAME": {"value": 1, "reason": "…"}}}'


def of_system(how: Evidence, tools: Tools) -> Scoring:
    def score(_case: Case, deadline: float) -> Scored:
        return computed_evidence(how.snippet, tools.snippets, deadline)

    return score


def computed_evidence(snippet: str, snippets: Snippets, deadline: float) -> Scored:
    """Run a system task's code; its first metric is the number. Raises EvaluationError."""
    metrics = _metrics(snippets.call(snippet, _EVIDENCE_FUNCTION, {}, deadline))
    values = {name: _value(name, metric) for name, metric in metrics.items()}
    reasons = {name: metric["reason"] for name, metric in metrics.items() if metric.get("reason")}
    return Scored(
        primary=next(iter(values.values())),
        scores=values,
        metadata={"reasons": reasons} if reasons else {},
    )


def _metrics(returned: object) -> JsonMapping:
    metrics = returned.get("metrics") if isinstance(returned, Mapping) else None
    if not isinstance(metrics, Mapping):
        raise unusable(f"compute_evidence returned {kind(returned)} without metrics: it returns {_SHAPE}")
    if not metrics:
        raise unusable("compute_evidence returned no metrics")
    if "" in metrics:
        raise unusable("compute_evidence returned a metric without a name")
    return metrics


def _value(name: str, metric: object) -> float:
    match metric:
        case {"value": bool() | int() | float() as value}:
            return number(value)
        case {"value": value}:
            raise unusable(f"the value of the metric {name!r} is {kind(value)}, not a number")
    raise unusable(f"the metric {name!r} has no value: it is {_SHAPE}")


STAGE = "metric"

_METRICS_FUNCTION = "compute_metrics"


def computed(
    metric: PythonMetric, rows: Sequence[JsonMapping], snippets: Snippets, deadline: float
) -> Mapping[str, float]:
    """Compute a metric's numbers by their names; raises EvaluationError, whose stage is "metric".

    A row is the side info of a scored sample: scores, and perhaps metadata.
    """
    scores = [{"values": row["scores"], "metadata": row.get("metadata", {})} for row in rows]
    try:
        return _checked_metrics(
            snippets.call(metric.snippet, _METRICS_FUNCTION, {"scores": scores}, deadline)
        )
    except EvaluationError as error:
        error.message = f"{STAGE} {metric.key or 'python'}: {error.message}"
        error.stage = STAGE
        raise


def _checked_metrics(returned: object) -> Mapping[str, float]:
    if not isinstance(returned, Mapping):
        raise unusable(f"compute_metrics returned {kind(returned)}, not numbers by their names")
    for name, value in returned.items():
        if not isinstance(value, bool | int | float):
            raise unusable(f"compute_metrics returned {kind(value)} as {name!r}, not a number")
    return {name: number(value) for name, value in returned.items()}


Fields = JsonMapping


def bleu(how: Bleu, tools: Tools) -> Scoring:
    evaluator, value, truth = _live(how, tools), text_or_last(how.value), text_of(how.ground_truth)

    def score(case: Case, deadline: float) -> Scored | Skip:
        answer = _called(evaluator, value(case), {"ground_truth": truth(case)}, deadline)
        return answer if isinstance(answer, Skip) else _part(answer, ("bleu_score",))

    return score


def string_equals(how: StringEquals, tools: Tools) -> Scoring:
    evaluator, value, truth = _live(how, tools), text_or_last(how.value), text_of(how.ground_truth)

    def score(case: Case, deadline: float) -> Scored | Skip:
        said, wanted = value(case), truth(case)
        answer = _called(evaluator, said, {"ground_truth": wanted}, deadline)
        if isinstance(answer, Skip):
            return answer
        return _part(answer, ("is_correct",), {"answer_gt": wanted, "answer_pred": said})

    return score


def choice_equals(how: ChoiceEquals, tools: Tools) -> Scoring:
    evaluator, truth, choices = _live(how, tools), text_of(how.ground_truth_choice), _choices_of(how.choices)

    def score(case: Case, deadline: float) -> Scored | Skip:
        wanted, offered = truth(case), choices(case)
        example = {"ground_truth_choice": wanted, "choices": offered}
        answer = _called(evaluator, case.last_text, example, deadline)
        if isinstance(answer, Skip):
            return answer
        chosen = str(answer.side_info.get("letter", ""))
        metadata = {
            "completion_validity": answer.side_info["completion_validity"] if chosen else "unknown",
            "ground_truth_choices": _read(offered) if isinstance(offered, str) else offered,
            "ground_truth_correct_choice": wanted,
            "predicted_choice": chosen,
        }
        return Scored(
            primary=answer.score,
            scores={"is_correct": answer.side_info["is_correct"]},
            metadata=metadata,
            spent=answer.spent,
        )

    return score


def function_calls(how: FunctionCalls, tools: Tools) -> Scoring:
    evaluator = _live(how, tools)
    wanted = how.function_calls
    required = native_of(wanted, is_needed=True) if isinstance(wanted, str) else None

    def score(case: Case, deadline: float) -> Scored | Skip:
        made = [_call(item) for item in case.trace.function_calls] if case.trace else []
        listed = _calls_in(required(case.fields)) if required else wanted
        answer = _called(evaluator, _json(made), {"function_calls": listed}, deadline)
        return answer if isinstance(answer, Skip) else _part(answer, COVERAGE)

    return score


def program(how: Program, tools: Tools) -> Scoring:
    evaluator, value = _live(how, tools), text_or_last(how.value)

    def score(case: Case, deadline: float) -> Scored | Skip:
        answer = _called(evaluator, value(case), case.sample, deadline)
        if isinstance(answer, Skip):
            return answer
        scores = {"score": answer.score, **answer.side_info}
        return Scored(primary=answer.score, scores=scores, spent=answer.spent)

    return score


def text_or_last(template: str | None) -> Text:
    return _last if template is None else text_of(template)


def _last(case: Case) -> str:
    return case.last_text


def _choices_of(choices: Sequence[str] | str) -> Callable[[Case], Sequence[str] | str]:
    """Render each choice, or the text that is a list of them."""
    if isinstance(choices, str):
        return partial(_choices_in, native_of(choices, is_needed=True))
    each = [text_of(choice) for choice in choices]
    return lambda case: [text(case) for text in each]


def _choices_in(choices: Native, case: Case) -> Sequence[str] | str:
    """Give a list, or a text that the evaluator reads as one."""
    value = choices(case.fields)
    return value if isinstance(value, list) else str(value)


def _live(how: Any, tools: Tools) -> Evaluator:
    keys = evaluator_keys(how)
    assert keys is not None  # noqa: S101  for the checker
    return tools.evaluator(keys)


def _called(evaluator: Evaluator, candidate: str, example: Fields, deadline: float) -> Answer | Skip:
    try:
        return evaluator.call(Payload(candidate=candidate, example=strict_json.dumps(example)), deadline)
    except (UsageError, TypeError, ValueError) as error:  # no text or number of JSON
        raise unusable(f"it cannot be sent as JSON: {error}") from None


def _part(answer: Answer, names: Sequence[str], metadata: Fields | None = None) -> Scored:
    """Take those fields of an answer that are scores; without metadata of one's own, the others are it."""
    fields = answer.side_info
    scores = {name: fields[name] for name in names}
    others = (
        {key: value for key, value in fields.items() if key not in scores} if metadata is None else metadata
    )
    return Scored(primary=answer.score, scores=scores, metadata=others, spent=answer.spent)


def _call(item: JsonMapping) -> Fields:
    return {"name": item["name"], "arguments": item.get("arguments")}


def _calls_in(value: object) -> Any:
    """Take a list, or read one in JSON."""
    try:
        return strict_json.loads(value, unique_keys=False) if isinstance(value, str) else value
    except strict_json.JsonFault as fault:
        raise unusable(f"function_calls is not a list in JSON: {fault}") from None


def _read(text: str) -> Any:
    """Read a list in JSON; one as Python writes it, which the evaluator reads, stays a text."""
    try:
        return strict_json.loads(text, unique_keys=False)
    except strict_json.JsonFault:
        return text


def _json(value: object) -> str:
    return strict_json.dumps(value).decode()


_KINDS: Mapping[type, Callable[[Any, Tools], Scoring]] = {
    definition.Bleu: bleu,
    definition.StringEquals: string_equals,
    definition.ChoiceEquals: choice_equals,
    definition.FunctionCalls: function_calls,
    definition.Program: program,
    definition.PythonScorer: python,
    definition.AllSamplesScorer: all_samples,
    definition.Evidence: of_system,
}


def _kind_of(how: object) -> Callable[[Any, Tools], Scoring]:
    if kind := _KINDS.get(type(how)):
        return kind
    from optimize_eval.tasks.scorers_by_judges import KINDS_BY_JUDGES  # noqa: PLC0415  they call models

    return KINDS_BY_JUDGES[type(how)]


class LiveScorer:
    """Scores samples; safe to call from several threads. Its tools are not its own."""

    def __init__(self, scorer: definition.Scorer, tools: Tools) -> None:
        self.key = scorer.key
        with failing(self.key):
            self._score = _kind_of(scorer.how)(scorer.how, tools)

    def score(
        self, sample: JsonMapping, trace: Trace | None, deadline: float, *, place: int | None = None
    ) -> Scored | Skip:
        """Score before `deadline`, or raise EvaluationError.

        `place` is the sample's index among all, which code for all samples wants.
        """
        with failing(self.key):
            return self._score(case_of(sample, trace, place), deadline)
