"""The options that hold a result against demands, and the exit code of a missed one."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any

import typer

from optimize_eval.cli import output
from optimize_eval.run.layout import Layout

if TYPE_CHECKING:
    from optimize_eval.aggregates.gates import Bound, Gate

MISSED = 1

FailUnder = Annotated[
    list[str] | None,
    typer.Option("--fail-under", metavar="NAME=MEAN", help="NAME: an evaluator, or EVALUATOR@CANDIDATE."),
]
MaxGap = Annotated[
    float | None, typer.Option("--max-gap", metavar="GAP", help="How far train may be above val.")
]


@dataclass(frozen=True, slots=True, kw_only=True)
class Demands:
    """What a run has to reach."""

    bounds: "tuple[Bound, ...]"
    max_gap: float | None

    def judge(self, summary: Mapping[str, Any]) -> "tuple[Gate, ...]":
        from optimize_eval.aggregates.gates import gates_of  # noqa: PLC0415  a plain --help judges nothing

        return gates_of(summary, self.bounds, self.max_gap)


def demands(layout: Layout, fail_under: Sequence[str] | None, max_gap: float | None) -> Demands:
    """Read the demands, which must fit the run; done before anything is asked."""
    if not fail_under and max_gap is None:
        return Demands(bounds=(), max_gap=None)
    from optimize_eval.aggregates.gates import check_gap, parse_bound  # noqa: PLC0415  see Demands

    if max_gap is not None:
        check_gap(layout)
    return Demands(bounds=tuple(parse_bound(text, layout) for text in fail_under or ()), max_gap=max_gap)


def to_dict(gates: "Sequence[Gate]") -> dict[str, Any]:
    """Make what --json says of gates; nothing where there are none."""
    told = [{"name": gate.name, "met": gate.is_met, "text": gate.text} for gate in gates]
    return {"gates": told} if told else {}


def end(gates: "Sequence[Gate]") -> None:
    """Say which gates were missed, and end with their exit code; or that all were met."""
    missed = [gate for gate in gates if not gate.is_met]
    for gate in missed:
        output.say(f"gate missed: {gate.text}")
    if missed:
        raise typer.Exit(MISSED)
    if gates:
        output.say(
            f"gates: {len(gates):,} of {len(gates):,} met" if len(gates) > 1 else f"gate met: {gates[0].text}"
        )
