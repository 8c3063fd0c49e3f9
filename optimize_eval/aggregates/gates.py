"""Gates: what a summary has to reach, and for each whether it was met, in one line with its numbers.

Pure: summaries in, gates out. What a missed gate does to an exit code is cli's.
"""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Gate:
    """One demand, and what became of it."""

    name: str  # --fail-under judge@v2
    is_met: bool
    text: str  # judge@v2 on val: 0.731 is below 0.8
