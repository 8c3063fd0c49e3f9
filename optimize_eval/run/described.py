"""run.json of a plan, as it is written down: every axis with sha256 and, where small, text."""

import hashlib
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

from optimize_eval.base.protocol import PROTOCOL_VERSION, ScoreRange
from optimize_eval.base.version import VERSION
from optimize_eval.programs.identity import Identity
from optimize_eval.run.plan import Plan
from optimize_eval.store.layout import TRIMMED, Layout, Split
from optimize_eval.store.manifest import RUN, Manifest
from optimize_eval.store.run_document import SCHEMA

_SMALL = 4096  # bytes up to which a candidate's text is kept here


def manifest_of(
    plan: Plan, files: Mapping[str, str], settings: Mapping[str, Any], *, kind: str = RUN
) -> Manifest:
    """Write down what a plan is about: every axis, with sha256 and, where small, text.

    `files` are those of the splits. Names and inputs of examples are put to it where it is written.
    """
    layout = plan.layout
    return {
        "schema": SCHEMA,
        "version": VERSION,
        "protocol": PROTOCOL_VERSION,
        "kind": kind,
        "created_at": datetime.now(UTC).isoformat(timespec="seconds"),
        "plan": plan.digest,
        "evaluators": [
            {**entry_of(identity, score_range), **_splits_of(identity.name, layout)}
            for identity, score_range in zip(plan.identities, layout.score_ranges, strict=True)
        ],
        "candidates": _candidates(plan),
        "task_models": list(layout.task_models),
        **({"models": [model.to_dict() for model in plan.models]} if plan.models else {}),
        "splits": [_split(split, files.get(split.name)) for split in layout.splits],
        "repeats": layout.repeats,
        "baseline": layout.baseline,
        "seed": layout.seed,
        "cluster_by": layout.cluster_by,
        "group_by": list(layout.group_by),
        "settings": dict(settings),
    }


def entry_of(identity: Identity, score_range: ScoreRange) -> dict[str, Any]:
    """Write down an evaluator."""
    return {**identity.to_dict(), "score_range": str(score_range)}


def _splits_of(evaluator: str, layout: Layout) -> dict[str, list[str]]:
    """Name the splits that an evaluator is for, where it is not for all."""
    names = layout.splits_of.get(evaluator)
    return {} if names is None else {"splits": list(names)}


def _candidates(plan: Plan) -> list[dict[str, Any]]:
    return [
        {"name": one.name, "field": one.field}
        if one.field
        else {
            "name": one.name,
            "sha256": digest,
            **_trimmed(one.text),
            "bytes": len(one.text.encode()),
            **({"text": one.text} if len(one.text.encode()) <= _SMALL else {}),
        }
        for one, (_, digest) in zip(plan.candidates, plan.candidate_digests, strict=True)
    ]


def _trimmed(text: str) -> dict[str, str]:
    """Digest a text without the blanks at its end, where it has some: an editor's newline is no version."""
    trimmed = text.rstrip()
    return {} if trimmed == text else {TRIMMED: hashlib.sha256(trimmed.encode()).hexdigest()}


def _split(split: Split, file: str | None) -> dict[str, Any]:
    return {
        "name": split.name,
        "file": file,
        "lines": list(split.lines),
        "sha256": list(split.sha256),
        "clusters": None if split.clusters is None else list(split.clusters),
        "groups": {path: list(labels) for path, labels in split.groups.items()},
    }
