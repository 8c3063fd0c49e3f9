"""The fields of solvers, scorers and metrics, and what has to hold between them."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from optimize_eval.base.checks import Check
from optimize_eval.base.documents import JsonDict, JsonMapping
from optimize_eval.base.frozen import frozen
from optimize_eval.tasks.definition import COVERAGE, JUDGE_SAYS, LABELER_SAYS, RAG_SCORES
from optimize_eval.tasks.templates.template import paths_within
from optimize_eval.tasks.yaml.fields import (
    REQUIRED,
    Between,
    Boolean,
    ByType,
    Choice,
    Column,
    Entity,
    Field,
    Json,
    Key,
    ListOf,
    Number,
    OneOf,
    Scalar,
    Text,
    Values,
    bad_type,
    field,
    type_field,
)
from optimize_eval.tasks.yaml.snippet_fields import MESSAGE, SCORER, SOLVER, ListText, Snippet, Template
from optimize_eval.tasks.yaml_problems import NOT_KNOWN, Context, Kind, NotKnown, Rule, Spot, meant, plain

ROLES = ("system", "user", "assistant")

_ROLE = OneOf(choices=ROLES)
_FORMAT = field("message_format", Text(least=1), None)  # theirs, of what is sent: ours is one for all


@frozen
class Content:
    """What a message says."""

    template: Template

    def read(self, spot: Spot, context: Context) -> str | NotKnown:
        if spot.node.kind is Kind.LIST:
            reason = "images and other parts of a message are not supported: its content is a text"
            context.wrong(Rule.NOT_SUPPORTED, spot.path, spot.mark, reason)
            return NOT_KNOWN
        return self.template.read(spot, context)


_STOP = field(
    "terminate_if",
    Entity(
        noun="terminate_if",
        fields=(field("includes", Text(least=1)), field("keep_iteration", Boolean(), default=True)),
    ),
    None,
)


def _message_fields(template: Template) -> tuple[Field, Field]:
    return field("role", _ROLE), field("content", Content(template=template))


_INPUT_MESSAGE = Entity(noun="a message", fields=_message_fields(Template(names=SOLVER)))
_EXTRA_MESSAGE = Entity(
    noun="a message",
    fields=(field("type", OneOf(choices=("chat_message",)), None), *_message_fields(Template(names=MESSAGE))),
)
INPUT_BUILDER = ByType(
    noun="an input builder",
    entities={
        "generic": Entity(
            noun="a generic input builder",
            fields=(type_field(), field("template", Template(names=SOLVER, least=1))),
        ),
        "chat_completion": Entity(
            noun="a chat_completion input builder",
            fields=(type_field(), field("input_messages", ListOf(what=_INPUT_MESSAGE, least=1))),
        ),
    },
)

_BUILDERS: dict[str, Entity] = {
    "chat_message": Entity(
        noun="a chat_message", fields=(type_field(), *_message_fields(Template(names=MESSAGE)), _STOP)
    ),
    "generate": Entity(noun="generate", fields=(type_field(), _STOP)),
    "generate_message": Entity(
        noun="generate_message",
        fields=(
            type_field(),
            field("model_key", Text(least=1)),
            field("extra_input_messages", ListOf(what=_EXTRA_MESSAGE, least=1)),
            field("output_role", _ROLE, "assistant"),
            field("include_conversation", Boolean(), default=True),
            _STOP,
        ),
    ),
}
MESSAGE_BUILDER = ByType(noun="a message builder", entities=_BUILDERS, not_built=("load_trace",))
_LOOP = Entity(
    noun="a loop",
    fields=(
        type_field(),
        field("message_builders", ListOf(what=MESSAGE_BUILDER, least=1)),
        field("max_iterations", Number(is_whole=True, least=0), 10),
        field("on_max_iterations", OneOf(choices=("error", "continue")), "error"),
    ),
)
_BUILDERS["loop"] = _LOOP  # which may be in a loop

_SOLVERS: Mapping[str, Entity] = {
    "single_turn_solver": Entity(
        noun="a single_turn_solver",
        fields=(type_field(), field("input_builder", INPUT_BUILDER), _FORMAT),
        not_built=("postprocessor", "trials"),
    ),
    "multi_turn_solver": Entity(
        noun="a multi_turn_solver",
        fields=(type_field(), field("message_builders", ListOf(what=MESSAGE_BUILDER, least=1)), _FORMAT),
        not_built=("postprocessor", "trials"),
    ),
    "pass_through_solver": Entity(
        noun="a pass_through_solver",
        fields=(type_field(), field("trace_column", Column(is_needed=True)), _FORMAT),
        not_built=("postprocessor", "trials"),
    ),
    "python": Entity(
        noun="a python solver",
        fields=(
            type_field(),
            field(
                "run_solver_snippet",
                Snippet(function="run_solver", arguments=(("sample", "model", "trace"),), is_async=True),
            ),
        ),
        not_built=("postprocessor", "trials"),
    ),
}
SOLVER_OF_TASK = ByType(noun="a solver", entities=_SOLVERS, not_built=("grouped_single_turn_solver",))


NUMBERS = ("mean", "max", "min", "std_dev")
COUNTED = ("recall", "precision", "f1_score")

_BINARY = ("accuracy", "precision", "recall", "f1_score")
_FIELDS = (  # of a metric that name a field of the scorer
    "field",
    "field_gt",
    "field_pred",
    "num_true_positives_field",
    "num_false_negatives_field",
    "num_false_positives_field",
)
_NAMED = field("name", Text(least=1), None)
_TP, _FN, _FP = _FIELDS[3:]
_NEEDED = {"recall": (_TP, _FN), "precision": (_TP, _FP), "f1_score": (_TP, _FN, _FP)}


def _name(name: str) -> Field:
    return field(name, Text(least=1))


def _entity(*fields: Field) -> Entity:
    return Entity(noun="a metric", fields=(type_field(), field("key", Key(), None), *fields))


def _count_entity(name: str) -> Entity:
    needed = _NEEDED[name]
    counts = [
        _name(entry) if entry in needed else field(entry, Text(least=1), None) for entry in (_TP, _FN, _FP)
    ]
    return _entity(*counts, _NAMED)


_METRICS: Mapping[str, Entity] = {
    "python": _entity(
        field("compute_metrics_snippet", Snippet(function="compute_metrics", arguments=(("scores",),)))
    ),
    "binary_classification": _entity(
        _name("field_gt"),
        _name("field_pred"),
        field("positive_answer", Scalar()),
        field("negative_answer", Scalar()),
    ),
    "multiclass_classification": _entity(_name("field_gt"), _name("field_pred")),
    **{name: _entity(_name("field"), _NAMED) for name in NUMBERS},
    "frequency": _entity(_name("field")),
    **{name: _count_entity(name) for name in COUNTED},
}
METRIC = ByType(
    noun="a metric",
    entities=_METRICS,
    not_built=("weighted_average", "weighted-average"),
    other_names={name.replace("_", "-"): name for name in _METRICS},
)


def check_metrics(metrics: Sequence[Any], fields: Sequence[str], spot: Spot, context: Context) -> None:
    """Check that metrics of one scorer name fields that it has, and none has a result twice.

    Equal results of several metrics are told apart by the keys of these.
    """
    results: dict[tuple[str, str], str] = {}  # of a metric's key or type, and its result's name
    for metric, item in zip(metrics, spot.items(), strict=True):
        if isinstance(metric, NotKnown):
            continue
        if fields:
            _check_fields(metric, fields, item, context)
        key = metric["key"] if isinstance(metric["key"], str) else metric["type"]
        for result in _results(metric):
            if (key, result) in results:
                advice = "give it another name or key" if "name" in metric else "give it a key of its own"
                reason = f"{results[key, result]} has the result {result!r} already: {advice}"
                context.wrong(Rule.BAD_VALUE, _path_of_name(metric, item), item.mark, reason)
                break
            results[key, result] = item.path


def _check_fields(metric: Values, fields: Sequence[str], spot: Spot, context: Context) -> None:
    for name in _FIELDS:
        value = metric.get(name)
        child = spot.child(name)
        if isinstance(value, str) and child and not child.node.is_partial and value not in fields:
            reason = f"the scorer gives no {value!r}{meant(value, fields)}"
            context.wrong(Rule.BAD_VALUE, child.path, child.mark, reason)


def _path_of_name(metric: Values, spot: Spot) -> str:
    return spot.of("name") if metric.get("name") else spot.path


def _results(metric: Values) -> Iterator[str]:
    """List what a metric's results are called, where that is known before it is computed."""
    kind, name, field_name = metric["type"], metric.get("name"), metric.get("field")
    if kind == "binary_classification":
        yield from _BINARY
    elif kind == "multiclass_classification":
        yield "accuracy"
    elif kind == "frequency" and isinstance(field_name, str):
        yield f"{field_name}_…"
    elif isinstance(name, str):
        yield name
    elif kind in COUNTED and name is None:
        yield kind
    elif kind in NUMBERS and name is None and isinstance(field_name, str):
        yield f"{field_name}_{kind}"


