"""What models replied, written down apart from scores, in lines that are sealed as a journal's are.

So a resume and a rescore call no model again for what is there already. An output is found by what it depends
on: the model's identity, the prompt, the task's id and the repeat; a failed call is not written down. In
memory is only where each line stands.

What a reply took is counted once: the first record that takes it over says so, also after a kill between the
two. Replies of other runs took nothing here; it is counted there.
"""

import hashlib
import os
import threading
from collections.abc import Collection, Iterator
from contextlib import suppress
from functools import partial
from pathlib import Path

import orjson

from optimize_eval.base.documents import JsonMapping
from optimize_eval.base.errors import CannotGoOn, EvaluationError, FailureKind
from optimize_eval.base.evaluator import Opened
from optimize_eval.base.spent import is_of_reply
from optimize_eval.models.under_test import Output, Prompt
from optimize_eval.store import journal
from optimize_eval.store.folder import EVALUATIONS, JOURNAL, OUTPUTS, OUTPUTS_SCHEMA

OWN = "called_here"  # of a reply that took something in this very run


def _unpaid_in(outputs: Path) -> set[bytes]:
    """List the keys of such replies that no record tells of."""
    unpaid = {str(record["key"]) for record in _records(outputs, OWN) if record.get(OWN)}
    for records in (outputs.with_name(name) for name in (JOURNAL, EVALUATIONS)):  # of a run, of a search
        for record in _records(records, "usage") if unpaid and records.is_file() else ():
            unpaid.difference_update(_paid(record))
    return set(map(bytes.fromhex, unpaid))


def copy_outputs(own: Path, other: Path, models: Collection[str]) -> int:
    """Copy what models replied in another folder, by what people call the models; returns how much it was."""
    mine = own / OUTPUTS
    entries = list(journal.entries(mine)) if mine.exists() else []
    present = {journal.decode(entry.line).get("key") for entry in entries}
    lines = [
        _as_copied(entry.line)
        for entry in journal.entries(other / OUTPUTS)
        if _is_wanted(journal.decode(entry.line), models, present, is_header=not entries)
    ]
    copied = len(lines) - (not entries)
    if copied <= 0:  # a header alone
        return 0
    written = journal.Journal(mine, entries[-1].offset + entries[-1].length if entries else 0)
    try:
        written.append(b"".join(lines))
    finally:
        written.close()
    return copied


def _is_wanted(
    record: JsonMapping, models: Collection[str], present: Collection[object], *, is_header: bool
) -> bool:
    if "schema" in record:
        return is_header
    return record.get("model") in models and record.get("key") not in present


def _as_copied(line: bytes) -> bytes:
    """Write the line of a reply as another run keeps it."""
    if OWN.encode() not in line:
        return line
    record = journal.decode(line)
    return journal.seal({key: value for key, value in record.items() if key not in {OWN, "crc"}})


def _records(path: Path, having: str) -> Iterator[JsonMapping]:
    mark = f'"{having}":'.encode()
    return (journal.glance(entry.line) for entry in journal.entries(path) if mark in entry.line)


def _paid(record: JsonMapping) -> Iterator[str]:
    for usage in record.get("usage", ()):
        if is_of_reply(usage):
            yield usage.get("output") or record.get("output", "")


_LENGTH = 40  # bits of an index entry that tell the line's length; those above tell where it starts


def outputs_at(path: Path, opened: Opened) -> "Outputs":
    """Share a file of outputs: two models of a run write to one."""
    return opened.share((Outputs, os.path.realpath(path)), partial(Outputs, path))


def key_of(model: str, prompt: Prompt) -> bytes:
    """Digest what an output depends on; `model` is the model's identity."""
    return hashlib.sha256(orjson.dumps((model, prompt.essence, prompt.id, prompt.repeat))).digest()


def digest_of(prompt: Prompt) -> str:
    essence = prompt.essence
    data = essence.encode() if isinstance(essence, str) else orjson.dumps(essence)
    return hashlib.sha256(data).hexdigest()


