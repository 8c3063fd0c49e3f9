"""Examples of a split that others hold, too: the same ones, near ones, and ones with another answer there.

Rows of one kind are alike by nature (templates, spam), so near ones count only where a split holds more of
them than its other holds among its own rows. Deterministic: ties go to the earlier line.
"""

from array import array
from bisect import bisect_left
from collections.abc import Iterator, Mapping, Sequence
from hashlib import blake2b
from typing import Literal
from zlib import crc32

from optimize_eval.frozen import frozen
from optimize_eval.rows.content import Content, Flat, find_content, flatten
from optimize_eval.rows.example import Example
from optimize_eval.rows.likeness import (
    NEAR,
    Text,
    count_words,
    frame_of,
    likeness,
    pieces_of,
    take_apart,
)

How = Literal["bytes", "normalised", "near", "contradiction"]

_SAMPLED = 1_000  # rows in which content is looked for
_COUNTED = 3_000  # rows whose words are counted
_LOOKED_AT, _COMPARED = 24, 4  # rows with a word; rows of those
_TRIED = 400  # rows of train that are looked up among the others
_OF_ITSELF = 0.005  # a share of near rows that says nothing of the data
_PAIRS_THAT_COUNT = 3
_MANY_TIMES, _MORE = 2, 0.02  # val's share has to be above so much of train's own
_FEW_WORDS = 3
_LONG_FIELD = 40  # words, of which more have to be shared
_PLACE = (1 << 32) - 1


@frozen
class Leak:
    """A row that another split holds, too."""

    line: int
    like: int  # the line there
    how: How
    similarity: float = 1.0


def find_leaks(there: Sequence[Example], rows: Sequence[Example]) -> list[Leak]:
    """Find the rows that are among those `there`, too."""
    if not there or not rows:
        return []
    content = find_content(_sampled(there), _sampled(rows))
    equal = dict(_equal(there, rows, content))
    if content.is_text and not content.is_code:
        left = [place for place in range(len(rows)) if place not in equal]
        equal |= _near(there, rows, content, left)
    return [equal[place] for place in sorted(equal)]


def _equal(there: Sequence[Example], rows: Sequence[Example], content: Content) -> Iterator[tuple[int, Leak]]:
    """Find rows of the same bytes or of the same content; another answer to it is a contradiction."""
    of_bytes: dict[bytes, int] = {}
    of_content: dict[bytes, list[int]] = {}
    for place, example in enumerate(there):
        of_bytes.setdefault(example.raw, place)
        if digest := _digest(content, example):
            of_content.setdefault(digest, []).append(place)
    for place, example in enumerate(rows):
        if (same := of_bytes.get(example.raw)) is not None:
            yield place, Leak(line=example.line, like=there[same].line, how="bytes")
        elif (digest := _digest(content, example)) and (alike := of_content.get(digest)):
            yield place, _same_content(example, [there[one] for one in alike], content)


def _same_content(example: Example, alike: Sequence[Example], content: Content) -> Leak:
    answer = content.answer(flatten(example.value))
    agreeing = [other for other in alike if content.answer(flatten(other.value)) == answer]
    like = (agreeing or alike)[0].line
    return Leak(line=example.line, like=like, how="normalised" if agreeing else "contradiction")


def _digest(content: Content, example: Example) -> bytes:
    """Stand for an example's content, which would be long; empty where it has none."""
    text = content.text(flatten(example.value))
    return blake2b(text.encode("utf-8", "surrogatepass"), digest_size=16).digest() if text else b""


def _near(
    there: Sequence[Example], rows: Sequence[Example], content: Content, left: Sequence[int]
) -> Mapping[int, Leak]:
    search = _NearSearch(there, rows, content)
    found = {}
    for place in left:
        if best := search.best(rows[place]):
            like, similarity = best
            found[place] = Leak(
                line=rows[place].line, like=there[like].line, how="near", similarity=round(similarity, 3)
            )
    return found if found and search.exceeds(len(found) / len(rows)) else {}


