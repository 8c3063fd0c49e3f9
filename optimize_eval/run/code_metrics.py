"""What tasks' rules and code make of a run's rows once all calls are over, written down for reports.

A row is a sample of a stored run and what was said about it: its trace is made again of the replies that are
written down. Rules say which rows metrics leave out, and code computes metrics of the others. Neither calls a
model. What the journal has for just these rows is not done again.
"""

import contextlib
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from functools import cached_property
from typing import Any

from optimize_eval.base.documents import JsonDict, JsonMapping
from optimize_eval.base.errors import EvaluationError, FailureKind
from optimize_eval.base.evaluator import EvaluatorSpec, Opened
from optimize_eval.base.protocol import Payload
from optimize_eval.findings.metric_rows import (
    Excluded,
    TaskRow,
    TaskRows,
    code_values,
    counted,
    excluded_in,
    has_code,
    rows_in,
    sampled,
)
from optimize_eval.findings.summary_shape import RuleFaults
from optimize_eval.run.host import Say
from optimize_eval.run.plan import Plan
from optimize_eval.run.prompting import of_stored, writing_to
from optimize_eval.store import journal
from optimize_eval.store.folder import JOURNAL
from optimize_eval.store.layout import Cell
from optimize_eval.store.opened_run import StoredRun
from optimize_eval.tasks.code import HostedSnippets, share_snippets
from optimize_eval.tasks.definition import Action, PythonMetric, digest_of, digest_of_code
from optimize_eval.tasks.of_samples import Solving
from optimize_eval.tasks.scorers import computed
from optimize_eval.tasks.stored_tasks import KeptScorer, tasks_in
from optimize_eval.tasks.targets import samples_of
from optimize_eval.tasks.templates.template import fields_of
from optimize_eval.tasks.trace import Trace
from optimize_eval.tasks.yaml.task_data import Actions, RuleFault

Seen = tuple[JsonMapping, Trace | None]  # a sample, and what was said about it

_OF_A_TRACE = ("solver_output", "model_output", "messages", "input_prompt", "trace")


class Looks:
    """Gives a rule what it looks at; its specifications are of stored replies."""

    def __init__(self, specs: Iterable[EvaluatorSpec], opened: Opened) -> None:
        self._specs = {spec.name: spec for spec in specs}
        self._opened = opened
        self._solving: dict[str, Solving | None] = {}

    def of(self, evaluator: str, payload: Payload, action: Action) -> Seen:
        """Give a sample and its trace, where the rule wants one; raises EvaluationError."""
        sample = fields_of(payload.example)
        solving = self._solving_of(evaluator) if _names(action, _OF_A_TRACE) else None
        if solving is None:
            return sample, None
        return sample, solving.trace(payload, sample, time.monotonic() + self._specs[evaluator].timeout)

    def _solving_of(self, evaluator: str) -> Solving | None:
        if evaluator not in self._solving:
            self._solving[evaluator] = _solving(self._specs[evaluator], self._opened)
        return self._solving[evaluator]


def looks_at_rows(action: Action) -> bool:
    """Return True if a rule looks at more than scores."""
    return _names(action, ("sample", *_OF_A_TRACE))


class Samples:
    """Finds what rules look at in a run; close it."""

    def __init__(self, stored: StoredRun, planned: Callable[[], Plan], sandbox: str) -> None:
        """Take a run, what gives its samples, and the level at which tasks' code is run."""
        self._stored = stored
        self._planned = planned
        self._looks: Looks | None = None
        self._sandbox = sandbox
        self._opened = Opened()

    def of(self, rows: TaskRows, row: TaskRow, action: Action) -> Seen:
        """Give what a rule looks at; raises EvaluationError where there is no trace."""
        if not looks_at_rows(action):
            return {}, None
        plan = self._plan
        where = next((cell for cell in rows.cells.values() if cell.evaluator in plan.layout.evaluators), None)
        if where is None:
            message = "its samples are not at hand: run the command of the run again"
            raise EvaluationError(FailureKind.REPORTED, message)
        payload = plan.unit(plan.layout.start(where) + row.place).payload
        self._looks = self._looks or Looks(plan.specs, self._opened)
        return self._looks.of(where.evaluator, payload, action)

    def snippets(self, task: str) -> HostedSnippets:
        """Give what runs the code of a task."""
        return share_snippets(self._opened, self._sandbox, f"metrics of {task}")

    def close(self) -> None:
        self._opened.close()

    @cached_property
    def _plan(self) -> Plan:
        plan, stored = self._planned(), self._stored
        specs = writing_to(stored.folder, of_stored(plan.specs, stored.document, stored.folder))
        return replace(plan, specs=specs)


def _names(action: Action, fields: Iterable[str]) -> bool:
    return any(name in action.filter.expression for name in fields)


def _solving(spec: EvaluatorSpec, opened: Opened) -> Solving | None:
    target = samples_of(spec)
    return Solving(target, opened) if target and target.task.solver else None


Made = JsonDict  # a line for the journal

_LONGEST_MESSAGE = 500
_MOST_NAMED = 4


def compute_code_metrics(stored: StoredRun, planned: Callable[[], Plan], say: Say, sandbox: str) -> None:
    """Apply tasks' rules, and run the code of their metrics, where that was not done; the folder is locked.

    `planned` gives samples, where a rule looks at them; `sandbox` is what code runs in.
    """
    made: list[Made] = []
    try:
        with contextlib.closing(Samples(stored, planned, sandbox)) as samples:
            for together in _Examination(stored, samples, say).make():
                made += together
    except KeyboardInterrupt:
        say("note: the calls are done; the same command again applies rules and computes metrics")
        raise
    finally:
        if made:
            _write(stored, made)


