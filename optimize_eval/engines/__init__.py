"""Where units are executed. An engine knows nothing of scores and disk: it calls what it is given.

`attempt` is called with units that are to be called together and returns their records; `done` is called
with each record, in the process that called `run`; `stop` ends the handing out of units. A record that
`crowded_out` knows as a call that this machine had no room for is not done: its unit is attempted again
with fewer calls in flight, and only where it was alone its record stands.
"""

from collections.abc import Callable, Sequence
from typing import NamedTuple, Protocol, TypeVar

from optimize_eval.base.evaluator import Capacity
from optimize_eval.base.frozen import frozen

Record = TypeVar("Record")


@frozen
class Lane:
    """The units that one evaluator is to be called with, and how many of them it can take at the moment."""

    units: Sequence[int]
    capacity: Callable[[], Capacity]
    weight: float = 1.0


class CrowdedOut(NamedTuple):
    """A unit whose call found no room on this machine, and what there was too little of."""

    unit: int
    reason: str


class Engine(Protocol):
    """Something that executes units; `note` is what people should know of how it went."""

    note: str

    def run(
        self,
        lanes: Sequence[Lane],
        attempt: Callable[[Sequence[int]], Sequence[Record]],
        done: Callable[[Record], None],
        stop: Callable[[], bool],
        crowded_out: Callable[[Record], CrowdedOut | None] = lambda _record: None,
    ) -> None:
        """Return when every unit is done, or when those in flight are after `stop` said so."""
        ...


def begun_apart(units: Sequence[int], place: int, many: int) -> Sequence[int]:
    """Let each of so many lanes over the same replies begin at another: none waits for another's call."""
    begin = len(units) * place // many
    return [*units[begin:], *units[:begin]] if begin else units
