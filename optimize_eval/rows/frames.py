"""What was put around the texts of many rows of a split: a prompt, a greeting, which the other has not.

A frame is made of neighbouring words, so the same words inside of what it stands around are left alone.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence

from optimize_eval.base.frozen import frozen

_FEWEST_ROWS, _LEAST_ROWS = 5, 0.01  # that have a frame, and as a share
_MOST_FRAMES = 8
_OF_ITS_ROWS = 0.8  # a share that has each pair of a frame
_FOREIGN = 0.1  # of how frequent a pair is here, at most there
_FEWEST_PAIRS = 3
_EDGE = ""  # stands before the first word and after the last

Pair = tuple[str, str]
Fields = Sequence[str]


@frozen
class Frames:
    """Frames of a split, those of most rows first."""

    pairs: tuple[frozenset[Pair], ...] = ()

    def __bool__(self) -> bool:
        return bool(self.pairs)

    def without(self, fields: Fields) -> Fields:
        """Give an example's texts without the frames around them."""
        for pairs in self.pairs:
            fields = [_without(text, pairs) for text in fields]
        return fields


def frames_of(first: Iterable[Fields], second: Iterable[Fields]) -> tuple[Frames, Frames]:
    """Find for each of two splits what stands around many of its rows, and hardly around any of the other."""
    rows = [*map(_pairs_of, first)], [*map(_pairs_of, second)]
    counts = _count(rows[0]), _count(rows[1])
    return _frames(rows[0], counts, len(rows[1])), _frames(rows[1], counts[::-1], len(rows[0]))


def _frames(own: list[set[Pair]], counts: Sequence[Counter[Pair]], others: int) -> Frames:
    least = max(_FEWEST_ROWS, _LEAST_ROWS * len(own))
    ratio = _FOREIGN * others / (len(own) or 1)
    many_have = (pair for pair, many in counts[0].items() if many >= least)
    foreign = {pair for pair in many_have if counts[1][pair] <= counts[0][pair] * ratio}
    return Frames(pairs=tuple(_split_up([pairs & foreign for pairs in own], least)))


def _split_up(left: list[set[Pair]], least: float) -> Iterator[frozenset[Pair]]:
    """Give pairs that stand together, those of most rows first."""
    for _ in range(_MOST_FRAMES):
        counts = _count(left)
        most = max(counts.values(), default=0)
        if most < least:
            return
        first = min(pair for pair, many in counts.items() if many == most)
        together = _count(pairs for pairs in left if first in pairs)
        frame = frozenset(pair for pair, many in together.items() if many >= _OF_ITS_ROWS * most)
        if len(frame) >= _FEWEST_PAIRS:
            yield frame
        left = [pairs - frame for pairs in left]


def _count(rows: Iterable[set[Pair]]) -> Counter[Pair]:
    counts = Counter[Pair]()
    for pairs in rows:
        counts.update(pairs)
    return counts


def _pairs_of(fields: Fields) -> set[Pair]:
    return {pair for text in fields for pair in _neighbours(text.split())}


def _neighbours(words: Sequence[str]) -> Iterator[Pair]:
    return zip([_EDGE, *words], [*words, _EDGE], strict=True)


def _without(text: str, frame: frozenset[Pair]) -> str:
    """Take away words that stand beside one that they stand beside in the frame."""
    words = text.split()
    framed = [pair in frame for pair in _neighbours(words)]
    if not any(framed):
        return text
    return " ".join(
        word for word, before, after in zip(words, framed, framed[1:], strict=False) if not (before or after)
    )
