"""`report --check` of a search: what search.json says otherwise than the folder's journals."""

from collections.abc import Iterator, Mapping
from itertools import zip_longest
from pathlib import Path
from typing import Any

import orjson

from optimize_eval.cli.printed.checked import unlike_keys
from optimize_eval.errors import CannotGoOn
from optimize_eval.findings.shapes.summary import Summary
from optimize_eval.frozen import frozen
from optimize_eval.reading import files, strict_json
from optimize_eval.search.result.again import made_again
from optimize_eval.store.folder import PROPOSALS, SEARCH
from optimize_eval.store.stored import StoredRun

OF_THE_RUN = frozenset(  # what a later command of the run's folder may have changed
    ("summary", "verdict", "notes", "best", "best_artifact", "lineage", "diff", "top_diagnostics", "calls")
)
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
        made = [*made_again(folder, stored, summary, str(told.get("run_dir")))]
    except (LookupError, TypeError, ValueError, AttributeError):
        return SearchCheck(wrong=(f"{PROPOSALS} is not as optimize wrote it",))
    every = [(again, [*unlike_paths(told, again, summary)]) for again in made]
    if not every:
        older = f"{SEARCH} was made by older rules: run the search's own command again to update it"
        return SearchCheck(notes=(older,))
    again, paths = min(every, key=lambda pair: len(pair[1]))
    is_older = _is_before(told, again)
    if is_older:
        paths = [path for path in paths if path.partition(".")[0].partition("[")[0] not in OF_THE_RUN]
    later = f"{SEARCH} is of the run as it was before later commands: of it, only the search is checked"
    return SearchCheck(
        wrong=tuple(f"{path}: {SEARCH} is not what the journals give" for path in paths),
        notes=(later,) if is_older else (),
    )


def unlike_paths(told: Mapping[str, Any], again: Mapping[str, Any], summary: Summary | None) -> Iterator[str]:
    """Name each leaf that a stored result has otherwise than the one made again."""
    made = orjson.loads(orjson.dumps({**again, "summary": None}))
    yield from _unlike({**told, "summary": None}, made, "")
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
            for place, (one, other) in enumerate(zip_longest(told, made, fillvalue=_MISSING)):
                yield from _unlike(one, other, f"{path}[{place}]")
        case _ if type(told) is not type(made) or told != made:
            yield path


def _is_before(told: Mapping[str, Any], again: Mapping[str, Any]) -> bool:
    """Return True if the result's summary is of an earlier state of the run's journal."""
    match told, again:
        case {"summary": {"journal": {"end": int(end)}}}, {"summary": {"journal": {"end": int(now)}}}:
            return end < now
    return False
