"""What is measured besides a mean: pass@k, calibration, BLEU, models' replies.

Each is made of one cell's scored records, and only where these have what it needs: scores of 0 and 1 and
repeats; a number from 0 to 1 at `confidence` in the side information; the counts that `@bleu` leaves there;
what judges (`usage`, `clamped_from`) and models under test (`model`) leave. In words, the last is what a
reader has to know before believing a score.
"""

from array import array
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, TypeGuard

from optimize_eval.base.frozen import frozen
from optimize_eval.base.protocol import ScoreRange
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
from optimize_eval.findings.summary_shape import Summary
from optimize_eval.findings.wording import percent
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
from optimize_eval.store.run_document import RunDocument

if TYPE_CHECKING:
    from optimize_eval.findings.board_shapes import ModelScores

MOST_OFF_SCALE = 0.1  # of an evaluator's scored replies: beyond that its scores say nothing

_CUT_OFF = "length"
_SAID_OF_REPLIES = frozenset({"output", "usage", "model"})
_THOUGHTS = ("<think>", "<thinking>", "<|channel|>analysis")  # a provider's are told apart before
_ROUNDING = 0.001
_MOST_NAMED = 5

Told = dict[str, Any]


class Replies:
    """Takes in the scored records of one cell."""

    def __init__(self) -> None:
        self.cut_off = 0
        self.off_scale = 0
        self.with_thoughts = 0
        self.refused = 0
        self.empty = 0
        self.answered_by: Counter[str] = Counter()
        self._first: float | None = None

    def take(self, record: JournalRecord) -> None:
        side_info = record["side_info"]
        output = side_info.get("output")
        self.with_thoughts += isinstance(output, str) and output.lstrip().lower().startswith(_THOUGHTS)
        usage, model, reply = side_info.get("usage"), side_info.get("model"), record.get("replied")
        said = [part for part in (usage, reply, model) if isinstance(part, dict)]
        if isinstance(reply, dict):
            self.refused += reply.get("refused") is True
            self.empty += reply.get("empty") is True
        if not said:
            return
        self.cut_off += any(part.get("finish_reason") == _CUT_OFF for part in said)
        if names := [name for part in said if isinstance(name := part.get("answered_by"), str)]:
            self.answered_by[names[0]] += 1
        if isinstance(usage, dict) and (off := _off_scale(side_info.get("clamped_from"))):
            self.off_scale += 1
            self._first = off[0] if self._first is None else self._first

    @property
    def told_otherwise(self) -> bool:
        return bool(self.answered_by or self.refused or self.empty)

    def counts(self, scored: int) -> ReplyCounts | None:
        """Say what there is to tell; None where these are no replies of models, or none that say anything."""
        if not (self.cut_off or self.off_scale or self.with_thoughts or self.told_otherwise):
            return None
        return ReplyCounts(
            scored=scored,
            cut_off=self.cut_off,
            off_scale=self.off_scale,
            first_off_scale=self._first,
            with_thoughts=self.with_thoughts,
            refused=self.refused,
            empty=self.empty,
            answered_by=dict(sorted(self.answered_by.items())),
        )


def _off_scale(clamped: object) -> list[float]:
    numbers = clamped.values() if isinstance(clamped, dict) else ()
    return [
        number
        for number in numbers
        if isinstance(number, int | float) and not -_ROUNDING <= number <= 1 + _ROUNDING
    ]


def _evaluator(evaluator: str, _task_model: str | None) -> str:
    return evaluator


def of_evaluators(
    summary: Summary, name: Callable[[str, str | None], str] = _evaluator
) -> dict[str, ReplyCounts]:
    """Add up what `replies` says by cell, by evaluator or by what `name` makes of it and a task model."""
    parts: dict[str, list[ReplyCounts]] = {}
    for entry in summary.replies:
        parts.setdefault(name(entry.where.evaluator, entry.where.task_model), []).append(entry.counts)
    scored = Counter[str]()
    for row in summary.rows:
        scored[name(row.evaluator, row.task_model)] += sum(s.scored for s in row.splits.values())
    return {called: _added(counts, scored[called]) for called, counts in parts.items()}


def _added(parts: Sequence[ReplyCounts], scored: int) -> ReplyCounts:
    return ReplyCounts(
        scored=scored,
        cut_off=sum(part.cut_off for part in parts),
        off_scale=sum(part.off_scale for part in parts),
        first_off_scale=next(filter(None, (part.first_off_scale for part in parts)), None),
        with_thoughts=sum(part.with_thoughts for part in parts),
        refused=sum(part.refused for part in parts),
        empty=sum(part.empty for part in parts),
        answered_by={},
    )


def of_models(summary: Summary) -> dict[str, ReplyCounts]:
    """Add up what is the models' own by model; of several evaluators, each saw the same replies."""
    pairs = of_evaluators(summary, _pair)
    by_model: dict[str, ReplyCounts] = {}
    for called, total in pairs.items():
        model = called.partition("\0")[2]
        known = by_model.get(model)
        if model and (known is None or (total.refused, total.empty) > (known.refused, known.empty)):
            by_model[model] = total
    return by_model


def _pair(evaluator: str, task_model: str | None) -> str:
    return f"{evaluator}\0{task_model or ''}"


