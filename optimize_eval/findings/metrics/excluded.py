"""Rows that rules leave out, as means, comparisons and boards see them: skipped, and why."""

from collections.abc import Iterator, Sequence
from functools import partial

from optimize_eval.findings.metrics.rows import excluded_in, rows_in
from optimize_eval.store.records import LeftOut, Unit, unit_of
from optimize_eval.store.stored import StoredRun
from optimize_eval.store.view import CountsAs, JournalRecord
from optimize_eval.tasks.definitions.score.kept import tasks_in


def with_excluded_skipped(run: StoredRun) -> CountsAs | None:
    """Make what turns the records of rows that are left out; None where none are."""
    left = units_left_out(run)
    return partial(_counted, left) if left else None


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


def _counted(left: LeftOut, record: JournalRecord) -> JournalRecord:
    rules = left.get(unit_of(record)) if record["outcome"] == "scored" else None
    if rules is None:
        return record
    message = f"left out by {', '.join(rules)}"
    return {**record, "outcome": "skipped", "message": message, "excluded_by": rules}
