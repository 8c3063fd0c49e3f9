"""How like rows are: which of their fields are content, which rows are the same, and which are near.

Two examples are the same where their content and what is expected are, after what a copy may change without
becoming another question: case, blanks, punctuation, forms of a letter, the order of keys, what stands around
the whole. Formulas keep their signs. Ids and dates tell rows apart only where there is not a text that does.

For nearness words that many rows have say nothing, so templates cost nothing and match nothing. Other
numbers, operators, names, "not" or an order turned round make another question of it.
"""

import math
import re
import unicodedata
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from hashlib import blake2b
from itertools import repeat
from typing import NamedTuple, cast

from optimize_eval.base import strict_json
from optimize_eval.base.documents import JsonMapping
from optimize_eval.base.frozen import frozen
from optimize_eval.data.example import Example

DROPPED = ".,;:!?\"'`\N{LEFT SINGLE QUOTATION MARK}\N{RIGHT SINGLE QUOTATION MARK}"
DROPPED += "\N{LEFT DOUBLE QUOTATION MARK}\N{RIGHT DOUBLE QUOTATION MARK}"

_UNSEEN = re.compile("[\u00ad\u200b-\u200f\u202a-\u202e\u2060-\u2069\ufe00-\ufe0f\ufeff]+")
_EDGE = f" \t\r\n\N{NO-BREAK SPACE}{DROPPED}"
_ITEM = re.compile(
    r"(?:[-*+>\u2022\u00b7\u2013\u2014]|\#{1,6}|\(?\d{1,3}[.)])\s++"
    r"(?=[\W_]*+[^\W\d_](?:['\u2019]?[^\W\d_]|\s[^\W\d_]{2}))"
)
_TAG = re.compile(r"<([A-Za-z]\w*)(?:\s[^<>]*)?>")
_EMPHASES = "**", "__", "~~", "*", "_"
_BRACKETS = {"(": ")", "[": "]", "{": "}"}
_OF_FORMULAS = "=", "^", " + ", " * ", " / "
_ENOUGH_LETTERS = re.compile(r"(?:[\W\d_]*[^\W\d_]){8}")
_DEEPEST = 8  # layers that are taken off


def strip_decoration(text: str) -> str:
    """Give a text without what stands around the whole of it."""
    if text[:1].isalpha():
        return text
    whole = inner = visible(text).strip(_EDGE)
    for _ in range(_DEEPEST):
        less = _without_layer(inner).strip(_EDGE)
        if less == inner:
            break
        inner = less
    is_formula = any(sign in inner for sign in _OF_FORMULAS)
    return text if inner == whole or is_formula or not _ENOUGH_LETTERS.match(inner) else inner


def visible(text: str) -> str:
    """Take away what nobody sees: breaks and joins without width, soft hyphens, choices of a form."""
    return text if text.isascii() else _UNSEEN.sub("", text)


def _without_layer(text: str) -> str:
    if item := _ITEM.match(text):
        return text[item.end() :]
    if tag := _TAG.match(text):
        return _between(text, tag[0], f"</{tag[1]}>", f"<{tag[1]}")
    for sign in _EMPHASES:
        if text.startswith(sign):
            return _between(text, sign, sign, sign)
    bracket = text[:1]
    return _between(text, bracket, _BRACKETS[bracket], bracket) if bracket in _BRACKETS else text


def _between(text: str, first: str, last: str, again: str) -> str:
    """Give what is between the two where they belong together: nothing inside closes what it did not open."""
    inner = text[len(first) : -len(last)]
    if not text.endswith(last) or len(text) < len(first) + len(last):
        return text
    closed = inner.find(last)
    return inner if closed < 0 or 0 <= inner.find(again) < closed else text


Flat = Mapping[str, str]  # dotted path → text

MARK = "\N{SYMBOL FOR NULL}"  # between fields: no blank, or "< ( {" + "} )" would equal "< ( { }" + ")"

_LEAST_WITH_BLANKS, _LEAST_DISTINCT, _LEAST_CODE, _LEAST_TELLING = 0.5, 0.2, 0.3, 0.8
_KEY_WORDS = re.compile(r"[A-Z]?[a-z]+|[A-Z]+|\d+")
_NO_CONTENT = frozenset(
    """
    id ids uid uuid guid key keys index idx nr no num number line row hash sha sha1 sha256 md5 digest created
    updated modified at date time datetime timestamp day month year
    """.split()  # noqa: SIM905  words, as they are read
)
_GOLD = frozenset(
    """
    target targets answer answers gold expected reference references label labels solution
    """.split()  # noqa: SIM905  words, as they are read
)
_PLAIN = str.maketrans(
    {**{chr(n): chr(n).lower() for n in range(128)}, **dict.fromkeys(DROPPED, " "), "\0": " "}
)
_BLANKS = str.maketrans(dict.fromkeys(DROPPED, " "))
_CODE = re.compile(r"(?m)(?<=\n)[ \t]+\S.*$|[;{][ \t]*$|</\w+>")


