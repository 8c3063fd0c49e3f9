"""What a command says of gates, and its exit code where one is missed."""

from typing import TYPE_CHECKING, Any

import typer

from optimize_eval.cli import output

if TYPE_CHECKING:
    from collections.abc import Sequence

    from optimize_eval.findings.gates import Gate

MISSED = 1


def to_dict(gates: "Sequence[Gate]") -> dict[str, Any]:
    """Make what --json says of gates; nothing where there are none."""
    judged = [{"name": gate.name, "met": gate.is_met, "text": gate.text} for gate in gates]
    return {"gates": judged} if judged else {}


def end(gates: "Sequence[Gate]") -> None:
    """Say which gates were missed, and end with their exit code; or that all were met."""
    if say_missed(gates):
        raise typer.Exit(MISSED)
    if gates:
        output.say(
            f"gates: {len(gates):,} of {len(gates):,} met"
            if len(gates) > 1
            else f"gate met: {_on_one_line(gates[0])}"
        )


def say_missed(gates: "Sequence[Gate]") -> bool:
    """Say which gates were missed, if any."""
    missed = [gate for gate in gates if not gate.is_met]
    for gate in missed:
        output.say(f"gate missed: {_on_one_line(gate)}")
    return bool(missed)


def _on_one_line(gate: "Gate") -> str:
    """Keep a name with line breaks from looking like a gate of its own."""
    return " ".join(gate.text.splitlines())
