"""The data files of a run, read a second time, where they still are what run.json was made of."""

import csv
import hashlib
import io
import json
import math
import re
from collections.abc import Callable, Iterator
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
    fields: list[str] = next((one["left_out"] for one in overlaps.values() if "left_out" in one), [])
    digest = hashlib.sha256(_RULE + "".join(f"{field}\0" for field in fields).encode())
    found: dict[str, list[DataRow]] = {}
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
        found[name] = rows
    return found


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
