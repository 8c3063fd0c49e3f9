"""The keys of a sweep file's tables, and the check of each; those of [[evaluator]] are in evaluator_keys."""

from typing import Any

from optimize_eval import checks
from optimize_eval.checks import Keys


def run_keys(folder: str) -> Keys:
    """List what [run] takes; paths are relative to the sweep file's folder."""

    def path(value: Any) -> str:
        return checks.beside(folder, checks.text(value))

    def paths(value: Any) -> list[str]:
        return [path(one) for one in checks.texts(value)]

    return {
        "dataset": path,
        "valset": path,
        "testset": path,
        "candidates": paths,
        "candidate_fields": checks.texts,
        "task_models": checks.texts,
        "repeats": checks.count,
        "concurrency": checks.count,
        "score_range": checks.score_range,
        "baseline": checks.text,
        "out": path,
        "cluster_by": checks.text,
        "group_by": checks.texts,
        "seed": checks.integer,
        "filter": checks.filters,
        "ids": checks.ids,
        "limit": checks.count,
        "sample": checks.count,
        "on_failure": checks.on_failure,
        "max_failures": checks.max_failures,
        "patience": checks.duration,
        "rpm": checks.above_zero,
        "tpm": checks.above_zero,
        "max_cost": checks.above_zero,
        "max_tokens_total": checks.count,
        "max_time": checks.duration,
        "margin": checks.margin,
        "reuse": lambda value: [one if one == "auto" else path(one) for one in checks.texts(value)],
    }


def gate_keys() -> Keys:
    """List what [gates] takes."""
    return {"fail_under": checks.bounds, "max_gap": checks.number}


def optimize_keys(folder: str) -> Keys:
    """List what [optimize] takes."""

    def path(value: Any) -> str:
        return checks.beside(folder, checks.text(value))

    return {
        "proposers": checks.texts,
        "reflection_models": checks.texts,
        "objective": checks.text,
        "background": checks.text,
        "budget": checks.count,
        "early_stop": checks.boolean,
        "early_stop_window": checks.count,
        "early_stop_threshold": checks.number,
        "climb": checks.text,
        "goal": checks.weights,
        "minibatch": checks.count,
        "proposals": checks.count,
        "acceptance": checks.acceptance,
        "selection": checks.selection,
        "merge": checks.boolean,
        "search_val": checks.count,
        "val_share": checks.number,
        "max_candidate_chars": checks.count,
        "top": checks.count,
        "components": checks.boolean,
        "require_better": checks.boolean,
        "output": path,
    }
