"""The newest record of each unit of a run on disk, typed, in the order of units; and replies they name.

Read again by each iteration, one after the other, so 100,000 take as little memory as one; of replies, too,
only where each stands is in memory. Replies are written by models.outputs; what numbers are made of records
is up to findings.
"""

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from optimize_eval.base import strict_json
from optimize_eval.base.documents import JsonDict, JsonMapping
from optimize_eval.base.frozen import frozen
from optimize_eval.store import journal
from optimize_eval.store.command_units import JournalRecord
from optimize_eval.store.folder import OUTPUTS
from optimize_eval.store.opened_run import StoredRun

ReplyIndex = dict[str, tuple[int, int]]  # a line's length and offset, by the reply's key


class StoredReplies:
    """The replies of an open file, by their keys."""

    def __init__(self, descriptor: int, places: ReplyIndex) -> None:
        self._descriptor = descriptor
        self._places = places

    def text(self, key: str | None) -> str | None:
        """Read what a model replied; None where it is not there."""
        stretch = self._places.get(key or "")
        if stretch is None:
            return None
        text = journal.decode(os.pread(self._descriptor, *stretch)).get("output")
        return text if isinstance(text, str) else None


def index_of(path: Path) -> ReplyIndex:
    """Find where each reply stands; nowhere where there is no file."""
    entries = journal.entries(path, journal.AGAIN) if path.is_file() else ()
    return {str(journal.decode(entry.line).get("key")): (entry.length, entry.offset) for entry in entries}


@contextmanager
def replies_in(path: Path, known: ReplyIndex | None = None) -> Iterator[StoredReplies | None]:
    """Open the replies of a run, whose index may be known; None where it has none."""
    if not path.is_file():
        yield None
        return
    places = index_of(path) if known is None else known
    descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        yield StoredReplies(descriptor, places)
    finally:
        os.close(descriptor)


FIELDS = (
    *("evaluator", "candidate", "task_model", "split", "line", "repeat"),
    *("outcome", "score", "kind", "message", "seconds", "attempts", "started_at", "stderr"),
)
OF_SOME = (
    "stage",
    "excluded_by",
    "reply",
    "finish_reason",
    "answered_by",
    "refused",
    "id",
)  # after these, of records that have them
SIDE_INFO = "side_info"

Unit = tuple[
    str, str, str | None, str, int | None, int
]  # evaluator, candidate, task model, split, line, repeat
LeftOut = Mapping[Unit, Sequence[str]]  # which rules of a task leave a unit out


@frozen
class RunRecord:
    """What became of one unit; what its outcome does not have is None."""

    evaluator: str
    candidate: str
    task_model: str | None
    split: str
    line: int | None  # of the split's file, from 1
    repeat: int
    outcome: Literal["scored", "failed", "skipped"]
    score: float | None
    kind: str | None
    message: str | None
    seconds: float | None
    attempts: int | None
    started_at: str | None
    stderr: str | None
    side_info: JsonMapping
    reply: str | None = None  # of the model, where a prompt was sent to one
    stage: str | None = None  # in which a call failed that has several: model, scorer
    finish_reason: str | None = None  # of the model's reply, as its server says
    answered_by: str | None = None  # who replied, as the server says
    refused: bool = False  # the reply is a refusal
    id: str | None = None  # of the example, where it has one
    excluded_by: Sequence[str] = ()  # keys of the rules that leave it out of means and metrics

    def flat(self) -> JsonDict:
        """Give all fields and, as `side_info.a.b`, what the evaluator said; lists as JSON text."""
        flat: JsonDict = {
            "evaluator": self.evaluator,
            "candidate": self.candidate,
            "task_model": self.task_model,
            "split": self.split,
            "line": self.line,
            "repeat": self.repeat,
            "outcome": self.outcome,
            "score": self.score,
            "kind": self.kind,
            "message": self.message,
            "seconds": self.seconds,
            "attempts": self.attempts,
            "started_at": self.started_at,
            "stderr": self.stderr,
            **({} if self.stage is None else {"stage": self.stage}),
            **({"excluded_by": self.excluded_by} if self.excluded_by else {}),
            **({} if self.reply is None else {"reply": self.reply}),
            **({} if self.finish_reason is None else {"finish_reason": self.finish_reason}),
            **({} if self.answered_by is None else {"answered_by": self.answered_by}),
            **({"refused": True} if self.refused else {}),
            **({} if self.id is None else {"id": self.id}),
        }
        _flatten(self.side_info, SIDE_INFO, flat)
        return flat


