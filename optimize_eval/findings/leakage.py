"""Examples that are there more than once: leaked from one split to another, or copies in one.

Calls of examples that leaked are made and recorded like all others, so another decision needs no new call.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Protocol

from optimize_eval.base.frozen import frozen
from optimize_eval.findings.wording import count
from optimize_eval.store.command_units import JournalRecord
from optimize_eval.store.layout import Cell, Label, Layout, LeakedRow, Split

RECORDED, PART, KEPT, LEAKED = "recorded", "part", "kept", "leaked"

_MOST_RANGES = 10  # of lines


@frozen
class Like:
    """An example of an earlier split."""

    split: str
    line: int | None


@frozen
class LeakedExample:
    """An example that is there, too."""

    line: int | None
    id: str | None
    like: Like
    how: str  # bytes, normalised, near, contradiction
    similarity: float


@frozen
class Leakage:
    """Those of one split.

    `state` says what follows: they were found and `recorded` only, by a version that knew no more; `part` of
    the split is left out; all are `kept`; or the split is `leaked`, and nothing is said about it.
    """

    state: str
    share: float
    examples: int
    left_out: int
    rows: tuple[LeakedExample, ...]

    @property
    def where(self) -> str:
        """Name the splits that hold them."""
        return " or ".join(dict.fromkeys(row.like.split for row in self.rows))

    @property
    def is_held_out(self) -> bool:
        return self.state in {RECORDED, PART}

    @property
    def lines(self) -> str:
        ranges = [*_ranges([row.line for row in self.rows])]
        return ", ".join(ranges[:_MOST_RANGES]) + ", …" * (len(ranges) > _MOST_RANGES)

    def not_held_out(self, split: str) -> str:
        """Say that a split confirms nothing, and why."""
        sentence = f"{split} is not held out: {self._of_them} also in {self.where}"
        kept = " and count (--leaks keep)" if self.state == KEPT else ""
        return f"{sentence}{kept}, so there is no verdict"

    def in_short(self, split: str) -> str:
        """Say of a verdict what it is not about."""
        are = "example is" if self.left_out == 1 else "examples are"
        return f"{self.left_out:,} {split} {are} also in {self.where} and left out"

    def point(self, split: str) -> str:
        """Say which they are, and what becomes of them."""
        outcome = {
            PART: ": left out of every number",
            LEAKED: f": give other {split} examples, or --leaks keep",
            KEPT: ": they count, as --leaks keep says",
        }[self.state]
        return f"{self._beside(split)} ({self._places}){self._contradictions()}{outcome}"

    def beside(self, split: str) -> str:
        """Say in a plan that some will be left out."""
        return f"{self._beside(split)}, left out"

    def beside_gate(self, split: str) -> str:
        """Say beside a gate that it saw them, too."""
        return f"; {self._beside(split)} and count here"

    def _beside(self, split: str) -> str:
        many = count(self.examples, f"{split} example")
        are = "is" if len(self.rows) == self.examples == 1 else "are"
        return f"{len(self.rows):,} of {many} {are} also in {self.where}"

    @property
    def _of_them(self) -> str:
        are = "is" if len(self.rows) == self.examples == 1 else "are"
        return f"{len(self.rows):,} of {count(self.examples, 'example')} {are}"

    @property
    def _places(self) -> str:
        near = sum(row.how == "near" for row in self.rows)
        lines = "line" if len(self.rows) == 1 else "lines"
        return f"{lines} {self.lines}{f'; {near:,} nearly the same' if near else ''}"

    def _contradictions(self) -> str:
        many = sum(row.how == "contradiction" for row in self.rows)
        return f", {many:,} of them with another answer there" if many else ""


def _ranges(lines: Sequence[int | None]) -> Iterator[str]:
    """Write lines, those that follow each other as one.

    >>> [*_ranges([1, 2, 3, 7, 9, 10, None])]
    ['1 to 3', '7', '9 to 10', 'None']
    """
    first = last = None
    for line in [*lines, None]:
        if last is not None and line == last + 1:
            last = line
            continue
        if last is not None:
            yield f"{last}" if first == last else f"{first} to {last}"
        first = last = line
    yield from ("None" for line in lines if line is None)


Leakages = Mapping[str, Leakage]


def sentence_of(leakages: Leakages, *splits: str) -> str:
    """Say of the first of these splits that is not held out that it is not; empty where all are."""
    sentences = (
        leakages[split].not_held_out(split)
        for split in splits
        if split in leakages and not leakages[split].is_held_out
    )
    return next(sentences, "")


MOST_LEAKED = 0.5  # of a split's examples, above which nothing is said about it
FEWEST_CLEAN = 10

Lines = frozenset[int | None]


def leakage_of(layout: Layout) -> dict[str, Leakage]:
    """Say of each split that has leaked examples which these are, and what becomes of it."""
    return leakages_of(_confirming(layout), keeps_leaks=layout.keeps_leaks)


def leakages_of(splits: Sequence[Split], *, keeps_leaks: bool) -> dict[str, Leakage]:
    """Say the same of splits that are no run's yet."""
    pairs = _rows_by_split(splits)
    return {split.name: _leakage(split, rows, keeps_leaks=keeps_leaks) for split, rows in pairs if rows}


def left_out_of(layout: Layout) -> dict[str, Lines]:
    """Give the lines that are in no number, by split."""
    lines = {}
    for split, rows in _rows_by_split(_confirming(layout)):
        state = _state(split, rows, keeps_leaks=layout.keeps_leaks)
        if state == LEAKED:
            lines[split.name] = frozenset(split.lines)
        elif state == PART:
            lines[split.name] = frozenset(row.line for row in rows)
    return lines


