"""What the recorder does not compare: one table of patterns, and three forms that need more than a pattern.

A pattern names what stands around a time, so that no score, count or key is ever masked.
"""

import base64
import gzip
import re
import sys
from pathlib import Path
from zlib import crc32

from tests.paths import ROOT

_NUMBER = r"-?\d[\d.]*(?:e[+-]?\d+)?"
_TIME = r"[\d.,]+ (?:ms|s|min|h)(?: \d+ s)?"
PATTERNS: tuple[tuple[str, str], ...] = (  # what is masked, and what is written in its place
    (r"20\d\d-\d\d-\d\d(?:[T ]\d\d:\d\d(?::\d\d(?:\.\d+)?)?(?:\+00:00|Z| UTC)?)?", "<time>"),
    # progress, and who waits: whether it is said depends on when somebody looks
    (r"(?m)^\d\d:\d\d:\d\d (?:waiting: .*|.+? [\d,]+/[\d,]+, [\d,]+ failed.*)\n", ""),
    (r"(?m)^\d\d:\d\d:\d\d (?=\S)", "<clock> "),
    (rf"\b(within|failed after|scored after|skipped after|p95|after) {_TIME}(?=\b|,)", r"\1 <time>"),
    (rf"{_TIME} a call\b", "<time> a call"),
    (rf"\babout {_TIME} with (\d+) slot", r"about <time> with \1 slot"),
    (rf"( tokens(?: \([^)]*\))?,(?: about)?(?: \$[\d.,]+,)?) {_TIME}", r"\1 <time>"),
    (rf'("(?:seconds|latency_ms|waited|before|changed_at)":\s*){_NUMBER}', r"\1<time>"),
    (rf'("p50":\s*){_NUMBER}(,\s*"p95":\s*){_NUMBER}', r"\1<time>\2<time>"),
    (rf'("max":\s*){_NUMBER}(,\s*"attempts":\s*\d+,\s*"total":\s*){_NUMBER}', r"\1<time>\2<time>"),
    (rf'( time="){_NUMBER}(?=")', r"\1<time>"),  # JUnit
    (rf",{_NUMBER},(\d+),<time>,", r",<seconds>,\1,<time>,"),  # CSV: seconds,attempts,started_at
    (rf'(name="latency_ms" value="){_NUMBER}', r"\1<time>"),
    (rf"(?m)(,wilson\w*,(?:[\d.]*,)+){_NUMBER}(?=\r?$)", r"\1<time>"),  # CSV of a board: latency_ms
    # sizes and sums of files that hold times
    (r'("journal":\s*\{\s*"end":\s*)\d+(,\s*"crc":\s*")[0-9a-f]{8}', r"\1<bytes>\2<crc>"),
    (r'("bytes":\s*)\d+(?=,\s*"files":)', r"\1<bytes>"),
    (r"(?m)^(Set-Cookie: page-\d+=)[\w-]+", r"\1<token>"),
    (r'(?m)^(ETag: ")[0-9a-f]+', r"\1<tag>"),  # of a body that holds times, as the next
    (r"(?m)(?<=octet-stream\n)(Content-Length: )\d+", r"\1<bytes>"),
    (r"\btoken=[\w-]+", "token=<token>"),
    (r"127\.0\.0\.1:\d+", "127.0.0.1:<port>"),
)
FILES: tuple[tuple[str, str, str], ...] = (  # the same in files of this name alone
    ("lock", r"^\d+\n$", "<pid>\n"),
)
TIMED_COLUMNS = {"ms", "time", "size", "made", "worked on", "latency_ms"}  # of tables that people read

_CRC = re.compile(r'^(.*),"crc":"([0-9a-f]{8})"\}$', re.MULTILINE)
_PACKED = re.compile(r'(<script type="text/plain" id="([^"]+)">)([^<]*)(</script>)')
_RULE = re.compile(r"[ ─]*─[ ─]*")


class Masks:
    """Masks the bytes of a session that is played in a scratch folder."""

    def __init__(self, scratch: Path) -> None:
        self._paths = ((str(scratch), "<scratch>"), (sys.executable, "<python>"), (str(ROOT), "<root>"))

    def of(self, name: str, content: bytes) -> bytes:
        """Mask a file or stream of this name."""
        text = _with_checked_sums(content.decode(errors="surrogateescape"))
        text = _PACKED.sub(_unpacked, text)
        for path, words in self._paths:
            text = text.replace(path, words)
        for pattern, words in PATTERNS:
            text = re.sub(pattern, words, text)
        for file, pattern, words in FILES:
            text = re.sub(pattern, words, text) if name.endswith(f"/{file}") else text
        return _without_timed_columns(text).encode(errors="surrogateescape")


def _with_checked_sums(text: str) -> str:
    """Say of each checksum of a journal, which times are part of, whether it is right."""

    def checked(line: re.Match[str]) -> str:
        is_right = f"{crc32(line[1].encode(errors='surrogateescape')):08x}" == line[2]
        return f'{line[1]},"crc":"<{"right" if is_right else "wrong"}>"}}'

    return _CRC.sub(checked, text)


def _unpacked(part: re.Match[str]) -> str:
    """Show what a page holds in compressed form, so that its times can be masked."""
    content = gzip.decompress(base64.b64decode(part[3])) if part[3] else b""
    match part[2]:
        case "columns":  # float64, float32, uint8 of each record: the second are seconds
            count = len(content) // 13
            shown = (content[: 8 * count] + content[12 * count :]).hex()
        case "index":
            shown = f"<{len(content)} bytes>"  # where compressed parts begin
        case _:
            shown = content.decode()
    return f"{part[1]}{shown}{part[4]}"


def _without_timed_columns(text: str) -> str:
    """Mask the cells of columns of times, and the widths of tables that have such columns."""
    lines = text.split("\n")
    timed: list[bool] = []
    for number, line in enumerate(lines):
        if number + 1 < len(lines) and _RULE.fullmatch(lines[number + 1]):
            timed = [cell in TIMED_COLUMNS for cell in _cells(line)]
        if not line:
            timed = []
        if any(timed):
            lines[number] = _masked_row(line, timed)
    return "\n".join(lines)


def _masked_row(line: str, timed: list[bool]) -> str:
    cells = ["─"] if _RULE.fullmatch(line) else _cells(line)
    ends = ([False] * len(cells) + timed)[
        -len(cells) :
    ]  # empty cells are on the left of those that hold times
    cells = [
        "<time>" if is_timed and re.search(r"\d", cell) else cell
        for cell, is_timed in zip(cells, ends, strict=True)
    ]
    return "  ".join(cells)


def _cells(line: str) -> list[str]:
    return re.split(r"\s{2,}", line.strip())
