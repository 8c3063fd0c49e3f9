"""The summary of a run on disk, or over some of its examples.

That is what was spent, the metrics of tasks in YAML, and whether their rules were applied; and what their
code ran in, where that leaves a doubt: no whole sandbox, or not the same for all.

Which examples these are is decided elsewhere; nothing of this is ever written to the run.
"""

from collections.abc import Callable, Collection, Iterator
from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING

import orjson

from optimize_eval.base import files
from optimize_eval.base.documents import JsonDict, JsonMapping
from optimize_eval.base.frozen import Remembers, frozen
from optimize_eval.findings.cells import Keep, ReadCell, ReadCells
from optimize_eval.findings.replies import beyond_scale, judges_of, name_evaluator, of_one_family
from optimize_eval.findings.summary import additions_left_out, summarise, without
from optimize_eval.findings.summary_shape import SCHEMA, Point, Summary, Verdict
from optimize_eval.findings.tried import corrections_in, shown_by
from optimize_eval.findings.verdict import after_search
from optimize_eval.store.folder import SUMMARY
from optimize_eval.store.labels import PEOPLE
from optimize_eval.store.layout import Cell, Layout
from optimize_eval.store.ledger import JournalEnd, fits, journal_end
from optimize_eval.store.opened_run import StoredRun
from optimize_eval.tasks.targets import METRICS_SINCE, RULES_SINCE, TASKS, ways_kept

if TYPE_CHECKING:
    from optimize_eval.findings.board_shapes import Board
    from optimize_eval.findings.metric_rows import TaskReading
    from optimize_eval.findings.summary_parts import Stability
    from optimize_eval.store.command_units import CountsAs, Reader

_DATED = {RULES_SINCE: "the rules of {task} that leave rows out", METRICS_SINCE: "the metrics of {task}"}

_TOLD_ALONE = {"timestamp", "settings", "files", "task_errors"}  # of a board


@frozen
class Findings(Remembers):
    """What the records of a run come to, each read once, on first use: the summary, and the cells of it.

    `keep` says what is kept of each record besides numbers.
    """

    run: StoredRun
    keep: Keep | None = None

    @property
    def summary(self) -> Summary:
        return self._read[0]

    @property
    def cells(self) -> ReadCells:
        return self._read[1]

    @cached_property
    def _read(self) -> tuple[Summary, ReadCells]:
        return _read(self.run, self.keep)

    @property
    def shown(self) -> Iterator[JsonMapping]:
        """Give what a session is about to show, for the journal."""
        return shown_by(self.run, self.summary)

    def off_scale(
        self, evaluators: Collection[str], name: Callable[[str, str | None], str] = name_evaluator
    ) -> tuple[str, ...]:
        """Say of these evaluators which of them scored on another scale too often; `name` says of whom."""
        return beyond_scale(self.summary, evaluators, name)

    def cell(self, cell: Cell) -> ReadCell:
        """Give what a cell comes to, be it one of an addition that the summary leaves out."""
        if known := self.cells.by_name.get(cell[:4]):
            return known
        with self.run.reader(_counting(self.run)) as reader:
            layout = replace(self.run.layout, evaluators=(cell.evaluator,))
            return ReadCells.read(layout, reader.records, self.keep).by_name[cell[:4]]


def _has_tasks(run: StoredRun) -> bool:
    return TASKS in run.document.settings


def _counting(run: StoredRun) -> "CountsAs | None":
    """Let records of rows that rules of tasks leave out count as skipped."""
    if not _has_tasks(run):
        return None
    from optimize_eval.findings.metric_rows import counts_as  # noqa: PLC0415  most runs have no tasks in YAML

    return counts_as(run)


def summarise_stored(run: StoredRun) -> Summary:
    """Compute the summary of a run on disk."""
    return Findings(run=run).summary


def _read(run: StoredRun, keep: Keep | None) -> tuple[Summary, ReadCells]:
    left_out = additions_left_out(run)
    layout = without(run.layout, left_out)
    changed = run.ledger.of(layout).changed
    with run.reader() as reader:
        tasks = _tasks_in(run, layout, reader)
        records = tasks.records if tasks else reader.records if keep else reader.for_numbers
        judges, tried = judges_of(run.document), corrections_in(run, layout)
        summary, cells = summarise(layout, records, changed, left_out, judges, tried, keep=keep)
        metrics = tasks.metrics() if tasks else ()
    summary = replace(
        summary,
        spent=run.ledger.ledger.spending.totals,
        metrics=metrics,
        journal=_end(run),
        stability=_stability_of(run),
    )
    summary = replace(summary, verdict=_verdict(run, summary, layout))
    if PEOPLE in run.document.settings or any(read.votes for read in cells.by_name.values()):
        from optimize_eval.findings.panels import with_judges  # noqa: PLC0415  of judges that have either alone

        summary = with_judges(summary, run.document, cells, layout)
    return summary, cells


