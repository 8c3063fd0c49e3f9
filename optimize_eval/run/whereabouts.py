"""Where evaluators are live: in this process, or on the nodes of a cluster."""

import shlex
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from types import TracebackType
from typing import Protocol, Self

from optimize_eval.base.errors import UsageError
from optimize_eval.base.evaluator import Capacity, EvaluatorSpec, Opened
from optimize_eval.base.retries_and_caps import Caps
from optimize_eval.programs.identity import Identity
from optimize_eval.run.engine import OnCluster
from optimize_eval.run.host import Stop
from optimize_eval.run.live import BrokenOff, Engine, LiveEvaluators
from optimize_eval.run.plan import Unit


class Evaluators(Protocol):
    """Evaluators of a session, live within a `with`, wherever that is."""

    opened: Opened  # of this process
    broken_off: list[BrokenOff]  # complete once they are closed

    def __enter__(self) -> Self: ...
    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None: ...

    def engine(self, slots: int, tick: Callable[[], None]) -> Engine:
        """Make what executes units by them."""
        ...

    @property
    def notes(self) -> tuple[str, ...]:
        """What people should be told once."""
        ...

    @property
    def waiting(self) -> str:
        """Say who waits for servers that have no room."""
        ...

    def capacity(self, place: int) -> Capacity: ...
    def capacity_of(self, task_model: str) -> Capacity: ...
    def has_reply(self, unit: Unit) -> bool: ...
    def rest(self, place: int, seconds: float) -> None: ...
    def stop_waiting(self) -> None: ...
    def end_if_over(self) -> None: ...
    def close(self) -> None: ...


def evaluators_at(
    cluster: OnCluster | None,
    specs: Sequence[EvaluatorSpec],
    identities: Sequence[Identity],
    stop: Stop,
    caps: Caps | None = None,
    models: Sequence[str] = (),
) -> Evaluators:
    """Give evaluators, which are made live when they are entered; `models` have lanes in place of them."""
    if cluster is None:
        return LiveEvaluators(specs, stop, caps)
    with needing_ray():
        from optimize_eval.run.ray_engine import on_ray  # noqa: PLC0415  Ray, which most have not
    return on_ray(cluster, specs, identities, stop, caps or Caps(), models)


@contextmanager
def needing_ray() -> Iterator[None]:
    """Say what to install where the import of Ray within finds none."""
    try:
        yield
    except ImportError as error:
        if not (error.name or "").startswith("ray"):
            raise
        raise UsageError(
            "--engine ray needs Ray, which is not installed",
            hint=f"install the extra [ray]: {shlex.quote(sys.executable)} -m pip install 'ray>=2.60'",
        ) from None
