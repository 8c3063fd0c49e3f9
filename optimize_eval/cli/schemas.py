"""The documents that have a JSON Schema: one written as a file, or made here of the code that knows it."""

from enum import StrEnum
from importlib import import_module
from pathlib import Path

import orjson

_FOLDER = Path(__file__).resolve().parents[1] / "schema"
_DIALECT = "https://json-schema.org/draft/2020-12/schema"


class Document(StrEnum):
    """What is described."""

    PAYLOAD = "payload"
    ANSWER = "answer"
    SWEEP = "sweep"
    TASK = "task"
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
