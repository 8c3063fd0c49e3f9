"""`optimize-eval schema`: the contract, what people write and what is written for them, as JSON Schema."""

from typing import Annotated

import typer

from optimize_eval.cli import output
from optimize_eval.cli.schemas import Document, schema_text

EXAMPLES = """\b
Examples:
  optimize-eval schema answer
  optimize-eval schema payload > payload.schema.json
  optimize-eval schema sweep > sweep.schema.json

\b
payload, answer: what an evaluator gets and gives. sweep, task, rubric: files
that you write; `optimize-eval new sweep NAME` tells your editor of it.
plan, journal, summary, leaderboard: what --dry-run --json and runs have.
"""


def schema(
    document: Annotated[Document, typer.Argument(metavar="DOCUMENT", help=f"One of {', '.join(Document)}.")],
) -> None:
    """Print the JSON Schema of a document."""
    output.emit(schema_text(document))
