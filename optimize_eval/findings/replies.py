"""What models' replies say of themselves: cut off for their length, on another scale, given by whom.

Read from what judges leave in a score's side information (`usage`, `clamped_from`) and models under test at
`model`; in words it is what a reader has to know before believing a score.
"""

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from optimize_eval.findings.shapes.measured import RepliesEntry, ReplyCounts
from optimize_eval.findings.shapes.summary import Summary
from optimize_eval.findings.wording import percent
from optimize_eval.store.manifest import Manifest, evaluators_of
from optimize_eval.store.view import JournalRecord

if TYPE_CHECKING:  # most runs have no board
    from optimize_eval.findings.board.shapes import ModelScores

MOST_OFF_SCALE = 0.1  # of an evaluator's scored replies: beyond that its scores say nothing

_CUT_OFF = "length"
_THOUGHTS = ("<think>", "<thinking>", "<|channel|>analysis")  # a provider's are told apart before
_ROUNDING = 0.001
_MOST_NAMED = 5

Told = dict[str, Any]


class Replies:
    """Takes in the scored records of one cell."""

    def __init__(self) -> None:
        self.scored = 0
        self.cut_off = 0
        self.off_scale = 0
        self.with_thoughts = 0
        self.refused = 0
        self.empty = 0
        self.answered_by: Counter[str] = Counter()
        self._first: float | None = None

    def take(self, record: JournalRecord) -> None:
        self.scored += 1
        side_info = record["side_info"]
        output = side_info.get("output")
        self.with_thoughts += isinstance(output, str) and output.lstrip().lower().startswith(_THOUGHTS)
        usage, model, reply = side_info.get("usage"), side_info.get("model"), record.get("replied")
        told = [one for one in (usage, reply, model) if isinstance(one, dict)]
        if isinstance(reply, dict):
            self.refused += reply.get("refused") is True
            self.empty += reply.get("empty") is True
        if not told:
            return
        self.cut_off += any(one.get("finish_reason") == _CUT_OFF for one in told)
        if names := [name for one in told if isinstance(name := one.get("answered_by"), str)]:
            self.answered_by[names[0]] += 1
        if isinstance(usage, dict) and (off := _off_scale(side_info.get("clamped_from"))):
            self.off_scale += 1
            self._first = off[0] if self._first is None else self._first

    @property
    def told_otherwise(self) -> bool:
        return bool(self.answered_by or self.refused or self.empty)

    def counts(self) -> ReplyCounts | None:
        """Say what there is to tell; None where these are no replies of models, or none that say anything."""
        if not (self.cut_off or self.off_scale or self.with_thoughts or self.told_otherwise):
            return None
        return ReplyCounts(
            scored=self.scored,
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
    return [one for one in numbers if isinstance(one, int | float) and not -_ROUNDING <= one <= 1 + _ROUNDING]


@dataclass(slots=True, eq=False, repr=False)
class OfEvaluator:
    """The replies that an evaluator's scores are from, over all cells."""

    scored: int = 0
    cut_off: int = 0
    off_scale: int = 0
    with_thoughts: int = 0
    refused: int = 0
    empty: int = 0
    first: float | None = None  # that was on another scale

    def take(self, counts: ReplyCounts) -> None:
        self.cut_off += counts.cut_off
        self.off_scale += counts.off_scale
        self.with_thoughts += counts.with_thoughts
        self.refused += counts.refused
        self.empty += counts.empty
        self.first = counts.first_off_scale if self.first is None else self.first


def _evaluator(evaluator: str, _task_model: str | None) -> str:
    return evaluator


def of_evaluators(
    summary: Summary, name: Callable[[str, str | None], str] = _evaluator
) -> dict[str, OfEvaluator]:
    """Add up what `replies` says by cell, by evaluator or by what `name` makes of it and a task model."""
    totals: dict[str, OfEvaluator] = {}
    for entry in summary.replies:
        where = entry.where
        totals.setdefault(name(where.evaluator, where.task_model), OfEvaluator()).take(entry.counts)
    for called, total in totals.items():
        rows = (row for row in summary.rows if name(row.evaluator, row.task_model) == called)
        total.scored = sum(s.scored for row in rows for s in row.splits.values())
    return totals


def of_models(summary: Summary) -> dict[str, OfEvaluator]:
    """Add up what is the models' own by model; of several evaluators, each saw the same replies."""
    pairs = of_evaluators(summary, _pair)
    found: dict[str, OfEvaluator] = {}
    for called, total in pairs.items():
        model = called.partition("\0")[2]
        known = found.get(model)
        if model and (known is None or (total.refused, total.empty) > (known.refused, known.empty)):
            found[model] = total
    return found


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
        f"{one}: {_off_in_words(total)}"
        for one in names
        if (total := totals.get(one)) and total.off_scale > MOST_OFF_SCALE * total.scored
    )


def judges_of(manifest: Manifest) -> dict[str, str]:
    """Say which model each judge of a run calls."""
    entries = [(one["name"], (one.get("judge") or {}).get("model")) for one in evaluators_of(manifest)]
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


def _off_in_words(total: OfEvaluator) -> str:
    many, scored = total.off_scale, total.scored
    return (
        f"{many:,} of {scored:,} scored replies ({percent(many / scored)}) were on another scale, "
        f"such as {total.first:g}, and were clamped to 0 to 1; name the scale in the objective"
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
