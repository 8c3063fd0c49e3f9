"""What is left to do in a task file."""

from optimize_eval.tasks.definitions.fields.context import Context, Rule
from optimize_eval.tasks.definitions.fields.nodes import Spot, texts_of

TODO = "((TODO))"


def check_unfinished(root: Spot, context: Context) -> None:
    """Find ((TODO)) in all keys and texts."""
    for spot in texts_of(root):
        for number, line in enumerate(spot.node.value.split("\n"), 1):
            if TODO in line:
                context.wrong(
                    Rule.UNFINISHED, spot.path, spot.node.at(number), "((TODO)) is left to be written"
                )
    _check_keys(root, context)


def _check_keys(spot: Spot, context: Context) -> None:
    for name, entry in spot.entries.items():
        if TODO in name:
            context.wrong(Rule.UNFINISHED, spot.of(name), entry.mark, "((TODO)) is left to be written")
    for child in (*spot.children(), *spot.items()):
        _check_keys(child, context)
