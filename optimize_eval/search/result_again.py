"""A search's result made again of what its folder recorded: what `report --check` compares search.json with.

Nothing is searched again: the journal has the candidates in their order, what the search was about, and what
it had counted at its end; all sentences and numbers of the result are made of these, and of the final sweep.
"""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from optimize_eval.base.frozen import frozen
from optimize_eval.base.protocol import ScoreRange
from optimize_eval.findings.documents import from_dict
from optimize_eval.findings.summary_shape import Summary
from optimize_eval.search.components import ONLY, Goal, Texts
from optimize_eval.search.ending import PAUSED, Why
from optimize_eval.search.optimizing import best_of
from optimize_eval.search.outcomes import scored_in
from optimize_eval.search.result import Counts, Node, Result, SearchOutcome, document, without_summary
from optimize_eval.search.search_plan import Roles, Searched, SearchSplit
from optimize_eval.store import journal
from optimize_eval.store.folder import EVALUATIONS, JOURNAL
from optimize_eval.store.listing import Found, StoredSearch
from optimize_eval.store.opened_run import StoredRun


@frozen
class _Aim:
    """What was climbed, and by which examples."""

    goal: Goal
    roles: Roles


def make_again(
    search: StoredSearch, stored: StoredRun | None, summary: Summary | None, shown_as: str
) -> dict[str, Any]:
    """Make the result; raises LookupError where its run is about candidates that were found later."""
    outcome, aim = _outcome(search), _aim(search.about["plan"])
    return document(
        _result(outcome, aim, search.seed, stored, summary),
        outcome,
        aim,
        seed=search.seed,
        folder=shown_as,
        final_calls=_beyond_search(stored, search.folder) if stored else 0,
        summary=summary,
        spent=search.ending.get("spent"),
        command=search.about.get("command") or None,
    )


def _result(
    outcome: SearchOutcome, aim: Searched, seed: str, stored: StoredRun | None, summary: Summary | None
) -> Result | None:
    if not outcome.nodes:
        return None
    if stored is None or summary is None or not stored.ledger.is_complete:
        is_cut_short = stored is not None or outcome.why in PAUSED
        verdict = without_summary(outcome, aim.goal, seed, is_cut_short=is_cut_short)
        return Result(best=outcome.best, verdict=verdict)
    return Result(best=best_of(outcome, summary, aim, seed), verdict=summary.verdict)


def _outcome(search: StoredSearch) -> SearchOutcome:
    told = search.ending
    return SearchOutcome(
        nodes=tuple(_node(one) for one in search.found),
        why=Why(search.status),
        sentence=search.sentence,
        counts=from_dict(Counts, told["counts"]),
        has_side_info=told["has_side_info"],
        is_flat=told["is_flat"],
        notes=tuple(told["notes"]),
        errors=told["errors"],
    )


def _node(found: Found) -> Node:
    candidate = found["candidate"]
    numbers = (0 if parent == "seed" else int(parent[1:]) for parent in found["parents"])
    texts: Texts = {ONLY: candidate} if isinstance(candidate, str) else candidate
    return Node(
        number=found["found"],
        texts=texts,
        parents=tuple(number for number in numbers if number < found["found"]),  # an edit may make a ring
        proposer=found["proposer"] or "",
        note=found["note"] or "",
        calls=found["calls"],
        values={"": found["search_mean"]},  # of which nothing but the mean is told
        failed=found["failed"],
    )


def _aim(told: Mapping[str, Any]) -> _Aim:
    goal = Goal(
        names=tuple(told["names"]),
        ranges=tuple(map(ScoreRange, told["ranges"])),
        weights=tuple(told["weights"]),
        unranked=frozenset(told["unranked"]),
    )
    learn = _split(told["learn"], 0)
    is_whole = told["choose"] == told["learn"] and not told["is_divided"]
    choose = learn if is_whole else _split(told["choose"], len(learn) if told["is_divided"] else 0)
    roles = Roles(learn=learn, choose=choose, steered_by=told["steered_by"], has_test=told["has_test"])
    return _Aim(goal=goal, roles=roles)


def _split(told: tuple[str, int], start: int) -> SearchSplit:
    """Make a part of as many examples as there were; which ones it were does not matter here."""
    split, many = told
    return SearchSplit(
        name=split, split=split, examples=tuple((start + index, None) for index in range(many))
    )


def _beyond_search(stored: StoredRun, folder: Path) -> int:
    """Count the calls of the final sweep that the search had not made."""
    recorded = {key for key, _ in scored_in(folder / EVALUATIONS)}
    recorded |= {key for key, record in scored_in(folder / JOURNAL) if "reused_from" in record}
    names = set(stored.layout.candidates)
    keys = {record["key"] for record in _records(folder / JOURNAL) if record.get("candidate") in names}
    return stored.layout.size - len(keys & recorded)


def _records(path: Path) -> Iterator[Mapping[str, Any]]:
    return (record for entry in journal.entries(path) if "key" in (record := journal.glance(entry.line)))
