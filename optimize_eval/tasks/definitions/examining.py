"""Filters that examine rows: which samples of a dataset take part, and which rows actions leave out."""

import operator
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from optimize_eval.base.errors import EvaluationError, FailureKind
from optimize_eval.tasks.definitions.filters import Comparison, Filter, Membership, Unary
from optimize_eval.tasks.definitions.score.fields import variables
from optimize_eval.tasks.definitions.solve.trace import Trace
from optimize_eval.tasks.definitions.task import Action
from optimize_eval.tasks.definitions.values import are_alike, text_of
from optimize_eval.templates.fault import RULE, TemplateFault
from optimize_eval.templates.native import NOT_THERE, native_of

Fields = Mapping[str, Any]
Examine = Callable[[Fields], bool]

_EXISTENCE = {"exists": True, "not_exists": False}
_EQUALITY = {"equals": True, "not_equals": False}
_ORDERS: Mapping[str, Callable[[float, float], bool]] = {
    "greater_than": operator.gt,
    "less_than": operator.lt,
    "greater_or_equal": operator.ge,
    "less_or_equal": operator.le,
}


class RuleFault(ValueError):
    """Why a rule cannot be applied to a row."""


class Actions:
    """The rules of a task that leave rows out of metrics."""

    def __init__(self, actions: Sequence[Action]) -> None:
        self._rules = [(action.key, examiner(action.filter)) for action in actions]

    def excluded_by(
        self, sample: Fields, trace: Trace | None, scores: Mapping[str, Fields]
    ) -> tuple[str, ...]:
        """List the rules that leave a row out; `scores` are fields by their scorers' keys.

        Raises EvaluationError, whose stage is the rule that cannot be applied.
        """
        if not self._rules:
            return ()
        fields = variables(sample, trace)
        fields["scores"] = scores
        return tuple(key for key, examine in self._rules if _examined(key, examine, fields))


def takes_part(filters: Sequence[Filter]) -> Examine:
    """Make what tells of a dataset's row whether all filters hold; raises RuleFault.

    >>> takes_part([Comparison(op="greater_than", expression="{{ n }}", value=2)])({"n": 3})
    True
    """
    examined = [examiner(one) for one in filters]
    return lambda row: all(examine({**row, "sample": row}) for examine in examined)


def examiner(filter_: Filter) -> Examine:
    """Make what tells whether a filter holds for a template's variables; raises RuleFault."""
    try:
        value_of = native_of(filter_.expression)
    except TemplateFault as fault:
        raise RuleFault(f"{RULE}: {fault.reason}") from None

    def examine(fields: Fields) -> bool:
        try:
            value = value_of(fields)
        except TemplateFault as fault:
            raise RuleFault(f"{RULE}: {fault.reason}") from None
        return _holds(filter_, value)

    return examine


def _holds(filter_: Filter, value: Any) -> bool:
    if filter_.op in _EXISTENCE:
        return _EXISTENCE[filter_.op] == (value is not NOT_THERE)
    if value is NOT_THERE:
        raise RuleFault(f"{filter_.expression} is not there, and {filter_.op} wants a value")
    match filter_:
        case Comparison():
            return _compares(filter_, value)
        case Membership(op=op, values=values):
            return any(are_alike(value, one) for one in values) == (op == "in")
        case Unary(op=op):
            if not isinstance(value, bool):
                raise RuleFault(f"{filter_.expression} is {_shown(value)}, and {op} wants true or false")
            return value == (op == "is_true")


def _compares(filter_: Comparison, value: Any) -> bool:
    if filter_.op in _EQUALITY:
        return _EQUALITY[filter_.op] == are_alike(value, filter_.value)
    return _ORDERS[filter_.op](_number(value, filter_), _number(filter_.value, filter_))


def _number(value: Any, filter_: Comparison) -> float:
    if not isinstance(value, bool | int | float):
        what = filter_.expression if value is not filter_.value else "its value"
        raise RuleFault(f"{what} is {_shown(value)}, and {filter_.op} wants a number")
    return value


def _examined(key: str, examine: Examine, fields: Fields) -> bool:
    try:
        return examine(fields)
    except RuleFault as fault:
        error = EvaluationError(FailureKind.REPORTED, f"action {key}: {fault}")
        error.stage = "action"
        raise error from None


def _shown(value: Any) -> str:
    text = text_of(value)
    quoted = f'"{text}"' if isinstance(value, str) else text
    return quoted if len(quoted) <= _LONGEST else f"{quoted[: _LONGEST - 1]}…"


_LONGEST = 60
