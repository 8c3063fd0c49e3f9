"""`optimize-eval verify`: whether the task files of a leaderboard are what they were."""

from typing import Annotated

import typer

from optimize_eval.base import errors
from optimize_eval.cli import groups, output
from optimize_eval.cli.known_elsewhere import complete_run
from optimize_eval.findings.stored_boards import check_files, load_board

SCHEMA = "optimize-eval.verify.v1"

EXAMPLES = """\b
Examples:
  optimize-eval verify runs/models/leaderboard.json
  optimize-eval verify runs/models --json

\b
Files are looked for in the current folder, then in the board's.
Exit codes: 0 every file is what it was, 1 one has changed or is gone, 2 there
is no board.
"""

_WORDS = {"ok": "ok", "changed": "CHANGED: it is not what was scored", "gone": "GONE: there is no such file"}


def verify(
    board: Annotated[
        str,
        typer.Argument(
            metavar="BOARD", help="A leaderboard.json, or its folder.", autocompletion=complete_run
        ),
    ],
    as_json: groups.Json = False,
) -> None:
    """Compare the task files of a leaderboard with the sha256 that it has of them."""
    checked = check_files(load_board(board), board)
    is_ok = all(file.state == "ok" for file in checked)
    if as_json:
        output.emit_json({"schema": SCHEMA, "ok": is_ok, "files": [file.to_dict() for file in checked]})
    else:
        for file in checked:
            output.emit(f"{file.path}: {_WORDS[file.state]}")
    if not is_ok:
        raise typer.Exit(errors.MISSED)
