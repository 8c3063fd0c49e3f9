"""Examples of a split that others hold, too: the same ones, near ones, ones inside a prompt or frame.

How like two rows are is said in likeness. All lines of the files are looked at, whatever part of them a run
takes: a run that grows decides as it did. Deterministic: ties go to the earlier line.

A frame is a text of neighbouring words that many rows share, so what it stands around is compared without it.
Rows of one kind are alike by nature (templates, spam): near ones count only where a split holds more of them
than its other holds among its own rows, and only few go together, for near ones would chain all into one.
"""

import hashlib
from array import array
from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from hashlib import blake2b
from itertools import chain
from typing import Any, Literal
from zlib import crc32

from optimize_eval.base.documents import JsonDict, JsonMapping
from optimize_eval.base.frozen import frozen
from optimize_eval.data.example import Example
from optimize_eval.data.likeness import (
    NEAR,
    NEAR_BESIDE_OTHERS,
    Content,
    Flat,
    Text,
    count_words,
    find_content,
    find_copies,
    flatten,
    likeness,
    take_apart,
    values_and_copies,
)

Overlaps = Mapping[
    str, JsonMapping
]  # by split: "of", "leaks", "copies", "values" and the fields left out of these, as run.json has them

LEFT_OUT = "left_out"

_RULE = b"3"  # another one finds other rows


def overlaps_of(
    splits: Mapping[str, Sequence[Example]], known: JsonMapping, candidates: Iterable[str] = ()
) -> Overlaps:
    """Find them, or take over what is `known` of the same lines; splits come in their order.

    Fields that are or were `candidates` are no part of what a row says.
    """
    without = sorted({*candidates}.union(*(overlap.get(LEFT_OUT, ()) for overlap in known.values())))
    seen: dict[str, Sequence[Example]] = {}
    overlaps: dict[str, JsonMapping] = {}
    digest = hashlib.sha256(_RULE + "".join(f"{field}\0" for field in without).encode())
    for name, rows in splits.items():
        _add(digest, name, rows)
        of = digest.hexdigest()
        is_known = name in known and known[name].get("of") == of and "values" in known[name]
        overlaps[name] = known[name] if is_known else {"of": of, **_overlap(seen, rows, without)}
        seen[name] = rows
    return overlaps


def _add(digest: Any, name: str, rows: Sequence[Example]) -> None:
    digest.update(f"{name} {len(rows)} {[row.line for row in rows]} ".encode())
    for row in rows:
        digest.update(b"%d " % len(row.raw))
        digest.update(row.raw)


def _overlap(
    seen: Mapping[str, Sequence[Example]], rows: Sequence[Example], without: Sequence[str]
) -> JsonDict:
    leaks, (values, copies) = sorted(_leaks(seen, rows)), values_and_copies(rows, without)
    return {
        "leaks": [list(row) for row in leaks],
        "copies": [[*pair] for pair in copies.items()],
        "values": [[row.line, value] for row, value in zip(rows, values, strict=True)],
        **({LEFT_OUT: [*without]} if without else {}),
    }


def _leaks(
    seen: Mapping[str, Sequence[Example]], rows: Sequence[Example]
) -> Iterator[tuple[int, str, int, str, float]]:
    """List each row with the first split that holds it."""
    left = rows
    for name, there in seen.items():
        leaks = find_leaks(there, left)
        yield from ((leak.line, name, leak.like, leak.how, leak.similarity) for leak in leaks)
        lines = {leak.line for leak in leaks}
        left = [row for row in left if row.line not in lines]


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


How = Literal["bytes", "normalised", "near", "contradiction"]

_SAMPLED = 1_000  # rows in which content is looked for
_COUNTED = 3_000  # rows whose words are counted
_FRAMED = 400  # rows of each split in which frames are looked for
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
    content = find_content(_flatten_sample(there), _flatten_sample(rows))
    near = _NearSearch(there, rows, content) if content.is_text and not content.is_code else None
    known = _Known(there, content, near)
    equal, alike = dict[int, Leak](), dict[int, Leak]()
    for index, example in enumerate(rows):
        if same := known.same_bytes(example):
            equal[index] = same
            continue
        words = content.words(fields := content.fields(example.value))
        if same := known.same_content(example, words):
            equal[index] = same
        elif near and (best := near.best(fields, words)):
            like = there[best[0]].line
            alike[index] = Leak(line=example.line, like=like, how="near", similarity=round(best[1], 3))
    if near and alike:
        least = near.least(alike.values())
        alike = {index: leak for index, leak in alike.items() if leak.similarity >= least}
        if near.exceeds(len(alike) / len(rows), least):
            equal |= alike
    return [equal[index] for index in sorted(equal)]


