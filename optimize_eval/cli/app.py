"""The program `optimize-eval`: its commands, and what becomes of an error that ends one."""

import os
import traceback
from functools import cache
from typing import Annotated, Any

import typer
from typer.main import get_command

from optimize_eval.base import errors
from optimize_eval.base.errors import OptimizeEvalError
from optimize_eval.base.shipped import VERSION
from optimize_eval.cli import interrupts, output
from optimize_eval.cli.command_table import Commands

_PROGRAM = "optimize-eval"
_TRACEBACK_VARIABLE = "OPTIMIZE_EVAL_TRACEBACK"
_Misuse: Any = typer.BadParameter.__mro__[2]  # click's ClickException, which typer has within since 0.26

app = typer.Typer(
    name=_PROGRAM,
    cls=Commands,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    no_args_is_help=True,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
)

EXAMPLES = """\b
Examples:
  optimize-eval run -e ./judge.sh --candidate 'prompts/*.txt' --dataset train.jsonl --valset val.jsonl
  optimize-eval score prompt.txt -e 'python3 judge.py' --example train.jsonl:7
  optimize-eval validate train.jsonl val.jsonl

\b
An evaluator is any program: it reads {"candidate": …, "example": …} on stdin
and prints {"score": 0.73, …}. `optimize-eval schema answer` prints the
contract.
"""


def _print_version(wanted: bool) -> None:
    if wanted:
        output.emit(f"{_PROGRAM} {VERSION}")
        raise typer.Exit


@app.callback(epilog=EXAMPLES)
def optimize_eval(
    _version: Annotated[
        bool,
        typer.Option("--version", "-V", help="Print the version.", callback=_print_version, is_eager=True),
    ] = False,
) -> None:
    """Score anything with an evaluator written in any language."""


def execute() -> int:
    """Run one command and return its exit code."""
    output.complete()
    interrupts.end_like_ctrl_c()
    try:
        with interrupts.never_lost():
            return _carried_out()
    finally:
        output.release()


def _carried_out() -> int:
    try:
        return _call()
    except _Misuse as error:
        return _say_misuse(error)
    except OptimizeEvalError as error:
        output.say_error(error)
        return errors.of_error(error)
    except SystemExit as ending:  # typer's way when the reader of the help went away
        return ending.code if isinstance(ending.code, int) else 0
    except OSError as error:
        output.say(f"error: {f'{error.filename}: ' if error.filename else ''}{error.strerror or error}")
        output.say("  try: make room, or look at the permissions; then run the command again")
        return errors.COULD_NOT_GO_ON
    except Exception as error:  # noqa: BLE001  the last resort: people get a line, not a traceback
        return _say_bug(error)


@cache  # for whoever calls it several times in one process, as tests do
def _command() -> Any:
    return get_command(app)


def _call() -> int:
    try:
        status: int = _command()(prog_name=_PROGRAM, standalone_mode=False) or 0
    except interrupts.Interrupted:
        return errors.INTERRUPTED
    if status == errors.INTERRUPTED:  # typer makes this of Ctrl-C
        output.say("interrupted")
    return status


def _say_misuse(error: Any) -> int:
    context = getattr(error, "ctx", None)
    asks_for_help = context and error.message == context.get_help()
    said = error.format_message()
    if asks_for_help or not context:
        output.say(said if asks_for_help else f"error: {said}")
        return errors.USAGE
    from optimize_eval.cli.known_elsewhere import refused  # noqa: PLC0415  most command lines are right

    wrong, hint = refused(said, context.command_path)
    output.say(f"error: {wrong}")
    output.say(f"  try: {hint}")
    return errors.USAGE


def _say_bug(error: Exception) -> int:
    if os.environ.get(_TRACEBACK_VARIABLE):
        traceback.print_exception(error)
    else:
        output.say(f"error: this is a bug in optimize-eval: {type(error).__name__}: {error}")
        output.say(f"  try: {_TRACEBACK_VARIABLE}=1 shows where it happened; please report it")
    return errors.COULD_NOT_GO_ON
