"""What is measured besides a mean, cell by cell: pass rates, calibration, corpus BLEU, replies, latency."""

from collections.abc import Mapping
from typing import Annotated

from optimize_eval.base.frozen import frozen
from optimize_eval.findings.documents import FLAT, IF_ANY, Key
from optimize_eval.statistics.estimates import Interval
from optimize_eval.statistics.rates import Calibration


@frozen
class Estimate:
    """A mean over examples, or over tasks."""

    mean: float | None
    se: float | None
    ci: Interval | None
    method: str | None
    n: int
    tasks: Annotated[int | None, IF_ANY] = None


@frozen
class PassRates:
    """How often any of k repeats passes, and how often all do."""

    k: int
    any_: Annotated[Estimate, Key("any")]
    all_: Annotated[Estimate, Key("all")]


@frozen
class CorpusBleu:
    """BLEU over all outputs together."""

    score: float
    outputs: int


@frozen
class StatedConfidence:
    """How well stated confidences agree with scores; `unusable` ones are no numbers from 0 to 1."""

    calibration: Annotated[Calibration, FLAT]
    unusable: int


@frozen
class ReplyCounts:
    """What models' replies say of themselves."""

    scored: int
    cut_off: int
    off_scale: int
    first_off_scale: Annotated[float | None, IF_ANY] = None
    with_thoughts: Annotated[int, IF_ANY] = 0
    refused: Annotated[int, IF_ANY] = 0
    empty: Annotated[int, IF_ANY] = 0
    answered_by: Mapping[str, int]


@frozen
class MeasuredCell:
    """Where something was measured."""

    candidate: str
    evaluator: str
    task_model: str | None
    split: str


@frozen
class PassesEntry:
    """The pass rates of a cell."""

    where: Annotated[MeasuredCell, FLAT]
    by_k: tuple[PassRates, ...]


@frozen
class CalibrationEntry:
    """The calibration of a cell."""

    where: Annotated[MeasuredCell, FLAT]
    stated: Annotated[StatedConfidence, FLAT]


@frozen
class BleuEntry:
    """The corpus BLEU of a cell."""

    where: Annotated[MeasuredCell, FLAT]
    bleu: Annotated[CorpusBleu, FLAT]


@frozen
class RepliesEntry:
    """The replies of a cell."""

    where: Annotated[MeasuredCell, FLAT]
    counts: Annotated[ReplyCounts, FLAT]


@frozen
class LatencyEntry:
    """How long the calls of an evaluator took on a split, in seconds."""

    evaluator: str
    split: str
    n: int
    p50: float
    p95: float
    max: float
    attempts: int
    total: float