def equal_lines(rows: Sequence[Example]) -> Iterator[tuple[int, int]]:
    """Give the lines of rows with that of an earlier one whose content is the same, whatever its answer."""
    content = find_content(*[_flatten_sample(rows)] * 2)
    first: dict[bytes, int] = {}
    for row in rows:
        if words := content.words(content.fields(row.value)):
            line = first.setdefault(_digest(words), row.line)
            if line != row.line:
                yield row.line, line


def near_lines(rows: Sequence[Example]) -> Iterator[tuple[int, int]]:
    """Give the lines of rows with that of another one that is near."""
    content = find_content(*[_flatten_sample(rows)] * 2)
    if not content.is_text or content.is_code:
        return
    near = _NearSearch(rows, rows, content)
    _Known(rows, content, near)
    for row in rows:
        best = near.best_of_others(row)
        if best and best[1] >= NEAR:
            yield row.line, rows[best[0]].line


class _Known:
    """Rows of a split by their bytes and by their content, read once."""

    def __init__(self, there: Sequence[Example], content: Content, near: "_NearSearch | None") -> None:
        self._there, self._content = there, content
        self._of_bytes: dict[bytes, int] = {}
        self._of_content: dict[bytes, list[int]] = {}
        self._answers: dict[bytes, dict[str, int]] = {}
        for index, example in enumerate(there):
            self._of_bytes.setdefault(example.raw, index)
            words = content.words(fields := content.fields(example.value))
            if words:
                self._of_content.setdefault(_digest(words), []).append(index)
            if near:
                near.add(index, fields, words)
        if near:
            near.sort()

    def same_bytes(self, example: Example) -> Leak | None:
        index = self._of_bytes.get(example.raw)
        return None if index is None else Leak(line=example.line, like=self._there[index].line, how="bytes")

    def same_content(self, example: Example, words: Sequence[str]) -> Leak | None:
        """Find a row of the same content; another answer to it is a contradiction."""
        digest = _digest(words) if words else b""
        places = self._of_content.get(digest)
        if not places:
            return None
        if digest not in self._answers:
            answers = {self._answer(self._there[index]): index for index in reversed(places)}
            self._answers[digest] = answers
        index = self._answers[digest].get(self._answer(example))
        like = self._there[places[0] if index is None else index].line
        return Leak(line=example.line, like=like, how="contradiction" if index is None else "normalised")

    def _answer(self, example: Example) -> str:
        return self._content.answer(flatten(example.value))


def _digest(words: Sequence[str]) -> bytes:
    """Stand for an example's content, which would be long."""
    return blake2b(" ".join(words).encode("utf-8", "surrogatepass"), digest_size=16).digest()


