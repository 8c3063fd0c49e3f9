"""Names that stand beside each other: a repeated one gets -2, -3 and so on."""

from collections.abc import Iterable


def distinct(names: Iterable[str]) -> list[str]:
    """Make names unique, in their order.

    >>> distinct(["judge", "judge", "judge-2", "other"])
    ['judge', 'judge-2', 'judge-2-2', 'other']
    """
    taken: dict[str, None] = {}
    for name in names:
        taken[_unused(name, taken)] = None
    return list(taken)


def _unused(name: str, taken: dict[str, None]) -> str:
    if name not in taken:
        return name
    return next(f"{name}-{n}" for n in range(2, len(taken) + 3) if f"{name}-{n}" not in taken)
