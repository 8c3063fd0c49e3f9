"""Rows of one split that say the same as an earlier one: by values, whatever their keys' order or blanks.

Ids and dates tell rows apart only where there is no text that does. What is expected has to be the same, too.
"""

from collections import Counter
from collections.abc import Sequence
from hashlib import blake2b

from optimize_eval.rows.content import MARK, Flat, find_content, flatten, is_apart, normalise
from optimize_eval.rows.example import Example

_SAMPLED = 1_000
_END, _WORDS = 80, 3  # letters, words


def find_copies(rows: Sequence[Example]) -> dict[int, int]:
    """Give the lines of rows that say the same as an earlier one, each with the line of the first."""
    sample = [flatten(row.value) for row in rows[:: -(-len(rows) // _SAMPLED) or 1]]
    content = find_content(sample, sample)
    ends = [_ends(content.fields(row.value)[0]) if content.is_text else () for row in rows]
    alike = Counter(ends)
    of_bytes: dict[bytes, int] = {}
    of_values: dict[bytes, int] = {}
    copies: dict[int, int] = {}
    for row, end in zip(rows, ends, strict=True):
        first = of_bytes.setdefault(row.raw, row.line)
        if alike[end] == 1:
            continue
        if first == row.line:
            values = _values(flatten(row.value), is_text=content.is_text, is_code=content.is_code)
            first = of_values.setdefault(values, row.line)
        else:
            first = copies.get(first, first)
        if first != row.line:
            copies[row.line] = first
    return copies


def _ends(text: str) -> tuple[str, ...]:
    """Give words at both ends of a text, without those at the cuts: who differs there is no copy."""
    if len(text) <= 2 * _END:
        return (normalise(text),)
    first, last = normalise(text[:_END]).split()[:-1], normalise(text[-_END:]).split()[1:]
    return (*first[:_WORDS], MARK, *last[-_WORDS:])


def _values(flat: Flat, *, is_text: bool, is_code: bool) -> bytes:
    """Stand for all values of a row, in the order of their paths."""
    parts = []
    for path in sorted(flat):
        if not (is_text and is_apart(path)):
            text = flat[path]
            parts += [path, " ".join(text.split()) if is_code else normalise(text)]
    return blake2b(MARK.join(parts).encode("utf-8", "surrogatepass"), digest_size=16).digest()
