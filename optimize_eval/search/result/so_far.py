"""What is known of a search that has no result yet: read from its journal, also after a kill.

The document has the keys of a result's, so that whoever reads one reads the other.
"""

from pathlib import Path
from typing import Any

from optimize_eval.findings.wording import RUNNING, how_far
from optimize_eval.search.components import ONLY, Texts
from optimize_eval.search.ending import FAILED
from optimize_eval.search.result import findings
from optimize_eval.search.result.document import SCHEMA, unified_diff
from optimize_eval.search.result.tree import Node
from optimize_eval.store.folder import holder
from optimize_eval.store.listing import Found, StoredSearch, read_search


def search_so_far(folder: Path) -> dict[str, Any] | None:
    """Say how far the search in a folder came; None where there is none."""
    stored = read_search(folder)
    return None if stored is None else _document(stored, is_running=holder(folder) is not None)


def _document(stored: StoredSearch, *, is_running: bool) -> dict[str, Any]:
    nodes = [_node(one, number) for number, one in enumerate(stored.found)]
    best = max(nodes, key=lambda node: (node.mean, -node.number), default=None)
    status = RUNNING if is_running else stored.status
    progress = how_far(stored.calls, stored.budget, status, stored.sentence)
    names = [stored.name_of(one) for one in stored.found]
    means = [float(one["search_mean"]) for one in stored.found]
    return {
        "schema": SCHEMA,
        "run": str(stored.folder),
        "run_dir": str(stored.folder),
        "status": status,
        "ended": stored.sentence,
        "resume": None if is_running else stored.command or None,
        "verdict": {
            "text": _sentence(nodes, best, stored.seed),
            "points": [{"mark": "·", "text": progress}],
            "state": findings.COULD_NOT if status in FAILED else findings.UNFINISHED,
            "winner": None,
            "by": None,
        },
        "best_artifact": stored.found[best.number]["candidate"] if best else None,
        "best": names[best.number] if best else None,
        "calls": {"search": stored.calls, "final": 0},
        "budget": stored.budget,
        "candidates": [{**one, "name": name} for one, name in zip(stored.found, names, strict=True)],
        "lineage": [],
        "curve": [
            {"calls": one["calls"], "best": max(means[: place + 1])} for place, one in enumerate(stored.found)
        ],
        "diff": unified_diff(nodes[0], best, stored.seed) if best and best.number else "",
        "summary": None,
    }


def _sentence(nodes: list[Node], best: Node | None, seed: str) -> str:
    if best is None:
        return "there is no result yet: the search has not scored its seed"
    return findings.so_far(best, nodes[0], seed)


def _node(found: Found, number: int) -> Node:
    """Make a node of what is recorded of it, as far as its mean and its text go."""
    candidate = found["candidate"]
    texts: Texts = {ONLY: candidate} if isinstance(candidate, str) else candidate
    return Node(
        number=number,
        texts=texts,
        parents=(),
        proposer=found.get("proposer") or "",
        note=found.get("note") or "",
        calls=found["calls"],
        values={"": float(found["search_mean"])},
    )
