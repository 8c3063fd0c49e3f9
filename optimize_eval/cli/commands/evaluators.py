"""`optimize-eval evaluators`: what ships, and how to read it, run it by hand, and start your own from it."""

import os
import shlex
from pathlib import Path
from typing import Annotated

import typer

from optimize_eval.base import shipped
from optimize_eval.base.errors import UsageError
from optimize_eval.base.evaluator import EvaluatorSpec
from optimize_eval.cli import groups, output
from optimize_eval.cli.known_elsewhere import complete_shipped
from optimize_eval.evaluators.kinds import parse_evaluator
from optimize_eval.programs.exchange import argv_of
from optimize_eval.reports.terminal import lists
from optimize_eval.reports.terminal.lists import ShippedEvaluator, ShippedRubric

EXAMPLES = """\b
Examples:
  optimize-eval evaluators
  optimize-eval evaluators show f1
  optimize-eval evaluators copy f1 mine.py
  optimize-eval evaluators command rouge_l@ascii
"""

_EXECUTABLE, _MODULE = 0o777, 0o666  # before the umask

app = typer.Typer(add_completion=False, rich_markup_mode=None)
EvaluatorName = Annotated[
    str,
    typer.Argument(
        metavar="NAME", help="One that ships, with or without its @.", autocompletion=complete_shipped
    ),
]


@app.callback(invoke_without_command=True, epilog=EXAMPLES)
def evaluators(context: typer.Context, as_json: groups.Json = False) -> None:
    """List the evaluators that ship, show one, copy one, or print the command that runs it."""
    if context.invoked_subcommand is None:
        list_(as_json=as_json)
    elif as_json:
        raise UsageError("--json is for the list", hint="optimize-eval evaluators --json")


@app.command("list", epilog=EXAMPLES)
def list_(as_json: groups.Json = False) -> None:
    """List the evaluators that ship and what each scores."""
    listed = [_describe(name, program) for name, program in sorted(shipped.programs().items())]
    rubrics = [
        ShippedRubric(name=name, summary=shipped.summary_of(file), file=str(file))
        for name, file in shipped.rubrics().items()
    ]
    if as_json:
        output.emit_json(lists.evaluators_to_dict(listed, rubrics))
    else:
        output.emit(lists.render_evaluators(listed, rubrics, screen=output.screen()))


@app.command(epilog=EXAMPLES)
def show(name: EvaluatorName) -> None:
    """Print the program."""
    program = shipped.rubrics().get(_bare(name)) or _program(name)
    output.emit_pieces([program.read_text(encoding="utf-8")])
    for needed in shipped.shared_by(program):
        output.say(f"it needs {needed.name} beside it: `optimize-eval evaluators copy` copies both")


@app.command(epilog=EXAMPLES)
def copy(
    name: EvaluatorName,
    to: Annotated[str, typer.Argument(metavar="TO", help="A folder, or a new file.")] = ".",
) -> None:
    """Copy the program and what it needs; nothing is ever overwritten."""
    program = _program(name)
    target = _place_for(program, to)
    modules = {target.with_name(file.name): file for file in shipped.shared_by(program)}
    _refuse_what_is_there(target, modules)
    for beside, module in modules.items():
        if not beside.exists():
            _write(beside, module, _MODULE)
    _write(target, program, _EXECUTABLE)
    output.emit(str(target))
    if modules:
        output.say(f"it needs {', '.join(module.name for module in modules)} beside it")


@app.command(epilog=EXAMPLES)
def command(name: EvaluatorName) -> None:
    """Print the shell command that runs the program."""
    output.emit(shlex.join(_argv(_bare(name))))


def _describe(name: str, program: Path) -> ShippedEvaluator:
    return ShippedEvaluator(
        name=name,
        language=shipped.LANGUAGES[program.suffix],
        summary=shipped.summary_of(program),
        file=str(program),
        also=[str(file) for file in shipped.shared_by(program)],
        command=_argv(name),
    )


def _argv(name: str) -> tuple[str, ...]:
    return argv_of(parse_evaluator(f"@{name}", EvaluatorSpec()))


def _program(name: str) -> Path:
    return shipped.metric_path(_bare(name).partition("@")[0])  # its variants are in it


def _bare(name: str) -> str:
    return name.removeprefix("@")


def _place_for(program: Path, to: str) -> Path:
    target = Path(to)
    if target.is_dir() or to.endswith("/"):
        target /= program.name
    if not to or not target.parent.is_dir():
        raise UsageError(
            f"there is no folder {str(target.parent) if to else ''!r} to copy {program.name} to",
            hint="make it with mkdir -p",
        )
    return target


def _refuse_what_is_there(target: Path, modules: dict[Path, Path]) -> None:
    """Refuse before anything is written; a module that is there already, as it ships, is fine."""
    others = [file for file, module in modules.items() if os.path.lexists(file) and not _same(file, module)]
    there = [target] if os.path.lexists(target) else others
    if there:
        raise _there_already(there[0])


def _same(file: Path, module: Path) -> bool:
    return file.is_file() and file.read_bytes() == module.read_bytes()


def _write(target: Path, source: Path, mode: int) -> None:
    try:
        with os.fdopen(os.open(target, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode), "wb") as stream:
            stream.write(source.read_bytes())
    except FileExistsError:  # it came meanwhile
        raise _there_already(target) from None


def _there_already(file: Path) -> UsageError:
    return UsageError(f"{str(file)!r} exists and stays as it is", hint="name another file or folder")