class Outputs:
    """Outputs on disk; thread-safe. The file is made by the first output that is kept.

    It is read by the first who looks for one: before, a run may start over, or copy replies. That raises
    Damaged where a line is not as it was written.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._lock = threading.Lock()
        self._index: dict[bytes, int] = {}  # where each output stands
        self._unpaid: set[bytes] = set()  # those of which no record says what they took
        self._is_read = False
        self._end = 0
        self._reader = -1
        self._journal: journal.Journal | None = None
        self._is_closed = False

    def __contains__(self, key: bytes) -> bool:
        with self._lock if self._is_read else self._read():
            return key in self._index

    def owe(self, key: bytes) -> None:
        """Take back what an output took, as no record will say it; who takes it over will."""
        with self._lock if self._is_read else self._read():
            self._unpaid.add(key)

    def settle(self, key: bytes) -> bool:
        """Return True once where what an output took is still to be recorded."""
        with self._lock if self._is_read else self._read():
            is_unpaid = key in self._unpaid
            self._unpaid.discard(key)
            return is_unpaid

    def find(self, key: bytes) -> Output | None:
        """Read an output back; None where it is not there."""
        with self._lock if self._is_read else self._read():
            place = self._index.get(key)
            if place is None or self._is_closed:
                return None
            length, start = place & ((1 << _LENGTH) - 1), place >> _LENGTH
            line = os.pread(self._reader, length, start)
        if len(line) != length or not journal.is_sound(line):
            raise journal.Damaged(
                f"{self._path} was changed while it was in use", hint="run the same command again"
            )
        record = journal.decode(line)
        return Output(
            text=record["output"],
            side=record.get("side") or {},
            reasoning=record.get("reasoning") or "",
            seconds=record.get("seconds"),
            usage=record.get("usage") or (),
            in_vain=record.get("in_vain") or (),
            tool_calls=record.get("tool_calls") or (),
            completion=record.get("completion") or {},
        )

    def keep(self, key: bytes, model: str, prompt: Prompt, output: Output) -> None:
        """Write an output down, unless it is there already; `model` is what people call the model."""
        record = {
            "key": key.hex(),
            "model": model,
            "id": prompt.id,
            "repeat": prompt.repeat,
            "prompt_sha256": digest_of(prompt),
            "output": output.text,
            **({"turn": prompt.turn} if prompt.turn > 1 else {}),
            **({"reasoning": output.reasoning} if output.reasoning else {}),
            **({"tool_calls": output.tool_calls} if output.tool_calls else {}),
            **({"completion": output.completion} if output.completion else {}),
            **({"side": output.side} if output.side else {}),
            **({"seconds": output.seconds} if output.seconds is not None else {}),
            **({"usage": output.usage} if output.usage else {}),
            **({"in_vain": output.in_vain} if output.in_vain else {}),
            **({OWN: True} if output.usage or output.in_vain else {}),
        }
        line = journal.seal(record)
        with self._lock if self._is_read else self._read():
            if self._is_closed:
                raise EvaluationError(FailureKind.INTERNAL, "the outputs were closed")
            if key not in self._index:
                start = self._writer().append(line)
                self._index[key] = start << _LENGTH | len(line)

    def close(self) -> None:
        with self._lock:
            if self._is_closed:
                return
            self._is_closed = True
            if self._reader >= 0:
                os.close(self._reader)
        if self._journal:
            self._journal.close()

    def _writer(self) -> journal.Journal:
        if self._journal is None:
            self._journal = journal.Journal(self._path, self._end)
            if not self._end:
                self._journal.append(journal.seal({"schema": OUTPUTS_SCHEMA}))
            if self._reader < 0:
                self._reader = os.open(self._path, os.O_RDONLY | os.O_CLOEXEC)
        return self._journal

    def _read(self) -> threading.Lock:
        """Read the file, once, and give the lock that guards what is known of it."""
        with self._lock:
            if not self._is_read:
                if self._path.exists():
                    self._read_all()
                    self._unpaid = _unpaid_in(self._path)
                self._is_read = True
        return self._lock

    def _read_all(self) -> None:
        if not self._path.is_file():  # a device may never end
            raise self._unreadable("it is not a file")
        try:
            for entry in journal.entries(self._path, journal.AGAIN):
                self._enter(entry)
            self._reader = os.open(self._path, os.O_RDONLY | os.O_CLOEXEC)
        except OSError as error:
            raise self._unreadable(error.strerror or "") from None

    def _unreadable(self, reason: str) -> CannotGoOn:
        return CannotGoOn(f"{self._path} cannot be read: {reason}", hint="it has what models replied: fix it")

    def _enter(self, entry: journal.JournalLine) -> None:
        record = _record(entry.line)
        journal.check_schema(record, OUTPUTS_SCHEMA, f"{self._path}:{entry.number}")
        if entry.number == 1 and "schema" in record:
            self._end = entry.length
            return
        with suppress(KeyError, TypeError, ValueError):
            if entry.number > 1 and isinstance(record["output"], str):
                self._index.setdefault(bytes.fromhex(record["key"]), entry.offset << _LENGTH | entry.length)
                self._end = entry.offset + entry.length
                return
        raise self._foreign(entry)

    def _foreign(self, entry: journal.JournalLine) -> journal.Damaged:
        return journal.Damaged(
            f"{self._path}:{entry.number}: this is not an output of a model as we write them down",
            hint="move the file away: the models are then called again",
        )


def _record(line: bytes) -> JsonMapping:
    try:
        return journal.decode(line)
    except ValueError:
        return {}
