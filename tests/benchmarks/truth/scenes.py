"""A scene is drawn many times: how often something holds, or what comes out on average, beside its bar."""

import math
import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass

Draw = random.Random


@dataclass(frozen=True, slots=True, kw_only=True)
class Scene:
    """One row of the table; `once` gives a number for a draw, None where the draw says nothing."""

    family: str
    cell: str
    once: Callable[[Draw], float | None]
    low: float | None = None  # the bar
    high: float | None = None
    cost: int = 1  # by which the number of draws is divided
    is_share: bool = True
    beside: Callable[[Draw], float | None] | None = None  # shown for comparison, never barred


@dataclass(frozen=True, slots=True, kw_only=True)
class Measured:
    """What came out of a scene's draws; `noise` is three standard errors of the simulation itself."""

    scene: Scene
    value: float
    noise: float
    draws: int
    beside: float | None = None

    @property
    def holds(self) -> bool:
        low, high = self.scene.low, self.scene.high
        allowed = 0.0 if high == 0 else self.noise  # "never" is no rate to be met about
        least, most = self.value - allowed, self.value + self.noise
        is_in = (low is None or most >= low) and (high is None or least <= high)
        return is_in or not self.draws  # refused before any call is no false claim

    @property
    def bar(self) -> str:
        ends = [f"≥ {self.scene.low:g}" if self.scene.low is not None else ""]
        ends += [f"≤ {self.scene.high:g}" if self.scene.high is not None else ""]
        return " ".join(end for end in ends if end) or "shown"


def measure(scene: Scene, draws: int, seed: int = 0) -> Measured:
    """Draw a scene so many times, the same each time it is measured."""
    many = max(20, draws // scene.cost)
    draw = random.Random(f"{scene.family} {scene.cell} {seed}")
    values = [value for _ in range(many) if (value := scene.once(draw)) is not None]
    beside = [value for _ in range(many) if scene.beside and (value := scene.beside(draw)) is not None]
    mean = math.fsum(values) / len(values) if values else math.nan
    spread = math.fsum((value - mean) ** 2 for value in values) / max(1, len(values) - 1)
    return Measured(
        scene=scene,
        value=mean,
        noise=3 * math.sqrt(spread / len(values)) if values else math.inf,
        draws=len(values),
        beside=math.fsum(beside) / len(beside) if beside else None,
    )


def covers(ci: Sequence[float] | None, truth: float) -> float:
    """Return 1 if an interval holds the truth; no interval holds nothing."""
    return float(ci is not None and ci[0] - 1e-12 <= truth <= ci[1] + 1e-12)
