"""A JSON file that is one list of objects → examples; a file of one object a line is JSONL by any name.

A record is known by its number; the reason of a problem says at which line and column of the file it is.
"""

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass

from optimize_eval.base import strict_json
from optimize_eval.base.errors import Problem
from optimize_eval.rows import jsonl
from optimize_eval.rows.example import BOM, Example, of_record
from optimize_eval.rows.foreign import find_foreign

_BLANK = re.compile(r"[ \t\r\n]*")
_DECODER = json.JSONDecoder()  # lenient: strict_json says of each record what is wrong


def parse(path: str, data: bytes) -> list[Example | Problem]:
    """Read all records of a list, and all that is wrong with them."""
    if whole := find_foreign(path, data):
        return [whole]
    try:
        text = data.removeprefix(BOM).decode()
    except UnicodeDecodeError as error:
        before = data.removeprefix(BOM)[: error.start].decode()
        reason = f"not UTF-8: byte 0x{error.object[error.start]:02X} {_Lines(before).at(len(before))}"
        return [Problem(path=path, rule="bad_utf8", reason=reason)]
    start = _after_blanks(text, 0)
    if text.startswith("{", start):
        return _not_a_list(path, text, start) or jsonl.parse(path, data)
    if not text.startswith("[", start):
        problem = Problem(path=path, rule="bad_json", reason="the file is no list of objects: [{…}, …]")
        return [problem] if text.strip() else []
    return list(_elements(path, text, start + 1))


def _not_a_list(path: str, text: str, start: int) -> list[Example | Problem]:
    """Refuse one object where a list of them is meant."""
    try:
        value, end = _DECODER.raw_decode(text, start)
    except (ValueError, RecursionError):
        return []
    if _after_blanks(text, end) < len(text):
        return []
    lists = [key for key, item in value.items() if isinstance(item, list)]
    hint = f"; take its list {lists[0]!r} out of it" if lists else ""
    reason = f"the file is one object, and a list of objects is needed: [{{…}}, …]{hint}"
    return [Problem(path=path, rule="bad_type", reason=reason)]


def _elements(path: str, text: str, place: int) -> Iterator[Example | Problem]:
    """Take the list apart; where its syntax breaks, the rest cannot be told."""
    number, lines = 0, _Lines(text)
    place = _after_blanks(text, place)
    while not text.startswith("]", place):
        number += 1
        try:
            end = _DECODER.raw_decode(text, place)[1]
        except (ValueError, RecursionError):
            yield _fault(path, number, lines, place)
            return
        yield _record(path, number, lines, place, end)
        place = _after_blanks(text, end)
        if fault := _between(text, place):
            yield _problem(path, number, "bad_json", fault, lines.at(place))
            return
        place = _after_blanks(text, place + text.startswith(",", place))
    if (rest := _after_blanks(text, place + 1)) < len(text):
        yield _problem(path, number, "bad_json", "something follows the list", lines.at(rest))


def _between(text: str, place: int) -> str:
    """Say what is wrong with what follows a record; empty where it is a comma or the list's end."""
    if not text.startswith((",", "]"), place):
        return "expecting ',' or ']' after the record"
    is_last = text.startswith("]", _after_blanks(text, place + 1))
    return "a comma before the end of the list" if text.startswith(",", place) and is_last else ""


def _record(path: str, number: int, lines: "_Lines", place: int, end: int) -> Example | Problem:
    try:
        value = strict_json.loads(lines.text[place:end], unique_keys=True)
    except strict_json.JsonFault as fault:
        return _problem(path, number, "bad_json", fault.reason, lines.at(place + fault.offset))
    if not isinstance(value, dict):
        reason = f"a record must be a JSON object, this is {jsonl.JSON_NAMES[type(value)]}"
        return _problem(path, number, "bad_type", reason, lines.at(place))
    return of_record(number, value, file_line=lines.line_at(place))


def _fault(path: str, number: int, lines: "_Lines", place: int) -> Problem:
    """Find why no record could be decoded at a place."""
    try:
        strict_json.loads(lines.text[place:], unique_keys=True)
    except strict_json.JsonFault as fault:
        return _problem(path, number, "bad_json", fault.reason, lines.at(place + fault.offset))
    return _problem(path, number, "bad_json", "not decodable as JSON", lines.at(place))


@dataclass(slots=True)
class _Lines:
    """Tells lines and columns of places in a text, each behind the one before."""

    text: str
    offset: int = 0
    line: int = 1
    begin: int = 0  # of the line

    def line_at(self, offset: int) -> int:
        self.line += self.text.count("\n", self.offset, offset)
        self.begin = max(self.begin, self.text.rfind("\n", self.offset, offset) + 1)
        self.offset = offset
        return self.line

    def at(self, offset: int) -> str:
        self.line_at(offset)
        return f"(line {self.line}, column {offset - self.begin + 1} of the file)"


def _problem(path: str, number: int, rule: str, reason: str, at: str) -> Problem:
    return Problem(path=path, rule=rule, line=number, column=1, reason=f"{reason} {at}")


def _after_blanks(text: str, place: int) -> int:
    blank = _BLANK.match(text, place)
    return blank.end() if blank else place
