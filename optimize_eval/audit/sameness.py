"""Rows of data files that say the same or nearly, found again by other means than data/leaks."""

import csv
import hashlib
import io
import json
import math
import re
import unicodedata
import zlib
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

_RULE = b"3"  # of what splits have in common; what was found by another one cannot be held against this
_WHOLE, _NUMBER = r"-?(0|[1-9][0-9]*)", r"-?(0|[1-9][0-9]*)(\.[0-9]+)?([eE][+-]?[0-9]+)?"
_TRUTH = {"true": True, "false": False}


class DataRow(NamedTuple):
    """One example: its line or number, its bytes, and what they say."""

    line: int
    raw: bytes
    value: dict[str, Any]


def rows_as_recorded(settings: dict[str, Any]) -> dict[str, list[DataRow]]:
    """Read the files of splits in their order, up to the first that is gone or has other rows by now."""
    paths = settings.get("paths", {}).get("splits", {})
    overlaps = settings.get("overlaps", {})
    fields: list[str] = next((known["left_out"] for known in overlaps.values() if "left_out" in known), [])
    digest = hashlib.sha256(_RULE + "".join(f"{field}\0" for field in fields).encode())
    recorded: dict[str, list[DataRow]] = {}
    for name, known in overlaps.items():
        rows = _rows_of(paths.get(name, ""))
        parts = [overlaps[other] for other in overlaps if name in paths and paths.get(other) == paths[name]]
        if len(parts) > 1:
            rows = _part_of(rows, known, parts)
        digest.update(f"{name} {len(rows)} {[row.line for row in rows]} ".encode())
        for row in rows:
            digest.update(f"{len(row.raw)} ".encode() + row.raw)
        if digest.hexdigest() != known["of"]:
            break
        recorded[name] = rows
    return recorded


def _rows_of(name: str) -> list[DataRow]:
    path = Path(name)
    try:
        return list(_read(path)) if path.is_file() else []
    except (OSError, ValueError, LookupError, TypeError, csv.Error):
        return []


def _part_of(rows: list[DataRow], known: dict[str, Any], every: list[dict[str, Any]]) -> list[DataRow]:
    """Give a split its rows of a file that was cut into several, which are all of the file, each once."""
    lines = sorted(line for part in every for line, _ in part.get("values", []))
    if lines != [row.line for row in rows]:
        return rows
    own = {line for line, _ in known.get("values", [])}
    return [row for row in rows if row.line in own]


def _read(path: Path) -> Iterator[DataRow]:
    data = path.read_bytes().removeprefix(b"\xef\xbb\xbf")
    kind = path.suffix.lower()
    if kind in {".csv", ".tsv"}:
        yield from _records(_of_table(data.decode(), "," if kind == ".csv" else "\t"))
    elif kind == ".json" and data.lstrip().startswith(b"["):
        yield from _records(iter(json.loads(data)))
    else:
        for number, line in enumerate(data.split(b"\n"), 1):
            if raw := line.strip().replace(b"\r", b" "):
                yield DataRow(number, raw, json.loads(raw))


def _records(values: Iterator[dict[str, Any]]) -> Iterator[DataRow]:
    for number, value in enumerate(values, 1):
        raw = json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode()
        yield DataRow(number, raw, value)


def _of_table(text: str, delimiter: str) -> Iterator[dict[str, Any]]:
    header, *rows = filter(None, csv.reader(io.StringIO(text, newline=""), delimiter=delimiter))
    kinds = [_kind_of([cell for cell in column if cell]) for column in zip(*rows, strict=True)]
    for row in rows:
        cells = zip(header, kinds, row, strict=True)
        yield {name: kind(cell) if cell or kind is str else None for name, kind, cell in cells}


def _kind_of(cells: list[str]) -> Callable[[str], Any]:
    """Find how the cells of a column are meant; those of one are of one kind."""
    if cells and all(re.fullmatch(_WHOLE, cell) for cell in cells):
        return int
    if cells and all(re.fullmatch(_NUMBER, cell) and math.isfinite(float(cell)) for cell in cells):
        return lambda cell: int(cell) if re.fullmatch(_WHOLE, cell) else float(cell)
    if cells and all(cell.lower() in _TRUTH for cell in cells):
        return lambda cell: _TRUTH[cell.lower()]
    return str


Pair = tuple[str, str]

_MOST = 8  # of them in one split


