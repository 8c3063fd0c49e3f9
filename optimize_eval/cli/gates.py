"""What a command says of gates, and its exit code where one is missed.

The gates of runs that leaderboards do not have.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING

import typer

from optimize_eval.base import errors
from optimize_eval.base.documents import JsonDict
from optimize_eval.base.errors import UsageError
from optimize_eval.cli import output

if TYPE_CHECKING:
    from optimize_eval.findings.gates import Gate


def gates_to_dict(gates: "Sequence[Gate]") -> JsonDict:
    """Make what --json says of gates; nothing where there are none."""
    return {"gates": [_gate_to_dict(gate) for gate in gates]} if gates else {}


def _gate_to_dict(gate: "Gate") -> JsonDict:
    examples = [_gate_to_dict(example) for example in gate.examples]
    judged = {"name": gate.name, "met": gate.is_met, "text": gate.text}
    return judged | ({"examples": examples} if examples else {})


def end_with_gates(gates: "Sequence[Gate]") -> None:
    """Say which gates were missed, and end with their exit code; or that all were met."""
    if say_missed(gates):
        raise typer.Exit(errors.MISSED)
    if gates:
        output.say(
            f"gates: {len(gates):,} of {len(gates):,} met"
            if len(gates) > 1
            else f"{gates[0].verdict}: {_on_one_line(gates[0])}"
        )


def say_missed(gates: "Sequence[Gate]") -> bool:
    """Say which gates were missed, if any."""
    missed = [gate for gate in gates if not gate.is_met]
    for gate in missed:
        output.say(f"{gate.verdict}: {_on_one_line(gate)}")
    return bool(missed)


def _on_one_line(gate: "Gate") -> str:
    """Keep a name with line breaks from looking like a gate of its own."""
    return " ".join(gate.text.splitlines())


def refuse_gap(max_gap: float | None) -> None:
    if max_gap is not None:
        raise UsageError(
            "--max-gap is between train and val, and a bench has neither",
            hint="give --fail-under MODEL=0.8, or --no-regression-against BENCH",
        )


def refuse_margin(margin: Sequence[str] | None) -> None:
    if margin:
        raise UsageError("--margin is for the evaluators of a run, not for a bench", hint="omit it")
