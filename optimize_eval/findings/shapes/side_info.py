"""What evaluators said beside their scores, cell by cell, by dotted path and by what stood there."""

from collections.abc import Mapping
from typing import Annotated

from optimize_eval.base.frozen import frozen
from optimize_eval.findings.documents import FLAT, IF_ANY
from optimize_eval.findings.shapes.measured import MeasuredCell


@frozen
class Distribution:
    """Numbers; what overflows is None."""

    n: int
    mean: float | None
    sd: float | None
    min: float
    p50: float | None
    p95: float | None
    max: float


@frozen
class Truths:
    """Booleans, and how many of them are true."""

    n: int
    rate: float


@frozen
class TextCount:
    """A short text, and how often it was said."""

    value: str
    count: int


@frozen
class ShortTexts:
    """Short texts, the most frequent first."""

    n: int
    distinct: int
    top: tuple[TextCount, ...]


@frozen
class TextBeside:
    """A long text that came with a low score."""

    line: int | None
    score: float
    text: str


@frozen
class LongTexts:
    """Long texts, those with the lowest scores."""

    n: int
    worst: tuple[TextBeside, ...]


@frozen
class ValuesAtPath:
    """All values that stood at one path."""

    n: int
    missing: int
    numbers: Annotated[Distribution | None, IF_ANY] = None
    booleans: Annotated[Truths | None, IF_ANY] = None
    texts: Annotated[ShortTexts | None, IF_ANY] = None
    long_texts: Annotated[LongTexts | None, IF_ANY] = None
    lists: Annotated[Distribution | None, IF_ANY] = None
    objects: Annotated[int, IF_ANY] = 0
    nulls: Annotated[int, IF_ANY] = 0


@frozen
class ErrorsBeside:
    """Errors that were reported beside scores."""

    n: int
    first: str


@frozen
class SideInfoEntry:
    """The side information of a cell."""

    where: Annotated[MeasuredCell, FLAT]
    keys: Mapping[str, ValuesAtPath]
    values_left_out: Annotated[int, IF_ANY] = 0
    errors: Annotated[ErrorsBeside | None, IF_ANY] = None
