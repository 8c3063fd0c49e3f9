"""What people say of what judges score, read from examples: a label in a field, or one for each candidate."""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from optimize_eval.base.documents import JsonMapping, to_dict
from optimize_eval.base.errors import DataError, Problem
from optimize_eval.base.evaluator import EvaluatorSpec
from optimize_eval.base.frozen import frozen
from optimize_eval.data.example import Example
from optimize_eval.data.selection import value_at
from optimize_eval.models.judging.rubric import JudgeSpec, Rubric
from optimize_eval.run.host import Say
from optimize_eval.run.splits import SplitSource
from optimize_eval.store.labels import (
    NAMES,
    NUMBERS,
    PEOPLE,
    PeopleOfJudge,
    StoredLabel,
    digest_of,
    levels_of,
    merge,
    people_in,
)
from optimize_eval.store.run_document import RunDocument

_SHOWN = 40


class NoLabel(ValueError):
    """What somebody wrote is no label, and why not."""


@frozen
class LabelScale:
    """What people may say beside a judge, and which number from 0 to 1 that is."""

    rubric: Rubric
    span: tuple[float, float] | None = None

    @property
    def scores(self) -> dict[str, float]:
        """Give the judge's own labels, each with what it scores."""
        rubric = self.rubric
        classes = {1.0: rubric.correct_labels, 0.0: rubric.incorrect_labels}
        return {name: score for score, names in classes.items() for name in names} | dict(rubric.labels)

    def kind_of(self, value: object) -> str:
        return NAMES if isinstance(value, bool | str) else NUMBERS

    def read(self, value: object) -> float:
        """Give a label's number; raises NoLabel."""
        match value:
            case bool():
                return float(value)
            case str():
                return self._read_name(value)
            case int() | float() if math.isfinite(value):
                return self._read_number(value)
        raise NoLabel("a label is a number, a text, true or false")

    def levels(self, kind: str, values: Sequence[float]) -> tuple[float, ...]:
        if kind == NAMES:
            return tuple(sorted({0.0, 1.0} if not self.scores else {*self.scores.values()}))
        return levels_of(values, self.span)

    def _read_name(self, name: str) -> float:
        scores = self.scores
        if len(set(scores.values())) < 2:  # noqa: PLR2004  labels that score alike tell nothing
            why = "labels with different scores" if scores else "labels"
            raise NoLabel(f"a text, and the judge has no {why}: write numbers, or true and false")
        if name not in scores:
            raise NoLabel(f"{name[:_SHOWN]!r} is none of the judge's labels {', '.join(scores)}")
        return scores[name]

    def _read_number(self, number: float) -> float:
        low, high = self.span or (0.0, 1.0)
        if not low <= number <= high:
            advice = "" if self.span else "; say which numbers people gave: human_range = [1, 5]"
            raise NoLabel(f"{number:g} is not from {low:g} to {high:g}{advice}")
        return (number - low) / (high - low)


def scale_of(judge: JudgeSpec) -> LabelScale:
    return LabelScale(rubric=judge.rubric, span=judge.human_range)


def with_people(
    document: RunDocument,
    specs: Sequence[EvaluatorSpec],
    sources: Sequence[SplitSource],
    before: JsonMapping,
    say: Say,
) -> RunDocument:
    """Let run.json keep what the examples say people said, beside labels that it was given before."""
    former = people_in(before)
    people = {
        spec.name: _people_of(spec.target, document, sources, former.get(spec.name, PeopleOfJudge()), say)
        for spec in specs
        if isinstance(spec.target, JudgeSpec) and (spec.target.human or spec.name in former)
    }
    kept = {name: to_dict(entry) for name, entry in people.items() if entry.labels or entry.asked}
    return replace(document, settings={**document.settings, PEOPLE: kept}) if kept else document


def with_labels(
    people: PeopleOfJudge, labels: Sequence[StoredLabel], kind: str, scale: LabelScale
) -> PeopleOfJudge:
    """Put more labels to those that there are."""
    every = tuple(merge(people.labels, labels))
    values = [value for label in every for value in label.said.values()]
    return replace(people, kind=kind, labels=every, levels=scale.levels(kind, values))