def surroundings(rows: list[list[str]], others: list[list[str]]) -> list[set[Pair]]:
    """Find pairs of words that many rows have together, and the others hardly have."""
    own, foreign = [_pairs(texts) for texts in rows], _count([_pairs(texts) for texts in others])
    many, fewest = _count(own), max(5, 0.01 * len(rows))
    ratio = 0.1 * len(others) / max(1, len(rows))
    left = [
        {pair for pair in pairs if many[pair] >= fewest and foreign[pair] <= many[pair] * ratio}
        for pairs in own
    ]
    frames: list[set[Pair]] = []
    for _ in range(_MOST):
        counts = _count(left)
        if not counts or max(counts.values()) < fewest:
            break
        first = min(counts, key=lambda pair: (-counts[pair], pair))
        beside = _count([pairs for pairs in left if first in pairs])
        together = {pair for pair in beside if beside[pair] >= 0.8 * counts[first]}
        frames.append(together)
        left = [pairs - together for pairs in left]
    return [pairs for pairs in frames if len(pairs) > 2]  # noqa: PLR2004


def without(text: str, around: list[set[Pair]]) -> str:
    """Give a text without what stands around it."""
    for pairs in around:
        words = ["", *text.split(), ""]
        gone = {index for index, pair in enumerate(pairwise(words)) if pair in pairs}
        if gone:
            kept = [word for index, word in enumerate(words) if not gone & {index - 1, index}]
            text = " ".join(filter(None, kept))
    return text


def _pairs(texts: list[str]) -> set[Pair]:
    return {pair for text in texts for pair in pairwise(["", *text.split(), ""])}


def _count(rows: list[set[Pair]]) -> Counter[Pair]:
    return Counter(pair for pairs in rows for pair in pairs)


_QUOTES = "\N{LEFT SINGLE QUOTATION MARK}\N{RIGHT SINGLE QUOTATION MARK}"
_QUOTES += "\N{LEFT DOUBLE QUOTATION MARK}\N{RIGHT DOUBLE QUOTATION MARK}"
DROPPED_SIGNS = f".,;:!?\"'`{_QUOTES}"
_UNSEEN = (
    *((0xAD, 0xAD), (0x200B, 0x200F), (0x202A, 0x202E)),
    *((0x2060, 0x2069), (0xFE00, 0xFE0F), (0xFEFF, 0xFEFF)),
)
_EDGE = " \t\r\n\N{NO-BREAK SPACE}" + DROPPED_SIGNS
_BULLETS = "-*+>\N{BULLET}\N{MIDDLE DOT}\N{EN DASH}\N{EM DASH}"
_LETTER = re.compile(r"[^\W\d_]")
_AROUND = {"**": "**", "__": "__", "~~": "~~", "*": "*", "_": "_", "(": ")", "[": "]", "{": "}"}


def bare(text: str) -> str:
    """Take all layers off, at most eight; a formula and what has fewer than eight letters keep theirs."""
    before = left = seen_of(text).strip(_EDGE)
    for _ in range(8):
        left = _take_off(left).strip(_EDGE)
    is_formula = re.search("[=^]| [+*/] ", left)
    return text if left == before or is_formula or len(_LETTER.findall(left)) < 8 else left  # noqa: PLR2004


def seen_of(text: str) -> str:
    """Leave out signs that nobody sees."""
    return "".join(sign for sign in text if not any(low <= ord(sign) <= high for low, high in _UNSEEN))


def _take_off(text: str) -> str:
    sign, _, rest = _split_once(text)
    is_number = re.fullmatch(r"\(?\d{1,3}[.)]", sign)
    if (is_number or sign in {*_BULLETS} or re.fullmatch("#{1,6}", sign)) and _begins_with_word(rest):
        return rest
    if tag := re.match(r"<([A-Za-z]\w*)(?:\s[^<>]*)?>", text):
        return _inside(text, tag[0], f"</{tag[1]}>", f"<{tag[1]}")
    first = next((sign for sign in _AROUND if text.startswith(sign)), None)
    return _inside(text, first, _AROUND[first], first) if first else text


def _split_once(text: str) -> tuple[str, str, str]:
    blank = re.search(r"\s+", text)
    return (text[: blank.start()], blank[0], text[blank.end() :]) if blank else (text, "", "")


def _begins_with_word(text: str) -> bool:
    word = re.sub(r"\A[\W_]+", "", text)
    if _LETTER.match(word) and word[1:2].isspace():
        word = word[2:]
    elif word[1:2] in {"'", "\N{RIGHT SINGLE QUOTATION MARK}"}:
        word = word[0] + word[2:]
    return len(_LETTER.findall(word[:2])) > 1


