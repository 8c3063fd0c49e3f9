"""What an interval is wide from: the noise of repeats, or that examples differ.

Repeats of an example average the noise away and nothing else; more examples narrow an interval whatever it
is wide from. So the most that any number of repeats can gain is known before they are made.
"""

import math

from optimize_eval.base.frozen import frozen


@frozen
class Components:
    """The squared standard error of a mean or difference of n examples, in its two parts."""

    noise: float  # of the repeats that there are
    examples: float

    @property
    def gain_of_repeats(self) -> float | None:
        """Tell by which share the interval would shrink, at most, however many repeats there were."""
        total = self.noise + self.examples
        return 1 - math.sqrt(self.examples / total) if total else None

    def se(self, *, repeats: float = 1, examples: float = 1) -> float:
        """Predict the standard error with so many times the repeats, and so many times the examples."""
        return math.sqrt((self.noise / repeats + self.examples) / examples)


def components_of(se: float, n: int, repeats: int, *within_sd: float | None) -> Components | None:
    """Split a standard error; `within_sd` is how repeats vary, for each side of a difference.

    None where repeats tell nothing of it: there is one each, or none were scored.
    """
    if repeats < 2 or n < 1:  # noqa: PLR2004  one repeat does not vary
        return None
    sds = [sd for sd in within_sd if sd is not None]
    if len(sds) < len(within_sd):
        return None
    noise = math.fsum(sd**2 for sd in sds) / (repeats * n)
    return Components(noise=min(noise, se**2), examples=max(0.0, se**2 - noise))
