"""What is made of checked values: a task as plain data."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from optimize_eval.tasks import definition as metrics
from optimize_eval.tasks import definition as parts
from optimize_eval.tasks import definition as solving
from optimize_eval.tasks.definition import (
    Action,
    Comparison,
    Entity,
    Filter,
    Membership,
    TaskDefinition,
    Unary,
    text_of,
)
from optimize_eval.tasks.yaml.part_fields import NUMBERS, keys_of
from optimize_eval.tasks.yaml.task_fields import COMPARISONS, MEMBERSHIPS, SYSTEM

Values = Mapping[str, Any]


def task_of(values: Values, path: str, config: Values) -> TaskDefinition:
    definition = values["definition"]
    is_system = definition["type"] == SYSTEM
    common = {name: values[name] for name in ("key", "display_name", "description")}
    more = _of_system(definition) if is_system else _of_benchmark(values, definition)
    return TaskDefinition(
        **common,
        **more,
        path=path,
        long_description=values["long_description"] or "",
        tags=tuple(values["tags"]),
        config=dict(config),
    )


def _of_system(definition: Values) -> dict[str, Any]:
    """Make the code of a system task its only scorer, which is given no sample."""
    how = parts.Evidence(snippet=definition["compute_evidence_snippet"])
    return {"entity": Entity.SYSTEM, "scorers": [parts.Scorer(key="evidence", type=SYSTEM, how=how)]}


def _of_benchmark(values: Values, definition: Values) -> dict[str, Any]:
    said = definition["evaluated_entity_type"] or values["evaluated_entity_type"]
    solver, dataset = definition["solver"], definition["dataset"]
    return {
        "entity": Entity(said or ("model" if solver else "dataset")),
        "dataset": dataset["key"] if dataset else "",
        "solver": _solver(solver) if solver else None,
        "scorers": _scorers(definition["scorers"]),
        "actions": [
            Action(key=one["key"], filter=filter_of(one["filter"])) for one in definition["actions"] or ()
        ],
    }


def filter_of(values: Values) -> Filter:
    op, expression = values["op"], values["expression"]
    if op in COMPARISONS:
        return Comparison(op=op, expression=expression, value=values["value"])
    if op in MEMBERSHIPS:
        return Membership(op=op, expression=expression, values=tuple(values["values"]))
    return Unary(op=op, expression=expression)


def _said(values: Values) -> solving.Said:
    return solving.Said(role=values["role"], content=values["content"])


def _solver(values: Values) -> solving.Solver:
    match values["type"]:
        case "single_turn_solver":
            return solving.SingleTurn(builder=_input(values["input_builder"]))
        case "multi_turn_solver":
            return solving.MultiTurn(builders=tuple(map(_builder, values["message_builders"])))
        case "pass_through_solver":
            return solving.PassThrough(column=values["trace_column"])
    return solving.PythonSolver(snippet=values["run_solver_snippet"])


def _input(values: Values) -> solving.Generic | solving.ChatCompletion:
    if values["type"] == "generic":
        return solving.Generic(template=values["template"])
    return solving.ChatCompletion(messages=tuple(map(_said, values["input_messages"])))


def _builder(values: Values) -> solving.Builder:
    match values["type"]:
        case "chat_message":
            return solving.ChatMessage(said=_said(values), stop=_stop(values))
        case "generate":
            return solving.Generate(stop=_stop(values))
        case "loop":
            return solving.Loop(
                builders=tuple(map(_builder, values["message_builders"])),
                most=values["max_iterations"],
                fails_at_most=values["on_max_iterations"] == "error",
            )
    return solving.GenerateMessage(
        model_key=values["model_key"],
        messages=tuple(map(_said, values["extra_input_messages"])),
        role=values["output_role"],
        has_conversation=values["include_conversation"],
        stop=_stop(values),
    )


def _stop(values: Values) -> solving.Stop | None:
    stop = values["terminate_if"]
    if stop is None:
        return None
    return solving.Stop(includes=stop["includes"], keep_iteration=stop["keep_iteration"])


def _scorers(listed: Sequence[Values]) -> list[parts.Scorer]:
    return [_scorer(key, one) for key, one in zip(keys_of(listed), listed, strict=True)]


def _scorer(key: str, values: Values) -> parts.Scorer:
    listed = values["metrics"]
    return parts.Scorer(
        key=key,
        type=values["type"],
        how=_HOW[values["type"]](values),
        purpose=values["purpose"],
        display_name=values["display_name"] or "",
        metrics=None if listed is None else tuple(map(_metric, listed)),
    )


def _fields(cls: type, *names: str) -> Callable[[Values], Any]:
    """Make something whose fields are called as the task's."""
    return lambda values: cls(**{name: values[name] for name in names})


