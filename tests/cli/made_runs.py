"""Runs on disk made by hand, for tests of what lists and removes them."""

import os
from collections.abc import Mapping
from pathlib import Path

import orjson

from optimize_eval.store.journal import seal
from optimize_eval.store.ledger import journal_end
from optimize_eval.store.opened_run import open_stored
from tests.findings.made import on_val

ENDED = "2026-01-02T03:04:05.678+00:00"


def make(folder: Path, *, status: str | None = "done", age: int = 0, verdict: str = "v scores 0.5") -> Path:
    """Write a run whose last session ended so; without a status it was killed."""
    on_val(v=[0.5]).write(folder)
    footer = seal({"ended_at": ENDED, "status": status}) if status else b""
    with (folder / "journal.jsonl").open("ab") as stream:
        stream.write(footer)
    units = {"total": 1, "scored": 1, "failed": 0, "skipped": 0, "owed": 0}
    write_summary(folder, {"verdict": {"text": verdict}, "units": units})
    os.utime(folder / "journal.jsonl", (1e9 - age, 1e9 - age))
    return folder


def write_summary(folder: Path, summary: Mapping[str, object]) -> None:
    """Write a summary of all that the run has now."""
    end = journal_end(folder, open_stored(folder).document)
    marked = {**summary, "journal": {"end": end.end, "crc": end.crc, "run": end.run}}
    (folder / "summary.json").write_bytes(orjson.dumps(marked))
