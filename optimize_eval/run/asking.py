"""People are asked for labels where these decide, and what they wrote is read: both as CSV.

Whom a verdict is between is asked about: the baseline and who is ahead of it or behind it most. How likely
each example was to be chosen stands in run.json, so that numbers made of the labels are right on average.
"""

import csv
import io
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from optimize_eval.base import files, strict_json
from optimize_eval.base.documents import JsonDict, JsonMapping, to_dict
from optimize_eval.base.errors import DataError, Problem, UsageError
from optimize_eval.base.frozen import frozen
from optimize_eval.data.example import Example
from optimize_eval.data.selection import value_at
from optimize_eval.findings.difference_words import is_primary
from optimize_eval.findings.people import PeopleBesideJudge, beside_judge, corrected_of
from optimize_eval.findings.stored_summary import Findings
from optimize_eval.models.judging.rubric import Rubric
from optimize_eval.run.calls import Finished, summarise
from optimize_eval.run.host import Say
from optimize_eval.run.inputs import examples_again, humans_in, read_again
from optimize_eval.run.labelling import MIXED, LabelScale, NoLabel, with_labels
from optimize_eval.statistics.chosen_labels import (
    chances_after,
    doubts_of,
    in_order,
    labels_to_settle,
    number_of,
    sizes_of,
)
from optimize_eval.store.folder import hold_lock, refuse_foreign
from optimize_eval.store.labels import (
    PEOPLE,
    AskedCell,
    PeopleOfJudge,
    Series,
    StoredLabel,
    digest_of,
    people_in,
)
from optimize_eval.store.layout import Split
from optimize_eval.store.opened_run import StoredRun, open_stored
from optimize_eval.store.records import Records
from optimize_eval.store.run_document import StoredProgram
from optimize_eval.store.run_json import write_document

COLUMNS = ("split", "line", "candidate", "model", "judge", "example", "output", "label", "by")
_FORMULAS = ("=", "+", "-", "@", "\t", "\r")
_ANYBODY = "people"


@frozen
class Asked:
    """Rows to fill in, and what can be said of how many it takes."""

    rows: Sequence[JsonMapping]
    words: str


