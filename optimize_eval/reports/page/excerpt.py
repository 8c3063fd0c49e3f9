"""What a page shows of a record in full: its line, without what the page has elsewhere or nobody reads.

Most lines are cut out as they stand, which takes a fifth of the time of reading and writing them.
"""

import re

from optimize_eval.base import strict_json
from optimize_eval.findings.wording import reply_marks
from optimize_eval.store import journal

_KEPT = ("kind", "message", "stderr", "side_info", "usage")

_SCORED = b',"outcome":"scored","score":'
_SIDE_INFO = b',"side_info":{'
_LONGEST_SCORE = 32
_END = re.compile(
    rb'\}(?:,"output":"[^"\\]*")?,"seconds":[^,"]+(?:,"waited":[^,"]+)?,"attempts":1'
    rb',"started_at":"[^"\\]*","crc":"[0-9a-f]{8}"\}\n\Z'
)
_LONGEST_END = 320


def excerpt_of(line: bytes, reply: str | None) -> bytes:
    """Give a record as JSON: what was said, or why it failed, and what a model replied, if one did."""
    shown = _cut_out(line) or _written_anew(line)
    if reply is None:
        return shown
    return b"%s%s%s}" % (
        shown[:-1],
        b"," * (len(shown) > len(b"{}")),
        strict_json.dumps({"reply": reply})[1:-1],
    )


def _cut_out(line: bytes) -> bytes | None:
    """Cut the side information out of a line that is as we write those of most calls; None of any other."""
    scored = line.find(_SCORED)
    start = line.find(_SIDE_INFO, scored, scored + len(_SCORED) + _LONGEST_SCORE + len(_SIDE_INFO))
    if scored < 0 or start < 0 or line.find(b"{", 1, start) >= 0:
        return None
    end = _END.search(line, max(start, len(line) - _LONGEST_END))
    return b"{%s}" % line[start + 1 : end.start() + 1] if end else None


def _written_anew(line: bytes) -> bytes:
    record = journal.decode(line)
    kept = {name: record[name] for name in _KEPT if record.get(name) not in (None, "", {})}
    if record.get("attempts", 1) > 1:
        kept["attempts"] = record["attempts"]
    replied = record.get("replied")
    if marks := [*reply_marks(replied)] if isinstance(replied, dict) else ():
        kept["marks"] = ", ".join(marks)
    return strict_json.dumps(kept)
