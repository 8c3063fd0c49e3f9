"""What a task file may have, though it does nothing, or will soon be called otherwise."""

import re

from optimize_eval.tasks.definitions.read.context import Context
from optimize_eval.tasks.definitions.read.nodes import Spot, texts_of
from optimize_eval.tasks.definitions.read.of_task import OLD_NAME, is_there

_VARIABLE = re.compile(r"(?<![\w$])\$(?:\{[A-Z_][A-Z0-9_]*\}|[A-Z_][A-Z0-9_]+)")


def note_what_is_old(root: Spot, context: Context) -> None:
    definition = root.child("definition")
    _note(root, "evaluated_entity_type", "is deprecated: it belongs into definition", context)
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
