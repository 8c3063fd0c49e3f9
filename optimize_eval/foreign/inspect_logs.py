"""Logs of Inspect: .eval files, of which the header and the summaries are read, and logs in JSON.

A log is of one task and one model. A retry of an evaluation takes the place of what it retries. Letters are
numbers as Inspect reads them; other texts are labels, which have none. Members of a zip file are read by
their names and never written anywhere, for their names may lead anywhere; what its directory says of sizes
is a claim, so a member is read up to its cap. Compression by zstd is read by pyarrow where Python cannot.
"""

import struct
import zipfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from importlib import import_module
from importlib.util import find_spec
from typing import Any, BinaryIO, NamedTuple

from optimize_eval.base.documents import JsonDict
from optimize_eval.data.tables import INSTALL
from optimize_eval.foreign.reading import Fields, ForeignFile, decode
from optimize_eval.foreign.rows import (
    PROVIDER,
    Example,
    Failure,
    Result,
    Row,
    Score,
    Skip,
    System,
    count_of,
    example_of,
    number_or_failure,
    refusal,
    shorten,
)
from optimize_eval.foreign.sheet import Sheet

TOOL = "inspect"
_VERSION = 2
_LETTERS = {"C": 1.0, "P": 0.5, "I": 0.0, "N": 0.0}
_HEADER, _START, _SUMMARIES, _JOURNAL = (
    "header.json",
    "_journal/start.json",
    "summaries.json",
    "_journal/summaries/",
)
_LARGE = "convert it: inspect log convert --to eval --output-dir . LOG"
_MOST_EPOCHS = 1_000_000
_SAME_BEGINNING = 1000  # characters of a text: summaries cut longer ones
_UNNAMED = "score"
_MIB = 1 << 20
_MOST_BYTES = 1 << 30  # of a file
_MOST_MEMBERS = 200_000
_MOST_MEMBER = 256 * _MIB
_SMALL, _MOST_TIMES = _MIB, 200  # beyond this size, a member is no larger than so many times what it takes
_ZSTD = 93
_METHODS = frozenset({zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED, _ZSTD})
_IS_ENCRYPTED = 1
_LOCAL, _LENGTHS = 30, slice(26, 30)
_INSTALL = f"the log is compressed with zstd, which pyarrow reads: {INSTALL}; or convert it:"
_CONVERT = "`inspect log convert --to json --output-dir . LOG`"


class Members:
    """A zip file that is open."""

    def __init__(self, file: ForeignFile, stream: BinaryIO, listed: zipfile.ZipFile) -> None:
        self._file = file
        self._stream = stream
        self._zip = listed
        self.names = frozenset(listed.namelist())

    def read(self, name: str) -> bytes:
        """Read a member; where a name stands twice, the last one is meant."""
        info = self._zip.getinfo(name)
        most = min(_MOST_MEMBER, max(_SMALL, info.compress_size * _MOST_TIMES))
        if info.flag_bits & _IS_ENCRYPTED:
            raise refusal(self._file.path, f"its member {name} is encrypted")
        if info.compress_type not in _METHODS:
            raise refusal(
                self._file.path, f"its member {name} has compression {info.compress_type}: {_CONVERT}"
            )
        if info.file_size > most:
            raise self._too_large(name)
        is_of_arrow = info.compress_type == _ZSTD and not hasattr(zipfile, "ZIP_ZSTANDARD")
        if is_of_arrow and find_spec("pyarrow") is None:
            raise refusal(self._file.path, f"{_INSTALL} {_CONVERT}")
        data = self._unpack(info, most, is_of_arrow=is_of_arrow)
        if len(data) > most or len(data) != info.file_size:
            raise self._too_large(name)
        return data

    def _too_large(self, name: str) -> Exception:
        return refusal(self._file.path, f"its member {name} is not as large as it says, or far too large")

    def _unpack(self, info: zipfile.ZipInfo, most: int, *, is_of_arrow: bool) -> bytes:
        try:
            if is_of_arrow:
                return self._unpack_zstd(info, most)
            with self._zip.open(info) as member:
                return member.read(most + 1)
        except (zipfile.BadZipFile, EOFError, OSError, ValueError, struct.error) as error:
            raise refusal(self._file.path, f"its member {info.filename} is damaged: {error}") from None

    def _unpack_zstd(self, info: zipfile.ZipInfo, most: int) -> bytes:
        self._stream.seek(info.header_offset)
        name, extra = struct.unpack("<HH", self._stream.read(_LOCAL)[_LENGTHS])
        self._stream.seek(name + extra, 1)
        arrow: Any = import_module("pyarrow")
        packed = arrow.BufferReader(self._stream.read(info.compress_size))
        with arrow.input_stream(packed, compression="zstd") as stream:
            return bytes(stream.read(most + 1))