def _nothing(_run: StoredRun) -> LeftOut:
    return {}


@dataclass(frozen=True, slots=True)
class Records:
    """All records of a run; may be gone over again and again."""

    run: StoredRun
    left_out: Callable[[StoredRun], LeftOut] = _nothing

    def __repr__(self) -> str:
        return f"<{len(self):,} records of {str(self.run.folder)!r}>"

    def __len__(self) -> int:
        return self.run.layout.size - self.run.owed

    def __iter__(self) -> Iterator[RunRecord]:
        path, left_out = self.run.folder / OUTPUTS, self.left_out(self.run)
        ids = {
            (split.name, line): name
            for split in self.run.layout.splits
            for line, name in zip(split.lines, split.names, strict=bool(split.names))
        }
        with (
            self.run.reader() as reader,
            replies_in(path) if self.run.document.selected_models else nullcontext() as replies,
        ):
            for cell in self.run.layout.cells:
                for _, record in reader.records(cell):
                    reply = replies.text(record.get("output")) if replies else None
                    rules = left_out.get(unit_of(record), ()) if left_out else ()
                    yield _type_record(record, reply, rules, ids.get((record["split"], record.get("line"))))


def unit_of(record: JsonMapping) -> Unit:
    """Give what tells a unit from the others of a run."""
    return (
        record["evaluator"],
        record["candidate"],
        record.get("task_model"),
        record["split"],
        record.get("line"),
        record["repeat"],
    )


def _type_record(
    record: JournalRecord, reply: str | None, rules: Sequence[str], name: str | None
) -> RunRecord:
    return RunRecord(
        evaluator=record["evaluator"],
        candidate=record["candidate"],
        task_model=record.get("task_model"),
        split=record["split"],
        line=record.get("line"),
        repeat=record["repeat"],
        outcome=record["outcome"],
        score=record.get("score"),
        kind=record.get("kind"),
        message=record.get("message"),
        seconds=record.get("seconds"),
        attempts=record.get("attempts"),
        started_at=record.get("started_at"),
        stderr=record.get("stderr"),
        side_info=record.get("side_info") or {},
        reply=reply,
        id=name,
        **_facts(record.get("replied")),
        stage=record.get("stage"),
        excluded_by=tuple(rules) if record["outcome"] == "scored" else (),
    )


def _facts(replied: object) -> JsonDict:
    """Read what is to be known of a reply; what was edited by hand counts as not told."""
    reply = replied if isinstance(replied, dict) else {}
    names = {key: reply[key] for key in ("finish_reason", "answered_by") if isinstance(reply.get(key), str)}
    return {**names, "refused": reply.get("refused") is True}


def _flatten(value: JsonMapping, name: str, flat: JsonDict) -> None:
    for key, item in value.items():
        path = f"{name}.{key}"
        kind = type(item)
        if kind is dict and item:
            _flatten(item, path, flat)
            continue
        if path in flat:
            path = _unused_path(path, flat)
        flat[path] = strict_json.dumps(item).decode() if kind is list or kind is dict else item


def _unused_path(path: str, flat: JsonMapping) -> str:
    """Tell apart what is spelled alike: {"a.b": 1, "a": {"b": 2}}."""
    number = 2
    while f"{path}-{number}" in flat:
        number += 1
    return f"{path}-{number}"