class _NearSearch:
    """Rows by their rarest words, and what is compared of them."""

    def __init__(self, there: Sequence[Example], rows: Sequence[Example], content: Content) -> None:
        self._there, self._content = there, content
        sampled = _counted(there), _counted(rows)
        self._vocabulary = count_words([self._words(one) for examples in sampled for one in examples])
        pieces = [count_words([*map(self._pieces, examples)]) for examples in sampled]
        self._frames = frame_of(*pieces), frame_of(*reversed(pieces))
        entries = array("Q")
        for place, example in enumerate(there):
            entries.extend(crc32(word.encode()) << 32 | place for word in self._rarest(example))
        self._index = array("Q", sorted(entries))

    def best(self, example: Example, *, is_there: bool = False) -> tuple[int, float] | None:
        """Find the row that is most like this one, if one is near; one that is there is no copy of itself."""
        parts, best = None, None
        own = _digest(self._content, example) if is_there else b""
        for place in self._candidates(example):
            other = self._there[place]
            if is_there and _digest(self._content, other) == own:
                continue
            parts = parts or self._parts(example, self._frames[0 if is_there else 1])
            like = self._likeness(parts, self._parts(other, self._frames[0]))
            if like >= NEAR and (best is None or like > best[1]):
                best = place, like
        return best

    def exceeds(self, share: float) -> bool:
        """Return True if a share of near rows is more than rows of this kind have among themselves."""
        tried = self._there[:: _step(len(self._there), _TRIED)]
        near = sum(self.best(one, is_there=True) is not None for one in tried)
        rate = near / len(tried) if near >= _PAIRS_THAT_COUNT else 0.0
        return rate <= _OF_ITSELF or share > _MANY_TIMES * rate + _MORE

    def _rarest(self, example: Example) -> list[str]:
        return self._vocabulary.rarest({*self._words(example)})

    def _candidates(self, example: Example) -> list[int]:
        """List rows that share enough of the rarest words, those that share most first."""
        words = self._words(example)
        shared: dict[int, int] = {}
        for word in self._vocabulary.rarest({*words}):
            code = crc32(word.encode())
            at = bisect_left(self._index, code << 32)
            for entry in self._index[at : at + _LOOKED_AT]:
                if entry >> 32 != code:
                    break
                shared[entry & _PLACE] = shared.get(entry & _PLACE, 0) + 1
        least = 1 if len({*words}) <= _FEW_WORDS else 3 if len(words) > _LONG_FIELD else 2
        enough = [place for place, many in shared.items() if many >= least]
        return sorted(enough, key=lambda place: (-shared[place], place))[:_COMPARED]

    def _words(self, example: Example) -> list[str]:
        return self._content.text(flatten(example.value)).split()

    def _pieces(self, example: Example) -> set[str]:
        flat = flatten(example.value)
        return {piece for path in self._content.paths for piece in pieces_of(flat.get(path, ""))}

    def _parts(self, example: Example, frame: frozenset[str]) -> tuple[Text, ...]:
        flat = flatten(example.value)
        return tuple(take_apart(flat.get(path, ""), frame) for path in self._content.paths)

    def _likeness(self, first: Sequence[Text], second: Sequence[Text]) -> float:
        """Take the least of all fields: a shared passage with another question is another example."""
        found = 1.0
        for one, other in zip(first, second, strict=True):
            if one.words or other.words:
                found = min(found, likeness(one, other, self._vocabulary))
            if found < NEAR:
                break
        return found


def _sampled(examples: Sequence[Example]) -> list[Flat]:
    return [flatten(example.value) for example in examples[:: _step(len(examples), _SAMPLED)]]


def _counted(examples: Sequence[Example]) -> Sequence[Example]:
    return examples[:: _step(len(examples), _COUNTED // 2)]


def _step(many: int, wanted: int) -> int:
    """Say each how manieth is taken, so that about as many as wanted are, from all over."""
    return -(-many // wanted) or 1