def _write(stored: StoredRun, made: list[Made]) -> None:
    """Append to the journal, whose last line says again how the last session ended."""
    path, ledger = stored.folder / JOURNAL, stored.ledger.ledger
    line = journal.last_line(path)
    last = journal.decode(line) if line else {}
    ends: list[Made] = [
        {key: last[key] for key in ("ended_at", "status") if key in last} or {"status": "done"}
    ]
    with contextlib.closing(journal.Journal(path, ledger.end)) as written:
        written.append(b"".join(map(journal.seal, (*made, *ends))))
    ledger.end = written.end


class _Examination:
    """Goes over the rows of all tasks of a run."""

    def __init__(self, stored: StoredRun, samples: Samples, say: Say) -> None:
        self._stored = stored
        self._computed = stored.ledger.ledger.computed
        self._samples = samples
        self._say = say
        self._faults: dict[str, list[tuple[Cell, Made]]] = {}  # of a task's rules

    def make(self) -> Iterator[list[Made]]:
        """Give what belongs together at once: the outcome of all rules, or all numbers of a metric."""
        with self._stored.reader() as reader:
            for task in tasks_in(self._stored.document.settings):
                if not has_code(task):
                    continue
                self._faults.clear()
                for rows in rows_in(self._stored, self._stored.layout, task, reader):
                    if (excluded := excluded_in(self._computed, rows)) is None:
                        yield self._keep([self._apply_rules(rows)])
                        excluded = excluded_in(self._computed, rows)
                    for scorer in task.scorers if excluded else ():
                        yield from map(self._keep, self._of_code(rows, scorer, excluded))
                for rule, faults in self._faults.items():
                    self._say(f"note: {_say_faults(task.key, rule, faults)}")

    def _keep(self, records: list[Made]) -> list[Made]:
        self._computed += records
        return records

    def _apply_rules(self, rows: TaskRows) -> Made:
        """Find the rows that rules leave out; one that cannot be applied to a row leaves it in."""
        where, excluded, failed = rows.where, dict[str, list[Any]](), dict[str, Made]()
        for action in rows.task.actions:
            excluded[action.key] = list(self._by(action, rows, failed))
        for key, fault in failed.items():
            self._faults.setdefault(key, []).append((where, fault))
        return {
            "rules": rows.task.digest,
            "task": rows.task.key,
            "candidate": where.candidate,
            "model": where.task_model,
            "split": where.split,
            "rows": rows.digest,
            "excluded_by": {key: places for key, places in excluded.items() if places},
            **({"failed": failed} if failed else {}),
        }

    def _by(self, action: Action, rows: TaskRows, failed: dict[str, Made]) -> Iterator[list[int | None]]:

        try:
            rule = Actions([action])
        except RuleFault as error:
            first = rows.rows[0] if rows.rows else None
            failed[action.key] = _fault(first, str(error), len(rows.rows))
            return
        for row in rows.rows:
            if not (scores := row.scores):
                continue  # it failed, and is in no metric
            try:
                sample, trace = self._samples.of(rows, row, action)
                if rule.excluded_by(sample, trace, scores):
                    yield [row.line, row.repeat]
            except EvaluationError as error:
                message = error.message.removeprefix(f"action {action.key}: ")
                fault = failed.setdefault(action.key, _fault(row, message, 0))
                fault["count"] += 1

    def _of_code(self, rows: TaskRows, scorer: KeptScorer, excluded: Excluded | None) -> Iterator[list[Made]]:
        """Run the code of a scorer's metrics that was not run for the rows that count."""
        metrics = [metric for metric in scorer.metrics or () if isinstance(metric, PythonMetric)]
        if not metrics or excluded is None or scorer.evaluator not in rows.cells:
            return
        said = counted(sampled(rows, scorer, excluded))
        digest, known = digest_of(said), code_values(self._computed)
        for metric in metrics:
            code = digest_of_code(metric)
            if isinstance(known.get((code, digest), ""), str):
                about = {
                    "metric": metric.key or "python",
                    "task": rows.task.key,
                    "scorer": scorer.key,
                    "model": rows.where.task_model,
                }
                results = self._results(metric, said, rows)
                yield [{**about, **result, "rows": digest, "snippet": code} for result in results]

    def _results(self, metric: PythonMetric, said: list[Any], rows: TaskRows) -> Iterator[Made]:

        snippets = self._samples.snippets(rows.task.key)
        deadline = time.monotonic() + rows.task.timeout
        try:
            values = computed(metric, said, snippets, deadline)
        except EvaluationError as error:
            message = error.message[:_LONGEST_MESSAGE]
            self._say(f"note: {rows.task.key}: {message}")
            yield {"name": None, "value": None, "error": message}
            return
        if not values:
            yield {"name": None, "value": None}
        for name, value in values.items():
            yield {"name": name, "value": value, "of": len(values)}


def _fault(row: TaskRow | None, message: str, count: int) -> Made:
    line, repeat = (row.line, row.repeat) if row else (None, 1)
    return {"count": count, "line": line, "repeat": repeat, "message": message[:_LONGEST_MESSAGE]}


def _say_faults(task: str, rule: str, faults: Sequence[tuple[Cell, Made]]) -> str:
    """Say once for all candidates and models to which rows a rule cannot be applied."""
    first, fault = faults[0]
    whole = RuleFaults(rule=rule, **{**fault, "count": sum(fault["count"] for _, fault in faults)})
    names = dict.fromkeys(where.task_model or where.candidate for where, _ in faults)
    whose = f" ({', '.join([*names][:_MOST_NAMED])}{', …' * (len(names) > _MOST_NAMED)})" * (len(names) > 1)
    return f"{task}{whose}: {whole.told(first.split)}"
