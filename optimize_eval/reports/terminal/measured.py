"""Side information, pass rates, calibration, BLEU and money as people read them in a terminal.

Pure: what measures has for one candidate, or for the models of a board → lines.
"""

from collections.abc import Iterator, Sequence

from optimize_eval.findings.board_shapes import ModelScores
from optimize_eval.findings.rows import evaluator_label
from optimize_eval.findings.shapes import Estimate, LatencyEntry, MeasuredCell, PassRates, Row, ValuesAtPath
from optimize_eval.findings.summary_shape import SpendingTotal, SpendingTotals, Summary
from optimize_eval.findings.wording import count, interval, number, percent
from optimize_eval.reports.text import wrapped
from optimize_eval.statistics.rates import Calibration

_HEAD = 12
_MOST_KEYS = 6
_MOST_MODELS = 8
_FEW = 100  # answers, of which an ECE is told to be too high by chance


def side_info_of(best: Row, summary: Summary, width: int) -> list[str]:
    """Write in a line what was said beside the scores of one candidate, on the deciding split."""
    told = {
        entry.where.split: entry.keys
        for entry in summary.side_info
        if (entry.where.candidate, entry.where.evaluator, entry.where.task_model)
        == (best.candidate, best.evaluator, best.task_model)
    }
    here = told[summary.decided_on]
    there = told.get("train", {}) if summary.decided_on == "val" else {}
    said = [words for key, value in here.items() if (words := _key_words(key, value, there.get(key)))]
    if not said:
        return []
    more = [f"{len(said) - _MOST_KEYS} more"] if len(said) > _MOST_KEYS else []
    who = f"{best.candidate} on {evaluator_label(best.evaluator, best.task_model)}: "
    return wrapped(_head("side info"), who + " · ".join([*said[:_MOST_KEYS], *more]), width)


def _key_words(key: str, values: ValuesAtPath, train: ValuesAtPath | None) -> str:
    """Say in a few words what stood at a key; long texts are shown with the worst examples."""
    if values.booleans:
        there = train.booleans if train else None
        before = f" (train {percent(there.rate)})" if there else ""
        return f"{key} {percent(values.booleans.rate)} true{before}"
    if values.numbers and values.numbers.mean is not None:
        before = f" (train {number(train.numbers.mean)})" if train and train.numbers else ""
        return f"{key} {number(values.numbers.mean)}{before}"
    if texts := values.texts:
        top = ", ".join(f"{one.value} {one.count:,}" for one in texts.top[:3])
        return f"{key}: {top}{', …' * (texts.distinct > 3)}"  # noqa: PLR2004  what stands there
    return ""


def of_row(row: Row, summary: Summary, width: int) -> list[str]:
    """Write what there is about one candidate on the deciding split."""
    who = f"{row.candidate} on {evaluator_label(row.evaluator, row.task_model)}: "
    cell = MeasuredCell(
        candidate=row.candidate,
        evaluator=row.evaluator,
        task_model=row.task_model,
        split=summary.decided_on,
    )
    lines: list[str] = []
    for passed in (one for one in summary.passes if one.where == cell):
        lines += wrapped(_head("repeats"), who + passes(passed.by_k[-1]), width)
    for stated in (one.stated.calibration for one in summary.calibration if one.where == cell):
        lines += wrapped(_head("confidence"), f"{who}{_calibration(stated)}", width)
        lines += [line for text in _bins(stated) for line in wrapped(_head(""), text, width)]
    for bleu in (one.bleu for one in summary.corpus_bleu if one.where == cell):
        text = f"{who}BLEU {number(bleu.score)} over {count(bleu.outputs, 'output')}"
        lines += wrapped(_head("corpus"), text, width)
    return lines