class RecordsByCell(Protocol):
    """A cell's newest records by their places in it, all or those at some places."""

    def __call__(
        self, cell: Cell, places: Iterable[int] | None = None, /
    ) -> Iterable[tuple[int, JournalRecord]]: ...


@frozen
class Counted:
    """A run as numbers are made of it: without what is left out, whose outcomes are counted apart."""

    whole: Layout
    layout: Layout
    kept: Mapping[str, tuple[int, ...]]  # by split that lacks some: the places of those that count
    apart: Counter[str]  # by outcome

    def reading(self, records: RecordsByCell) -> RecordsByCell:
        """Read records by the places that they have here."""
        if not self.kept:
            return records
        cells = {cell[:4]: cell for cell in self.whole.cells}

        def read(cell: Cell, places: Iterable[int] | None = None) -> Iterator[tuple[int, JournalRecord]]:
            whole, kept = cells[cell[:4]], self.kept.get(cell.split)
            if kept is None:
                yield from records(whole, places)
            elif places is None:
                yield from self._all(records(whole), kept)
            else:
                for place in places:
                    yield from (
                        (place, record) for _, record in records(whole, [self._in_whole(place, kept)])
                    )

        return read

    def _all(
        self, records: Iterable[tuple[int, JournalRecord]], kept: tuple[int, ...]
    ) -> Iterator[tuple[int, JournalRecord]]:
        numbers, repeats = {place: number for number, place in enumerate(kept)}, self.whole.repeats
        for place, record in records:
            example, repeat = divmod(place, repeats)
            if example in numbers:
                yield numbers[example] * repeats + repeat, record
            else:
                self.apart[record["outcome"]] += 1

    def _in_whole(self, place: int, kept: tuple[int, ...]) -> int:
        example, repeat = divmod(place, self.whole.repeats)
        return kept[example] * self.whole.repeats + repeat


def counted_in(layout: Layout) -> Counted:
    """Leave out what leaked."""
    lines = left_out_of(layout)
    kept = {
        split.name: tuple(n for n, line in enumerate(split.lines) if line not in lines[split.name])
        for split in layout.splits
        if split.name in lines
    }
    splits = tuple(split.at(kept[split.name]) if split.name in kept else split for split in layout.splits)
    return Counted(
        whole=layout, layout=replace(layout, splits=splits) if kept else layout, kept=kept, apart=Counter()
    )


def _confirming(layout: Layout) -> Sequence[Split]:
    """Give the splits that confirm what others show; tasks do not: several may be about one dataset."""
    return () if layout.splits_of else layout.splits


def _rows_by_split(splits: Sequence[Split]) -> Iterator[tuple[Split, tuple[LeakedRow, ...]]]:
    """Give what is known to have leaked; of a run that was never looked at, lines of equal bytes."""
    seen: dict[str, tuple[str, int | None]] = {}
    for split in splits:  # train, val, test
        digests = list(zip(split.lines, split.sha256, strict=True))
        equal = (LeakedRow(line, *seen[digest], "bytes", 1.0) for line, digest in digests if digest in seen)
        yield split, tuple(equal) if split.leaks is None else split.leaks
        for line, digest in digests:
            seen.setdefault(digest, (split.name, line))


def _leakage(split: Split, rows: tuple[LeakedRow, ...], *, keeps_leaks: bool) -> Leakage:
    state, many = _state(split, rows, keeps_leaks=keeps_leaks), len(split.lines)
    names = dict(zip(split.lines, split.names, strict=False))
    return Leakage(
        state=state,
        share=len(rows) / many,
        examples=many,
        left_out={LEAKED: many, PART: len(rows)}.get(state, 0),
        rows=tuple(
            LeakedExample(
                line=row.line,
                id=names.get(row.line) or None,
                like=Like(split=row.split, line=row.like),
                how=row.how,
                similarity=row.similarity,
            )
            for row in rows
        ),
    )


def _state(split: Split, rows: tuple[LeakedRow, ...], *, keeps_leaks: bool) -> str:
    if split.leaks is None or not rows:
        return RECORDED
    if keeps_leaks:
        return KEPT
    clean = len(split.lines) - len(rows)
    return LEAKED if len(rows) > MOST_LEAKED * len(split.lines) or clean < FEWEST_CLEAN else PART


FEWEST_COPIES = 0.01  # of a split's lines, from which on copies are clustered


def copies_in(sha256: Sequence[str]) -> int:
    """Count the lines that are copies of an earlier one."""
    return len(sha256) - len(set(sha256))


def with_copies_joined(split: Split) -> Split:
    """Put copies into one cluster, together with the clusters that each of them is in."""
    return replace(split, clusters=joined(split.contents, split.clusters))


def joined(
    sha256: Sequence[str], clusters: Sequence[Label] | None, fewest: float = FEWEST_COPIES
) -> tuple[Label, ...] | None:
    """Join the clusters that share equal lines; None where every line stands for itself."""
    if copies_in(sha256) <= fewest * len(sha256):
        return None if clusters is None else tuple(clusters)
    if clusters is None:
        return tuple(sha256)
    parent: dict[str, str] = {}
    for digest, label in zip(sha256, clusters, strict=True):
        parent[_root(parent, f"line {digest}")] = _root(parent, f"cluster {label}")
    return tuple(_root(parent, f"cluster {label}") for label in clusters)


def _root(parent: dict[str, str], name: str) -> str:
    """Find the name that a joined cluster goes by."""
    path = []
    while (above := parent.get(name, name)) != name:
        path.append(name)
        name = above
    parent.update(dict.fromkeys(path, name))
    return name