TARGETS = ("command", "url", "use", "judge")


@frozen
class Evaluator:
    """Fields that all scorers have; every other key is the evaluator's."""

    common: Sequence[Field]
    between: Sequence[Between]

    def read(self, spot: Spot, context: Context) -> JsonDict | NotKnown:
        if spot.node.kind is not Kind.MAPPING:
            return bad_type(spot, context, "an evaluator: a mapping")
        before = len(context.problems)
        values = {entry.name: _read(entry, spot, context) for entry in self.common}
        keys = self._keys(spot, context)
        _check_target(keys, spot, context)
        for check in self.between:
            check({**values, "type": "evaluator"}, spot, context)
        return {**values, "keys": keys if len(context.problems) == before else NOT_KNOWN}

    def _keys(self, spot: Spot, context: Context) -> JsonDict:
        common = [entry.name for entry in self.common]
        keys = {name: child for name in spot.entries if name not in common and (child := spot.child(name))}
        for name, child in keys.items():
            _check_key(name, child, common, context)
        return {name: plain(child.node) for name, child in keys.items()}


def _read(one: Field, spot: Spot, context: Context) -> Any:
    child = spot.child(one.name)
    is_there = child and not (child.node.kind is Kind.NULL and one.default is None)
    return one.what.read(child, context) if child and is_there else one.default