@frozen
class Content:
    """Which fields two splits have in common that say what an example is about."""

    paths: tuple[str, ...]  # all of them have to be the same
    answers: tuple[str, ...]  # what is expected: two that differ are a contradiction
    is_text: bool  # else these are numbers, names and labels, of which only equality tells
    is_code: bool
    is_plain: bool  # fields of the example itself: none is inside of another, or a list

    def fields(self, value: JsonMapping) -> list[str]:
        """Give the texts that are compared; what an example lacks is empty."""
        texts = [value.get(path) for path in self.paths]
        if self.is_plain and "" not in value and all(type(text) is str for text in texts):
            return cast("list[str]", texts)
        flat = flatten(value)
        return [flat.get(path, "") for path in self.paths]

    def words(self, fields: Sequence[str]) -> list[str]:
        """Give what two equal examples have in common, by words; empty where an example has nothing of it."""
        if not any(fields):
            return []
        words = self._words(fields[0])
        for text in fields[1:]:
            words += [MARK, *self._words(text)]
        return words

    def answer(self, flat: Flat) -> str:
        """Give what is expected, as it is compared."""
        return MARK.join(" ".join(self._words(flat.get(path, ""))) for path in self.answers)

    def _words(self, text: str) -> list[str]:
        return text.split() if self.is_code else split_words(strip_decoration(text))


def find_content(first: Sequence[Flat], second: Sequence[Flat]) -> Content:
    """Choose the fields that both splits have and whose texts differ from example to example."""
    there = {path for flat in second for path in flat}
    paths = {path: None for flat in first for path in flat if path in there}
    own = [path for path in paths if not is_apart(path)]
    texts = [path for path in own if _is_content(path, first)]
    gold = tuple(path for path in own if _GOLD.intersection(_words_of(path)))
    answers = gold or (_labels(own, texts) if texts else ())
    asked = [path for path in texts if path not in answers]
    others = [path for path in own if path not in answers]
    compared = asked or texts or _telling(others, first) or _all(paths, own, gold, first, second)
    return Content(
        paths=tuple(compared),
        answers=tuple(path for path in answers if path not in compared),
        is_text=bool(texts),
        is_code=_is_code(first, texts),
        is_plain=not any({".", "["} & {*path} for path in compared),
    )


def flatten(value: JsonMapping) -> Flat:
    """Write an example as texts by dotted paths; what stands in lists stands together."""
    by_path: dict[str, list[str]] = {}
    _flatten(value, "", by_path)
    return {path: texts[0] if len(texts) == 1 else MARK.join(texts) for path, texts in by_path.items()}


def normalise(text: str) -> str:
    """Take away what a copy may change without becoming another question."""
    return " ".join(split_words(text))


def split_words(text: str) -> list[str]:
    """Give the words of a text without what a copy may change."""
    if text.isascii():
        return text.translate(_PLAIN).split()
    return unicodedata.normalize("NFKC", visible(text)).casefold().translate(_BLANKS).split()


def _flatten(value: object, path: str, found: dict[str, list[str]]) -> None:
    if isinstance(value, str):
        found.setdefault(path, []).append(value)
    elif isinstance(value, Mapping):
        for key, inner in value.items():
            _flatten(inner, f"{path}.{key}" if path else key, found)
    elif isinstance(value, list):
        for inner in value:
            _flatten(inner, f"{path}[]", found)
    else:
        found.setdefault(path, []).append(strict_json.dumps(value).decode())


def _words_of(path: str) -> list[str]:
    """Give the words of a field's own name: createdAt, created_at and created-at are the same two."""
    return [word.lower() for word in _KEY_WORDS.findall(path.rstrip("[]").rpartition(".")[2])]


def is_apart(path: str) -> bool:
    return any(word in _NO_CONTENT for word in _words_of(path)[-1:])


def _is_content(path: str, known: Sequence[Flat]) -> bool:
    values = [flat[path] for flat in known if path in flat]
    with_blanks = sum(len(text.split(None, 1)) > 1 for text in values)
    is_long = with_blanks >= _LEAST_WITH_BLANKS * len(values)
    return is_long and len({*values}) >= _LEAST_DISTINCT * len(values)


def _telling(paths: Sequence[str], known: Sequence[Flat]) -> Sequence[str]:
    """Give fields that tell examples apart; where many agree in them, ids are what examples are known by."""
    different = {tuple(flat.get(path) for path in paths) for flat in known}
    return paths if len(different) >= _LEAST_TELLING * len(known) else ()


def _all(
    paths: Iterable[str], own: Sequence[str], gold: Sequence[str], *splits: Sequence[Flat]
) -> Sequence[str]:
    """Compare by ids, too; by what is expected alone only where examples are nothing else."""
    if set(own).issubset(gold) and any(set(flat) - set(gold) for known in splits for flat in known):
        return [path for path in paths if path not in gold]
    return [*paths]


def _labels(paths: Sequence[str], texts: Sequence[str]) -> tuple[str, ...]:
    """Take short fields of the example itself for its answer where none is called so."""
    return tuple(path for path in paths if path not in texts and not {".", "["} & {*path})


def _is_code(known: Sequence[Flat], paths: Sequence[str]) -> bool:
    rows = [flat for flat in known if any(path in flat for path in paths)]
    code = sum(any(_CODE.search(strip_decoration(flat.get(path, ""))) for path in paths) for flat in rows)
    return bool(rows) and code >= _LEAST_CODE * len(rows)


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
            digest.update(f"{path}{MARK}".encode("utf-8", "surrogatepass") + _squeeze(flat[path]) + b"\0")
    return digest.hexdigest()


def _squeeze(text: str) -> bytes:
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
    text = strip_decoration(visible(text))
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
        uncommon = [{word for word in text.counted if not known.is_common(word)} for text in (first, second)]
        either = uncommon[0] | uncommon[1]
        if either and len(uncommon[0] & uncommon[1]) / len(either) >= _ALIKE_LONG:
            return 1.0
    return _weigh(first, second, known)


def _in_order(text: Text, rare: set[str]) -> list[str]:
    return [word for word in text.words if word in rare]


def _is_once(word: str, *texts: Text) -> bool:
    return all(text.words.count(word) == 1 for text in texts)


def _weigh(first: Text, second: Text, known: Vocabulary) -> float:
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