def of_models(models: Sequence[ModelScores], width: int) -> list[str]:
    """Write what there is about the models of a board."""
    shown = models[:_MOST_MODELS]
    lines = []
    if texts := [f"{model.adapter} {passes(model.passes[-1])}" for model in shown if model.passes]:
        lines += wrapped(_head("repeats"), "; ".join(texts), width)
    if texts := [f"{model.adapter} BLEU {by_task}" for model in shown if (by_task := _bleu_by_task(model))]:
        lines += wrapped(_head("corpus"), "; ".join(texts), width)
    return lines


def passes(rates: PassRates) -> str:
    """Write pass@k and pass^k of one k with their intervals."""
    k = rates.k
    return f"pass@{k} {_estimate(rates.any_)}, pass^{k} {_estimate(rates.all_)}"


def _estimate(found: Estimate) -> str:
    ci = f" ({interval(found.ci, number)})" if found.ci else ""
    return f"{number(found.mean)}{ci}"


def _calibration(found: Calibration) -> str:
    text = f"states {number(found.confidence)} on average and scores {number(found.score)}; "
    text += f"Brier {number(found.brier)}, ECE {number(found.ece)} of {count(found.n, 'answer')}"
    few = ", so few that chance alone makes an ECE" if found.n < _FEW else ""
    return text + few


def _bins(found: Calibration) -> Iterator[str]:
    for one in found.bins:
        stated = f"{one.low:.1f} to {one.high:.1f}: {count(one.n, 'answer')}"
        yield f"{stated}, stated {number(one.confidence)}, scored {number(one.score)}"


def _bleu_by_task(model: ModelScores) -> str:
    return ", ".join(
        f"{number(task.corpus_bleu.score)} on {task.task}" for task in model.tasks if task.corpus_bleu
    )


def _head(name: str) -> str:
    return f" {name:<{_HEAD - 1}}"


_MOST_SPENDERS = 6
_SMALL = 0.995  # dollars below which cents are too coarse


def spending_of_models(spent: SpendingTotals | None, width: int) -> list[str]:
    """Tell the totals of each model; failed calls and former attempts included."""
    models = spent.models if spent else {}
    lines = [
        line
        for name, total in list(models.items())[:_MOST_SPENDERS]
        for line in wrapped(" ", f"{name}: {of_total(total)}", width)
    ]
    if len(models) > _MOST_SPENDERS:
        lines += wrapped(" ", f"… and {count(len(models) - _MOST_SPENDERS, 'more model')}", width)
    if spent and len(models) > 1:
        lines += wrapped(" ", f"all models: {of_total(spent.run)}", width)
    return lines


def of_times(summary: Summary, width: int) -> list[str]:
    """Tell how long a call of each evaluator that called models took."""
    names = summary.spent.evaluators if summary.spent else ()
    entries = [one for one in summary.latency if one.evaluator in names]
    return [line for entry in entries[:_MOST_SPENDERS] for line in wrapped(" ", _time(entry), width)]


def _time(one: LatencyEntry) -> str:
    typical = f"half of the calls within {one.p50:.2f} s, 95 % within {one.p95:.2f} s"
    return f"{one.evaluator} on {one.split}: {typical}"


def of_total(total: SpendingTotal) -> str:
    tokens = f"{total.prompt_tokens:,} + {total.completion_tokens:,} tokens"
    untold = total.without_tokens
    parts = [
        count(total.calls, "call"),
        tokens + (f" ({count(untold, 'call')} told none)" if untold else "") + _estimated(total),
        *_money(total),
        f"{total.seconds:,.1f} s",
    ]
    return ", ".join(parts)


def _estimated(total: SpendingTotal) -> str:
    return f" (an estimate for {count(total.estimated, 'call')}: characters ÷ 4)" if total.estimated else ""


def _money(total: SpendingTotal) -> Sequence[str]:
    unknown = total.without_cost
    if unknown == total.calls:
        return ()
    cost = total.cost
    money = f"${cost:,.2f}" if cost >= _SMALL else f"${cost:.4f}"
    return (money + (f" (the cost of {count(unknown, 'call')} is unknown)" if unknown else ""),)
