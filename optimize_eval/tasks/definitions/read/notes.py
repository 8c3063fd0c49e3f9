"""What a task file may have, though it does nothing, is called otherwise now, or wants something more."""

import re
from collections.abc import Callable, Iterator

from optimize_eval.tasks.definitions.fields.context import Context
from optimize_eval.tasks.definitions.fields.nodes import Kind, Spot, texts_of
from optimize_eval.tasks.definitions.fields.task import OLD_NAME, is_there

_VARIABLE = re.compile(r"(?<![\w$])\$(?:\{[A-Z_][A-Z0-9_]*\}|[A-Z_][A-Z0-9_]+)")


def note_what_is_old(root: Spot, context: Context) -> None:
    definition = root.child("definition")
    _note(root, "evaluated_entity_type", "is deprecated: it belongs in definition", context)
    if definition is None:
        return
    kind = definition.child("type")
    if kind and kind.node.value == OLD_NAME:
        context.note(kind.path, kind.mark, f"{OLD_NAME} is now called benchmark_task")
    dataset = definition.child("dataset")
    if dataset:
        _note(dataset, "fast_subset_size", "is deprecated, and has no effect: --limit takes fewer", context)


def _note(spot: Spot, name: str, reason: str, context: Context) -> None:
    child = spot.child(name)
    if child and is_there(spot, name):
        context.note(child.path, child.key or child.mark, f"{name} {reason}")


def note_what_is_sent(root: Spot, context: Context) -> None:
    """Tell of $NAME in texts that are no code."""
    for spot in texts_of(root):
        found = _VARIABLE.search(spot.node.value)
        if found and not spot.path.endswith("_snippet"):
            reason = f"{found[0]} is sent as it is: variables of the environment are not put in"
            context.note(spot.path, spot.mark, reason)


def note_what_is_missing(root: Spot, context: Context, has_dataset: Callable[[str], bool]) -> None:
    """Tell which datasets and models have to be named when the task is run."""
    definition = root.child("definition")
    if definition is None:
        return
    if is_there(definition, "dataset") and not definition.child("scorers"):
        context.note(definition.path, definition.mark, "the task has no scorers: it cannot be run")
    dataset = definition.child("dataset")
    key = dataset.child("key") if dataset else None
    if key and _is_text(key) and not has_dataset(key.node.value):
        reason = f"no such dataset stands beside the task: run it with --data {key.node.value}=FILE"
        context.note(key.path, key.mark, reason)
    told = set[str]()
    for model in _models(definition):
        reason = _of_model(model.node.value)
        if reason and model.node.value not in told:
            context.note(model.path, model.mark, reason)
        told.add(model.node.value)


def _of_model(key: str) -> str:
    if "/" in key or ":" in key:
        return ""
    provider, dollar, name = key.partition("$")
    if dollar:
        return f"this is called as {provider}/{name}: where its name has dots, add --model-key '{key}=…'"
    return f"this is no PROVIDER/MODEL: run it with --model-key {key}=PROVIDER/MODEL"


def _models(spot: Spot) -> Iterator[Spot]:
    for child in (*spot.children(), *spot.items()):
        if child.path.endswith(("model_key", "judge_model_key")) and _is_text(child):
            yield child
        yield from _models(child)


def _is_text(spot: Spot) -> bool:
    return spot.node.kind is Kind.TEXT and not spot.node.is_partial
