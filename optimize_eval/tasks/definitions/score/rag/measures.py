"""The eleven scores of claims and of what supports them; pure. What is undefined is None.

A row of flags is one claim's, with a flag for each passage. A passage is relevant if it supports a claim of
the target.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Protocol

Flags = Sequence[bool]


class Evidence(Protocol):
    """What supports which claim; each part is found out when it is read."""

    @property
    def reply_by_target(self) -> Flags: ...
    @property
    def target_by_reply(self) -> Flags: ...
    @property
    def reply_by_passages(self) -> Sequence[Flags]: ...
    @property
    def target_by_passages(self) -> Sequence[Flags]: ...


def _recall(evidence: Evidence) -> float | None:
    return _mean(evidence.target_by_reply)


def _precision(evidence: Evidence) -> float | None:
    return _mean(evidence.reply_by_target)


def _f1_score(evidence: Evidence) -> float | None:
    precision, recall = _precision(evidence), _recall(evidence)
    if precision is None or recall is None:
        return None
    return 2 * precision * recall / (precision + recall) if precision + recall else 0.0


def _claim_recall(evidence: Evidence) -> float | None:
    return _mean(map(any, evidence.target_by_passages))


def _context_precision(evidence: Evidence) -> float | None:
    return _mean(_relevant(evidence))


def _context_utilization(evidence: Evidence) -> float | None:
    recalled = map(any, evidence.target_by_passages)
    pairs = zip(recalled, evidence.target_by_reply, strict=True)
    return _mean(is_used for is_recalled, is_used in pairs if is_recalled)


def _noise_in_relevant(evidence: Evidence) -> float | None:
    return _mean(_wrong_by(evidence, lambda in_relevant, _anywhere: in_relevant))


def _noise_in_irrelevant(evidence: Evidence) -> float | None:
    return _mean(_wrong_by(evidence, lambda in_relevant, anywhere: anywhere and not in_relevant))


def _hallucination(evidence: Evidence) -> float | None:
    return _mean(not right and not any(row) for right, row in _replies(evidence))


def _self_knowledge(evidence: Evidence) -> float | None:
    return _mean(right and not any(row) for right, row in _replies(evidence))


def _faithfulness(evidence: Evidence) -> float | None:
    return _mean(map(any, evidence.reply_by_passages))


def _wrong_by(evidence: Evidence, is_noise: Callable[[bool, bool], bool]) -> Iterable[bool]:
    """Tell of each claim of the reply whether it is wrong and came from such passages."""
    relevant = _relevant(evidence)
    for right, row in _replies(evidence):
        in_relevant = any(flag for flag, counts in zip(row, relevant, strict=False) if counts)
        yield not right and is_noise(in_relevant, any(row))


def _replies(evidence: Evidence) -> Iterable[tuple[bool, Flags]]:
    return zip(evidence.reply_by_target, evidence.reply_by_passages, strict=True)


def _relevant(evidence: Evidence) -> Sequence[bool]:
    """Tell of each passage whether it is relevant; where the target has no claims, of none."""
    return [any(column) for column in zip(*evidence.target_by_passages, strict=True)]


def _mean(flags: Iterable[bool]) -> float | None:
    listed = list(flags)
    return sum(listed) / len(listed) if listed else None


SCORES: Mapping[str, Callable[[Evidence], float | None]] = {
    "recall": _recall,
    "precision": _precision,
    "f1_score": _f1_score,
    "claim_recall": _claim_recall,
    "context_precision": _context_precision,
    "context_utilization": _context_utilization,
    "noise_sensitivity_in_relevant": _noise_in_relevant,
    "noise_sensitivity_in_irrelevant": _noise_in_irrelevant,
    "hallucination": _hallucination,
    "self_knowledge": _self_knowledge,
    "faithfulness": _faithfulness,
}
WITHOUT_PASSAGES = ("recall", "precision", "f1_score")
