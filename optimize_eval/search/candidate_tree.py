"""What a search found: its candidates as a tree from the seed, and what it counted on its way."""

from collections.abc import Mapping
from dataclasses import field
from math import fsum

from optimize_eval.base.documents import JsonDict, from_dict, to_dict
from optimize_eval.base.frozen import frozen
from optimize_eval.search.components import ONLY, Texts, as_value, components_as_text
from optimize_eval.search.stopping import Why
from optimize_eval.store.listing import Found, StoredSearch

SEED = "seed"  # its name in the search's journal


@frozen
class Node:
    """A candidate; `values` are what GEPA was given for the examples that choose, failures as penalties."""

    number: int  # 0 is the seed
    texts: Texts
    parents: tuple[int, ...]
    proposer: str  # empty for the seed; "merge" where two parents were merged
    note: str
    calls: int  # of the budget, when it was found
    values: Mapping[str, float]
    failed: int = 0
    train: float | None = None  # mean on the minibatch that it was accepted for

    @property
    def text(self) -> str:
        return components_as_text(self.texts)

    @property
    def mean(self) -> float:
        return fsum(self.values.values()) / len(self.values)

    @property
    def name(self) -> str:
        return f"p{self.number}" if self.number else SEED

    @classmethod
    def read(cls, found: Found) -> "Node":
        """Read what is recorded of it; of its values nothing but the mean is."""
        candidate = found["candidate"]
        numbers = (0 if parent == SEED else int(parent[1:]) for parent in found["parents"])
        return cls(
            number=found["found"],
            texts={ONLY: candidate} if isinstance(candidate, str) else candidate,
            parents=tuple(number for number in numbers if number < found["found"]),  # an edit may make a ring
            proposer=found["proposer"] or "",
            note=found["note"] or "",
            calls=found["calls"],
            values={"": found["search_mean"]},
            failed=found["failed"],
        )

    def to_dict(self) -> JsonDict:
        return {
            "name": self.name,
            "candidate": as_value(self.texts),
            "parents": [f"p{parent}" if parent else SEED for parent in self.parents],
            "proposer": self.proposer or None,
            "note": self.note or None,
            "calls": self.calls,
            "search_mean": self.mean,
            "failed": self.failed,
        }


@frozen
class CurvePoint:
    """A point of the curve of scores against calls."""

    calls: int
    best: float


@frozen
class Counts:
    """What was done in a search."""

    calls: int
    budget: int
    failed: int = 0  # calls
    skipped: int = 0
    proposals: int = 0  # that proposers replied with
    proposer_calls: int
    proposer_failures: int
    refused: Mapping[str, int]
    tokens: int
    iterations: int = 0
    rejected: int = 0  # proposals that were no better on their minibatch


@frozen
class SearchOutcome:
    """A finished search, before its final sweep."""

    nodes: tuple[Node, ...]
    why: Why
    sentence: str
    counts: Counts
    has_side_info: bool  # whether any record said more than a score
    is_flat: bool  # all scores of the search were equal
    notes: tuple[str, ...] = ()
    errors: Mapping[str, int] = field(default_factory=dict)  # of proposers, by their words

    @classmethod
    def read(cls, search: StoredSearch) -> "SearchOutcome":
        """Read it as it was at the end of a session."""
        end = search.ending
        return cls(
            nodes=tuple(map(Node.read, search.found)),
            why=Why(search.status),
            sentence=search.sentence,
            counts=from_dict(Counts, end["counts"]),
            has_side_info=end["has_side_info"],
            is_flat=end["is_flat"],
            notes=tuple(end["notes"]),
            errors=end["errors"],
        )

    def numbers(self) -> JsonDict:
        """Give what no record of the journal says but the one of its end."""
        return {
            "counts": to_dict(self.counts),
            "has_side_info": self.has_side_info,
            "is_flat": self.is_flat,
            "notes": list(self.notes),
            "errors": dict(self.errors),
        }

    @property
    def seed(self) -> Node:
        return self.nodes[0]

    @property
    def best(self) -> Node:
        """The first of those with the highest mean in the search."""
        return max(self.nodes, key=lambda node: (node.mean, -node.number))

    def top(self, most: int) -> tuple[Node, ...]:
        """Choose the candidates besides the seed that are worth a final look, the best first."""
        return tuple(sorted(self.nodes[1:], key=lambda node: (-node.mean, node.number))[:most])

    def lineage(self, node: Node) -> tuple[Node, ...]:
        """Walk from the seed to a candidate by first parents."""
        path = [node]
        while path[-1].parents:
            path.append(self.nodes[path[-1].parents[0]])
        return tuple(reversed(path))

    @property
    def curve(self) -> tuple[CurvePoint, ...]:
        """Tell how the best mean grew with the calls."""
        best, steps = float("-inf"), []
        for node in self.nodes:
            best = max(best, node.mean)
            steps.append(CurvePoint(calls=node.calls, best=best))
        return tuple(steps)
