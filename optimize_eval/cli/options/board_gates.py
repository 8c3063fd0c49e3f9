"""The gates of runs that leaderboards do not have."""

from collections.abc import Sequence

from optimize_eval.base.errors import UsageError


def refuse_gap(max_gap: float | None) -> None:
    if max_gap is not None:
        raise UsageError(
            "--max-gap is between train and val, and a bench has neither",
            hint="give --fail-under MODEL=0.8, or --no-regression-against BENCH",
        )


def refuse_margin(margin: Sequence[str] | None) -> None:
    if margin:
        raise UsageError("--margin is for the evaluators of a run, not for a bench", hint="omit it")