def _check_target(keys: JsonMapping, spot: Spot, context: Context) -> None:
    named = [name for name in TARGETS if name in keys]
    if not named:
        reason = f"an evaluator needs one of {', '.join(TARGETS)}"
        context.wrong(Rule.MISSING_REQUIRED, spot.of(TARGETS[0]), spot.mark, reason)
    for name in named[1:]:
        child = spot.child(name) or spot
        reason = f"an evaluator has one of {', '.join(TARGETS)}: this one has {named[0]} already"
        context.wrong(Rule.BAD_VALUE, child.path, child.mark, reason)


def _check_key(name: str, child: Spot, common: Sequence[str], context: Context) -> None:
    known = context.evaluator_keys and context.evaluator_keys()
    if known is not None and name not in known:
        reason = f"an evaluator has no such key{meant(name, [*common, *known])}"
        context.wrong(Rule.UNKNOWN_FIELD, child.path, child.key or child.mark, reason)
    elif known is not None and not child.node.is_partial and child.node.kind is not Kind.UNKNOWN:
        _check_value(child, known[name], context)


def _check_value(child: Spot, check: Check, context: Context) -> None:
    try:
        check(plain(child.node))
    except ValueError as error:
        context.wrong(Rule.BAD_VALUE, child.path, child.mark, str(error).partition("\n")[0])


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


def _metrics(values: JsonDict, spot: Spot, context: Context) -> None:
    metrics, child = values.get("metrics"), spot.child("metrics")
    if isinstance(metrics, list) and child:
        check_metrics(metrics, emitted(values), child, context)


