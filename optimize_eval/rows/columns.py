"""What the cells of a column are: whole numbers, numbers, true and false, or texts; decided for all of it.

A number that begins with a zero that counts for nothing, such as a postcode, is a text; so is a column with
one such cell. An empty cell is null, and in a column of texts the empty text.
"""

import math
import re
from collections.abc import Callable, Iterable
from typing import Any

from optimize_eval.base.strict_json import MAX_DIGITS

Read = Callable[[str], Any]

_WHOLE = re.compile(rf"-?(0|[1-9][0-9]{{0,{MAX_DIGITS - 1}}})")
_NUMBER = re.compile(r"-?(0|[1-9][0-9]*)(\.[0-9]+)?([eE][+-]?[0-9]+)?")
_TRUTH = {"true": True, "false": False}


def reader_of(cells: Iterable[str]) -> Read:
    """Find how all cells of a column are read.

    >>> read = reader_of(["7", "", "-12"])
    >>> read("7"), read("")
    (7, None)
    >>> reader_of(["7", "007"])("7")
    '7'
    """
    filled = {cell for cell in cells if cell}
    fitting = (read for fits, read in _KINDS if filled and all(map(fits, filled)))
    read = next(fitting, None)
    return str if read is None else lambda cell: read(cell) if cell else None


def _is_number(cell: str) -> bool:
    return _NUMBER.fullmatch(cell) is not None and math.isfinite(float(cell))


def _number(cell: str) -> float:
    """Read a number of a column with fractions; 12 stays 12."""
    return int(cell) if _WHOLE.fullmatch(cell) else float(cell)


def _truth(cell: str) -> bool:
    return _TRUTH[cell.lower()]


_KINDS: tuple[tuple[Callable[[str], object], Read], ...] = (
    (_WHOLE.fullmatch, int),
    (_is_number, _number),
    (lambda cell: cell.lower() in _TRUTH, _truth),
)
