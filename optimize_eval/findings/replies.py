"""Replies of models: what is to be known of them before a score is believed, counted and in words.

Judges leave it in the side information of scores (`usage`, `clamped_from`), models under test in records.
"""

import re
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from string import ascii_lowercase
from typing import TYPE_CHECKING

from optimize_eval.findings.summary_parts import RepliesEntry, ReplyCounts
from optimize_eval.findings.summary_shape import Summary
from optimize_eval.findings.wording import percent
from optimize_eval.store.command_units import JournalRecord
from optimize_eval.store.run_document import RunDocument

if TYPE_CHECKING:
    from optimize_eval.findings.board_shapes import ModelScores

MOST_OFF_SCALE = 0.1  # of an evaluator's scored replies: beyond that its scores say nothing

_CUT_OFF = "length"
_THOUGHTS = ("<think>", "<thinking>", "<|channel|>analysis")  # a provider's are told apart before
_LONGEST_MARK = max(map(len, _THOUGHTS))
_ROUNDING = 0.001
_OF_GPT = re.compile(r"o\d")  # o1, o3 and so on
_MOST_NAMED = 5


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
        self.with_thoughts += isinstance(output, str) and output.lstrip()[:_LONGEST_MARK].lower().startswith(
            _THOUGHTS
        )
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


def name_evaluator(evaluator: str, _task_model: str | None) -> str:
    return evaluator


def of_evaluators(
    summary: Summary, name: Callable[[str, str | None], str] = name_evaluator
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
    summary: Summary, evaluators: Collection[str], name: Callable[[str, str | None], str] = name_evaluator
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
        yield from _cut_off_or_thinking(name, total, "max_tokens")
    for name, total in of_models(summary).items():
        yield from _refused_or_empty(name, total)
    yield from _answering(_by_row(summary.replies), _called_models(summary))


def doubts_of_models(models: "Sequence[ModelScores]", written: Mapping[str, str]) -> Iterator[str]:
    """Say the same of the models of a board; `written` is how each is written."""
    for model in models:
        yield from _cut_off_or_thinking(model.adapter, model, "--max-tokens")
        yield from _refused_or_empty(model.adapter, model)
    rows: dict[str, Counter[str]] = {model.adapter: Counter(model.answered_by or {}) for model in models}
    yield from _answering(rows, written)


def of_one_family(summary: Summary, models: Iterable[str]) -> Iterator[str]:
    """Point out judges that are of the family of a model that they judge, which they may prefer."""
    for judge, called in summary.judges.items():
        family = _family(called)
        if alike := [model for model in models if family and _family(model) == family]:
            yield (
                f"{judge} ({called}) and {', '.join(alike[:_MOST_NAMED])} are of one family, and judges "
                "prefer their own: let a model of another maker judge, too"
            )


def _family(model: str) -> str:
    """Take the first word of a model's own name: of openai/gpt-4o-mini it is gpt."""
    name = model.rpartition("/")[2].lower().removeprefix("chat")
    return "gpt" if _OF_GPT.match(name) else name[: len(name) - len(name.lstrip(ascii_lowercase))]


def _answering(rows: Mapping[str, Counter[str]], requested: Mapping[str, str]) -> Iterator[str]:
    """Point out a row that several models answered, and rows of several models that one answered."""
    for row, names in rows.items():
        if len(names) > 1:
            shown = ", ".join(f"{name} {many:,}" for name, many in names.most_common(_MOST_NAMED))
            more = ", …" * (len(names) > _MOST_NAMED)
            yield f"The replies to {row} name several models: {shown}{more}"
    for name in dict.fromkeys(name for names in rows.values() for name in names):
        same = [row for row in rows if name in rows[row] and row in requested]
        if len({requested[row].rpartition("/")[2] for row in same}) > 1:
            listed = ", ".join(same[:_MOST_NAMED]) + ", …" * (len(same) > _MOST_NAMED)
            yield f"The replies to {listed} all name one model: {name}"


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
        f"such as {total.first_off_scale:g}, and were cut to 0 to 1. Name the scale in the objective"
    )


def _cut_off_or_thinking(name: str, told: "ReplyCounts | ModelScores", option: str) -> Iterator[str]:
    if told.cut_off:
        many = f"{told.cut_off:,} of {told.scored:,} scored replies"
        yield f"{name}: {many} were cut off for their length. Raise {option}"
    if told.with_thoughts:
        many = f"{told.with_thoughts:,} of {told.scored:,} scored outputs"
        yield f"{name}: {many} begin with thoughts, which were scored as a part of the answer"


def _refused_or_empty(name: str, told: "ReplyCounts | ModelScores") -> Iterator[str]:
    if told.refused:
        share = f"{told.refused:,} of {told.scored:,} scored replies ({percent(told.refused / told.scored)})"
        yield f"{name}: {share} are refusals and were scored as text (--refusals fail)"
    if told.empty:
        yield f"{name}: {told.empty:,} of {told.scored:,} scored replies are empty"
