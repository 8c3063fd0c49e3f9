"""What people say of what a judge scores: their labels, as run.json keeps them in its settings.

A label is of a candidate's text, or a model's reply, for an example as all of these were: where one of them
is another by now, the label is about something else, and waits until it is back.
"""

import hashlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import field
from typing import Annotated, Any, Protocol

from optimize_eval.base.documents import IF_ANY, JsonDict, JsonMapping, from_dict
from optimize_eval.base.frozen import frozen
from optimize_eval.store.layout import Layout

PEOPLE = "people"  # in settings: of each judge
NAMES, NUMBERS = "names", "numbers"

_DIGITS = 16

Series = tuple[str, str | None, str]  # candidate, task model, split


class Version(Protocol):
    """A candidate or a model of a run, which others of its name may have superseded."""

    @property
    def name(self) -> str: ...
    @property
    def digest(self) -> str: ...
    @property
    def superseded(self) -> bool: ...


class LabelledRun(Protocol):
    """What labels are about; a run's document is one."""

    @property
    def candidates(self) -> Sequence[Version]: ...
    @property
    def models(self) -> Sequence[Version]: ...


@frozen
class StoredLabel:
    """What some people said of one candidate's example: numbers from 0 to 1, by who said them."""

    candidate: str
    task_model: Annotated[str | None, IF_ANY] = None
    split: str
    line: int | None
    of: str  # a digest of what it is about
    said: Mapping[str, float]

    @property
    def where(self) -> tuple[Series, int | None]:
        return (self.candidate, self.task_model, self.split), self.line

    @property
    def value(self) -> float:
        return sum(self.said.values()) / len(self.said)


@frozen
class AskedCell:
    """How examples of a cell were chosen for people: by lines, as texts.

    `sizes` say how much more likely one was than another when labels were last asked for; `chances` are those
    of having been labelled by now.
    """

    candidate: str
    task_model: Annotated[str | None, IF_ANY] = None
    split: str
    sizes: Mapping[str, float]
    chances: Annotated[Mapping[str, float], IF_ANY] = field(default_factory=dict)

    @property
    def series(self) -> Series:
        return self.candidate, self.task_model, self.split


@frozen
class PeopleOfJudge:
    """What people say beside one judge; `levels` are all that a label can be, where they are few."""

    kind: str = NUMBERS
    levels: Annotated[tuple[float, ...], IF_ANY] = ()
    labels: Annotated[tuple[StoredLabel, ...], IF_ANY] = ()
    asked: Annotated[tuple[AskedCell, ...], IF_ANY] = ()
    looks: Annotated[int, IF_ANY] = 0  # how often labels that were asked for were read
    fields: Annotated[tuple[str, ...], IF_ANY] = ()  # who of those that said something are fields of examples


def people_in(settings: JsonMapping) -> dict[str, PeopleOfJudge]:
    """Read what run.json keeps of people, by judge."""
    return {name: from_dict(PeopleOfJudge, entry) for name, entry in settings.get(PEOPLE, {}).items()}


def digest_of(document: LabelledRun, series: Series, example: str) -> str:
    """Digest what a label is about: a candidate's text, who replied to it, and an example, by its digest."""
    candidate, model, split = series
    texts = [entry.digest for entry in document.candidates if _is_current(entry, candidate)]
    models = [entry.digest for entry in document.models if _is_current(entry, model)]
    parts = *texts, *(models or [model or ""]), split, example
    return hashlib.sha256("\n".join(parts).encode()).hexdigest()[:_DIGITS]


def _is_current(entry: Version, name: str | None) -> bool:
    return entry.name == name and not entry.superseded


def labels_of_cells(
    people: PeopleOfJudge, document: LabelledRun, layout: Layout
) -> dict[Series, dict[int, StoredLabel]]:
    """Put labels to the cells of a layout, by the places of their examples; those of something else wait."""
    places = {split.name: {line: n for n, line in enumerate(split.lines)} for split in layout.splits}
    cells: dict[Series, dict[int, StoredLabel]] = {}
    for label in people.labels:
        series, line = label.where
        index = places.get(series[2], {}).get(line)
        if index is None or series[0] not in layout.candidates or series[1] not in layout.task_models:
            continue
        if label.of == digest_of(document, series, layout.split(series[2]).sha256[index]):
            cells.setdefault(series, {})[index] = label
    return cells


def levels_of(values: Iterable[float], span: Sequence[float] | None = None) -> tuple[float, ...]:
    """List all that labels can be, where these are few: the whole numbers of their span, or what was said."""
    said = sorted(set(values))
    if span and all(float(end).is_integer() for end in span):
        steps = int(span[1] - span[0])
        grid = [step / steps for step in range(steps + 1)]
        if len(grid) <= MOST_LEVELS and {*said} <= {*grid}:
            return tuple(grid)
    return tuple(said) if len(said) <= MOST_LEVELS else ()


MOST_LEVELS = 10


def merge(labels: Iterable[StoredLabel], others: Iterable[StoredLabel]) -> Iterator[StoredLabel]:
    """Put labels together: of what both are about, each person's last word counts."""
    by_unit: dict[tuple[Any, str], StoredLabel] = {}
    for label in (*labels, *others):
        key = label.where, label.of
        said = {**(by_unit[key].said if key in by_unit else {}), **label.said}
        by_unit[key] = StoredLabel(**{**_fields(label), "said": said})
    return iter(by_unit.values())


def _fields(label: StoredLabel) -> JsonDict:
    return {name: getattr(label, name) for name in ("candidate", "task_model", "split", "line", "of")}
