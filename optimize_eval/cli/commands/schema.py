"""`optimize-eval schema`: the contract as JSON Schema, for authors in other languages."""

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from optimize_eval.cli import output

EXAMPLES = """\b
Examples:
  optimize-eval schema answer
  optimize-eval schema payload > payload.schema.json
"""

_FOLDER = Path(__file__).resolve().parents[2] / "schema"


class Direction(StrEnum):
    """The two directions of the protocol."""

    PAYLOAD = "payload"
    ANSWER = "answer"


def schema(
    document: Annotated[Direction, typer.Argument(metavar="DOCUMENT", help="payload or answer.")],
) -> None:
    """Print the JSON Schema of the payload or of the answer."""
    file = _FOLDER / f"{document}.schema.json"
    output.emit(file.read_text(encoding="utf-8").rstrip())