def emitted(values: JsonMapping) -> Sequence[str]:
    """List the fields that a scorer gives; empty where that is not known."""
    if values["type"] == "rag_checker":
        computed = values["scores_to_compute"]
        is_known = computed is not NOT_KNOWN and not any(entry is NOT_KNOWN for entry in computed or ())
        return (computed or RAG_SCORES) if is_known else ()
    return _EMITTED.get(values["type"], ())


def _has_value(values: JsonDict, spot: Spot, context: Context) -> None:
    if values["value"] is None and not context.has_output:
        reason = "value is required: a task of a dataset has no output of a model to score"
        context.wrong(Rule.MISSING_REQUIRED, spot.of("value"), spot.mark, reason)


def _needs_output(_values: JsonDict, spot: Spot, context: Context) -> None:
    if not context.has_output and (child := spot.child("type")):
        reason = f"{child.node.value} scores what a model says, and the task has no solver"
        context.wrong(Rule.BAD_VALUE, child.path, child.mark, reason)


def _labels(values: JsonDict, spot: Spot, context: Context) -> None:
    right, wrong = values["correct_labels"], values["incorrect_labels"]
    child = spot.child("incorrect_labels")
    if isinstance(right, NotKnown) or isinstance(wrong, NotKnown) or child is None:
        return
    for label, item in zip(wrong, child.items(), strict=True):
        if label is not NOT_KNOWN and label in right:
            reason = f"{label!r} is one of correct_labels, too"
            context.wrong(Rule.BAD_VALUE, child.path, item.mark, reason)


def _range(values: JsonDict, spot: Spot, context: Context) -> None:
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


_SCORERS: JsonMapping = {
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
SCORER_OF_TASK = ByType(noun="a scorer", entities=_SCORERS)


def keys_of(listed: Sequence[JsonMapping]) -> list[str]:
    """List the scorers' keys: one without is called by its type, and the next ones type-2, type-3."""
    taken = {item["key"] for item in listed if item["key"]}
    keys = []
    for entry in listed:
        key = entry["key"] or _free_name(entry["type"], taken)
        taken.add(key)
        keys.append(key)
    return keys


def _free_name(name: str, taken: set[str]) -> str:
    if name not in taken:
        return name
    return next(f"{name}-{n}" for n in range(2, len(taken) + 3) if f"{name}-{n}" not in taken)


def check_scores(values: JsonDict, spot: Spot, context: Context) -> None:
    """Note where actions name scorers that there are not, or what these do not give."""
    scorers, actions = values["scorers"], spot.child("actions")
    if isinstance(scorers, NotKnown) or actions is None or any(not _is_whole(scorer) for scorer in scorers):
        return
    given = dict(zip(keys_of(scorers), map(emitted, scorers), strict=True))
    for expression in _expressions(values["actions"], actions):
        for names in paths_within(expression.node.value, "scores"):
            if reason := _reason(names, given):
                context.note(expression.path, expression.mark, reason)


def _is_whole(scorer: Any) -> bool:
    return not isinstance(scorer, NotKnown) and not isinstance(scorer["key"], NotKnown)


def _expressions(listed: object, spot: Spot) -> Iterator[Spot]:
    """Find those that are right as templates."""
    for action, item in zip(listed if isinstance(listed, list) else (), spot.items(), strict=False):
        filter_ = None if isinstance(action, NotKnown) else action["filter"]
        place = item.child("filter")
        child = place.child("expression") if place else None
        if isinstance(filter_, dict) and isinstance(filter_["expression"], str) and child:
            yield child


def _reason(names: Sequence[str], given: Mapping[str, Sequence[str]]) -> str:
    if names[0] not in given:
        return f"there is no scorer {names[0]!r}{meant(names[0], list(given))}"
    fields = given[names[0]]
    if len(names) > 1 and fields and names[1] not in fields:
        return f"the scorer {names[0]} gives no {names[1]!r}{meant(names[1], fields)}"
    return ""
