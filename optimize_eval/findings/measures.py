"""What is measured besides a mean: pass@k, calibration, BLEU, models' replies.

Each is made of one cell's scored records, and only where these have what it needs: scores of 0 and 1 and
repeats; a number from 0 to 1 at `confidence` in the side information; the counts that `@bleu` leaves there.
"""

from array import array
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, TypeGuard

from optimize_eval.base.frozen import frozen
from optimize_eval.base.protocol import ScoreRange
from optimize_eval.findings.replies import Replies
from optimize_eval.findings.summary_parts import (
    BleuEntry,
    CalibrationEntry,
    CorpusBleu,
    MeasuredCell,
    PassesEntry,
    PassRates,
    RepliesEntry,
    ReplyCounts,
    StatedConfidence,
)
from optimize_eval.statistics.estimates import Clusters, Estimate, mean_of, mean_over, on_tasks_like_these
from optimize_eval.statistics.rates import (
    LENGTH,
    Answer,
    Counts,
    Repeats,
    all_of,
    any_of,
    calibration_of,
    corpus_bleu,
    list_k,
    with_enough,
)
from optimize_eval.store.command_units import JournalRecord

_SAID_OF_REPLIES = frozenset({"output", "usage", "model"})
CONFIDENCE, BLEU_COUNTS = "confidence", "bleu_counts"
EVERY = slice(None)

MOST_IN_A_BYTE = 255

_MOST = 1 << 53  # that a count may be, and every sum of such divides into a float

Passes = Callable[[int, Repeats], float]


@frozen
class MeasuredCells:
    """What there is of each measure, by where it was measured."""

    passes: tuple[PassesEntry, ...]
    calibration: tuple[CalibrationEntry, ...]
    corpus_bleu: tuple[BleuEntry, ...]
    replies: tuple[RepliesEntry, ...]


def no_calls(examples: int, repeats: int) -> "array[int]":
    """Make room for counting calls by example: a byte each, where there are no more repeats."""
    return array("B" if repeats <= MOST_IN_A_BYTE else "I", [0]) * examples


class Measures:
    """Takes in the scored records of one cell."""

    def __init__(self, examples: int, repeats: int, score_range: ScoreRange) -> None:
        self._is_unit = score_range is ScoreRange.UNIT
        self._is_repeated = repeats > 1
        self._scored, self._passed = no_calls(examples, repeats), no_calls(examples, repeats)
        self._graded = bytearray(examples)  # those that have a score other than 0 or 1
        self._answers: list[Answer] = []
        self._unusable = 0
        self._sentences: list[Counts] = []
        self.replies = Replies()

    def take(self, example: int, record: JournalRecord) -> None:
        score, side_info = record["score"], record["side_info"]
        self._scored[example] += 1
        if "replied" in record or not _SAID_OF_REPLIES.isdisjoint(side_info):
            self.replies.take(record)
        if score == 1:
            self._passed[example] += 1
        elif score != 0:  # also where a label stands in its place
            self._graded[example] = True
        if CONFIDENCE in side_info and self._is_unit and score is not None:
            self._take_confidence(side_info[CONFIDENCE], score)
        if BLEU_COUNTS in side_info and _is_counts(counts := side_info[BLEU_COUNTS]):
            self._sentences.append(counts)

    def repeats(self, places: slice = EVERY) -> list[Repeats]:
        """Say by example how many repeats passed; empty where scores are not all 0 or 1, or not repeated."""
        if not self._is_repeated or not self._is_unit or any(self._graded[places]):
            return []
        return [Repeats(*counts) for counts in zip(self._scored[places], self._passed[places], strict=True)]

    @property
    def calibration(self) -> StatedConfidence | None:
        calibration = calibration_of(self._answers)
        return (
            None
            if calibration is None
            else StatedConfidence(calibration=calibration, unusable=self._unusable)
        )

    @property
    def reply_counts(self) -> ReplyCounts | None:
        return self.replies.counts(sum(self._scored))

    @property
    def corpus_bleu(self) -> CorpusBleu | None:
        score = corpus_bleu(self._sentences)
        return None if score is None else CorpusBleu(score=score, outputs=len(self._sentences))

    def _take_confidence(self, confidence: Any, score: float) -> None:
        is_number = isinstance(confidence, int | float) and not isinstance(confidence, bool)
        if is_number and 0 <= confidence <= 1:
            self._answers.append((confidence, score))
        else:
            self._unusable += 1


def passes_of(examples: Sequence[Repeats], clusters: Clusters) -> tuple[PassRates, ...]:
    """Give pass@k and pass^k for each k; an example with fewer than k scored repeats does not take part."""
    return tuple(
        PassRates(
            k=k, any_=_passes(k, examples, clusters, any_of), all_=_passes(k, examples, clusters, all_of)
        )
        for k in list_k(_most(examples))
    )


def passes_over(tasks: Sequence[Sequence[Repeats]]) -> tuple[PassRates, ...]:
    """Give the same as a mean over tasks, of those that have such scores."""
    there = [examples for examples in tasks if _most(examples)]
    return tuple(
        PassRates(k=k, any_=_over(k, there, any_of), all_=_over(k, there, all_of))
        for k in list_k(min(map(_most, there), default=0))
    )


def of_cells(measured: Sequence[tuple[MeasuredCell, Measures, Clusters]]) -> MeasuredCells:
    """List what there is of each measure."""
    passes = [(where, passes_of(measures.repeats(), clusters)) for where, measures, clusters in measured]
    return MeasuredCells(
        passes=tuple(PassesEntry(where=where, by_k=by_k) for where, by_k in passes if by_k),
        calibration=tuple(
            CalibrationEntry(where=where, stated=stated)
            for where, measures, _ in measured
            if (stated := measures.calibration)
        ),
        corpus_bleu=tuple(
            BleuEntry(where=where, bleu=bleu)
            for where, measures, _ in measured
            if (bleu := measures.corpus_bleu)
        ),
        replies=tuple(
            RepliesEntry(where=where, counts=counts)
            for where, measures, _ in measured
            if (counts := measures.reply_counts)
        ),
    )


def _most(examples: Sequence[Repeats]) -> int:
    return max((example.scored for example in examples), default=0)


def _passes(k: int, examples: Sequence[Repeats], clusters: Clusters, way: Passes) -> Estimate:
    places = with_enough(k, examples)
    theirs = clusters and [clusters[place] for place in places]
    return mean_of([way(k, examples[place]) for place in places], theirs, is_unit=True)


def _over(k: int, tasks: Sequence[Sequence[Repeats]], way: Passes) -> Estimate:
    values = [[way(k, examples[place]) for place in with_enough(k, examples)] for examples in tasks]
    mean = mean_over(values)
    elsewhere = on_tasks_like_these(values) if mean.ci is None else None
    return replace(elsewhere or mean, n=mean.n, tasks=len(values))


def _is_counts(value: Any) -> TypeGuard[Counts]:
    return (
        isinstance(value, list)
        and len(value) == LENGTH
        and all(
            isinstance(number, int) and not isinstance(number, bool) and 0 <= number <= _MOST
            for number in value
        )
    )
