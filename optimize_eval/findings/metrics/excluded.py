"""Rows that rules leave out, as means, comparisons and boards see them: skipped, and why."""

import re
from collections.abc import Iterator, Sequence
from functools import partial
from typing import cast

from optimize_eval.findings.metrics.rows import excluded_in, rows_in
from optimize_eval.store.records import LeftOut, Unit, unit_of
from optimize_eval.store.stored import StoredRun
from optimize_eval.store.view import CountsAs, JournalRecord
from optimize_eval.tasks.definition import filter_to_dict
from optimize_eval.tasks.kept import tasks_in

_OUTCOMES = re.compile(r"\b(scores|solver_output)\b")


def with_excluded_skipped(run: StoredRun) -> CountsAs | None:
    """Make what turns the records of rows that are left out; None where none are."""
    left = units_left_out(run)
    return partial(_counted, left, _rules_of_outcomes(run)) if left else None


def _rules_of_outcomes(run: StoredRun) -> frozenset[str]:
    """Name the rules that look at scores or replies."""
    actions = (action for task in tasks_in(run.manifest["settings"]) for action in task.actions)
    return frozenset(one.key for one in actions if _OUTCOMES.search(str(filter_to_dict(one.filter))))


def units_left_out(run: StoredRun) -> LeftOut:
    """Find the units that rules leave out, each with these rules."""
    return dict(_left_out(run))


def _left_out(run: StoredRun) -> Iterator[tuple[Unit, Sequence[str]]]:
    tasks = [task for task in tasks_in(run.manifest["settings"]) if task.actions]
    if not tasks:
        return
    with run.reader() as reader:
        for task in tasks:
            for rows in rows_in(run, run.layout, task, reader):
                excluded = excluded_in(run.ledger.ledger.computed, rows)
                for place, rules in excluded.rules.items() if excluded else ():
                    for cell in rows.cells.values():
                        yield (*cell[:4], *place), rules


def _counted(left: LeftOut, of_outcomes: frozenset[str], record: JournalRecord) -> JournalRecord:
    rules = left.get(unit_of(record)) if record["outcome"] == "scored" else None
    if rules is None:
        return record
    message = f"left out by {', '.join(rules)}"
    is_by_outcome = not of_outcomes.isdisjoint(rules)
    told = {"outcome": "skipped", "message": message, "excluded_by": rules, "by_outcome": is_by_outcome}
    return cast("JournalRecord", {**record, **told})