def ask_people(run: str, by: str, most: int, judge: str | None, splits: Mapping[str, str | None]) -> Asked:
    """Choose what people should label next, note in run.json how, and give the rows to fill in."""
    folder = open_stored(run).folder
    refuse_foreign(folder)
    with hold_lock(folder):
        stored = open_stored(folder)
        _check_repeats(stored)
        findings = Findings(run=stored)
        entry = _judge_of(stored, judge)
        people = people_in(stored.document.settings).get(entry.name, PeopleOfJudge())
        beside = beside_judge(entry.name, people, stored.document, findings.cells)
        cells = _cells_asked(findings, entry.name)
        split = findings.cells.splits[cells[0][2]]
        choice = _choose(beside, cells, split, findings.cells.layout.seed)
        rows = [*_rows(stored, cells, choice[: max(1, most // len(cells))], splits, by, entry.name)]
        _write(stored, entry.name, _with_asked(people, cells, _sizes(beside, cells, split), split))
    return Asked(rows=rows, words=_words(findings, cells, len(choice)))


def _check_repeats(stored: StoredRun) -> None:
    if stored.layout.repeats > 1 and stored.document.models:
        raise UsageError(
            "the models of this run replied several times to an example, and a label is of one reply",
            hint="label a run with --repeats 1",
        )


def _judge_of(stored: StoredRun, name: str | None) -> StoredProgram:
    """Find the judge that is meant; the first one where none is named."""
    if stored.document.is_bench:
        raise UsageError(
            f"{stored.folder} is a bench, and its boards do not take labels yet",
            hint="compare the models in a run: run --prompt FILE --model A --model B -e judge:…",
        )
    judges = {entry.name: entry for entry in stored.document.selected_evaluators if entry.judge}
    if not judges or (name is not None and name not in judges):
        what = f"judge {name!r}" if name else "judge"
        hint = (
            f"its judges are {', '.join(judges)}" if judges else "score it with one: rescore RUN -e judge:…"
        )
        raise UsageError(f"{stored.folder} has no {what}", hint=hint)
    return judges[name or next(iter(judges))]


def _cells_asked(findings: Findings, judge: str) -> list[Series]:
    """Name the cells that a verdict is between."""
    layout, summary = findings.cells.layout, findings.summary
    split, model = layout.deciding_for(judge), layout.task_models[0]
    gains = {
        row.candidate: abs(d.diff)
        for row in summary.rows
        if (row.evaluator, row.task_model) == (judge, model)
        and (d := row.against_baseline(split))
        and d.diff is not None
    }
    chosen = summary.verdict.winner or max(gains, key=lambda name: gains[name], default=None)
    return [(name, model, split) for name in dict.fromkeys((layout.baseline, chosen)) if name is not None]


def _numbers(split: Split, seed: int) -> list[float]:
    return [number_of(seed, split.name, line) for line in split.lines]


def _sizes(beside: PeopleBesideJudge, cells: Sequence[Series], split: Split) -> list[float]:
    doubt = doubts_of([(row.score, row.error) for row in beside.every])
    means = [beside.scores(series).means for series in cells]
    doubts = [
        math.hypot(*(doubt(own[index]) for own in means if not math.isnan(own[index])), 0.01)
        for index in range(len(split.lines))
    ]
    return sizes_of(doubts)


def _choose(beside: PeopleBesideJudge, cells: Sequence[Series], split: Split, seed: int) -> list[int]:
    """Order the examples that lack a label, and that the judge scored."""
    means = [beside.scores(series).means for series in cells]
    order = in_order(_numbers(split, seed), _sizes(beside, cells, split))
    return [
        index
        for index in order
        if any(index not in beside.labels.get(series, {}) for series in cells)
        and not any(math.isnan(own[index]) for own in means)
    ]


def _with_asked(
    people: PeopleOfJudge, cells: Sequence[Series], sizes: Sequence[float], split: Split
) -> PeopleOfJudge:
    known = {cell.series: cell for cell in people.asked}
    by_line = {str(line): size for line, size in zip(split.lines, sizes, strict=True)}
    for series in cells:
        candidate, model, name = series
        chances = known[series].chances if series in known else {}
        known[series] = AskedCell(
            candidate=candidate, task_model=model, split=name, sizes=by_line, chances=chances
        )
    return replace(people, asked=tuple(known.values()))


def _rows(
    stored: StoredRun,
    cells: Sequence[Series],
    indices: Sequence[int],
    moved: Mapping[str, str | None],
    by: str,
    judge: str,
) -> Iterator[JsonDict]:
    """Write what people are to see: the example without what people said, and what was judged."""
    document, split = stored.document, stored.layout.split(cells[0][2])
    sources = examples_again(document, read_again(document, moved))
    examples = {e.line: e for source in sources if source.name == split.name for e in source.examples}
    replies = _replies(stored, judge, cells) if document.models else {}
    hidden = [*humans_in(document), *(entry.field for entry in document.selected_candidates if entry.field)]
    for index in indices:
        line = split.lines[index]
        example = None if line is None else examples.get(line)
        for series in cells:
            output = replies.get((series, line)) or _text_of(stored, series[0], example)
            said = (split.name, line, series[0], series[1], judge, _as_json(example, hidden), output, "", by)
            yield dict(zip(COLUMNS, said, strict=True))


def _replies(
    stored: StoredRun, judge: str, cells: Sequence[Series]
) -> dict[tuple[Series, int | None], str | None]:
    replies = {}
    for record in Records(stored):
        series = record.candidate, record.task_model, record.split
        if record.evaluator == judge and series in cells:
            replies[series, record.line] = record.reply
    return replies


def _text_of(stored: StoredRun, name: str, example: Example | None) -> str:
    entry = next(entry for entry in stored.document.selected_candidates if entry.name == name)
    if entry.field and example:
        return str(value_at(example.value, entry.field))
    return entry.text or f"(the candidate {name})"


def _as_json(example: Example | None, hidden: Sequence[str]) -> str:
    if example is None:
        return ""
    value = {key: item for key, item in example.value.items() if key not in hidden}
    return strict_json.dumps(value).decode()


def as_csv(rows: Sequence[JsonMapping]) -> str:
    """Write rows; what a spreadsheet would take for a formula begins with an apostrophe."""
    stream = io.StringIO()
    writer = csv.writer(stream, lineterminator="\n")
    writer.writerow(COLUMNS)
    writer.writerows([_inert(row[column]) for column in COLUMNS] for row in rows)
    return stream.getvalue().removesuffix("\n")


def _inert(value: object) -> str:
    text = "" if value is None else str(value)
    return f"'{text}" if text.startswith(_FORMULAS) else text


def _words(findings: Findings, cells: Sequence[Series], left: int) -> str:
    """Say how many more labels it takes, about."""
    summary, layout = findings.summary, findings.cells.layout
    row = next(row for row in summary.rows if is_primary(row, layout) and row.candidate == cells[-1][0])
    known = corrected_of(summary, layout, row.candidate)
    d = known.vs_baseline if known else None
    if known is None or d is None:
        return f"how many it takes is said once 20 are there of each candidate; {left:,} examples have none"
    if d.ci[0] > 0 or d.ci[1] < 0:
        return "it is settled: more labels make the interval narrower"
    plain = row.difference(layout.deciding)
    sd = (plain.se or 0.0) * math.sqrt(plain.units)
    more = labels_to_settle(d.diff, d.se, known.labels, plain.n_pairs, sd=sd)
    if more is None:
        return "all labels may not settle it: take more examples, or take them for equally good"
    return f"about {more * len(cells):,} more labels settle it"


def _write(stored: StoredRun, judge: str, people: PeopleOfJudge) -> StoredRun:
    settings = stored.document.settings
    kept = {**settings.get(PEOPLE, {}), judge: to_dict(people)}
    document = replace(stored.document, settings={**settings, PEOPLE: kept})
    write_document(stored.folder, document)
    return replace(stored, document=document)


def read_labels(run: str, path: str, say: Say) -> Finished:
    """Put the labels of a file to those that a run has, and summarise it again; nothing is called."""
    folder = open_stored(run).folder
    refuse_foreign(folder)
    with hold_lock(folder):
        stored = open_stored(folder)
        rows = _read_rows(path)
        names = dict.fromkeys(row.get("judge") or None for _, row in rows)
        for name in names:
            entry = _judge_of(stored, name)
            own = [(line, row) for line, row in rows if (row.get("judge") or None) == name]
            stored = _take(stored, entry, own, path, say)
        findings = summarise(stored)
    return Finished(stored=stored, summary=findings.summary, calls=())


def _read_rows(path: str) -> list[tuple[int, dict[str, str]]]:
    try:
        text = files.read(path, files.DATASET).decode("utf-8-sig")
    except UnicodeDecodeError:
        raise DataError([Problem(path=path, rule="bad_label", reason="not UTF-8")]) from None
    reader = csv.DictReader(io.StringIO(text, newline=""), strict=True)
    try:
        rows = [(reader.line_num, {key: value or "" for key, value in row.items() if key}) for row in reader]
    except csv.Error as error:
        raise DataError([Problem(path=path, rule="bad_label", reason=f"not CSV: {error}")]) from None
    if not {"line", "label"} <= {*(reader.fieldnames or ())}:
        raise UsageError(
            f"{path} has no columns line and label", hint="optimize-eval judge label RUN writes such a file"
        )
    return [(line, row) for line, row in rows if row["label"].strip()]


def _take(
    stored: StoredRun, entry: StoredProgram, rows: Sequence[tuple[int, dict[str, str]]], path: str, say: Say
) -> StoredRun:
    """Take the labels of one judge."""
    people = people_in(stored.document.settings).get(entry.name, PeopleOfJudge())
    reading = _RowReading(stored, entry)
    labels = [label for line, row in rows if (label := reading.label(path, line, row))]
    if reading.problems:
        raise DataError(reading.problems)
    kinds = {*reading.kinds, *([people.kind] if people.labels else [])}
    if len(kinds) > 1:
        raise DataError([Problem(path=path, rule="bad_label", reason=MIXED)])
    if not _news(people, labels):
        say(f"note: {path} has no label that the run does not have")
        return stored
    chosen = _with_chances(stored, people, labels)
    if chosen is people:
        say("note: nobody recorded how these labels were chosen, so they are taken for a random sample")
    return _write(stored, entry.name, with_labels(chosen, labels, kinds.pop(), reading.scale))


def _news(people: PeopleOfJudge, labels: Sequence[StoredLabel]) -> bool:
    """Return True if anybody says what was not known."""
    known = {
        (label.where, label.of, who): value for label in people.labels for who, value in label.said.items()
    }
    return any(
        known.get((label.where, label.of, who)) != value
        for label in labels
        for who, value in label.said.items()
    )


def _with_chances(stored: StoredRun, people: PeopleOfJudge, labels: Sequence[StoredLabel]) -> PeopleOfJudge:
    """Note how likely labels were to be given, where the run asked for them: as far as people came."""
    lines: dict[Series, set[int | None]] = {}
    for label in labels:
        lines.setdefault(label.where[0], set()).add(label.line)
    if not lines.keys() & {cell.series for cell in people.asked}:
        return people
    asked = tuple(_asked_after(stored, cell, lines.get(cell.series, set())) for cell in people.asked)
    return replace(people, asked=asked, looks=people.looks + 1)


def _asked_after(stored: StoredRun, cell: AskedCell, labelled: set[int | None]) -> AskedCell:
    split = stored.layout.split(cell.split)
    at = {line: index for index, line in enumerate(split.lines) if str(line) in cell.sizes}
    numbers = [number_of(stored.layout.seed, split.name, line) for line in at]
    sizes = [cell.sizes[str(line)] for line in at]
    order = {line: index for index, line in enumerate(at)}
    before = {order[line]: cell.chances.get(str(line), 0.0) for line in at}
    after = chances_after(before, numbers, sizes, [order[line] for line in labelled if line in order])
    return replace(cell, chances={str(line): after[index] for line, index in order.items()})


class _RowReading:
    """Reads rows that people filled in."""

    def __init__(self, stored: StoredRun, entry: StoredProgram) -> None:
        self.problems: list[Problem] = []
        self.kinds: set[str] = set()
        self.scale = _scale_of(entry)
        self._document, self._layout = stored.document, stored.layout
        self._deciding = stored.layout.deciding_for(entry.name)

    def label(self, path: str, number: int, row: Mapping[str, str]) -> StoredLabel | None:
        try:
            return self._label(row)
        except NoLabel as error:
            problem = Problem(path=path, rule="bad_label", line=number, column=1, reason=str(error))
            self.problems.append(problem)
            return None

    def _label(self, row: Mapping[str, str]) -> StoredLabel:
        layout = self._layout
        name = _name_in(row, "split", [split.name for split in layout.splits], self._deciding)
        candidate = _name_in(row, "candidate", layout.candidates)
        models = [*filter(None, layout.task_models)]
        model = _name_in(row, "model", models) if models else None
        split = layout.split(name)
        at = {str(line): index for index, line in enumerate(split.lines)}
        index = at.get(row["line"].strip())
        if index is None:
            raise NoLabel(f"the run has no line {row['line']!r} of {name}")
        value = _value(row["label"].strip())
        self.kinds.add(self.scale.kind_of(value))
        series = candidate, model, name
        return StoredLabel(
            candidate=candidate,
            task_model=model,
            split=name,
            line=split.lines[index],
            of=digest_of(self._document, series, split.sha256[index]),
            said={row.get("by", "").strip() or _ANYBODY: self.scale.read(value)},
        )


def _name_in(row: Mapping[str, str], column: str, known: Sequence[str], usual: str = "") -> str:
    said = row.get(column, "").strip() or usual or (known[0] if len(known) == 1 else "")
    said = said if said in known else said.removeprefix("'")
    if said not in known:
        raise NoLabel(f"{column}: write one of {', '.join(known)}")
    return said


def _value(text: str) -> Any:
    """Read a number, true or false, whatever its case; all else is a text."""
    try:
        return strict_json.loads(text.lower(), unique_keys=True)
    except strict_json.JsonFault:
        return text.removeprefix("'")


def _scale_of(entry: StoredProgram) -> LabelScale:
    """Give what people may say beside a judge of a run, by what run.json keeps of it."""
    rubric, span = entry.judge.get("rubric") or {}, entry.judge.get("human_range")
    return LabelScale(
        rubric=Rubric(
            correct_labels=tuple(rubric.get("correct_labels", ())),
            incorrect_labels=tuple(rubric.get("incorrect_labels", ())),
            labels=tuple((name, score) for name, score in rubric.get("labels", ())),
        ),
        span=(span[0], span[1]) if span else None,
    )
