"""Which examples are nearly those of another split: by rare words, held against what only one of two has."""

import math
import re
import zlib
from collections import Counter
from collections.abc import Iterable
from itertools import pairwise
from typing import NamedTuple

from optimize_eval.findings.rederive.bareness import bare, seen_of
from optimize_eval.findings.rederive.datafiles import DataRow
from optimize_eval.findings.rederive.sameness import ComparedFields, Words, every_so_many, words_of
from optimize_eval.findings.rederive.surroundings import surroundings, without

_NEAR, _NEAR_BESIDE_OTHERS = 0.5, 0.38
_COUNTED, _TRIED, _FRAMED = 1500, 400, 400  # rows of each split
_KEYS, _LOOKED_AT, _COMPARED = 6, 24, 4  # rarest words of a row; rows that have one; those that share most
_LONG = 40  # words
_SIGNS = re.compile(r"\d+(?:[.,:/]\d+)*|(?<![^\W\d_])[-+*/=<>^%&|](?![^\W\d_])|[()\[\]{}]")
_NAMES = re.compile(r"(?<![.!?:\n]\s)(?<![.!?:\n])(?<!^)\b[^\W\d_]+")
_POLAR = """
no not never none nothing nobody without neither nor cannot on off up down before after first last more
less fewer most least larger smaller greater higher lower longer shorter older younger always yes true
false left right above below over under increase decrease
"""


class TextParts(NamedTuple):
    """What of a text is compared."""

    words: list[str]
    signs: list[str]  # numbers and operators
    polar: list[str]
    names: set[str]


class WordCounts:
    """In how many rows words stand."""

    def __init__(self, rows: Iterable[Iterable[str]]) -> None:
        sets = [set(words) for words in rows]
        self.rows, self.of = len(sets), Counter(word for words in sets for word in words)

    def rarest(self, words: Words) -> list[str]:
        most = max(0.02 * self.rows, 12)
        return [word for many, word in sorted((self.of[one], one) for one in {*words}) if many <= most][
            :_KEYS
        ]

    def is_common(self, word: str) -> bool:
        return self.of[word] > 0.2 * self.rows

    def weight(self, word: str) -> float:
        return math.log((self.rows + 1) / (self.of[word] + 0.5))


