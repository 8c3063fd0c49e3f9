"""`optimize-eval demo`: two prompts compared with what ships, down to a verdict; no key is needed."""

import shlex
import shutil
from pathlib import Path
from typing import Annotated

import typer

from optimize_eval.base import shipped
from optimize_eval.base.errors import UsageError
from optimize_eval.cli import output
from optimize_eval.cli.command_table import load_command
from optimize_eval.cli.viewing import open_page

EXAMPLES = """\b
Examples:
  optimize-eval demo
  optimize-eval demo --open
  optimize-eval demo elsewhere

\b
It writes its files into a folder, then prints the command that compares them
and carries it out. Files that are there stay as they are: edit a prompt, and
the same command calls only what is new. docs/tutorial.md goes on from here.
"""

_MODEL = "model.py"
_FILES = (
    "train.jsonl",
    "val.jsonl",
    _MODEL,
    *(f"prompts/{name}.md" for name in ("short", "teams", "examples")),
)


def demo(
    folder: Annotated[str, typer.Argument(metavar="[DIR]", help="Where its files go.")] = "demo",
    open_: Annotated[bool, typer.Option("--open", help="Open the page of the result in a browser.")] = False,
) -> None:
    """Compare two prompts with what ships: a verdict without a key."""
    _write_files(Path(folder))
    arguments = _arguments(folder)
    output.say(f"$ {shlex.join(['optimize-eval', 'run', *arguments])}")
    _call("run", *arguments)
    if open_:
        _call("report", f"{folder}/run", "--format", "html")
        open_page(Path(folder, "run", "report.html"))


def _write_files(folder: Path) -> None:
    """Copy what is not there; who edited a file keeps it."""
    if folder.exists() and not (folder / _MODEL).is_file() and not _is_empty(folder):
        raise UsageError(f"{folder} exists and holds something else", hint="name another folder: demo DIR")
    (folder / "prompts").mkdir(parents=True, exist_ok=True)
    missing = [name for name in _FILES if not (folder / name).exists()]
    for name in missing:
        shutil.copyfile(shipped.path(f"datasets/routing/{name}"), folder / name)
    if missing:
        output.say(
            f"wrote {len(missing)} files into {folder}: messages of customers, prompts and a small model"
        )


def _is_empty(folder: Path) -> bool:
    return folder.is_dir() and not any(folder.iterdir())


def _arguments(folder: str) -> list[str]:
    return [
        *("--prompt", f"{folder}/prompts/short.md", "--prompt", f"{folder}/prompts/teams.md"),
        *("--model", f"small=cmd:python3 {shlex.quote(f'{folder}/{_MODEL}')}"),
        *("-e", "@exact_match --target-field team"),
        *("--dataset", f"{folder}/train.jsonl", "--valset", f"{folder}/val.jsonl"),
        *("--out", f"{folder}/run"),
    ]


def _call(name: str, *arguments: str) -> None:
    """Carry out another command, as if it were typed."""
    command = load_command(name)
    with command.make_context(name, [*arguments]) as context:
        command.invoke(context)
