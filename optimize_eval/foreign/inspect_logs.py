"""Logs of Inspect: .eval files, of which the header and the summaries are read, and logs in JSON.

A log is of one task and one model. A retry of an evaluation takes the place of what it retries. Letters are
numbers as Inspect reads them; other texts are labels, which have none.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

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
from optimize_eval.foreign.zip_members import Members, open_members

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


def _header(file: ForeignFile, members: Members) -> dict[str, Any]:
    name = next((name for name in (_HEADER, _START) if name in members.names), "")
    if not name:
        raise refusal(file.path, f"it has neither {_HEADER} nor {_START}")
    return _object(decode(members.read(name), file.path), file)


def _object(value: object, file: ForeignFile) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise refusal(file.path, "it is no JSON object")
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


def _samples(file: ForeignFile, log: Log) -> Iterator[dict[str, Any]]:
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


def _side_info(sample: Fields) -> dict[str, Any]:
    said: dict[str, Any] = {}
    for scorer, score in sample.table("scores").items():
        if isinstance(score, dict):
            texts = {"answer": score.get("answer"), "explanation": score.get("explanation")}
            said |= {f"{scorer}_{key}": shorten(text) for key, text in texts.items() if isinstance(text, str)}
    return said


def _usage(sample: Fields, model: str) -> dict[str, Any] | None:
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