def _tasks_in(run: StoredRun, layout: Layout, reader: "Reader") -> "TaskReading | None":
    """Read the rows of tasks in YAML, which most runs have none of."""
    if not _has_tasks(run):
        return None
    from optimize_eval.findings.metric_rows import TaskReading  # noqa: PLC0415  as above

    return TaskReading(run, layout, reader)


def _stability_of(run: StoredRun) -> "tuple[Stability, ...]":
    if not run.document.settings.get("gates"):
        return ()
    from optimize_eval.findings.stability_gates import stability_of  # noqa: PLC0415  of gates on repeated calls

    return stability_of(run)


def _verdict(run: StoredRun, summary: Summary, layout: Layout) -> Verdict:
    """Say what the run's settings and its search leave of a verdict."""
    settings = run.document.settings
    families = of_one_family(summary, [model.name for model in run.document.selected_models])
    doubts = (*doubts_about_code(settings), *doubts_about_rules(settings), *families)
    points = (*summary.verdict.points, *(Point(mark="!", text=text) for text in doubts))
    verdict = without_rules(summary) or _chosen_by_results(summary, run.document.chosen_after)
    verdict = verdict or replace(summary.verdict, points=points)
    searched = run.document.searched
    return after_search(replace(summary, verdict=verdict), searched, layout) if searched else verdict


def _end(run: StoredRun) -> JournalEnd | None:
    """Give up to where the journal was read; a plan without a journal has no such place."""
    try:
        return journal_end(run.folder, run.document)
    except OSError:
        return None


def summary_of(run: StoredRun) -> JsonDict:
    """Read summary.json where it is of all that the run has now and of these rules, else compute it."""
    try:
        summary = orjson.loads(files.load(run.folder / SUMMARY, files.OF_A_RUN))
    except (OSError, ValueError):
        summary = None
    is_current = isinstance(summary, dict) and summary.get("schema") == SCHEMA
    if is_current and fits(summary, run.folder, run.document):
        return dict(summary)
    return as_read(summarise_stored(run).to_dict())


def as_read(summary: JsonMapping) -> JsonDict:
    """Make of a summary what reading summary.json would give."""
    read: JsonDict = orjson.loads(orjson.dumps(summary))
    return read


def without_rules(summary: Summary) -> Verdict | None:
    """Say nothing of means that rows are in which rules may leave out."""
    if summary.units.owed or summary.changed or not summary.waits_for_rules:
        return None
    named = ", ".join(summary.waits_for_rules)
    text = f"Unfinished: the rules of {named} were not applied yet, so rows that they leave out still count"
    return Verdict(text=f"{text}; run the same command again, which calls nothing", state=None)


def _chosen_by_results(summary: Summary, after: str | None) -> Verdict | None:
    if after is None:
        return None
    why = f"these examples were chosen because they failed or got worse in {after}"
    return numbers_only(summary, why, "The numbers stand, and a run without --lf decides")


def numbers_only(summary: Summary, why: str, advice: str) -> Verdict | None:
    """Say nothing of which is better where the examples were chosen after results were known."""
    if summary.units.owed or summary.changed:
        return None
    return Verdict(text=f"No verdict: {why}. {advice}", state=None)


def doubts_about_rules(settings: JsonMapping) -> Iterator[str]:
    """Name the tasks whose rules or metrics were written after scores were known."""
    for task in settings.get(TASKS, ()):
        for key, what in _DATED.items():
            if isinstance(task, dict) and isinstance(since := task.get(key), str):
                yield f"{what.format(task=task['key'])} changed after scores were known, on {since[:10]}"


def doubts_about_code(settings: JsonMapping) -> Iterator[str]:
    """Point out what did not close code in, by what run.json keeps of it."""
    ways = ways_kept(settings)
    for way in ways:
        if missing := way.get("missing"):
            yield f"the tasks' code ran in a sandbox ({_way(way)}) that is not whole: {'; '.join(missing)}"
    if len(ways) > 1:
        listed = "; ".join(map(_way, ways))
        yield f"the tasks' code did not run in the same way for all that this run has: {listed}"


def _way(way: JsonMapping) -> str:
    if way.get("sandbox") == "none":
        return "with the user's rights"
    return f"{way.get('sandbox')}: {', '.join(way.get('layers', ())) or 'no layer'}"


def unlike_keys(stored: JsonMapping, made: "Summary | Board") -> list[str]:
    """Name what a stored document says otherwise than one that was made again, and what it lacks."""
    again = orjson.loads(orjson.dumps(made.to_dict()))
    keys = dict.fromkeys([*again, *stored])
    return [key for key in keys if _is_unlike(key, stored, again)]


def _is_unlike(key: str, stored: JsonMapping, again: JsonMapping) -> bool:
    if key in stored and key in again and key in _TOLD_ALONE:
        return False
    return key not in stored or key not in again or bool(stored[key] != again[key])