@contextmanager
def open_members(file: ForeignFile) -> Iterator[Members]:
    """Open a zip file, whose directory has to be sound."""
    file.digest(_MOST_BYTES)
    with file.open_stream() as stream:
        try:
            listed = zipfile.ZipFile(stream)
        except (zipfile.BadZipFile, OSError, ValueError, NotImplementedError) as error:
            raise refusal(file.path, f"it is not a whole zip file ({error}): copy the log again") from None
        with listed:
            if len(listed.infolist()) > _MOST_MEMBERS:
                raise refusal(file.path, f"it has more than {_MOST_MEMBERS:,} members")
            yield Members(file, stream, listed)


class Log(NamedTuple):
    """What a log says before its samples."""

    file: ForeignFile
    header: Fields
    task: str
    task_id: str
    created: str


def task_of(file: ForeignFile) -> str:
    return _log(file).task


def choose_logs(files: Sequence[ForeignFile], sheet: Sheet) -> list[ForeignFile]:
    """Leave out logs that were retried later."""
    newest: dict[str, Log] = {}
    for log in sorted(map(_log, files), key=lambda log: log.created):
        if (former := newest.get(log.task_id)) is not None:
            sheet.note(
                f"{former.file.name} is left out: {log.file.name} is a later try of the same evaluation"
            )
        newest[log.task_id] = log
    kept = {log.file.path for log in newest.values()}
    return [file for file in files if file.path in kept]


def _log(file: ForeignFile) -> Log:
    if file.head.startswith(b"PK"):
        with open_members(file) as members:
            header = _header(file, members)
    else:
        header = _object(file.value(_LARGE), file)
    fields = Fields(header, file.path)
    if (version := header.get("version")) != _VERSION:
        raise refusal(file.path, f"it is a log of version {version!r}; known: {_VERSION}")
    about = fields.fields("eval")
    return Log(file, fields, about.text("task"), about.text("task_id", file.path), about.text("created", ""))


def _header(file: ForeignFile, members: Members) -> JsonDict:
    name = next((name for name in (_HEADER, _START) if name in members.names), "")
    if not name:
        raise refusal(file.path, f"it has neither {_HEADER} nor {_START}")
    return _object(decode(members.read(name), file.path), file)


def _object(value: object, file: ForeignFile) -> JsonDict:
    if not isinstance(value, dict):
        raise refusal(file.path, "it is not a JSON object")
    return value


def read(file: ForeignFile, sheet: Sheet) -> None:
    """Read the samples of a log."""
    log = _log(file)
    sheet.task = log.task
    about = log.header.fields("eval")
    sheet.version = str(about.table("packages").get("inspect_ai") or sheet.version)
    values = [*_samples(file, log)]
    samples = [Fields(each, file.path, None, f"sample {n}: ") for n, each in enumerate(values, 1)]
    status = log.header.text("status", "started")
    if status != "success":
        sheet.note(
            f"{file.name} is not complete (status {shorten(status, 40)}): what is missing counts nowhere"
        )
    model = about.text("model")
    evaluators = _evaluators(samples, about)
    sheet.first = tuple(dict.fromkeys([*sheet.first, *evaluators]))
    for sample in samples:
        sheet.add(_row(sample, model, evaluators, sheet))


def _samples(file: ForeignFile, log: Log) -> Iterator[JsonDict]:
    if not file.head.startswith(b"PK"):
        yield from (_object(each, file) for each in log.header.items("samples"))
        return
    with open_members(file) as members:
        journal = (name for name in members.names if name.startswith(_JOURNAL) and name.endswith(".json"))
        names = [_SUMMARIES] if _SUMMARIES in members.names else sorted(journal, key=lambda n: (len(n), n))
        for name in names:
            listed = decode(members.read(name), file.path)
            if not isinstance(listed, list):
                raise refusal(file.path, f"its member {name} is not a list")
            yield from (_object(each, file) for each in listed)


