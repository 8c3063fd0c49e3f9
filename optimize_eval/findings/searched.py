"""The words for a search that has no result yet: which candidate is ahead, and how far it came."""

from optimize_eval.findings.wording import number

RUNNING = "running"

_HOW = {
    RUNNING: "it is running",
    "killed": "it was killed",
    "time": "its time was over (--max-time)",
    "cost": "its money was spent (--max-cost)",
}


def ahead_so_far(best: str | None, best_mean: float, seed: str, seed_mean: float) -> str:
    """Say which candidate is ahead, None where that is the seed itself."""
    if best is None:
        return f"no candidate is ahead of {seed} so far, which scores {number(seed_mean)} in the search"
    return (
        f"{best} is ahead of {seed} so far, {number(best_mean)} to {number(seed_mean)} in the search; "
        "no final sweep was made"
    )


def how_far(calls: int, budget: int, status: str, sentence: str) -> str:
    """Say how many calls are done, and why it is no more; `sentence` is how the search itself said so."""
    how = _HOW.get(status) or sentence or status
    return f"a search without a result yet: {calls:,} of at most {budget:,} calls are done; {how}"