def _snippet(cls: type) -> Callable[[Values], Any]:
    return lambda values: cls(snippet=values["compute_scores_snippet"])


def _function_calls(values: Values) -> parts.FunctionCalls:
    calls = values["function_calls"]
    listed = calls if isinstance(calls, str) else tuple(map(_call, calls))
    return parts.FunctionCalls(function_calls=listed, in_order=values["mode"] == "in_order")


def _call(one: str | Values) -> str | Values:
    """Leave out arguments that are not there: any would do."""
    if isinstance(one, str) or one["arguments"] is None:
        return one if isinstance(one, str) else {"name": one["name"]}
    return dict(one)


def _rag(values: Values) -> parts.RagChecker:
    return parts.RagChecker(
        judge_model_key=values["judge_model_key"],
        query_column=values["query_column"],
        target_column=values["target_column"],
        context_column=values["context_column"] or "",
        scores_to_compute=tuple(values["scores_to_compute"] or ()),
    )


_JUDGE = ("model_key", "user_prompt", "system_prompt", "use_structured_outputs")
_HOW: Mapping[str, Callable[[Values], Any]] = {
    "bleu": _fields(parts.Bleu, "ground_truth", "value"),
    "string_equals": _fields(parts.StringEquals, "ground_truth", "value"),
    "string_equals_mcqa": _fields(parts.ChoiceEquals, "ground_truth_choice", "choices"),
    "model_as_a_judge_classifier": _fields(parts.Classifier, *_JUDGE, "correct_labels", "incorrect_labels"),
    "model_as_a_judge_scorer": _fields(parts.JudgeScore, *_JUDGE, "score_min", "score_max"),
    "labeler_via_model": _fields(parts.Labeler, *_JUDGE, "valid_labels"),
    "python": _snippet(parts.PythonScorer),
    "python_all_samples": _snippet(parts.AllSamplesScorer),
    "rag_checker": _rag,
    "function_call_coverage": _function_calls,
    "evaluator": _fields(parts.Program, "keys", "value"),
}


def _metric(values: Values) -> metrics.Metric:
    key, kind, name = values["key"] or "", values["type"], values.get("name") or ""
    match kind:
        case "python":
            return metrics.PythonMetric(snippet=values["compute_metrics_snippet"], key=key)
        case "binary_classification":
            return metrics.Binary(
                field_gt=values["field_gt"],
                field_pred=values["field_pred"],
                positive_answer=text_of(values["positive_answer"]),
                negative_answer=text_of(values["negative_answer"]),
                key=key,
            )
        case "multiclass_classification":
            return metrics.Multiclass(field_gt=values["field_gt"], field_pred=values["field_pred"], key=key)
        case "frequency":
            return metrics.Frequency(field=values["field"], key=key)
        case _ if kind in NUMBERS:
            return metrics.Number(type=kind, field=values["field"], name=name, key=key)
    counts = {one: values[one] or "" for one in values if one.startswith("num_")}
    return metrics.Counted(type=kind, **counts, name=name, key=key)