def _people_of(
    judge: JudgeSpec,
    document: RunDocument,
    sources: Sequence[SplitSource],
    former: PeopleOfJudge,
    say: Say,
) -> PeopleOfJudge:
    given = [_without(label, (*former.fields, *judge.human)) for label in former.labels]
    people = replace(former, labels=tuple(label for label in given if label), fields=judge.human)
    reading = _Reading(judge, document)
    labels = [label for source in sources for label in reading.labels(source)]
    if reading.problems:
        raise DataError(reading.problems)
    if reading.of_nobody:
        say(f"note: {reading.advice}")
    if not labels:
        return people
    kinds = {*reading.kinds, *([former.kind] if people.labels else [])}
    if len(kinds) > 1:
        raise DataError([Problem(path=sources[0].file, rule="bad_label", reason=MIXED)])
    return with_labels(people, labels, kinds.pop(), scale_of(judge))


MIXED = "some labels are numbers, and some are texts, true or false: write all in one way"


def _without(label: StoredLabel, fields: Sequence[str]) -> StoredLabel | None:
    """Leave out what fields said when the run was called last; the examples say it again."""
    said = {who: value for who, value in label.said.items() if who not in fields}
    return replace(label, said=said) if said else None


class _Reading:
    """Reads the labels of splits, and notes what is none."""

    def __init__(self, judge: JudgeSpec, document: RunDocument) -> None:
        self.problems: list[Problem] = []
        self.kinds: set[str] = set()
        self.of_nobody = 0  # labels that do not say of which candidate they are
        self._judge, self._document = judge, document
        self._scale = scale_of(judge)
        self._candidates = document.selection.candidates
        self._models = document.selection.task_models

    @property
    def advice(self) -> str:
        """Say why labels were left out."""
        many = f"{self.of_nobody:,} label{'s' * (self.of_nobody != 1)} in {' and '.join(self._judge.human)}"
        if self._document.models:
            return f"{many} cannot be of these models' replies: `optimize-eval judge label` asks for such"
        names = ", ".join(f'"{name}": …' for name in self._candidates[:2])
        return f"{many} left out, as the run has several candidates: say of which they are, {{{names}}}"

    def labels(self, source: SplitSource) -> Iterator[StoredLabel]:
        digests = self._digests(source)
        for example in source.examples:
            by_candidate: dict[str, dict[str, float]] = {}
            for field in self._judge.human:
                for candidate, value in self._labels_in(value_at(example.value, field)):
                    if (number := self._read(source, example, field, value)) is not None:
                        by_candidate.setdefault(candidate, {})[field] = number
            for candidate, said in by_candidate.items():
                series = candidate, self._models[0], source.name
                of = digest_of(self._document, series, digests[example.line])
                yield StoredLabel(
                    candidate=candidate,
                    task_model=series[1],
                    split=source.name,
                    line=example.line,
                    of=of,
                    said=said,
                )

    def _digests(self, source: SplitSource) -> dict[int | None, str]:
        split = next(split for split in self._document.selection.splits if split.name == source.name)
        return dict(zip(split.lines, split.sha256, strict=True))

    def _labels_in(self, value: object) -> Iterator[tuple[str, Any]]:
        """Give labels with the candidates that they are of; one for all is of the only one."""
        if isinstance(value, Mapping):
            yield from ((name, value[name]) for name in self._candidates if name in value)
        elif value is not None and (len(self._candidates) > 1 or self._models != (None,)):
            self.of_nobody += 1
        else:
            yield self._candidates[0], value

    def _read(self, source: SplitSource, example: Example, field: str, value: object) -> float | None:
        if value is None:
            return None
        try:
            number = self._scale.read(value)
        except NoLabel as error:
            reason = f"{field}: {error}"
            self.problems.append(
                Problem(path=source.file, rule="bad_label", line=example.line, column=1, reason=reason)
            )
            return None
        self.kinds.add(self._scale.kind_of(value))
        return number
