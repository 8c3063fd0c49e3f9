"""The lines of a file, each decoded as strictly as JSON can be; what they mean is for whoever reads them."""

from codecs import BOM_UTF8
from collections.abc import Iterator
from typing import Any

from optimize_eval.frozen import frozen
from optimize_eval.reading import strict_json


@frozen
class Line:
    """A line that is not blank: its physical number, its bytes, and its value or why it has none."""

    number: int
    raw: bytes
    value: Any = None
    unreadable: str = ""


def read_lines(data: bytes) -> Iterator[Line]:
    """Decode all lines but blank ones, which count all the same."""
    for number, line in enumerate(data.removeprefix(BOM_UTF8).split(b"\n"), 1):
        if body := line.strip():
            yield from _read_line(number, body)


def _read_line(number: int, body: bytes) -> Iterator[Line]:
    # A bare carriage return can only stand between tokens; as a blank it cannot end a line anywhere.
    raw = body.replace(b"\r", b" ")
    try:
        text = body.decode()
        if not text.isspace():
            yield Line(number=number, raw=raw, value=strict_json.loads(text, unique_keys=True))
    except UnicodeDecodeError as error:
        reason = f"not UTF-8: byte 0x{body[error.start]:02X} at offset {error.start}"
        yield Line(number=number, raw=raw, unreadable=reason)
    except strict_json.JsonFault as fault:
        reason = f"{fault.reason} at character {fault.offset + 1}"
        yield Line(number=number, raw=raw, unreadable=reason)
