"""Pass rates over repeats, calibration and corpus BLEU as people read them in a terminal.

Pure: what measures has for one candidate, or for the models of a board → lines.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from optimize_eval.findings.rows import asked_with
from optimize_eval.findings.wording import count, interval, number
from optimize_eval.reports.columns import wrapped

_HEAD = 12
_MOST_MODELS = 8
_FEW = 100  # answers, of which an ECE is told to be too high by chance

Told = Mapping[str, Any]


def of_row(row: Told, summary: Told, width: int) -> list[str]:
    """Write what there is about one candidate on the deciding split."""
    who = f"{row['candidate']} on {asked_with(row['evaluator'], row['task_model'])}: "
    lines: list[str] = []
    if one := _of(row, summary, "passes"):
        lines += wrapped(_head("repeats"), who + passes(one["by_k"][-1]), width)
    if one := _of(row, summary, "calibration"):
        lines += wrapped(_head("confidence"), f"{who}{_calibration(one)}", width)
        lines += [line for text in _bins(one) for line in wrapped(_head(""), text, width)]
    if one := _of(row, summary, "corpus_bleu"):
        text = f"{who}BLEU {number(one['score'])} over {count(one['outputs'], 'output')}"
        lines += wrapped(_head("corpus"), text, width)
    return lines


def of_models(models: Sequence[Told], width: int) -> list[str]:
    """Write what there is about the models of a board."""
    shown = models[:_MOST_MODELS]
    lines = []
    if texts := [f"{one['adapter']} {passes(one['passes'][-1])}" for one in shown if one.get("passes")]:
        lines += wrapped(_head("repeats"), "; ".join(texts), width)
    if texts := [f"{one['adapter']} BLEU {said}" for one in shown if (said := _bleu_by_task(one))]:
        lines += wrapped(_head("corpus"), "; ".join(texts), width)
    return lines


def passes(told: Told) -> str:
    """Write pass@k and pass^k of one k with their intervals."""
    k = told["k"]
    return f"pass@{k} {_estimate(told['any'])}, pass^{k} {_estimate(told['all'])}"


def _of(row: Told, summary: Told, measure: str) -> Told | None:
    where = {key: row[key] for key in ("candidate", "evaluator", "task_model")}
    where["split"] = summary["decided_on"]
    return next((one for one in summary.get(measure, ()) if where.items() <= one.items()), None)


def _estimate(told: Told) -> str:
    ci = f" ({interval(told['ci'], number)})" if told["ci"] else ""
    return f"{number(told['mean'])}{ci}"


def _calibration(told: Told) -> str:
    text = f"states {number(told['confidence'])} on average and scores {number(told['score'])}; "
    text += f"Brier {number(told['brier'])}, ECE {number(told['ece'])} of {count(told['n'], 'answer')}"
    few = ", so few that chance alone makes an ECE" if told["n"] < _FEW else ""
    return text + few


def _bins(told: Told) -> Iterator[str]:
    for one in told["bins"]:
        stated = f"{one['low']:.1f} to {one['high']:.1f}: {count(one['n'], 'answer')}"
        yield f"{stated}, stated {number(one['confidence'])}, scored {number(one['score'])}"


def _bleu_by_task(model: Told) -> str:
    found = [(task["task"], bleu["score"]) for task in model["tasks"] if (bleu := task.get("corpus_bleu"))]
    return ", ".join(f"{number(score)} on {task}" for task, score in found)


def _head(name: str) -> str:
    return f" {name:<{_HEAD - 1}}"
