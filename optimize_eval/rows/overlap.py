"""What the splits of a run have in common: rows of later ones that earlier ones hold, and copies in each.

Made of all lines of the files, whatever part of them a run takes: a run that grows decides as it did.
"""

import hashlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from optimize_eval.rows.example import Example

Overlaps = Mapping[
    str, Mapping[str, Any]
]  # by split: "of", "leaks", "copies", "values" and the fields left out of these, as run.json has them

LEFT_OUT = "left_out"

_RULE = b"3"  # another one finds other rows


def overlaps_of(
    splits: Mapping[str, Sequence[Example]], known: Mapping[str, Any], candidates: Iterable[str] = ()
) -> Overlaps:
    """Find them, or take over what is `known` of the same lines; splits come in their order.

    Fields that are or were `candidates` are no part of what a row says.
    """
    without = sorted({*candidates}.union(*(one.get(LEFT_OUT, ()) for one in known.values())))
    seen: dict[str, Sequence[Example]] = {}
    found: dict[str, Mapping[str, Any]] = {}
    digest = hashlib.sha256(_RULE + "".join(f"{field}\0" for field in without).encode())
    for name, rows in splits.items():
        _add(digest, name, rows)
        of = digest.hexdigest()
        is_known = name in known and known[name].get("of") == of and "values" in known[name]
        found[name] = known[name] if is_known else {"of": of, **_overlap(seen, rows, without)}
        seen[name] = rows
    return found


def _add(digest: Any, name: str, rows: Sequence[Example]) -> None:
    digest.update(f"{name} {len(rows)} {[row.line for row in rows]} ".encode())
    for row in rows:
        digest.update(b"%d " % len(row.raw))
        digest.update(row.raw)


def _overlap(
    seen: Mapping[str, Sequence[Example]], rows: Sequence[Example], without: Sequence[str]
) -> dict[str, Any]:
    from optimize_eval.rows.copies import values_and_copies  # noqa: PLC0415  most sessions know it

    leaks, (values, copies) = sorted(_leaks(seen, rows)), values_and_copies(rows, without)
    return {
        "leaks": [list(row) for row in leaks],
        "copies": [[*pair] for pair in copies.items()],
        "values": [[row.line, one] for row, one in zip(rows, values, strict=True)],
        **({LEFT_OUT: [*without]} if without else {}),
    }


def _leaks(
    seen: Mapping[str, Sequence[Example]], rows: Sequence[Example]
) -> Iterator[tuple[int, str, int, str, float]]:
    """List each row with the first split that holds it."""
    from optimize_eval.rows.leaks import find_leaks  # noqa: PLC0415  see _overlap

    left = rows
    for name, there in seen.items():
        leaks = find_leaks(there, left)
        yield from ((one.line, name, one.like, one.how, one.similarity) for one in leaks)
        lines = {one.line for one in leaks}
        left = [row for row in left if row.line not in lines]
