"""How servers of models are treated: how often they are called, how long one may be full, what calls cost."""

from collections.abc import Mapping
from dataclasses import field

from optimize_eval.frozen import frozen

PATIENCE = 600.0  # seconds

Prices = Mapping[str, tuple[float, float]]  # of the prompt and of the completion, by PROVIDER/MODEL


@frozen
class Manners:
    """How servers are treated: how often they are called, how long one may be full; and what calls cost."""

    patience: float = PATIENCE
    rpm: float | None = None
    tpm: float | None = None
    concurrency: int | None = None
    prices: Prices = field(default_factory=dict)
    seeks_prices: bool = False  # where these lack one


@frozen
class Queue:
    """Calls that wait for a server which has no room."""

    who: str  # the model
    why: str  # as the server said
    calls: int
    next_in: float  # seconds
    gives_up_in: float

    def __str__(self) -> str:
        calls = f"{self.calls:,} call{'s' * (self.calls != 1)} wait{'s' * (self.calls == 1)}"
        times = f"next try in {self.next_in:,.0f} s, gives up in {self.gives_up_in:,.0f} s (--patience)"
        return f"waiting: {self.why}; {calls}; {times}"
