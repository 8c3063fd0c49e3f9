"""The table of commands. The module of one is loaded when it is chosen, so that nobody waits for the others.

A command is the function in the module of its name; one that has commands of its own is that module's `app`.
"""

from functools import cache
from importlib import import_module
from typing import Any

import typer
from typer.core import TyperCommand, TyperGroup
from typer.main import get_command

_LINES = {  # name → what the list of commands says of it
    "score": "Score one candidate with one evaluator.",
    "run": "Compare candidates over a dataset and a valset.",
    "bench": "Rank models by task files: a leaderboard.",
    "optimize": "Search for a better candidate; held-out examples decide.",
    "rescore": "Score an existing run with another evaluator.",
    "judge": "Ask people for labels where a judge may be wrong.",
    "report": "Print a run's result again, for people or machines.",
    "diff": "Say what changed from one run to another.",
    "runs": "List runs, note something of one, remove some.",
    "view": "Look at runs in a browser, also while they run.",
    "verify": "Check that a leaderboard's task files are unchanged.",
    "preflight": "Check evaluators before a long run.",
    "serve": "Put an evaluator behind HTTP.",
    "validate": "Check datasets, task files and sweep files.",
    "schema": "Print the contract as JSON Schema.",
    "evaluators": "List, show and copy what ships.",
    "new": "Write files to start from.",
    "import": "Convert another tool's configuration.",
    "demo": "Compare two shipped prompts: a verdict without a key.",
}
NAMES = tuple(_LINES)

_GROUPS = {  # heading of the list of commands → those below it
    "Compare": ("demo", "run", "bench", "optimize", "score", "rescore", "judge"),
    "Look": ("report", "diff", "runs", "view"),
    "Check": ("preflight", "validate", "verify"),
    "Write and serve": ("new", "import", "evaluators", "schema", "serve"),
}

_PYTHON_NAMES = {"import": "import_", "judge": "judge_"}  # of Python, or of a module that judges
_OF_SEVERAL = ("runs", "judge", "evaluators", "new")


class Listed(TyperCommand):
    """A command's name and line, which is all that the list of commands needs; when called, it is loaded."""

    def __init__(self, name: str, line: str) -> None:
        super().__init__(name, short_help=line)
        self._module = name

    def make_context(self, *arguments: Any, **settings: Any) -> Any:
        """Let the command itself parse its arguments; from then on it stands in the place of this."""
        return load_command(self._module).make_context(*arguments, **settings)


class Commands(TyperGroup):
    """The commands of the table, in its order."""

    def __init__(self, **settings: Any) -> None:
        listed = [Listed(name, line) for name, line in _LINES.items()]
        super().__init__(**{**settings, "commands": listed})

    def format_commands(self, _context: Any, formatter: Any) -> None:
        """Write the list of commands, by what people want of them."""
        room = max(map(len, NAMES))
        for heading, names in _GROUPS.items():
            with formatter.section(heading):
                formatter.write_dl([(f"{name:<{room}}", _LINES[name]) for name in names])

    def resolve_command(self, context: Any, arguments: list[str]) -> Any:
        """Answer a word that is no command with ours."""
        if arguments and arguments[0] not in _LINES and not arguments[0].startswith("-"):
            from optimize_eval.cli.known_elsewhere import unknown_command  # noqa: PLC0415  for few

            raise unknown_command(*arguments[:2], names=NAMES)
        return super().resolve_command(context, arguments)


@cache  # for whoever calls several commands in one process, as tests do
def load_command(name: str) -> Any:
    """Make a command of its module; whoever wants to carry out another one does so, too."""
    python_name = _PYTHON_NAMES.get(name, name)
    module = import_module(f"optimize_eval.cli.commands.{python_name}")
    if name in _OF_SEVERAL:
        return get_command(module.app)
    from optimize_eval.cli.groups import InOrder, bound  # noqa: PLC0415  the list of commands has no options

    alone = typer.Typer(add_completion=False, rich_markup_mode=None, pretty_exceptions_enable=False)
    alone.command(name, cls=InOrder, epilog=module.EXAMPLES)(bound(getattr(module, python_name)))
    return get_command(alone)
