"""What a run has to reach, as options name it: read before the calls, judged after them, kept in run.json.

What a gate is, and whether one is met, is decided in gates and regression_gates.
"""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from optimize_eval.base.errors import OptimizeEvalError, UsageError
from optimize_eval.base.frozen import frozen
from optimize_eval.findings.wording import count
from optimize_eval.store.layout import Layout
from optimize_eval.store.manifest import CHOSEN_AFTER, Manifest, additions_of, is_bench, layout_of
from optimize_eval.store.stored import StoredRun, open_stored

if TYPE_CHECKING:
    from optimize_eval.findings.metrics.gates import TaskBound
    from optimize_eval.findings.shapes.summary import Summary
    from optimize_eval.findings.summary.gates import Bound, Gate


@frozen
class GateOptions:
    """The options that demand something, of a run or of a bench."""

    fail_under: Sequence[str] = ()
    max_gap: float | None = None
    no_regression_against: str | None = None

    def kept(self) -> dict[str, Any]:
        """Make what run.json keeps, so that a later report can show what became of the gates."""
        found = {name: value for name, value in asdict(self).items() if value}
        return {"gates": found} if found else {}


NO_GATES = GateOptions()


@frozen
class Demands:
    """What a run has to reach."""

    bounds: "tuple[Bound, ...]" = ()
    of_tasks: "tuple[TaskBound, ...]" = ()
    max_gap: float | None = None
    before: StoredRun | None = None

    def judge(self, run: StoredRun, summary: "Summary") -> "tuple[Gate, ...]":
        """Hold a run against the demands; one that is not complete meets none of them."""
        if self == Demands():
            return ()
        from optimize_eval.findings.diff.gates import nothing_to_compare, regression_gates  # noqa: PLC0415
        from optimize_eval.findings.diff.runs import compare_runs  # noqa: PLC0415
        from optimize_eval.findings.shapes.leakage import LEAKED  # noqa: PLC0415
        from optimize_eval.findings.summary.gates import completeness, gates_of  # noqa: PLC0415  a plain --help judges nothing
        from optimize_eval.store.beside import of_same_bytes  # noqa: PLC0415

        found: list[Gate] = []
        if self.of_tasks:
            from optimize_eval.findings.metrics.gates import task_gates  # noqa: PLC0415

            found += task_gates(summary, self.of_tasks)
        if self.before:
            added = {one["name"] for one in additions_of(self.before.manifest)}
            same = of_same_bytes(self.before.manifest, run.manifest)
            leakage = summary.leakage.get(summary.decided_on)
            if leakage and leakage.state == LEAKED:
                found.append(nothing_to_compare(self.before.folder, summary.decided_on, leakage))
            else:
                found += regression_gates(compare_runs(self.before, run, force=False), added, same)
        gates = (*completeness(summary), *gates_of(summary, self.bounds, self.max_gap), *found)
        steps = summary.tried.steps if summary.tried else 0
        if not steps:
            return gates
        versions = count(steps, "version")
        after = f"{versions} {'was' if steps == 1 else 'were'} made after results of these examples were seen"
        return tuple(replace(gate, text=f"{gate.text}; {after}") for gate in gates)


def read_demands(
    manifest: Manifest,
    folder: Path,
    fail_under: Sequence[str] | None,
    max_gap: float | None,
    against: str | None,
    *,
    margins: Mapping[str, float] | None = None,
    is_before_calls: bool = False,
) -> Demands:
    """Read the demands, which must fit the run of a manifest; before calls, those that cannot be decided."""
    if not fail_under and max_gap is None and against is None:
        return Demands()
    _refuse_results_as_inputs(manifest, folder)
    from optimize_eval.findings.diff.gates import check_can_decide  # noqa: PLC0415
    from optimize_eval.findings.summary.gates import check_gap, parse_bound  # noqa: PLC0415  see Demands
    from optimize_eval.store.beside import check_comparable, of_same_bytes  # noqa: PLC0415

    layout = layout_of(manifest)
    if max_gap is not None:
        check_gap(layout, max_gap)
    before = None if against is None else open_stored(against)
    if before:
        if is_bench(before.manifest):
            raise UsageError(f"{against} is a bench, not a run", hint="name a folder that `run` made")
        check_comparable(before, manifest, folder)
    if before and is_before_calls:
        wanted = layout if margins is None else replace(layout, margins=margins)
        check_can_decide(before.layout, wanted, of_same_bytes(before.manifest, manifest))
    of_tasks = task_bounds(fail_under or (), manifest.get("settings", {}), layout)
    bounds = tuple(parse_bound(text, layout) for text in fail_under or () if text not in of_tasks)
    return Demands(bounds=bounds, of_tasks=tuple(of_tasks.values()), max_gap=max_gap, before=before)


def _refuse_results_as_inputs(manifest: Manifest, folder: Path) -> None:
    """Refuse a gate on what --lf called, whose examples were taken by their results."""
    if after := manifest.get("settings", {}).get(CHOSEN_AFTER):
        raise UsageError(
            f"no gate can be about {folder}: its examples are those that failed or got worse in {after}",
            hint="run the command of this run without --lf and with the gates",
        )


def task_bounds(
    texts: Sequence[str], settings: Mapping[str, Any], layout: Layout, *, of_bench: bool = False
) -> "dict[str, TaskBound]":
    """Find the bounds that are of metrics, and of a bench's scorers; only tasks in YAML have these."""
    if "tasks" not in settings:
        return {}
    from optimize_eval.findings.metrics.gates import bounds_in  # noqa: PLC0415  see Demands

    return bounds_in(texts, settings, layout, of_bench=of_bench)


def margins_of(texts: Sequence[str] | None, layout: Layout) -> dict[str, float]:
    """Read the margins; none without the option."""
    if not texts:
        return {}
    from optimize_eval.findings.margins import parse_margins  # noqa: PLC0415  see Demands

    return parse_margins(texts, layout)


def set_margins(run: StoredRun, texts: Sequence[str] | None) -> None:
    """Let a report look at a run with margins of its own, where some are given."""
    if texts:
        run.set_margins(margins_of(texts, run.layout))


def recalled(run: StoredRun, summary: "Summary") -> "tuple[Gate, ...]":
    """Judge the demands that the run's own command had; what they name may be gone by now."""
    said = run.manifest.get("settings", {}).get("gates", {})
    try:
        given = said.get("fail_under"), said.get("max_gap"), said.get("no_regression_against")
        return read_demands(run.manifest, run.folder, *given).judge(run, summary)
    except (OptimizeEvalError, AttributeError, OSError, TypeError, ValueError) as error:
        from optimize_eval.findings.summary.gates import Gate  # noqa: PLC0415  see Demands

        reason = error.message if isinstance(error, OptimizeEvalError) else "run.json was edited"
        return (Gate(name="gates", is_met=False, text=f"the gates cannot be judged any more: {reason}"),)
