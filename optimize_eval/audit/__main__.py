"""python -m optimize_eval.audit RUN: exits 1 and names each field that differs."""

import json
import math
import sys
import textwrap
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from optimize_eval.audit.journaled import JournaledRun, read
from optimize_eval.audit.leaderboard import expected_boards
from optimize_eval.audit.search import JournaledSearch, expected_end, expected_search, read_search
from optimize_eval.audit.summary import expected

_MISSING = object()
# of which every field is derived
_CLOSED = {"failures", "errors", "duplicates", "clusters", "chosen", "leakage"}
_KINDS = {
    **dict.fromkeys(("mean", "score", "overall_score"), "means"),
    "se": "standard errors",
    **dict.fromkeys(("ci", "ci90"), "intervals"),
    **dict.fromkeys(("bounds", "lower_bound", "largest_gain"), "bounds"),
    **dict.fromkeys(("diff", "value"), "differences"),
    "p": "p values",
    "p_holm": "corrected p values",
    **dict.fromkeys(
        ("mark", "despite_failures", "no_worse", "equivalent", "holds_at_lower_bound", "holds_at_worst"),
        "marks",
    ),
    **dict.fromkeys(("state", "winner", "flag", "kept", "not_told_apart", "not_run"), "states"),
}
_OTHER = "counts and names"


def main(folder: Path) -> int:
    run = read(folder) if (folder / "run.json").exists() else None
    search = read_search(folder)
    documents = _documents(folder, run, search)
    stored = {name: json.loads((folder / name).read_bytes()) for name in documents}
    kinds: Counter[str] = Counter()
    wrong = []
    for name, again in documents.items():
        for path, value, derived in differences(stored[name], again, kinds):
            wrong.append(f"{name}: {path} is {_show(value)}, the journal gives {_show(derived)}")
    print("\n".join([*wrong, *_not_read(run), *_not_derived(search), *_counts(kinds)]))  # noqa: T201  a script's output
    numbers = f"{kinds.total():,} fields recomputed from the journal"
    print(f"{numbers}, {len(wrong):,} differ")  # noqa: T201
    return 1 if wrong else 0


def _documents(folder: Path, run: JournaledRun | None, search: JournaledSearch | None) -> dict[str, Any]:
    """Compute again what stands in a folder: a run's summary, boards, the result of a search."""
    searched = {"search.json": expected_search(search)} if search else {}
    if run is None:
        return searched
    summary = expected(run)
    if search:
        searched["search.json"] |= expected_end(folder, search, run, summary)
    again = run.overlaps_again
    overlaps = {"run.json": {"settings": {"overlaps": again}}} if again else {}
    return {"summary.json": summary, **overlaps, **expected_boards(folder, run), **searched}


def _not_read(run: JournaledRun | None) -> Iterator[str]:
    """Say of which splits leaks and copies are as run.json has them."""
    known = run.axes.settings.get("overlaps", {}) if run else {}
    if run and (names := [name for name in known if name not in run.overlaps_again]):
        gone = f"as the data of {', '.join(names)} is gone or has changed"
        yield from textwrap.wrap(f"leaks and copies are taken from run.json, {gone}", 78)


def _not_derived(search: JournaledSearch | None) -> Iterator[str]:
    """Say how many means of a search are taken as they stand."""
    if search and (missing := len(search.found) - len(search.means)):
        why = "evaluations.jsonl does not tell what they are of"
        said = (
            f"{missing:,} of {len(search.found):,} means of the search are taken from search.jsonl, as {why}"
        )
        yield from textwrap.wrap(said, 78)


def differences(
    stored: object, again: object, kinds: Counter[str], path: str = "", kind: str = ""
) -> Iterator[tuple[str, Any, Any]]:
    """Walk what was derived and give each field that is stored otherwise; lists have to be as long."""
    match again:
        case dict() if isinstance(stored, dict):
            more = [key for key in stored if key not in again] if kind in _CLOSED else []
            for key, derived in [*again.items(), *((key, _MISSING) for key in more)]:
                where = f"{path}.{key}" if path else key
                yield from differences(stored.get(key, _MISSING), derived, kinds, where, key)
        case list() | tuple() if isinstance(stored, list):
            if len(stored) != len(again):
                yield f"the length of {path}", len(stored), len(again)
            for index, (value, derived) in enumerate(zip(stored, again, strict=False)):
                inner = "" if isinstance(derived, dict) else kind
                yield from differences(value, derived, kinds, f"{path}[{index}]", inner)
        case _:
            kinds[_KINDS.get(kind, _OTHER)] += 1
            if not agree(stored, again):
                yield path, stored, again


def agree(stored: object, again: object) -> bool:
    """Return True if two values are the same but for rounding."""
    if isinstance(stored, bool) or isinstance(again, bool):
        return stored is again
    if isinstance(stored, int | float) and isinstance(again, int | float):
        return math.isclose(stored, again, rel_tol=1e-7, abs_tol=1e-10)
    return bool(stored == again)


def _counts(kinds: Counter[str]) -> Iterator[str]:
    """Say which kinds of numbers were checked."""
    every = dict.fromkeys([*_KINDS.values(), _OTHER])
    words = " · ".join(f"{kind} {kinds[kind]:,}" for kind in every if kinds[kind])
    yield from textwrap.wrap(words, 78)


def _show(value: object) -> str:
    return "missing" if value is _MISSING else json.dumps(value, ensure_ascii=False)[:80]


if __name__ == "__main__":
    if not sys.argv[1:]:
        print(__doc__, file=sys.stderr)  # noqa: T201
        sys.exit(2)
    sys.exit(main(Path(sys.argv[1])))