def _evaluators(samples: Sequence[Fields], about: Fields) -> list[str]:
    """Name the numbers of a log: a scorer, or a scorer and a key; where no sample has one, its scorers."""
    named = dict.fromkeys(name for sample in samples for name, _ in _values(sample))
    if named:
        return [*named]
    scorers = (each.get("name") for each in about.items("scorers") if isinstance(each, dict))
    return [name for name in scorers if isinstance(name, str)] or [_UNNAMED]


def _values(sample: Fields) -> Iterator[tuple[str, Any]]:
    for scorer, score in sample.table("scores").items():
        value = score.get("value") if isinstance(score, dict) else None
        if isinstance(value, list):
            raise sample.refuse(f"scores.{scorer}.value", "is a list, which is no score")
        if isinstance(value, dict):
            yield from ((f"{scorer}.{key}", each) for key, each in value.items())
        else:
            yield scorer, value


def _row(sample: Fields, model: str, evaluators: Sequence[str], sheet: Sheet) -> Row:
    if limit := sample.value.get("limit"):
        kind = limit.get("type") if isinstance(limit, dict) else limit
        sheet.note(
            f"some samples were stopped by a limit ({shorten(kind, 40)}), and count as they were scored"
        )
    return Row(
        system=System("", model),
        column=0,
        example=_example(sample),
        position=0,
        repeat=sample.integer("epoch", _MOST_EPOCHS) or 1,
        results=_results(sample, evaluators, sheet),
        side_info=_side_info(sample),
        seconds=sample.number("total_time"),
        usage=_usage(sample, model),
    )


def _example(sample: Fields) -> Example:
    identity, asked = sample.value.get("id"), sample.value.get("input")
    if not isinstance(identity, int | str) or isinstance(identity, bool):
        raise sample.refuse("id", "is neither a text nor a number")
    texts = [*_texts(asked)]
    content = {"id": identity, "input": texts, "target": [*_texts(sample.value.get("target"))]}
    return example_of(content, str(identity), texts[-1] if texts else None)


def _texts(value: Any) -> Iterator[str]:
    """Give the beginnings of all texts of an input: of a conversation, what its messages say."""
    if isinstance(value, str):
        yield value[:_SAME_BEGINNING]
    elif isinstance(value, list):
        for each in value:
            yield from _texts(each)
    elif isinstance(value, dict):
        yield from _texts(value.get("content", value.get("text")))


def _results(sample: Fields, evaluators: Sequence[str], sheet: Sheet) -> Mapping[str, Result]:
    values = dict(_values(sample))
    if (error := sample.value.get("error")) and not values:
        text = error.get("message") if isinstance(error, dict) else error
        sheet.counts["errors"] += 1
        failure = Failure(PROVIDER, shorten(text))
        return dict.fromkeys(evaluators, failure)
    return {name: _result(values[name]) if name in values else _NOT_SCORED for name in evaluators}


_NOT_SCORED = Skip("the scorer gave no score")


def _result(value: Any) -> Result:
    if value is None:
        return _NOT_SCORED
    if isinstance(value, str):
        return Score(_LETTERS[value]) if value in _LETTERS else Score(None, value)
    return number_or_failure(value)


def _side_info(sample: Fields) -> JsonDict:
    said: JsonDict = {}
    for scorer, score in sample.table("scores").items():
        if isinstance(score, dict):
            texts = {"answer": score.get("answer"), "explanation": score.get("explanation")}
            said |= {f"{scorer}_{key}": shorten(text) for key, text in texts.items() if isinstance(text, str)}
    return said


def _usage(sample: Fields, model: str) -> JsonDict | None:
    every = sample.table("model_usage")
    used = every.get(model)
    if not isinstance(used, dict):
        return None
    counts = {"prompt_tokens": used.get("input_tokens"), "completion_tokens": used.get("output_tokens")}
    known = {key: value for key, value in counts.items() if type(value) is int and value >= 0}
    return {"model": model, **known, "seconds": sample.number("working_time") or 0.0}


def end(sheet: Sheet) -> None:
    """Say how many samples failed."""
    if many := sheet.counts["errors"]:
        sheet.says_errors = f"{count_of(many, 'sample')} with an error"
