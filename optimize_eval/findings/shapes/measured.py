"""What is measured besides a mean, cell by cell: pass rates, calibration, corpus BLEU, replies, latency."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated

from optimize_eval.findings.documents import FLAT, IF_ANY, Key
from optimize_eval.statistics.intervals import Interval
from optimize_eval.statistics.measures.calibration import Calibration


@dataclass(frozen=True, slots=True, kw_only=True)
class Estimate:
    """A mean over examples, or over tasks."""

    mean: float | None
    se: float | None
    ci: Interval | None
    method: str | None
    n: int
    tasks: Annotated[int | None, IF_ANY] = None


@dataclass(frozen=True, slots=True, kw_only=True)
class PassRates:
    """How often any of k repeats passes, and how often all do."""

    k: int
    any_: Annotated[Estimate, Key("any")]
    all_: Annotated[Estimate, Key("all")]


@dataclass(frozen=True, slots=True, kw_only=True)
class CorpusBleu:
    """BLEU over all outputs together."""

    score: float
    outputs: int


@dataclass(frozen=True, slots=True, kw_only=True)
class StatedConfidence:
    """How well stated confidences agree with scores; `unusable` ones are no numbers from 0 to 1."""

    calibration: Annotated[Calibration, FLAT]
    unusable: int


@dataclass(frozen=True, slots=True, kw_only=True)
class ReplyCounts:
    """What models' replies say of themselves."""

    scored: int
    cut_off: int
    off_scale: int
    first_off_scale: Annotated[float | None, IF_ANY] = None
    with_thoughts: Annotated[int, IF_ANY] = 0
    answered_by: Mapping[str, int]


@dataclass(frozen=True, slots=True, kw_only=True)
class MeasuredCell:
    """Where something was measured."""

    candidate: str
    evaluator: str
    task_model: str | None
    split: str


@dataclass(frozen=True, slots=True, kw_only=True)
class PassesEntry:
    """The pass rates of a cell."""

    where: Annotated[MeasuredCell, FLAT]
    by_k: tuple[PassRates, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class CalibrationEntry:
    """The calibration of a cell."""

    where: Annotated[MeasuredCell, FLAT]
    stated: Annotated[StatedConfidence, FLAT]


@dataclass(frozen=True, slots=True, kw_only=True)
class BleuEntry:
    """The corpus BLEU of a cell."""

    where: Annotated[MeasuredCell, FLAT]
    bleu: Annotated[CorpusBleu, FLAT]


@dataclass(frozen=True, slots=True, kw_only=True)
class RepliesEntry:
    """The replies of a cell."""

    where: Annotated[MeasuredCell, FLAT]
    counts: Annotated[ReplyCounts, FLAT]


@dataclass(frozen=True, slots=True, kw_only=True)
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