def beyond_scale(
    summary: Summary, evaluators: Collection[str], name: Callable[[str, str | None], str] = _evaluator
) -> tuple[str, ...]:
    """Say which of some evaluators have replies on another scale too often; `name` as above."""
    rows = [row for row in summary.rows if row.evaluator in evaluators]
    names = dict.fromkeys(name(row.evaluator, row.task_model) for row in rows)
    totals = of_evaluators(summary, name)
    return tuple(
        f"{called}: {_off_in_words(total)}"
        for called in names
        if (total := totals.get(called)) and total.off_scale > MOST_OFF_SCALE * total.scored
    )


def judges_of(document: RunDocument) -> dict[str, str]:
    """Say which model each judge of a run calls."""
    entries = [(entry.name, entry.judge.get("model")) for entry in document.selected_evaluators]
    return {name: model for name, model in entries if isinstance(model, str)}


def doubts(summary: Summary) -> Iterator[str]:
    """Say of each evaluator what its models' replies leave in doubt."""
    for name, total in of_evaluators(summary).items():
        if total.off_scale:
            yield f"{name}: {_off_in_words(total)}"
        if total.cut_off:
            yield f"{name}: {_cut_off_in_words(total.cut_off, total.scored)}; raise max_tokens"
        if total.with_thoughts:
            yield f"{name}: {_thoughts_in_words(total.with_thoughts, total.scored)}"
    for name, total in of_models(summary).items():
        yield from _refused_or_empty(name, total.refused, total.empty, total.scored)
    yield from _answering(_by_row(summary.replies), _called_models(summary))


def doubts_of_models(models: "Sequence[ModelScores]", written: Mapping[str, str]) -> Iterator[str]:
    """Say the same of the models of a board; `written` is how each is written."""
    for model in models:
        if model.cut_off:
            words = _cut_off_in_words(model.cut_off, model.scored)
            yield f"{model.adapter}: {words}; raise --max-tokens"
        if model.with_thoughts:
            yield f"{model.adapter}: {_thoughts_in_words(model.with_thoughts, model.scored)}"
        yield from _refused_or_empty(model.adapter, model.refused, model.empty, model.scored)
    rows: dict[str, Counter[str]] = {model.adapter: Counter(model.answered_by or {}) for model in models}
    yield from _answering(rows, written)


def _answering(rows: Mapping[str, Counter[str]], requested: Mapping[str, str]) -> Iterator[str]:
    """Point out a row that several models answered, and rows of several models that one answered."""
    for row, names in rows.items():
        if len(names) > 1:
            shown = ", ".join(f"{name} {many:,}" for name, many in names.most_common(_MOST_NAMED))
            more = ", …" * (len(names) > _MOST_NAMED)
            yield f"{row} was answered by several models, by what they say of themselves: {shown}{more}"
    for name in dict.fromkeys(name for names in rows.values() for name in names):
        same = [row for row in rows if name in rows[row] and row in requested]
        if len({requested[row].rpartition("/")[2] for row in same}) > 1:
            listed = ", ".join(same[:_MOST_NAMED]) + ", …" * (len(same) > _MOST_NAMED)
            yield f"{listed} were answered by one model, by what it says of itself: {name}"


def _by_row(entries: Iterable[RepliesEntry]) -> dict[str, Counter[str]]:
    rows: dict[str, Counter[str]] = {}
    for entry in entries:
        rows.setdefault(_row_of(entry), Counter()).update(entry.counts.answered_by)
    return rows


def _called_models(summary: Summary) -> dict[str, str]:
    """Say by row which model was called: a judge's own, else the task model."""
    called = {
        _row_of(entry): summary.judges.get(entry.where.evaluator, entry.where.task_model)
        for entry in summary.replies
    }
    return {row: model for row, model in called.items() if model}


def _row_of(entry: RepliesEntry) -> str:
    return " ".join(filter(None, [entry.where.evaluator, entry.where.task_model]))


def _off_in_words(total: ReplyCounts) -> str:
    many, scored = total.off_scale, total.scored
    return (
        f"{many:,} of {scored:,} scored replies ({percent(many / scored)}) were on another scale, "
        f"such as {total.first_off_scale:g}, and were clamped to 0 to 1; name the scale in the objective"
    )


def _thoughts_in_words(many: int, scored: int) -> str:
    thoughts = f"{many:,} of {scored:,} scored outputs"
    return f"{thoughts} begin with thoughts, which were scored as a part of the answer"


def _refused_or_empty(name: str, refused: int, empty: int, scored: int) -> Iterator[str]:
    if refused:
        share = f"{refused:,} of {scored:,} scored replies ({percent(refused / scored)})"
        yield f"{name}: {share} are refusals, scored as text (--refusals fail: failures)"
    if empty:
        yield f"{name}: {empty:,} of {scored:,} scored replies are empty"


def _cut_off_in_words(many: int, scored: int) -> str:
    return f"{many:,} of {scored:,} scored replies were cut off for their length"


CONFIDENCE, BLEU_COUNTS = "confidence", "bleu_counts"
EVERY = slice(None)

_MOST = 1 << 53  # that a count may be, and every sum of such divides into a float

Passes = Callable[[int, Repeats], float]


@frozen
class MeasuredCells:
    """What there is of each measure, by where it was measured."""

    passes: tuple[PassesEntry, ...]
    calibration: tuple[CalibrationEntry, ...]
    corpus_bleu: tuple[BleuEntry, ...]
    replies: tuple[RepliesEntry, ...]


class Measures:
    """Takes in the scored records of one cell."""

    def __init__(self, examples: int, repeats: int, score_range: ScoreRange) -> None:
        self._is_unit = score_range is ScoreRange.UNIT
        self._is_repeated = repeats > 1
        self._scored = array("I", [0]) * examples
        self._passed = array("I", [0]) * examples
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