def _inside(text: str, first: str, last: str, again: str) -> str:
    """Give what two belonging together are around: the first that opens is the last that closes."""
    if len(text) < len(first + last) or not text.endswith(last):
        return text
    inner = text.removeprefix(first).removesuffix(last)
    opens_before = again in inner.split(last)[0]
    return inner if last not in inner or (opens_before and again != last) else text


Flat = dict[str, str]  # by dotted path
Words = tuple[str, ...]

MARK = "\N{SYMBOL FOR NULL}"  # between two fields

_APART = "id ids uid uuid guid key keys index idx nr no num number line row hash sha sha1 sha256 md5 digest"
_APART += " created updated modified at date time datetime timestamp day month year"
_GOLD = "target targets answer answers gold expected reference references label labels solution"
_DROPPED = re.compile(f"[{DROPPED_SIGNS}]")
_CODE = re.compile(r"(?m)(?<=\n)[ \t]+\S.*$|[;{][ \t]*$|</\w+>")
_SAMPLED = 1000


@dataclass
class ComparedFields:
    """What two splits are compared by."""

    paths: list[str]
    answers: list[str]  # what is expected, which makes a contradiction of an equal example
    is_text: bool
    is_code: bool

    def texts(self, row: DataRow) -> list[str]:
        flat = flat_of(row.value)
        return [flat.get(path, "") for path in self.paths]

    def words(self, row: DataRow) -> Words:
        return self.join(self.texts(row))

    def join(self, texts: list[str]) -> Words:
        """Put the words of fields together; nothing where all are empty."""
        if not any(texts):
            return ()
        marked = [word for text in texts for word in (MARK, *self._split(text))]
        return tuple(marked[1:])

    def answer(self, row: DataRow) -> str:
        flat = flat_of(row.value)
        return MARK.join(" ".join(self._split(flat.get(path, ""))) for path in self.answers)

    def _split(self, text: str) -> list[str]:
        return text.split() if self.is_code else words_of(bare(text))


def words_of(text: str) -> list[str]:
    """Leave out what a copy may change without being another example: case, forms of letters, punctuation."""
    if text.isascii():
        return _DROPPED.sub(" ", text.lower().replace("\0", " ")).split()
    return _DROPPED.sub(" ", unicodedata.normalize("NFKC", seen_of(text)).casefold()).split()


def flat_of(value: object) -> Flat:
    """Write an example as texts by paths; all that one path leads to in lists is one text."""
    flat: dict[str, list[str]] = {}
    left: list[tuple[str, Any]] = [("", value)]
    while left:
        path, inner = left.pop()
        if isinstance(inner, dict):
            pairs = [(f"{path}.{key}" if path else key, part) for key, part in inner.items()]
            left += reversed(pairs)
        elif isinstance(inner, list):
            left += [(f"{path}[]", part) for part in reversed(inner)]
        else:
            text = inner if isinstance(inner, str) else json.dumps(inner)
            flat.setdefault(path, []).append(text)
    return {path: MARK.join(texts) for path, texts in flat.items()}


def compared_fields(first: list[DataRow], second: list[DataRow]) -> ComparedFields:
    """Choose what both have whose texts differ from example to example, else all that tells them apart."""
    flats, others = (
        [flat_of(row.value) for row in every_so_many(rows, _SAMPLED)] for rows in (first, second)
    )
    in_second = set().union(*others)
    paths = [path for path in dict.fromkeys(path for flat in flats for path in flat) if path in in_second]
    own = [path for path in paths if not is_apart(path)]
    texts = [path for path in own if _varies(path, flats)]
    gold = [path for path in own if set(_name_words(path)).intersection(_GOLD.split())]
    short = [path for path in own if texts and path not in texts and "." not in path and "[" not in path]
    answers = gold or short
    asked = [path for path in texts if path not in answers]
    telling = [path for path in own if path not in answers]
    if len({tuple(flat.get(path) for path in telling) for flat in flats}) < 0.8 * len(flats):
        telling = []
    chosen = asked or texts or telling or _all_that_is_not_expected(paths, own, gold, [*flats, *others])
    return ComparedFields(
        paths=chosen,
        answers=[path for path in answers if path not in chosen],
        is_text=bool(texts),
        is_code=_is_code(flats, texts),
    )


