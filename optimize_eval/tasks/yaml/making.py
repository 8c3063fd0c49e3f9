"""What is made of checked values: a task as plain data."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from optimize_eval.base.documents import JsonDict, JsonMapping
from optimize_eval.tasks import definition
from optimize_eval.tasks.definition import CANDIDATE
from optimize_eval.tasks.templates.template import task_template_of
from optimize_eval.tasks.yaml.part_fields import NUMBERS, keys_of
from optimize_eval.tasks.yaml.task_fields import COMPARISONS, MEMBERSHIPS, SYSTEM

Values = JsonMapping


def task_of(values: Values, path: str, config: Values) -> definition.TaskDefinition:
    body = values["definition"]
    is_system = body["type"] == SYSTEM
    common = {name: values[name] for name in ("key", "display_name", "description")}
    more = _of_system(body) if is_system else _of_benchmark(values, body)
    return definition.TaskDefinition(
        **common,
        **more,
        path=path,
        long_description=values["long_description"] or "",
        tags=tuple(values["tags"]),
        config=dict(config),
        names_candidate=names_candidate(more.get("solver")),
    )


def names_candidate(solver: definition.Solver | None) -> bool:
    """Return True if any of a solver's templates names the candidate."""
    texts = definition.texts_of(solver) if solver else ()
    return any(CANDIDATE in task_template_of(text).lines for text in texts)


def _of_system(body: Values) -> JsonDict:
    """Make the code of a system task its only scorer, which is given no sample."""
    how = definition.Evidence(snippet=body["compute_evidence_snippet"])
    return {
        "entity": definition.Entity.SYSTEM,
        "scorers": [definition.Scorer(key="evidence", type=SYSTEM, how=how)],
    }


def _of_benchmark(values: Values, body: Values) -> JsonDict:
    said = body["evaluated_entity_type"] or values["evaluated_entity_type"]
    solver, dataset = body["solver"], body["dataset"]
    return {
        "entity": definition.Entity(said or ("model" if solver else "dataset")),
        "dataset": dataset["key"] if dataset else "",
        "solver": _solver(solver) if solver else None,
        "scorers": _scorers(body["scorers"]),
        "actions": [
            definition.Action(key=action["key"], filter=filter_of(action["filter"]))
            for action in body["actions"] or ()
        ],
    }


def filter_of(values: Values) -> definition.Filter:
    op, expression = values["op"], values["expression"]
    if op in COMPARISONS:
        return definition.Comparison(op=op, expression=expression, value=values["value"])
    if op in MEMBERSHIPS:
        return definition.Membership(op=op, expression=expression, values=tuple(values["values"]))
    return definition.Unary(op=op, expression=expression)


def _message(values: Values) -> definition.Said:
    return definition.Said(role=values["role"], content=values["content"])


def _solver(values: Values) -> definition.Solver:
    match values["type"]:
        case "single_turn_solver":
            return definition.SingleTurn(builder=_input(values["input_builder"]))
        case "multi_turn_solver":
            return definition.MultiTurn(builders=tuple(map(_builder, values["message_builders"])))
        case "pass_through_solver":
            return definition.PassThrough(column=values["trace_column"])
    return definition.PythonSolver(snippet=values["run_solver_snippet"])


def _input(values: Values) -> definition.Generic | definition.ChatCompletion:
    if values["type"] == "generic":
        return definition.Generic(template=values["template"])
    return definition.ChatCompletion(messages=tuple(map(_message, values["input_messages"])))


def _builder(values: Values) -> definition.Builder:
    match values["type"]:
        case "chat_message":
            return definition.ChatMessage(said=_message(values), stop=_stop(values))
        case "generate":
            return definition.Generate(stop=_stop(values))
        case "loop":
            return definition.Loop(
                builders=tuple(map(_builder, values["message_builders"])),
                most=values["max_iterations"],
                fails_at_most=values["on_max_iterations"] == "error",
            )
    return definition.GenerateMessage(
        model_key=values["model_key"],
        messages=tuple(map(_message, values["extra_input_messages"])),
        role=values["output_role"],
        has_conversation=values["include_conversation"],
        stop=_stop(values),
    )


def _stop(values: Values) -> definition.Stop | None:
    stop = values["terminate_if"]
    if stop is None:
        return None
    return definition.Stop(includes=stop["includes"], keep_iteration=stop["keep_iteration"])


def _scorers(listed: Sequence[Values]) -> list[definition.Scorer]:
    return [_scorer(key, entry) for key, entry in zip(keys_of(listed), listed, strict=True)]


def _scorer(key: str, values: Values) -> definition.Scorer:
    listed = values["metrics"]
    return definition.Scorer(
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


def _function_calls(values: Values) -> definition.FunctionCalls:
    calls = values["function_calls"]
    listed = calls if isinstance(calls, str) else tuple(map(_call, calls))
    return definition.FunctionCalls(function_calls=listed, in_order=values["mode"] == "in_order")


def _call(one: str | Values) -> str | Values:
    """Leave out arguments that are not there: any would do."""
    if isinstance(one, str) or one["arguments"] is None:
        return one if isinstance(one, str) else {"name": one["name"]}
    return dict(one)


def _rag(values: Values) -> definition.RagChecker:
    return definition.RagChecker(
        judge_model_key=values["judge_model_key"],
        query_column=values["query_column"],
        target_column=values["target_column"],
        context_column=values["context_column"] or "",
        scores_to_compute=tuple(values["scores_to_compute"] or ()),
    )


_JUDGE = ("model_key", "user_prompt", "system_prompt", "use_structured_outputs")
_HOW: Mapping[str, Callable[[Values], Any]] = {
    "bleu": _fields(definition.Bleu, "ground_truth", "value"),
    "string_equals": _fields(definition.StringEquals, "ground_truth", "value"),
    "string_equals_mcqa": _fields(definition.ChoiceEquals, "ground_truth_choice", "choices"),
    "model_as_a_judge_classifier": _fields(
        definition.Classifier, *_JUDGE, "correct_labels", "incorrect_labels"
    ),
    "model_as_a_judge_scorer": _fields(definition.JudgeScore, *_JUDGE, "score_min", "score_max"),
    "labeler_via_model": _fields(definition.Labeler, *_JUDGE, "valid_labels"),
    "python": _snippet(definition.PythonScorer),
    "python_all_samples": _snippet(definition.AllSamplesScorer),
    "rag_checker": _rag,
    "function_call_coverage": _function_calls,
    "evaluator": _fields(definition.Program, "keys", "value"),
}


def _metric(values: Values) -> definition.Metric:
    key, kind, name = values["key"] or "", values["type"], values.get("name") or ""
    match kind:
        case "python":
            return definition.PythonMetric(snippet=values["compute_metrics_snippet"], key=key)
        case "binary_classification":
            return definition.Binary(
                field_gt=values["field_gt"],
                field_pred=values["field_pred"],
                positive_answer=definition.text_of(values["positive_answer"]),
                negative_answer=definition.text_of(values["negative_answer"]),
                key=key,
            )
        case "multiclass_classification":
            return definition.Multiclass(
                field_gt=values["field_gt"], field_pred=values["field_pred"], key=key
            )
        case "frequency":
            return definition.Frequency(field=values["field"], key=key)
        case _ if kind in NUMBERS:
            return definition.Number(type=kind, field=values["field"], name=name, key=key)
    counts = {value: values[value] or "" for value in values if value.startswith("num_")}
    return definition.Counted(type=kind, **counts, name=name, key=key)
