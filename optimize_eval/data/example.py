"""One record of a data file as an example, and all that one file holds; how it is read is known elsewhere."""

from collections.abc import Iterable, Iterator
from dataclasses import field
from typing import Self

from optimize_eval.base import strict_json
from optimize_eval.base.documents import JsonDict
from optimize_eval.base.errors import Problem
from optimize_eval.base.frozen import frozen

BOM = b"\xef\xbb\xbf"


@frozen
class Example:
    """One record: its bytes, its decoded value, and its place.

    Of JSONL the bytes are those of the file, and `line` is the physical line; of all else they are the
    record as JSON, `line` is its number, and `file_line` where it begins.
    """

    raw: bytes
    line: int
    value: JsonDict = field(compare=False)
    file_line: int | None = field(default=None, compare=False)  # 0: the file has no lines

    @property
    def in_file(self) -> str:
        """What follows the number of a record, so that an editor finds it."""
        return line_of(self.file_line)


class Rows(str):
    """Examples that a program hands over, where others name a file; the text stands for its name."""

    __slots__ = ("examples",)
    NAME = "rows"
    examples: tuple[Example, ...]

    def __new__(cls, examples: Iterable[Example], name: str = NAME) -> Self:
        made = super().__new__(cls, name)
        made.examples = tuple(examples)
        return made

    @property
    def lines(self) -> bytes:
        """Write them as a file would have them."""
        return b"".join(example.raw + b"\n" for example in self.examples)


@frozen
class ParsedFile:
    """What one file holds: examples, and problems that forbid using it."""

    path: str
    examples: tuple[Example, ...]
    problems: tuple[Problem, ...]


def of_record(number: int, value: JsonDict, *, file_line: int | None = None) -> Example:
    """Make an example of a record that no line of JSON stands for."""
    raw = bytes(memoryview(strict_json.dumps(value)))  # a copy: orjson's own takes kilobytes of the heap
    return Example(raw=raw, line=number, value=value, file_line=file_line)


def line_of(file_line: int | None) -> str:
    return "" if not file_line else f" (line {file_line} of the file)"


def within(path: str, parsed: Iterable[Example | Problem], most: int | None) -> Iterator[Example | Problem]:
    """Let so many examples through; the first one beyond is a problem, the others are left out."""
    records = 0
    for item in parsed:
        records += isinstance(item, Example)
        if most is None or records <= most or isinstance(item, Problem):
            yield item
        elif records == most + 1:
            reason = f"more than {most:,} records: `run --sample {most}` or --limit takes so many of them, "
            reason += f"another command a file of fewer (head -n {most})"
            reason += item.in_file
            yield Problem(path=path, rule="too_many", line=item.line, column=1, reason=reason)
