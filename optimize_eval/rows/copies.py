"""What rows of one split say, by values, whatever their keys' order or blanks; and which say the same.

Ids and dates tell rows apart only where there is no text that does. What is expected has to be the same, too.
"""

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Sequence
from hashlib import blake2b

from optimize_eval.rows.content import MARK, Content, Flat, find_content, flatten, is_apart, normalise
from optimize_eval.rows.decoration import DROPPED
from optimize_eval.rows.example import Example

_SAMPLED = 1_000
_DIGEST = 8  # bytes
_LOWER = bytes(range(256)).lower()
_GAPS = bytes(n for n in range(128) if chr(n).isspace() or chr(n) in DROPPED or not n)


def find_copies(rows: Sequence[Example]) -> dict[int, int]:
    """Give the lines of rows that say the same as an earlier one, each with the line of the first."""
    content = _content_of(rows)
    return _copies_among(rows, _values(_flats(rows), content), content)


def values_and_copies(
    rows: Sequence[Example], without: Collection[str] = ()
) -> tuple[list[str], dict[int, int]]:
    """Digest what rows say, two that say the same alike, without some fields; and give the copies."""
    content = _content_of(rows)
    values = _values(_flats(rows, without), _content_of(rows, without) if without else content)
    return values, _copies_among(rows, values, content)


def _content_of(rows: Sequence[Example], without: Collection[str] = ()) -> Content:
    sample = [*_flats(rows[:: -(-len(rows) // _SAMPLED) or 1], without)]
    return find_content(sample, sample)


def _flats(rows: Iterable[Example], without: Collection[str] = ()) -> Iterator[Flat]:
    for row in rows:
        flat = flatten(row.value)
        yield {path: flat[path] for path in flat if path not in without} if without else flat


def _copies_among(rows: Sequence[Example], values: Sequence[str], content: Content) -> dict[int, int]:
    alike = Counter(values)
    firsts: dict[str, int] = {}
    copies: dict[int, int] = {}
    for row, value in zip(rows, values, strict=True):
        if alike[value] > 1:
            first = firsts.setdefault(_exactly(flatten(row.value), content), row.line)
            if first != row.line:
                copies[row.line] = first
    return copies


def _values(flats: Iterable[Flat], content: Content) -> list[str]:
    return [_value(flat, is_text=content.is_text) for flat in flats]


def _value(flat: Flat, *, is_text: bool) -> str:
    """Digest all values of a row, in the order of their paths, without any blank: quick, and nearly exact."""
    digest = blake2b(digest_size=_DIGEST)
    for path in sorted(flat):
        if not (is_text and is_apart(path)):
            digest.update(f"{path}{MARK}".encode("utf-8", "surrogatepass") + _squeezed(flat[path]) + b"\0")
    return digest.hexdigest()


def _squeezed(text: str) -> bytes:
    if text.isascii():
        return text.encode().translate(_LOWER, _GAPS)
    return normalise(text).replace(" ", "").encode("utf-8", "surrogatepass")


def _exactly(flat: Flat, content: Content) -> str:
    """Stand for all values of a row."""
    parts = []
    for path in sorted(flat):
        if not (content.is_text and is_apart(path)):
            text = flat[path]
            parts += [path, " ".join(text.split()) if content.is_code else normalise(text)]
    return MARK.join(parts)
