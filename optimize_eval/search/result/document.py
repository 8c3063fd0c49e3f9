"""A search's result as one JSON document: what the reference prints, and everything that stands behind it."""

import difflib
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from optimize_eval.findings.documents import to_dict
from optimize_eval.findings.summary_shape import Summary
from optimize_eval.search.components import shown
from optimize_eval.search.ending import Why
from optimize_eval.search.goal import Goal
from optimize_eval.search.plan import Searched
from optimize_eval.search.result import findings
from optimize_eval.search.result.findings import Result
from optimize_eval.search.result.tree import Node, SearchOutcome

SCHEMA = "optimize-eval.optimize.v1"

_RESUMABLE = {findings.UNFINISHED, findings.COULD_NOT}
_MOST_DIAGNOSTICS = 10
_LONGEST_DIFF = 2_000  # lines


def document(
    result: Result | None,
    outcome: SearchOutcome,
    plan: Searched,
    *,
    seed: str,
    folder: str,
    final_calls: int,
    summary: Summary | None,
    spent: Mapping[str, Any] | None = None,
    command: str | None = None,
) -> dict[str, Any]:
    """Make it; `summary` is the final sweep's, `spent` of the search's models, `command` resumes it."""
    best = result.best if result else None
    verdict = result.verdict if result else findings.of_nothing(outcome)
    notes = tuple(findings.notes(verdict, outcome, plan))
    fields = {
        "schema": SCHEMA,
        "run": folder,
        "run_dir": folder,
        "status": str(outcome.why),
        "ended": outcome.sentence,
        "resume": command if verdict.state in _RESUMABLE else None,
        "verdict": to_dict(replace(verdict, points=(*verdict.points, *notes))),
        "notes": [to_dict(note) for note in notes],  # of its points, those that the summary does not have
        "best_artifact": shown(best.texts) if best else None,
        "best": _name(best, seed),
        **_calls(outcome, final_calls),
        "score_summary": _scores(outcome),
        "top_diagnostics": _diagnostics(summary, _name(best, seed), plan.goal),
        **_plateau(outcome),
        "proposals": _proposals(outcome),
        "goal": {
            name: weight for name, weight in zip(plan.goal.names, plan.goal.weights, strict=True) if weight
        },
        "candidates": [_node_fields(node, seed) for node in outcome.nodes],
        "lineage": [_name(node, seed) for node in outcome.lineage(best)] if best else [],
        "curve": [{"calls": step.calls, "best": step.best} for step in outcome.curve],
        "diff": unified_diff(outcome.seed, best, seed) if best and best.number else "",
        "spent": spent,
        "summary": summary and summary.to_dict(),
    }
    signal = failure_signal(result, outcome)
    return fields | ({"evaluator_failure_signal": signal} if signal else {})


def _calls(outcome: SearchOutcome, final: int) -> dict[str, Any]:
    calls, budget = outcome.counts.calls, outcome.counts.budget
    return {
        "calls": {"search": calls, "final": final},
        "total_metric_calls": calls,
        "budget": budget,
        "budget_utilization": calls / budget if budget else None,
    }


def _plateau(outcome: SearchOutcome) -> dict[str, Any]:
    is_plateau, guidance = findings.plateau(outcome)
    is_stopped = outcome.why is Why.PLATEAU
    return {
        "plateau_detected": is_plateau,
        "plateau_guidance": guidance,
        "early_stopped": is_stopped,
        "stopped_at_iteration": outcome.counts.iterations if is_stopped else None,
    }


def _proposals(outcome: SearchOutcome) -> dict[str, Any]:
    return {
        "calls": outcome.counts.proposer_calls,
        "failed": outcome.counts.proposer_failures,
        "proposed": outcome.counts.proposals,
        "refused": dict(outcome.counts.refused),
        "rejected": outcome.counts.rejected,
        "accepted": max(0, len(outcome.nodes) - 1),
        "tokens": outcome.counts.tokens,
    }


def unified_diff(seed: Node, best: Node, name: str) -> str:
    """Write what changed from the seed to the best, component by component."""
    lines: list[str] = []
    for part, before in seed.texts.items():
        suffix = "" if len(seed.texts) == 1 else f":{part}"
        lines += difflib.unified_diff(
            before.splitlines(), best.texts[part].splitlines(), name + suffix, best.name + suffix, lineterm=""
        )
    cut = [f"… {len(lines) - _LONGEST_DIFF:,} more lines"] if len(lines) > _LONGEST_DIFF else []
    return "\n".join([*lines[:_LONGEST_DIFF], *cut])


def failure_signal(result: Result | None, outcome: SearchOutcome) -> dict[str, str] | None:
    """Tell, as the reference does, that the evaluator itself stands in the way."""
    if outcome.why is Why.EVALUATOR:
        return {"kind": "evaluator_failed", "message": outcome.sentence}
    if outcome.is_flat and outcome.nodes:
        is_zero = not any(outcome.seed.values.values())
        kind = "repeated_zero_scores" if is_zero else "flat_scores"
        return {"kind": kind, "message": findings.GUIDANCE[findings.FLAT]}
    if result and result.verdict.state == findings.UNEXPLAINED:
        return {"kind": findings.UNEXPLAINED, "message": findings.GUIDANCE[findings.UNEXPLAINED]}
    return None


def _scores(outcome: SearchOutcome) -> dict[str, Any]:
    means = [node.mean for node in outcome.nodes]
    if not means:
        return {"initial": None, "latest": None, "best": None, "num_candidates": 0}
    return {
        "initial": means[0],
        "latest": means[-1],
        "best": max(means),
        "delta_latest_vs_initial": means[-1] - means[0],
        "delta_best_vs_initial": max(means) - means[0],
        "num_candidates": len(means),
    }


def _diagnostics(summary: Summary | None, best: str | None, goal: Goal) -> list[dict[str, Any]]:
    """List the means of numbers in the best candidate's side info."""
    if summary is None:
        return []
    return [
        {"name": key, "value": values.numbers.mean}
        for entry in summary.side_info
        if (entry.where.candidate, entry.where.split) == (best, summary.decided_on)
        and entry.where.evaluator in goal.names
        for key, values in entry.keys.items()
        if values.numbers
    ][:_MOST_DIAGNOSTICS]


def _name(node: Node | None, seed: str) -> str | None:
    return None if node is None else node.name if node.number else seed


def _node_fields(node: Node, seed: str) -> dict[str, Any]:
    fields = node.to_dict()
    parents = [seed if parent == "seed" else parent for parent in fields["parents"]]
    return fields | {"name": _name(node, seed), "parents": parents}
