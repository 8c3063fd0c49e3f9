"""The runs in a folder as people and programs read them: two lines for each, or one object."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from optimize_eval.reports.columns import cut, wrapped
from optimize_eval.reports.table import Column, layout_table
from optimize_eval.store.listing import ListedRun, State

SCHEMA = "optimize-eval.runs.v1"

_LONGEST_VERDICT = 1000
_AGES = ((86_400, "day"), (3600, "h"), (60, "min"), (1, "s"))
_KILO = 1000
_SIZES = ("bytes", "kB", "MB", "GB", "TB")


def render(
    runs: Sequence[ListedRun], *, fit: Callable[[str], str], folder: Path, now: float, width: int
) -> str:
    """Lay out a table with each run's verdict below it; `now` is the time of day in seconds.

    `fit` makes a text what it will be in the terminal, which may be longer.
    """
    if not runs:
        place = fit(str(folder))
        text = f"no runs in {place}: `optimize-eval run` makes them, in runs/ unless --out names a folder"
        return "\n".join(wrapped(" ", text, width))
    columns = [
        Column("run", [fit(one.folder.name) for one in runs], is_name=True),
        Column("state", [_state(one) for one in runs], is_text=True),
        Column("size", [size_words(one.bytes) for one in runs]),
        Column("age", [age_words(now - one.changed_at) for one in runs]),
    ]
    head, rule, *rows = layout_table(columns, width)
    lines = [head, rule]
    for one, row in zip(runs, rows, strict=True):
        lines += [row, *_below(one, fit, width)]
    return "\n".join(lines)


def to_dict(runs: Sequence[ListedRun]) -> dict[str, Any]:
    return {"schema": SCHEMA, "runs": [_to_dict(one) for one in runs]}


def age_words(seconds: float) -> str:
    """Write how long ago something was.

    >>> [age_words(seconds) for seconds in (-5, 42, 200, 7300, 90_000, 200_000)]
    ['0 s', '42 s', '3 min', '2 h', '1 day', '2 days']
    """
    for size, unit in _AGES:
        if many := int(seconds // size if seconds > 0 else 0):
            return f"{many:,} {unit}{'s' * (unit == 'day' and many != 1)}"
    return "0 s"


def size_words(size: float) -> str:
    """Write how large something is.

    >>> [size_words(size) for size in (0, 999, 1500, 48_200, 2_000_000, 3.2e10)]
    ['0 bytes', '999 bytes', '1.5 kB', '48 kB', '2.0 MB', '32 GB']
    """
    step = 0
    while size >= _KILO and step < len(_SIZES) - 1:
        size, step = size / _KILO, step + 1
    digits = 1 if step and size < 10 else 0  # noqa: PLR2004  two digits are enough
    return f"{size:,.{digits}f} {_SIZES[step]}"


def _state(one: ListedRun) -> str:
    words = str(one.state).replace("_", " ")
    return f"{words}, pid {one.pid}" if one.pid is not None else words


def _below(one: ListedRun, fit: Callable[[str], str], width: int) -> list[str]:
    if one.reason is not None:
        return wrapped("   ", fit(one.reason[:_LONGEST_VERDICT]), width)
    said = one.verdict or {
        State.RUNNING: "no verdict while it is being asked",
        State.UNFINISHED: "it was killed; the command that began it goes on where it was",
    }.get(one.state, "no verdict is stored; `optimize-eval report` computes it")
    return [f"   {cut(' '.join(fit(said[:_LONGEST_VERDICT]).split()), width - 3)}"]


def _to_dict(one: ListedRun) -> dict[str, Any]:
    return {
        "run": str(one.folder),
        "state": str(one.state),
        **({"pid": one.pid} if one.pid is not None else {}),
        **({"reason": one.reason} if one.reason is not None else {}),
        "verdict": one.verdict,
        "created_at": one.created_at,
        "ended_at": one.ended_at,
        "bytes": one.bytes,
        **({"units": dict(one.units)} if one.units else {}),
    }
