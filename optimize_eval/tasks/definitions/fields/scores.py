"""What the expressions of actions name as scores: scorers by their keys, and fields that these give."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from optimize_eval.tasks.definitions.fields.context import Context, NotKnown, meant
from optimize_eval.tasks.definitions.fields.nodes import Spot
from optimize_eval.tasks.definitions.fields.scorers import emitted
from optimize_eval.templates.template import paths_within


def keys_of(listed: Sequence[Mapping[str, Any]]) -> list[str]:
    """List the scorers' keys: one without is called by its type, and the next ones type-2, type-3."""
    taken = {one["key"] for one in listed if one["key"]}
    keys = []
    for one in listed:
        key = one["key"] or _unused(one["type"], taken)
        taken.add(key)
        keys.append(key)
    return keys


def _unused(name: str, taken: set[str]) -> str:
    if name not in taken:
        return name
    return next(f"{name}-{n}" for n in range(2, len(taken) + 3) if f"{name}-{n}" not in taken)


def check_scores(values: dict[str, Any], spot: Spot, context: Context) -> None:
    """Note where actions name scorers that there are not, or what these do not give."""
    scorers, actions = values["scorers"], spot.child("actions")
    if isinstance(scorers, NotKnown) or actions is None or any(not _is_whole(one) for one in scorers):
        return
    given = dict(zip(keys_of(scorers), map(emitted, scorers), strict=True))
    for expression in _expressions(values["actions"], actions):
        for names in paths_within(expression.node.value, "scores"):
            if reason := _reason(names, given):
                context.note(expression.path, expression.mark, reason)


def _is_whole(scorer: Any) -> bool:
    return not isinstance(scorer, NotKnown) and not isinstance(scorer["key"], NotKnown)


def _expressions(listed: Any, spot: Spot) -> Iterator[Spot]:
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