class NearRows:
    """Rows of a split, to be found by the rarest of their words."""

    def __init__(self, there: list[DataRow], rows: list[DataRow], fields: ComparedFields) -> None:
        self.there, self.fields = there, fields
        counted = [every_so_many(split, _COUNTED) for split in (there, rows)]
        self.counts = WordCounts(fields.words(row) for split in counted for row in split)
        texts = [[fields.texts(row) for row in every_so_many(split, _FRAMED)] for split in counted]
        self.around = {True: surroundings(*texts), False: surroundings(*reversed(texts))}
        self.places: dict[int, list[int]] = {}
        for place, row in enumerate(there):
            for code in {_code(word) for word in self.counts.rarest(self._words(row))}:
                self.places.setdefault(code, []).append(place)

    def nearest(self, row: DataRow, *, is_there: bool = False) -> tuple[int, float] | None:
        """Find the row that is most like this one; for one that is there, another one."""
        words = self._words(row, is_there=is_there)
        found: tuple[int, float] | None = None
        for place in self._sharing(words):
            if not (is_there and self._words(self.there[place]) == words):
                like = self._likeness(self._parts(row, is_there=is_there), self._parts(self.there[place]))
                if like >= _NEAR_BESIDE_OTHERS and (found is None or like > found[1]):
                    found = place, like
        return found and (found[0], round(found[1], 3))

    def tell_something(self, share: float, least: float) -> bool:
        """Return True if rows are near more often than those there are to each other."""
        tried = every_so_many(self.there, _TRIED)
        others = [self.nearest(row, is_there=True) for row in tried]
        near = sum(one is not None and one[1] >= least for one in others)
        rate = near / len(tried) if near > 2 else 0.0  # noqa: PLR2004
        return rate <= 0.005 or share > 2 * rate + 0.02  # noqa: PLR2004

    def _sharing(self, words: Words) -> list[int]:
        shared = Counter(
            place
            for word in self.counts.rarest(words)
            for place in self.places.get(_code(word), ())[:_LOOKED_AT]
        )
        least = 1 if len(set(words)) <= 3 else 3 if len(words) > _LONG else 2  # noqa: PLR2004
        enough = [place for place in shared if shared[place] >= least]
        return sorted(enough, key=lambda place: (-shared[place], place))[:_COMPARED]

    def _texts(self, row: DataRow, *, is_there: bool = True) -> list[str]:
        return [without(text, self.around[is_there]) for text in self.fields.texts(row)]

    def _words(self, row: DataRow, *, is_there: bool = True) -> Words:
        return self.fields.join(self._texts(row, is_there=is_there))

    def _parts(self, row: DataRow, *, is_there: bool = True) -> list[TextParts]:
        return [*map(_take_apart, self._texts(row, is_there=is_there))]

    def _likeness(self, first: list[TextParts], second: list[TextParts]) -> float:
        """Take the least of all fields that say anything."""
        pairs = [(a, b) for a, b in zip(first, second, strict=True) if a.words or b.words]
        return min((self._likeness_of(a, b) for a, b in pairs), default=1.0)

    def _likeness_of(self, a: TextParts, b: TextParts) -> float:
        both = {*a.words} & {*b.words}
        if a.signs != b.signs or a.polar != b.polar or sum(map(str.isalpha, both)) < 3:  # noqa: PLR2004
            return 0.0
        if a.names.difference(b.words) and b.names.difference(a.words):
            return 0.0
        telling = [word for word in both if not self.counts.is_common(word)]
        once = {word for word in telling if a.words.count(word) == b.words.count(word) == 1}
        if [word for word in a.words if word in once] != [word for word in b.words if word in once]:
            return 0.0
        if min(len(a.words), len(b.words)) > _LONG:
            either = [word for word in {*a.words, *b.words} if not self.counts.is_common(word)]
            if either and len(telling) >= 0.85 * len(either):
                return 1.0
        return self._weigh(a.words, b.words, telling)

    def _weigh(self, a: list[str], b: list[str], telling: list[str]) -> float:
        weight, pairs = self.counts.weight, [{*pairwise(words)} for words in (a, b)]
        shared = math.fsum(map(weight, telling)) + self._of_pairs(
            pair for pair in pairs[0] & pairs[1] if not all(map(self.counts.is_common, pair))
        )
        alone = [
            self._of_words({*a} - {*b}) + self._of_pairs(pairs[0] - pairs[1]),
            self._of_words({*b} - {*a}) + self._of_pairs(pairs[1] - pairs[0]),
        ]
        whole = shared + 1.3 * min(alone) + 0.7 * max(alone)
        return shared / whole if whole else 0.0

    def _of_words(self, words: Iterable[str]) -> float:
        return math.fsum(max(1.0, self.counts.weight(word)) for word in words)

    def _of_pairs(self, pairs: Iterable[tuple[str, str]]) -> float:
        return math.fsum(self.counts.weight(word) for pair in pairs for word in pair) / 4


def least_of(likenesses: list[float]) -> float:
    """Say how like is near: beside three that are near anyway, others need less."""
    return _NEAR_BESIDE_OTHERS if sum(like >= _NEAR for like in likenesses) > 2 else _NEAR  # noqa: PLR2004


def _code(word: str) -> int:
    return zlib.crc32(word.encode())


def _take_apart(text: str) -> TextParts:
    text = bare(seen_of(text))
    names = {" ".join(words_of(name)) for name in _NAMES.findall(text) if name.istitle()}
    return TextParts(
        words=words_of(text), signs=_SIGNS.findall(text), polar=sorted(_polar(text)), names=names
    )


def _polar(text: str) -> list[str]:
    plain = text.replace("\N{RIGHT SINGLE QUOTATION MARK}", "'").lower()
    words = ("not" if word.endswith("n't") else word for word in re.findall(r"[a-z]+(?:'[a-z]+)?", plain))
    return [word for word in words if word in _POLAR.split()]
