"""Fresh calls about examples that are below their rate, as a gate on each of them demands.

They are made once nothing else is owed, cell by cell, by the runner that makes all calls; they stand in the
run's journal and are in no number but those of the gate. What a gate makes of them is findings'.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from optimize_eval.base.documents import JsonMapping
from optimize_eval.base.errors import State
from optimize_eval.base.frozen import frozen
from optimize_eval.config.compared import BoardGateOptions
from optimize_eval.findings import demands as board_demands
from optimize_eval.findings.board_shapes import Board
from optimize_eval.findings.demands import BoardDemands, Demands, read_demands, read_run_bounds
from optimize_eval.findings.gates import Gate
from optimize_eval.findings.stability import StabilityBound, suspects_in
from optimize_eval.findings.stored_summary import Findings
from optimize_eval.findings.summary_shape import Summary
from optimize_eval.run.calls import CallSpan, call, live_for
from optimize_eval.run.host import Host
from optimize_eval.run.plan import Plan, PlannedExample
from optimize_eval.run.runner import SessionEnd, Settings
from optimize_eval.store.confirmations import Confirmations, Lines, confirmations_of, fresh_calls
from optimize_eval.store.layout import CellName, Layout
from optimize_eval.store.opened_run import StoredRun
from optimize_eval.store.run_document import RunDocument


@frozen
class RunDemands:
    """What a run has to reach, with the fresh calls that it takes to say so."""

    demands: Demands

    @property
    def of_calls(self) -> tuple[StabilityBound, ...]:
        return self.demands.of_calls

    def confirm(
        self, called: CallSpan, stored: StoredRun, settings: Settings, host: Host
    ) -> tuple[CallSpan, ...]:
        return confirm(called, stored, self.of_calls, settings, host)

    def judge(self, run: StoredRun, summary: Summary) -> tuple[Gate, ...]:
        return self.demands.judge(run, summary)


def read_before_calls(document: RunDocument, folder: Path, gates: BoardGateOptions) -> RunDemands | None:
    """Read what a run that is planned has to reach, if that is anything."""
    given = gates.fail_under, gates.max_gap, gates.no_regression_against
    demands = read_demands(document, folder, *given, min_agreement=gates.min_agreement, is_before_calls=True)
    return RunDemands(demands=demands) if demands else None


@frozen
class BenchDemands:
    """What a bench has to reach, with the fresh calls that it takes to say so."""

    demands: BoardDemands

    @property
    def of_calls(self) -> tuple[StabilityBound, ...]:
        return self.demands.of_calls

    @property
    def looks_at_examples(self) -> bool:
        """Return True if a former board is compared, example by example."""
        return self.demands.before is not None

    def confirm(
        self, called: CallSpan, stored: StoredRun, settings: Settings, host: Host
    ) -> tuple[CallSpan, ...]:
        return confirm(called, stored, self.of_calls, settings, host)

    def judge(self, findings: Findings, board: Board | None, others: Mapping[str, Board]) -> tuple[Gate, ...]:
        return self.demands.judge_bench(findings, board, others)


def read_bench_demands(
    gates: BoardGateOptions,
    expected: Board,
    metrics: Sequence[str],
    settings: JsonMapping,
    layout: Layout,
) -> BenchDemands:
    """Read what a bench that is planned has to reach; `metrics` are evaluators of its own."""
    bounds = read_run_bounds(gates.fail_under, settings, layout)
    given = gates.fail_under, gates.no_regression_against
    return BenchDemands(demands=board_demands.read_before_calls(expected, *given, metrics, bounds))


def confirm(
    called: CallSpan,
    stored: StoredRun,
    bounds: Sequence[StabilityBound],
    settings: Settings,
    host: Host,
) -> tuple[CallSpan, ...]:
    """Make the fresh calls that are owed, if all others were made."""
    if called.plan is None or called.ended.status is not State.DONE or stored.owed:
        return ()
    known = {None, *called.plan.layout.evaluators}  # others read what models have replied
    own = [bound for bound in bounds if bound.evaluator in known]
    return tuple(_confirm(called.plan, stored, own, settings, host))


def _confirm(
    plan: Plan, stored: StoredRun, bounds: Sequence[StabilityBound], settings: Settings, host: Host
) -> Iterator[CallSpan]:
    """Make them up to a stop."""
    suspects = suspects_in(stored, bounds) if any(bound.is_of_each for bound in bounds) else {}
    view = confirmations_of(stored, suspects, plan.layout.repeats)
    parts = [_part(plan, cell, lines) for cell, lines in suspects.items()]
    owed = [part for part in parts if view.of(part.layout).owed(range(part.layout.size))]
    if owed:
        host.say(_announce(suspects, owed))
    for part in owed:
        with live_for(part, settings, host) as live:
            span = call(part, replace(stored, ledger=view), _for_fresh_calls(settings), host, live)
        stored.ledger.ledger.end = view.ledger.end
        stored.ledger.ledger.has_confirmations = True
        yield replace(span, ended=_end_of(span, view.of(part.layout)))
        if not view.of(part.layout).is_complete:
            return


def _announce(suspects: dict[CellName, Lines], owed: Sequence[Plan]) -> str:
    many = sum(map(len, suspects.values()))
    calls = owed[0].layout.repeats
    who = "1 example passes" if many == 1 else f"{many:,} examples pass"
    return f"note: {who} less often than is demanded of each: {calls:,} fresh calls confirm it or do not"


def _for_fresh_calls(settings: Settings) -> Settings:
    """Let no failure end them: whether calls fail is what is asked."""
    return replace(settings, probe=False, abort_on_failure=False, most_failures=None, demands_each=False)


def _end_of(span: CallSpan, view: Confirmations) -> SessionEnd:
    """Say that all is done where all was called, whatever failed."""
    status = State.DONE if view.is_complete else span.ended.status
    return replace(span.ended, status=status, broken=(), mostly_failed=())


def _part(plan: Plan, cell: CellName, lines: Lines) -> Plan:
    """Plan the fresh calls of one cell."""
    evaluator, candidate, model, split = cell
    layout = plan.layout
    scorer, chosen = layout.evaluators.index(evaluator), layout.candidates.index(candidate)
    of = next(index for index, own in enumerate(layout.splits) if own.name == split)
    places = [layout.splits[of].lines.index(line) for line in lines]
    return replace(
        plan,
        specs=(plan.specs[scorer],),
        identities=(plan.identities[scorer],),
        candidates=(plan.candidates[chosen],),
        examples=(tuple(_with_text(plan.examples[of][index], chosen) for index in places),),
        layout=_layout(layout, cell, places),
        models=tuple(known for known in plan.models if known.name == model),
        model_specs=tuple(spec for spec in plan.model_specs if spec.name == model),
        confirms=True,
    )


def _with_text(example: PlannedExample, candidate: int) -> PlannedExample:
    """Keep the one candidate of an example that has candidates."""
    return replace(example, texts=example.texts[candidate : candidate + 1])


def _layout(layout: Layout, cell: CellName, places: Sequence[int]) -> Layout:
    evaluator, candidate, model, split = cell
    splits = layout.splits_of.get(evaluator)
    return replace(
        layout,
        evaluators=(evaluator,),
        score_ranges=(layout.score_range(evaluator),),
        candidates=(candidate,),
        task_models=(model,),
        splits=(layout.split(split).at(places),),
        splits_of={evaluator: splits} if splits else {},
        baseline=candidate,
        repeats=fresh_calls(layout.repeats),
    )
