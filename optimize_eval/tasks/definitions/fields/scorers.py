"""The fields of scorers, and what has to hold between them."""

from collections.abc import Mapping, Sequence
from typing import Any

from optimize_eval.tasks.definitions.fields.context import NOT_KNOWN, Context, NotKnown, Rule
from optimize_eval.tasks.definitions.fields.entities import (
    REQUIRED,
    Between,
    ByType,
    Entity,
    Field,
    field,
    type_field,
)
from optimize_eval.tasks.definitions.fields.evaluators import Evaluator
from optimize_eval.tasks.definitions.fields.metrics import METRIC, check_metrics
from optimize_eval.tasks.definitions.fields.nodes import Spot
from optimize_eval.tasks.definitions.fields.snippets import Snippet
from optimize_eval.tasks.definitions.fields.templates import SCORER, ListText, Template
from optimize_eval.tasks.definitions.fields.values import (
    Boolean,
    Choice,
    Column,
    Json,
    Key,
    ListOf,
    Number,
    OneOf,
    Text,
)
from optimize_eval.tasks.definitions.score.parts import COVERAGE, JUDGE_SAYS, LABELER_SAYS
from optimize_eval.tasks.definitions.score.rag.measures import SCORES

RAG_SCORES = tuple(SCORES)
COMMON = (
    type_field(),
    field("key", Key(), None),
    field("purpose", OneOf(choices=("score", "qa")), "score"),
    field("display_name", Text(), None),
    field("metrics", ListOf(what=METRIC), None),
)
_EMITTED: Mapping[str, Sequence[str]] = {  # what is not here may give anything
    "bleu": ("bleu_score",),
    "string_equals": ("is_correct",),
    "string_equals_mcqa": ("is_correct",),
    "model_as_a_judge_classifier": ("is_correct",),
    "model_as_a_judge_scorer": ("score",),
    "labeler_via_model": ("label",),
    "function_call_coverage": COVERAGE,
}
_TEMPLATE = Template(names=SCORER)
_LISTED = ListText(template=_TEMPLATE)
_LABEL = Text(least=1)


def _metrics(values: dict[str, Any], spot: Spot, context: Context) -> None:
    metrics, child = values.get("metrics"), spot.child("metrics")
    if isinstance(metrics, list) and child:
        check_metrics(metrics, emitted(values), child, context)


def emitted(values: Mapping[str, Any]) -> Sequence[str]:
    """List the fields that a scorer gives; empty where that is not known."""
    if values["type"] == "rag_checker":
        computed = values["scores_to_compute"]
        is_known = computed is not NOT_KNOWN and not any(one is NOT_KNOWN for one in computed or ())
        return (computed or RAG_SCORES) if is_known else ()
    return _EMITTED.get(values["type"], ())


def _has_value(values: dict[str, Any], spot: Spot, context: Context) -> None:
    if values["value"] is None and not context.has_output:
        reason = "value is required: a task of a dataset has no output of a model to score"
        context.wrong(Rule.MISSING_REQUIRED, spot.of("value"), spot.mark, reason)


def _needs_output(_values: dict[str, Any], spot: Spot, context: Context) -> None:
    if not context.has_output and (child := spot.child("type")):
        reason = f"{child.node.value} scores what a model says, and the task has no solver"
        context.wrong(Rule.BAD_VALUE, child.path, child.mark, reason)


def _labels(values: dict[str, Any], spot: Spot, context: Context) -> None:
    right, wrong = values["correct_labels"], values["incorrect_labels"]
    child = spot.child("incorrect_labels")
    if isinstance(right, NotKnown) or isinstance(wrong, NotKnown) or child is None:
        return
    for label, item in zip(wrong, child.items(), strict=True):
        if label is not NOT_KNOWN and label in right:
            reason = f"{label!r} is one of correct_labels, too"
            context.wrong(Rule.BAD_VALUE, child.path, item.mark, reason)


def _range(values: dict[str, Any], spot: Spot, context: Context) -> None:
    least, most = values["score_min"], values["score_max"]
    if isinstance(least, NotKnown) or isinstance(most, NotKnown) or least < most:
        return
    child = spot.child("score_max") or spot.child("score_min") or spot
    reason = f"score_min, {least:g}, must be less than score_max, {most:g}"
    context.wrong(Rule.BAD_VALUE, child.path, child.mark, reason)


def _scorer(*fields: Field, between: Sequence[Between] = ()) -> Entity:
    return Entity(noun="a scorer", fields=(*COMMON, *fields), between=(*between, _metrics))


def _judge(says: str, *fields: Field, between: Sequence[Between] = ()) -> Entity:
    return _scorer(
        field("model_key", Text(least=1)),
        field("system_prompt", _TEMPLATE, says),
        field("user_prompt", Template(names=SCORER, least=1)),
        field("use_structured_outputs", Boolean(), default=False),
        *fields,
        between=between,
    )


def _code(*ways: Sequence[str], of_output: Sequence[str] = ()) -> Field:
    snippet = Snippet(function="compute_scores", arguments=ways, of_output=of_output)
    return field("compute_scores_snippet", snippet)


_GROUND_TRUTH, _VALUE = field("ground_truth", _TEMPLATE), field("value", _TEMPLATE, None)
_CALL = Choice(
    text=Text(least=1),
    other=Entity(noun="a call", fields=(field("name", Text(least=1)), field("arguments", Json(), None))),
)


_ENTITIES: Mapping[str, Any] = {
    "bleu": _scorer(_GROUND_TRUTH, _VALUE, between=(_has_value,)),
    "string_equals": _scorer(_GROUND_TRUTH, _VALUE, between=(_has_value,)),
    "string_equals_mcqa": _scorer(
        field("ground_truth_choice", _TEMPLATE),
        field("choices", Choice(text=_LISTED, other=ListOf(what=_TEMPLATE, least=1))),
        between=(_needs_output,),
    ),
    "model_as_a_judge_classifier": _judge(
        JUDGE_SAYS,
        field("correct_labels", ListOf(what=_LABEL, least=1)),
        field("incorrect_labels", ListOf(what=_LABEL, least=1)),
        between=(_labels,),
    ),
    "model_as_a_judge_scorer": _judge(
        JUDGE_SAYS, field("score_min", Number(), 0.0), field("score_max", Number(), 1.0), between=(_range,)
    ),
    "labeler_via_model": _judge(LABELER_SAYS, field("valid_labels", ListOf(what=_LABEL), ())),
    "python": _scorer(_code(("sample",), of_output=("sample", "solver_output"))),
    "python_all_samples": _scorer(_code(("samples",))),
    "rag_checker": _scorer(
        field("judge_model_key", Text(least=1), REQUIRED),
        field("query_column", Column(), "query"),
        field("target_column", Column(), "target"),
        field("context_column", Column(), None),
        field("scores_to_compute", ListOf(what=OneOf(choices=RAG_SCORES), least=1), None),
        between=(_needs_output,),
    ),
    "function_call_coverage": _scorer(
        field("function_calls", Choice(text=_LISTED, other=ListOf(what=_CALL))),
        field("mode", OneOf(choices=("any_order", "in_order")), "any_order"),
        between=(_needs_output,),
    ),
    "evaluator": Evaluator(common=(*COMMON, _VALUE), between=(_has_value, _metrics)),
}
SCORER_OF_TASK = ByType(noun="a scorer", entities=_ENTITIES)
