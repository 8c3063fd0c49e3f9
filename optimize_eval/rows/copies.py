"""What rows of one split say, by values, whatever their keys' order or blanks; and which say the same.

Ids and dates tell rows apart only where there is no text that does. What is expected has to be the same, too.
"""

from collections.abc import Sequence
from hashlib import blake2b

from optimize_eval.rows.content import MARK, Flat, find_content, flatten, is_apart, normalise
from optimize_eval.rows.example import Example

_SAMPLED = 1_000
_DIGEST = 8  # bytes


def find_copies(rows: Sequence[Example]) -> dict[int, int]:
    """Give the lines of rows that say the same as an earlier one, each with the line of the first."""
    return copies_among(rows, values_of(rows))


def copies_among(rows: Sequence[Example], values: Sequence[str]) -> dict[int, int]:
    """Give them by what is known of the rows' values."""
    of_values: dict[str, int] = {}
    firsts = {row.line: of_values.setdefault(one, row.line) for row, one in zip(rows, values, strict=True)}
    return {line: first for line, first in firsts.items() if line != first}


def values_of(rows: Sequence[Example]) -> list[str]:
    """Digest what rows say: two that say the same have the same digest."""
    sample = [flatten(row.value) for row in rows[:: -(-len(rows) // _SAMPLED) or 1]]
    content = find_content(sample, sample)
    return [_digest(flatten(row.value), is_text=content.is_text, is_code=content.is_code) for row in rows]


def _digest(flat: Flat, *, is_text: bool, is_code: bool) -> str:
    """Stand for all values of a row, in the order of their paths."""
    parts = []
    for path in sorted(flat):
        if not (is_text and is_apart(path)):
            text = flat[path]
            parts += [path, " ".join(text.split()) if is_code else normalise(text)]
    return blake2b(MARK.join(parts).encode("utf-8", "surrogatepass"), digest_size=_DIGEST).hexdigest()
