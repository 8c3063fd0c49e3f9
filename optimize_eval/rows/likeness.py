"""How like two texts are: what they share of rare words, held against what only one of them has.

Words that many rows have say nothing, so templates and long frames around a question cost nothing and match
nothing. Other numbers, operators, names, "not" or an order turned round make another question of it.
"""

import math
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from collections.abc import Set as AbstractSet
from itertools import repeat
from typing import NamedTuple

from optimize_eval.base.frozen import frozen
from optimize_eval.rows.content import normalise, split_words
from optimize_eval.rows.decoration import undecorated, visible

NEAR = 0.5  # from here on texts are near; honest rows that were looked at reached 0.37
NEAR_BESIDE_OTHERS = 0.38  # where some are near anyway
KEYS = 6  # of a row's rarest words are looked up

_LONG = 40  # words
_ALIKE_LONG = 0.85
_COMMON, _FREQUENT = 0.2, 0.02  # shares of rows that have a word
_FEW = 12  # rows: in small data no word is frequent
_LEAST_SHARED = 3  # words: of two that share fewer, only equality tells
_OF_FEWER, _OF_MORE = 1.3, 0.7
_NUMBERS = re.compile(r"\d+(?:[.,:/]\d+)*|(?<![^\W\d_])[-+*/=<>^%&|](?![^\W\d_])|[()\[\]{}]")
_NAMES = re.compile(r"(?<![.!?:\n]\s)(?<![.!?:\n])(?<!^)\b[^\W\d_]+")
_SPOKEN = re.compile(r"[a-z]+(?:'[a-z]+)?")
_POLAR = frozenset(
    """
    no not never none nothing nobody without neither nor cannot on off up down before after first last more
    less fewer most least larger smaller greater higher lower longer shorter older younger always yes true
    false left right above below over under increase decrease
    """.split()  # noqa: SIM905  words, as they are read
)


class Text(NamedTuple):
    """A text taken apart."""

    words: tuple[str, ...]
    counted: frozenset[str]
    signs: tuple[str, ...]  # numbers and operators
    polar: tuple[str, ...]
    names: frozenset[str]


@frozen
class Vocabulary:
    """In how many of the rows that were counted a word stands."""

    rows: int
    counts: Counter[str]

    def rarest(self, words: AbstractSet[str]) -> list[str]:
        """Give the rarest words, none of which many rows have."""
        counts = [*map(self.counts.get, words, repeat(0))]
        most = min([max(self.rows * _FREQUENT, _FEW), *sorted(counts)[KEYS - 1 : KEYS]])
        known = [pair for pair in zip(counts, words, strict=True) if pair[0] <= most]
        return [word for _, word in sorted(known)[:KEYS]]

    def weight(self, word: str) -> float:
        return math.log((self.rows + 1) / (self.counts.get(word, 0) + 0.5))

    def is_common(self, word: str) -> bool:
        return self.counts.get(word, 0) > self.rows * _COMMON


def count_words(rows: Iterable[Iterable[str]]) -> Vocabulary:
    """Count in how many rows each word stands."""
    counts, many = Counter[str](), 0
    for many, words in enumerate(rows, 1):  # noqa: B007  the last one is their number
        counts.update({*words})
    return Vocabulary(rows=many, counts=counts)


def take_apart(text: str) -> Text:
    """Take a text apart."""
    text = undecorated(visible(text))
    words = tuple(split_words(text))
    names = frozenset(normalise(name) for name in _NAMES.findall(text) if name.istitle())
    return Text(
        words, frozenset(words), tuple(_NUMBERS.findall(text)), tuple(sorted(_polar_words(text))), names
    )


def _polar_words(text: str) -> Iterator[str]:
    for word in _SPOKEN.findall(text.replace("\N{RIGHT SINGLE QUOTATION MARK}", "'").lower()):
        if word in _POLAR or word.endswith("n't"):
            yield "not" if word.endswith("n't") else word


def likeness(first: Text, second: Text, known: Vocabulary) -> float:
    """Measure from 0 to 1 how like two texts are; 0 where something makes another question of it."""
    if first.signs != second.signs or first.polar != second.polar:
        return 0.0
    if first.names - second.counted and second.names - first.counted:
        return 0.0
    shared = first.counted & second.counted
    if sum(word.isalpha() for word in shared) < _LEAST_SHARED:
        return 0.0
    rare = {word for word in shared if not known.is_common(word) and _is_once(word, first, second)}
    if _in_order(first, rare) != _in_order(second, rare):
        return 0.0
    if min(len(first.words), len(second.words)) > _LONG:
        uncommon = [{word for word in one.counted if not known.is_common(word)} for one in (first, second)]
        either = uncommon[0] | uncommon[1]
        if either and len(uncommon[0] & uncommon[1]) / len(either) >= _ALIKE_LONG:
            return 1.0
    return _weighed(first, second, known)


def _in_order(text: Text, rare: set[str]) -> list[str]:
    return [word for word in text.words if word in rare]


def _is_once(word: str, *texts: Text) -> bool:
    return all(text.words.count(word) == 1 for text in texts)


def _weighed(first: Text, second: Text, known: Vocabulary) -> float:
    weights = {word: known.weight(word) for word in first.counted | second.counted}
    pairs = _neighbours(first), _neighbours(second)
    common = first.counted & second.counted
    shared = sum(weights[word] for word in sorted(common) if not known.is_common(word))
    shared += _pairs(pairs[0] & pairs[1], weights, known, is_shared=True)
    alone = (
        _alone(first.counted - second.counted, pairs[0] - pairs[1], weights, known),
        _alone(second.counted - first.counted, pairs[1] - pairs[0], weights, known),
    )
    whole = shared + _OF_FEWER * min(alone) + _OF_MORE * max(alone)
    return shared / whole if whole else 0.0


def _neighbours(text: Text) -> frozenset[tuple[str, str]]:
    return frozenset(zip(text.words, text.words[1:], strict=False))


def _alone(
    words: frozenset[str], pairs: frozenset[tuple[str, str]], weights: Mapping[str, float], known: Vocabulary
) -> float:
    own = sum(max(1.0, weights[word]) for word in sorted(words))
    return own + _pairs(pairs, weights, known, is_shared=False)


def _pairs(
    pairs: frozenset[tuple[str, str]], weights: Mapping[str, float], known: Vocabulary, *, is_shared: bool
) -> float:
    """Weigh neighbouring words at a quarter of what they weigh by themselves."""
    return sum(
        (weights[a] + weights[b]) / 4
        for a, b in sorted(pairs)
        if not (is_shared and known.is_common(a) and known.is_common(b))
    )
