"""`report --check` of a search: what search.json says otherwise than the folder's journals."""

from collections.abc import Iterator, Mapping
from contextlib import suppress
from itertools import zip_longest
from pathlib import Path
from typing import Any

import orjson

from optimize_eval.base import files, strict_json
from optimize_eval.base.errors import CannotGoOn
from optimize_eval.base.frozen import frozen
from optimize_eval.findings.stored_summary import unlike_keys
from optimize_eval.findings.summary_shape import Summary, summary_from
from optimize_eval.search.result_again import make_again
from optimize_eval.store.folder import JOURNAL, PROPOSALS, SEARCH
from optimize_eval.store.listing import sessions
from optimize_eval.store.opened_run import StoredRun

_OF_LATER = frozenset({"calls.final"})
_MISSING = object()


@frozen
class SearchCheck:
    """What differs, and what could not be looked at."""

    wrong: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()


def check_search(folder: Path, stored: StoredRun | None, summary: Summary | None) -> SearchCheck:
    """Compare search.json with the same document made again."""
    try:
        told: Any = strict_json.loads_own(files.load(folder / SEARCH, files.OF_A_RUN))
    except FileNotFoundError:
        return SearchCheck(notes=(f"there is no {SEARCH} to check: run the search's own command again",))
    except (OSError, ValueError) as error:
        raise CannotGoOn(
            f"{folder / SEARCH} cannot be read: {error}", hint="run the search's own command again"
        ) from None
    if not isinstance(told, dict):
        return SearchCheck(wrong=(f"{SEARCH} is not as optimize wrote it",))
    try:
        return _compare(folder, told, stored, summary)
    except (LookupError, TypeError, ValueError, AttributeError):  # somebody edited it
        return SearchCheck(wrong=(f"{SEARCH} or {PROPOSALS} is not as optimize wrote it",))


def _compare(
    folder: Path, told: Mapping[str, Any], stored: StoredRun | None, summary: Summary | None
) -> SearchCheck:
    is_older = _is_before(folder, told["summary"], summary)
    if is_older:
        stored, summary = (stored, summary_from(told["summary"])) if told["summary"] else (None, None)
    made = []
    for search in sessions(folder):
        with suppress(LookupError):  # what a session found after it has no name in it
            made.append(make_again(search, stored, summary, str(told.get("run_dir"))))
    paths = min(([*unlike_paths(told, again, summary)] for again in made), key=len)
    later = f"{SEARCH} is of the run as it was before later commands, which it is not compared with"
    return SearchCheck(
        wrong=tuple(
            f"{path}: {SEARCH} is not what the journals give"
            for path in paths
            if not (is_older and path in _OF_LATER)
        ),
        notes=(later,) if is_older else (),
    )


def unlike_paths(told: Mapping[str, Any], again: Mapping[str, Any], summary: Summary | None) -> Iterator[str]:
    """Name each leaf that a stored result has otherwise than the one made again."""
    made = orjson.loads(orjson.dumps({**again, "summary": None}))
    yield from _unlike({**told, "summary": None} if "summary" in told else told, made, "")
    inner = told.get("summary")
    if isinstance(inner, Mapping) and summary:
        yield from (f"summary.{key}" for key in unlike_keys(inner, summary))
    elif inner is not None or summary:
        yield "summary"


def _unlike(told: Any, made: Any, path: str) -> Iterator[str]:
    match told, made:
        case dict(), dict():
            for key in dict.fromkeys([*made, *told]):
                inner = f"{path}.{key}" if path else str(key)
                yield from _unlike(told.get(key, _MISSING), made.get(key, _MISSING), inner)
        case list(), list():
            for index, (one, other) in enumerate(zip_longest(told, made, fillvalue=_MISSING)):
                yield from _unlike(one, other, f"{path}[{index}]")
        case _ if type(told) is not type(made) or told != made:
            yield path


def _is_before(folder: Path, told: Any, summary: Summary | None) -> bool:
    """Return True if the run's journal went on since, or its last command was about something else."""
    if summary is None or summary.journal is None:
        return False
    match told:
        case {"journal": {"end": int(end), "crc": str(crc), "run": str(run)}}:
            is_before = end < summary.journal.end or run != summary.journal.run
            return is_before and _ends_there(folder / JOURNAL, end, crc)
    return told is None


def _ends_there(path: Path, end: int, crc: str) -> bool:
    """Return True if a line of a journal ends at a place, and has this checksum."""
    last = f'"crc":"{crc}"}}\n'.encode()
    with path.open("rb") as journal:
        journal.seek(max(0, end - len(last)))
        return journal.read(len(last)) == last
