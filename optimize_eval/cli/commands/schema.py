"""`optimize-eval schema`: the contract, what people write and what is written for them, as JSON Schema."""

from enum import StrEnum
from importlib import import_module
from pathlib import Path
from typing import Annotated

import orjson
import typer

from optimize_eval.cli import output

EXAMPLES = """\b
Examples:
  optimize-eval schema answer
  optimize-eval schema payload > payload.schema.json
  optimize-eval schema sweep > sweep.schema.json

\b
payload, answer: what an evaluator gets and gives. sweep, task, rubric,
checks: what you write; `optimize-eval new sweep NAME` tells your editor of
it. plan, journal, summary, leaderboard: what --dry-run --json and runs have.
"""


_FOLDER = Path(__file__).resolve().parents[2] / "schema"
_DIALECT = "https://json-schema.org/draft/2020-12/schema"


class Document(StrEnum):
    """What is described."""

    PAYLOAD = "payload"
    ANSWER = "answer"
    SWEEP = "sweep"
    TASK = "task"
    CHECKS = "checks"
    RUBRIC = "rubric"
    PLAN = "plan"
    JOURNAL = "journal"
    SUMMARY = "summary"
    LEADERBOARD = "leaderboard"


_MADE_HERE = {Document.SWEEP, Document.TASK, Document.RUBRIC, Document.SUMMARY, Document.LEADERBOARD}


def schema_text(document: Document) -> str:
    """Write a document's schema."""
    if document not in _MADE_HERE:
        return (_FOLDER / f"{document}.schema.json").read_text(encoding="utf-8").rstrip()
    module = import_module("optimize_eval.cli.schema_documents")
    made = getattr(module, f"{document}_schema")()
    return orjson.dumps({"$schema": _DIALECT, **made}, option=orjson.OPT_INDENT_2).decode()


def schema(
    document: Annotated[Document, typer.Argument(metavar="DOCUMENT", help=f"One of {', '.join(Document)}.")],
) -> None:
    """Print the JSON Schema of a document."""
    output.emit(schema_text(document))
