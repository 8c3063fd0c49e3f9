"""A scene is drawn many times: how often something holds, or what comes out on average, beside its bar."""

import math
import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

Draw = random.Random
Once = Callable[[Draw], float | None]  # a number for a draw, None where the draw says nothing

_ALLOWED = 3  # standard errors of the simulation itself


@dataclass(frozen=True, slots=True, kw_only=True)
class Scene:
    """One row of the table."""

    family: str
    cell: str
    once: Once
    low: float | None = None  # the bar
    high: float | None = None
    cost: int = 1  # by which the number of draws is divided
    beside: Mapping[str, Once] = field(default_factory=dict)  # of the same draws, shown and never barred


@dataclass(frozen=True, slots=True, kw_only=True)
class Measured:
    """What came out of a scene's draws, and the standard error of that."""

    scene: Scene
    value: float
    error: float
    draws: int
    beside: Mapping[str, str] = field(default_factory=dict)

    @property
    def holds(self) -> bool:
        # "never" is no rate to be met about; refused before any call is no false claim
        return not self.draws or self._is_within(0.0 if self.scene.high == 0 else _ALLOWED * self.error)

    @property
    def verdict(self) -> str:
        if not self.draws or self.bar == "none":
            return "shown" if self.draws else "refused"
        if not self.holds:
            return "MISSED"
        return "ok" if self._is_within(0.0) else f"ok within {_ALLOWED} SE"

    @property
    def bar(self) -> str:
        ends = [f"≥ {self.scene.low:g}" if self.scene.low is not None else ""]
        ends += [f"≤ {self.scene.high:g}" if self.scene.high is not None else ""]
        return " ".join(end for end in ends if end) or "none"

    def __str__(self) -> str:
        return f"{self.value:.3f} ± {self.error:.3f}" if self.draws else "nothing"

    def _is_within(self, allowed: float) -> bool:
        low, high = self.scene.low, self.scene.high
        return (low is None or self.value + allowed >= low) and (high is None or self.value - allowed <= high)


def measure(scene: Scene, draws: int, seed: int = 0) -> Measured:
    """Draw a scene so many times, the same each time it is measured."""
    value, error, many = _mean(scene, scene.once, draws, seed)
    beside = {name: _mean(scene, once, draws, seed) for name, once in scene.beside.items()}
    return Measured(
        scene=scene,
        value=value,
        error=error,
        draws=many,
        beside={name: f"{mean:.3f} ± {se:.3f}" for name, (mean, se, _) in beside.items()},
    )


def _mean(scene: Scene, once: Once, draws: int, seed: int) -> tuple[float, float, int]:
    draw = random.Random(f"{scene.family} {scene.cell} {seed}")
    values = [value for _ in range(max(20, draws // scene.cost)) if (value := once(draw)) is not None]
    if not values:
        return math.nan, math.inf, 0
    n, total = len(values), math.fsum(values)
    if set(values) <= {0.0, 1.0}:
        share = (total + 1) / (n + 2)  # none of 20 is no proof of never
        return total / n, math.sqrt(share * (1 - share) / n), n
    spread = math.fsum((value - total / n) ** 2 for value in values) / max(1, n - 1)
    return total / n, math.sqrt(spread / n), n


def covers(ci: Sequence[float] | None, truth: float) -> float:
    """Return 1 if an interval holds the truth; no interval holds nothing."""
    return float(ci is not None and ci[0] - 1e-12 <= truth <= ci[1] + 1e-12)