class _NearSearch:
    """Rows by their rarest words, and what is compared of them."""

    def __init__(self, there: Sequence[Example], rows: Sequence[Example], content: Content) -> None:
        self._there, self._content = there, content
        counted = [
            [content.fields(example.value) for example in _choose_counted(split)] for split in (there, rows)
        ]
        self._vocabulary = count_words(content.words(fields) for split in counted for fields in split)
        self._frames_there, self._frames = frames_of(
            *(each[:: _step(len(each), _FRAMED)] for each in counted)
        )
        self._index = array("Q")  # of each rare word of each row: the word's checksum, and the place
        self._places = array("I")  # the places alone

    def add(self, place: int, fields: Sequence[str], words: Sequence[str]) -> None:
        """Let a row be found by its rarest words."""
        if self._frames_there:
            words = self._content.words(self._frames_there.without(fields))
        self._index.extend([crc32(word.encode()) << 32 | place for word in self._vocabulary.rarest({*words})])

    def sort(self) -> None:
        """End what is added."""
        self._index = array("Q", sorted(self._index))
        self._places = array("I", [entry & _PLACE for entry in self._index])

    def best(
        self, fields: Sequence[str], words: Sequence[str], *, is_there: bool = False
    ) -> tuple[int, float] | None:
        """Find the row that is most like this one, if one is near; one that is there is no copy of itself."""
        parts, best = None, None
        if frames := self._frames_there if is_there else self._frames:
            words = self._content.words(fields := frames.without(fields))
        for index in self._candidates(words):
            others = self._frames_there.without(self._content.fields(self._there[index].value))
            if is_there and self._content.words(others) == words:
                continue
            parts = parts or [take_apart(text) for text in fields]
            like = self._likeness(parts, [take_apart(text) for text in others])
            if like >= NEAR_BESIDE_OTHERS and (best is None or like > best[1]):
                best = index, like
        return best

    def least(self, alike: Iterable[Leak]) -> float:
        """Say how like rows have to be; beside a few that are near anyway, less is enough."""
        near = sum(leak.similarity >= NEAR for leak in alike)
        return NEAR_BESIDE_OTHERS if near >= _PAIRS_THAT_COUNT else NEAR

    def exceeds(self, share: float, least: float) -> bool:
        """Return True if a share of near rows is more than rows of this kind have among themselves."""
        tried = self._there[:: _step(len(self._there), _TRIED)]
        near = sum(self._is_near_another(example, least) for example in tried)
        rate = near / len(tried) if near >= _PAIRS_THAT_COUNT else 0.0
        return rate <= _OF_ITSELF or share > _MANY_TIMES * rate + _MORE

    def _is_near_another(self, example: Example, least: float) -> bool:
        best = self.best_of_others(example)
        return best is not None and round(best[1], 3) >= least

    def best_of_others(self, example: Example) -> tuple[int, float] | None:
        """Find the row that is most like one of those there, but no copy of it."""
        fields = self._content.fields(example.value)
        return self.best(fields, self._content.words(fields), is_there=True)

    def _candidates(self, words: Sequence[str]) -> list[int]:
        """List rows that share enough of the rarest words, those that share most first."""
        different = {*words}
        rows: list[int] = []
        for word in self._vocabulary.rarest(different):
            code = crc32(word.encode()) << 32
            start = bisect_left(self._index, code)
            end = bisect_right(self._index, code | _PLACE, start, min(start + _LOOKED_AT, len(self._index)))
            rows += self._places[start:end]
        least = 1 if len(different) <= _FEW_WORDS else 3 if len(words) > _LONG_FIELD else 2
        shared = Counter(rows)
        if len(rows) - len(shared) < least - 1:
            return []
        enough = [index for index, many in shared.items() if many >= least]
        return sorted(enough, key=lambda place: (-shared[place], place))[:_COMPARED]

    def _likeness(self, first: Sequence[Text], second: Sequence[Text]) -> float:
        """Take the least of all fields: a shared passage with another question is another example."""
        least = 1.0
        for text, other in zip(first, second, strict=True):
            if text.words or other.words:
                least = min(least, likeness(text, other, self._vocabulary))
            if least < NEAR_BESIDE_OTHERS:
                break
        return least


def _flatten_sample(examples: Sequence[Example]) -> list[Flat]:
    return [flatten(example.value) for example in examples[:: _step(len(examples), _SAMPLED)]]


def _choose_counted(examples: Sequence[Example]) -> Sequence[Example]:
    return examples[:: _step(len(examples), _COUNTED // 2)]


def _step(many: int, wanted: int) -> int:
    """Say each how manieth is taken, so that about as many as wanted are, from all over."""
    return -(-many // wanted) or 1


_MOST_NEAR = 10


def find_together(rows: Sequence[Example]) -> list[int]:
    """Name for each row the group that it is in, by the line of one of its rows."""
    groups = _Groups(rows)
    for line, other in chain(find_copies(rows).items(), equal_lines(rows)):
        groups.join(line, other)
    for line, other in near_lines(rows):
        groups.join(line, other, most=_MOST_NEAR)
    return [groups.of[row.line] for row in rows]


class _Groups:
    def __init__(self, rows: Sequence[Example]) -> None:
        self.of = {row.line: row.line for row in rows}
        self._rows = {row.line: [row.line] for row in rows}

    def join(self, line: int, other: int, *, most: float = float("inf")) -> None:
        """Put the groups of two rows together, unless these get too many."""
        own, another = self.of[line], self.of[other]
        if own == another or len(self._rows[own]) + len(self._rows[another]) > most:
            return
        kept, moved = sorted((own, another), key=lambda group: -len(self._rows[group]))
        lines = self._rows.pop(moved)
        self._rows[kept] += lines
        self.of.update(dict.fromkeys(lines, kept))