def every_so_many(rows: list[DataRow], wanted: int) -> list[DataRow]:
    """Take each how manieth, so that about as many as wanted are taken."""
    return rows[:: max(1, (len(rows) + wanted - 1) // wanted)]


def is_apart(path: str) -> bool:
    """Return True if a field is named as ids, numbers and dates are."""
    return bool(set(_name_words(path)[-1:]).intersection(_APART.split()))


def copies_among(rows: list[DataRow]) -> list[list[int]]:
    """Give the lines of rows whose values are those of an earlier one, each with the line of the first."""
    fields = compared_fields(rows, rows)
    first: dict[tuple[tuple[str, Words], ...], int] = {}
    every = [(row.line, first.setdefault(_values(row, fields), row.line)) for row in rows]
    return [[line, before] for line, before in every if line != before]


def _values(row: DataRow, fields: ComparedFields) -> tuple[tuple[str, Words], ...]:
    flat = flat_of(row.value)
    return tuple(
        (path, tuple(flat[path].split() if fields.is_code else words_of(flat[path])))
        for path in _telling_paths(flat, fields)
    )


def _telling_paths(flat: Flat, fields: ComparedFields) -> list[str]:
    return [path for path in sorted(flat) if not (fields.is_text and is_apart(path))]


def values_among(rows: list[DataRow], without: list[str]) -> list[tuple[int, str]]:
    """Give each row's line with the digest of what it says without blanks: its fields by their paths."""
    if without:
        flats = [(row, flat_of(row.value)) for row in rows]
        rows = [
            row._replace(value={path: flat[path] for path in flat if path not in without})
            for row, flat in flats
        ]
    fields = compared_fields(rows, rows)
    values = []
    for row in rows:
        flat = flat_of(row.value)
        squeezed = {path: "".join(words_of(flat[path])) for path in _telling_paths(flat, fields)}
        written = "".join(f"{path}{MARK}{text}\0" for path, text in squeezed.items())
        digest = hashlib.blake2b(written.encode("utf-8", "surrogatepass"), digest_size=8)
        values.append((row.line, digest.hexdigest()))
    return values


def _name_words(path: str) -> list[str]:
    last = path.rstrip("[]").split(".")[-1]
    return [word.lower() for word in re.findall(r"[A-Z]?[a-z]+|[A-Z]+|\d+", last)]


def _varies(path: str, flats: list[Flat]) -> bool:
    texts = [flat[path] for flat in flats if path in flat]
    phrases = [text for text in texts if len(text.split()) > 1]
    return 2 * len(phrases) >= len(texts) and 5 * len(set(texts)) >= len(texts)


def _all_that_is_not_expected(
    paths: list[str], own: list[str], gold: list[str], flats: list[Flat]
) -> list[str]:
    has_more = any(flat.keys() - set(gold) for flat in flats)
    return [path for path in paths if path not in gold] if set(own) <= set(gold) and has_more else paths


def _is_code(flats: list[Flat], texts: list[str]) -> bool:
    rows = [[flat[path] for path in texts if path in flat] for flat in flats]
    there = [row for row in rows if row]
    code = [row for row in there if any(_CODE.search(bare(text)) for text in row)]
    return bool(there) and len(code) >= 0.3 * len(there)


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
        return [word for many, word in sorted((self.of[other], other) for other in {*words}) if many <= most][
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
        for index, row in enumerate(there):
            for code in {_code(word) for word in self.counts.rarest(self._words(row))}:
                self.places.setdefault(code, []).append(index)

    def nearest(self, row: DataRow, *, is_there: bool = False) -> tuple[int, float] | None:
        """Find the row that is most like this one; for one that is there, another one."""
        words = self._words(row, is_there=is_there)
        nearest: tuple[int, float] | None = None
        for index in self._sharing(words):
            if not (is_there and self._words(self.there[index]) == words):
                like = self._likeness(self._parts(row, is_there=is_there), self._parts(self.there[index]))
                if like >= _NEAR_BESIDE_OTHERS and (nearest is None or like > nearest[1]):
                    nearest = index, like
        return nearest and (nearest[0], round(nearest[1], 3))

    def tell_something(self, share: float, least: float) -> bool:
        """Return True if rows are near more often than those there are to each other."""
        tried = every_so_many(self.there, _TRIED)
        others = [self.nearest(row, is_there=True) for row in tried]
        near = sum(like is not None and like[1] >= least for like in others)
        rate = near / len(tried) if near > 2 else 0.0  # noqa: PLR2004
        return rate <= 0.005 or share > 2 * rate + 0.02  # noqa: PLR2004

    def _sharing(self, words: Words) -> list[int]:
        shared = Counter(
            index
            for word in self.counts.rarest(words)
            for index in self.places.get(_code(word), ())[:_LOOKED_AT]
        )
        least = 1 if len(set(words)) <= 3 else 3 if len(words) > _LONG else 2  # noqa: PLR2004
        enough = [index for index in shared if shared[index] >= least]
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
