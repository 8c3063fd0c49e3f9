"""Where units are executed. An engine knows nothing of scores and disk: it calls what it is given.

`attempt` is called with units that are to be asked together and returns their records; `done` is called
with each record, in the process that called `run`; `stop` ends the handing out of units.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol, TypeVar

from optimize_eval.reach import Capacity

Record = TypeVar("Record")


@dataclass(frozen=True, slots=True, kw_only=True)
class Lane:
    """The units that one evaluator is to be asked, and how much of them it can take at the moment."""

    units: Sequence[int]
    capacity: Callable[[], Capacity]
    weight: float = 1.0


class Engine(Protocol):
    """Something that executes units."""

    def run(
        self,
        lanes: Sequence[Lane],
        attempt: Callable[[Sequence[int]], Sequence[Record]],
        done: Callable[[Record], None],
        stop: Callable[[], bool],
    ) -> None:
        """Return when every unit is done, or when those in flight are after `stop` said so."""
        ...
