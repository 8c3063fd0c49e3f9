"""Which examples say the same: what fields they are compared by, and the words of these."""

import hashlib
import json
import re
import unicodedata
from dataclasses import dataclass
from typing import Any

from optimize_eval.findings.rederive.bareness import DROPPED_SIGNS, bare, seen_of
from optimize_eval.findings.rederive.datafiles import DataRow

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


def flat_of(value: Any) -> Flat:
    """Write an example as texts by paths; all that one path leads to in lists is one text."""
    found: dict[str, list[str]] = {}
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
            found.setdefault(path, []).append(text)
    return {path: MARK.join(texts) for path, texts in found.items()}


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
        for path in _said(flat, fields)
    )


def _said(flat: Flat, fields: ComparedFields) -> list[str]:
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
    told = []
    for row in rows:
        flat = flat_of(row.value)
        squeezed = {path: "".join(words_of(flat[path])) for path in _said(flat, fields)}
        written = "".join(f"{path}{MARK}{text}\0" for path, text in squeezed.items())
        digest = hashlib.blake2b(written.encode("utf-8", "surrogatepass"), digest_size=8)
        told.append((row.line, digest.hexdigest()))
    return told


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
