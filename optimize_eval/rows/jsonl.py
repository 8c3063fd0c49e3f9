"""JSONL → examples, or every problem as `path:line:column: reason`, by the protocol's rules.

What an example means is the evaluator's business, so its bytes are kept as the line had them.
"""

from collections.abc import Iterator

from optimize_eval.base import strict_json
from optimize_eval.base.errors import Problem
from optimize_eval.rows.example import BOM, Example
from optimize_eval.rows.foreign import find_foreign, find_other_form

JSON_NAMES = {
    list: "an array",
    str: "a string",
    int: "a number",
    float: "a number",
    bool: "a boolean",
    type(None): "null",
}


def parse(path: str, data: bytes) -> list[Example | Problem]:
    """Read all records, and all that is wrong with them; a file that is something else is one problem."""
    if foreign := find_foreign(path, data):
        return [foreign]
    parsed = list(_parse_lines(path, data.removeprefix(BOM)))
    has_records = any(isinstance(item, Example) for item in parsed)
    if any(isinstance(item, Problem) for item in parsed) and (
        whole := find_other_form(path, data, has_records=has_records)
    ):
        return [whole]
    return parsed


def _parse_lines(path: str, data: bytes) -> Iterator[Example | Problem]:
    for number, line in enumerate(data.split(b"\n"), 1):
        if line.strip():
            yield parse_line(path, number, line)


def parse_line(path: str, number: int, line: bytes) -> Example | Problem:
    indent = len(line) - len(line.lstrip())
    body = line.strip()
    try:
        value = strict_json.loads(body.decode(), unique_keys=True)
    except UnicodeDecodeError as error:
        column = indent + len(body[: error.start].decode()) + 1
        reason = f"not UTF-8: byte 0x{body[error.start]:02X}"
        return Problem(path=path, rule="bad_utf8", line=number, column=column, reason=reason)
    except strict_json.JsonFault as fault:
        column = indent + fault.offset + 1
        return Problem(path=path, rule="bad_json", line=number, column=column, reason=fault.reason)
    if not isinstance(value, dict):
        reason = f"a record must be a JSON object, this is {JSON_NAMES[type(value)]}"
        return Problem(path=path, rule="bad_type", line=number, column=indent + 1, reason=reason)
    # A bare carriage return can only stand between tokens; as a blank it cannot end a line anywhere.
    return Example(raw=body.replace(b"\r", b" "), line=number, value=value)
