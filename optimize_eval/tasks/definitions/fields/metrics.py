"""The fields of metrics, and which numbers each is known to give."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from optimize_eval.tasks.definitions.fields.context import Context, NotKnown, Rule, meant
from optimize_eval.tasks.definitions.fields.entities import ByType, Entity, Field, field, type_field
from optimize_eval.tasks.definitions.fields.nodes import Spot
from optimize_eval.tasks.definitions.fields.snippets import Snippet
from optimize_eval.tasks.definitions.fields.values import Key, Scalar, Text, Values

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


def _counted(name: str) -> Entity:
    needed = _NEEDED[name]
    counts = [_name(one) if one in needed else field(one, Text(least=1), None) for one in (_TP, _FN, _FP)]
    return _entity(*counts, _NAMED)


_ENTITIES: Mapping[str, Entity] = {
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
    **{name: _counted(name) for name in COUNTED},
}
METRIC = ByType(
    noun="a metric",
    entities=_ENTITIES,
    not_built=("weighted_average", "weighted-average"),
    other_names={name.replace("_", "-"): name for name in _ENTITIES},
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
