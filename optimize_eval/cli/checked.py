"""`report --check`: the numbers of summary.json against the journal, also by a script that shares no code."""

import json
import shlex
import subprocess
import sys
import textwrap
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from itertools import zip_longest
from pathlib import Path

import orjson
import typer

from optimize_eval import audit
from optimize_eval.base import errors, files, strict_json
from optimize_eval.base.documents import JsonMapping
from optimize_eval.base.errors import CannotGoOn
from optimize_eval.base.frozen import frozen
from optimize_eval.cli import gates, output
from optimize_eval.findings.board_models import ranks_none
from optimize_eval.findings.board_shapes import Board
from optimize_eval.findings.gates import Gate
from optimize_eval.findings.stored_summary import Findings, unlike_keys
from optimize_eval.findings.summary_shape import Summary, summary_from
from optimize_eval.run.bench_boards import remake_board
from optimize_eval.store.folder import JOURNAL, LEADERBOARD, PROPOSALS, SEARCH, SUMMARY, holder
from optimize_eval.store.listing import sessions
from optimize_eval.store.opened_run import StoredRun

CHECK_SCHEMA = "optimize-eval.check.v1"

NOT_CHECKED = (
    *("names and times of models", "timestamp", "settings", "started_at", "ended_at", "command", "note"),
    *("files", "task_errors", "category", "run_dir", "a search's rejected, refused, spent"),
    *("counts and dates in run.json", "sentences of boards by other metrics"),
)

_AGAIN = "run the run's own command again: it writes the file"


def _say_unfinished(run: StoredRun) -> str:
    """Say that a run is not at its end, and whether somebody works on it; empty where it is."""
    was_ended = not run.document.is_open
    if run.ledger.is_complete and was_ended:
        return ""
    number = holder(run.folder)
    by = "" if number is None else f", and in use by {f'process {number}' if number else 'another process'}"
    if run.ledger.is_complete:
        return f"the run is not finished: all calls are made, but its result is not written{by}"
    return f"the run is not finished: {run.owed:,} of {run.layout.size:,} calls were not made{by}"


def _of_board(findings: Findings, board: Board | None) -> list[str]:
    """Name what a leaderboard says otherwise than the journal, its sentences included."""
    run = findings.run
    if board is None and run.document.is_bench and not _say_unfinished(run) and not ranks_none(findings):
        return ["all of it is gone"]
    again = remake_board(findings, board) if board else None
    stored = json.loads(files.load(run.folder / LEADERBOARD, files.OF_A_RUN)) if again else {}
    return unlike_keys(stored, again) if again else []


def emit(findings: Findings, judged: Sequence[Gate], *, as_json: bool, board: Board | None = None) -> None:
    """Compare with what is stored, then let the script speak that shares no code with us."""
    run, summary = findings.run, findings.summary
    folder, unfinished = run.folder, _say_unfinished(run)
    try:
        stored = dict(json.loads(files.load(folder / SUMMARY, files.OF_A_RUN)))
    except FileNotFoundError:
        there_is_none = f"there is no {folder / SUMMARY} to check"
        raise CannotGoOn(f"{there_is_none}{unfinished and f': {unfinished}'}", hint=_AGAIN) from None
    except (OSError, ValueError, TypeError, RecursionError) as error:
        raise CannotGoOn(f"{folder / SUMMARY} cannot be read: {error}", hint=_AGAIN) from None
    if unfinished:
        output.say(f"note: {unfinished}; what it has is checked")
    unlike = unlike_keys(stored, summary)
    of_board = _of_board(findings, board)
    lines = [f"{key}: {SUMMARY} is not what the journal gives" for key in unlike]
    lines += [f"{key}: {LEADERBOARD} is not what the journal gives" for key in of_board]
    more = {"unfinished": unfinished} if unfinished else {}
    search = _check_search(folder, run, summary) if (folder / PROPOSALS).is_file() else None
    agrees, every = _compared_by_script(folder, lines, search)
    _print(every, judged, more, agrees=agrees, as_json=as_json)


def emit_search(folder: Path, *, as_json: bool) -> None:
    """Compare the result of a search that had nothing to compare at its end."""
    agrees, every = _compared_by_script(folder, [], _check_search(folder, None, None))
    _print(every, (), {}, agrees=agrees, as_json=as_json)


def _compared_by_script(
    folder: Path, lines: Sequence[str], search: "SearchCheck | None"
) -> tuple[bool, list[str]]:
    """Say whether all agrees, and what the script says besides."""
    done = subprocess.run(
        [sys.executable, "-I", "-m", audit.__name__, str(folder)],
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode not in {0, errors.MISSED} or not done.stdout:  # it says what it found, or broke off
        raise CannotGoOn(
            f"the check broke off: {done.stderr.strip()[-200:]}",
            hint=f"see where: python -I -m {audit.__name__} {shlex.quote(str(folder))}; please report it",
        )
    wrong = [*lines, *(search.wrong if search else ())]
    every = [*wrong, *(search.notes if search else ()), *done.stdout.splitlines()]
    return not wrong and done.returncode == 0, every


def _print(
    lines: Sequence[str], judged: Sequence[Gate], more: JsonMapping, *, agrees: bool, as_json: bool
) -> None:
    every = [
        *lines,
        textwrap.fill(f"not checked, because nothing else records it: {', '.join(NOT_CHECKED)}", 78),
    ]
    if as_json:
        result = {"schema": CHECK_SCHEMA, "agrees": agrees, "lines": every, **more}
        output.emit_json({**result, **gates.gates_to_dict(judged)})
    else:
        output.emit("\n".join(every))
    if not agrees:
        raise typer.Exit(errors.MISSED)


_OF_LATER = frozenset({"calls.final"})
_MISSING = object()


@frozen
class SearchCheck:
    """What differs, and what could not be looked at."""

    wrong: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()


def _check_search(folder: Path, stored: StoredRun | None, summary: Summary | None) -> SearchCheck:
    """Compare search.json with the same document made again."""
    try:
        result: object = strict_json.loads_own(files.load(folder / SEARCH, files.OF_A_RUN))
    except FileNotFoundError:
        return SearchCheck(notes=(f"there is no {SEARCH} to check: run the search's own command again",))
    except (OSError, ValueError) as error:
        raise CannotGoOn(
            f"{folder / SEARCH} cannot be read: {error}", hint="run the search's own command again"
        ) from None
    if not isinstance(result, dict):
        return SearchCheck(wrong=(f"{SEARCH} is not as optimize wrote it",))
    try:
        return _compare(folder, result, stored, summary)
    except (LookupError, TypeError, ValueError, AttributeError):  # somebody edited it
        return SearchCheck(wrong=(f"{SEARCH} or {PROPOSALS} is not as optimize wrote it",))


def _compare(
    folder: Path, result: JsonMapping, stored: StoredRun | None, summary: Summary | None
) -> SearchCheck:
    from optimize_eval.search.result import make_again  # noqa: PLC0415  few runs are of a search

    is_older = _is_before(folder, result["summary"], summary)
    if is_older:
        stored, summary = (stored, summary_from(result["summary"])) if result["summary"] else (None, None)
    made = []
    for search in sessions(folder):
        with suppress(LookupError):  # what a session found after it has no name in it
            made.append(make_again(search, stored, summary, str(result.get("run_dir"))))
    paths = min(([*unlike_paths(result, again, summary)] for again in made), key=len)
    later = f"{SEARCH} describes the run before its later commands, so it is not checked"
    return SearchCheck(
        wrong=tuple(
            f"{path}: {SEARCH} is not what the journals give"
            for path in paths
            if not (is_older and path in _OF_LATER)
        ),
        notes=(later,) if is_older else (),
    )


def unlike_paths(result: JsonMapping, again: JsonMapping, summary: Summary | None) -> Iterator[str]:
    """Name each leaf that a stored result has otherwise than the one made again."""
    made = orjson.loads(orjson.dumps({**again, "summary": None}))
    yield from _unlike({**result, "summary": None} if "summary" in result else result, made, "")
    inner = result.get("summary")
    if isinstance(inner, Mapping) and summary:
        yield from (f"summary.{key}" for key in unlike_keys(inner, summary))
    elif inner is not None or summary:
        yield "summary"


def _unlike(result: object, made: object, path: str) -> Iterator[str]:
    match result, made:
        case dict(), dict():
            for key in dict.fromkeys([*made, *result]):
                inner = f"{path}.{key}" if path else str(key)
                yield from _unlike(result.get(key, _MISSING), made.get(key, _MISSING), inner)
        case list(), list():
            for index, (item, other) in enumerate(zip_longest(result, made, fillvalue=_MISSING)):
                yield from _unlike(item, other, f"{path}[{index}]")
        case _ if type(result) is not type(made) or result != made:
            yield path


def _is_before(folder: Path, result: object, summary: Summary | None) -> bool:
    """Return True if the run's journal went on since, or its last command was about something else."""
    if summary is None or summary.journal is None:
        return False
    match result:
        case {"journal": {"end": int(end), "crc": str(crc), "run": str(run)}}:
            is_before = end < summary.journal.end or run != summary.journal.run
            return is_before and _ends_there(folder / JOURNAL, end, crc)
    return result is None


def _ends_there(path: Path, end: int, crc: str) -> bool:
    """Return True if a line of a journal ends at a place, and has this checksum."""
    last = f'"crc":"{crc}"}}\n'.encode()
    with path.open("rb") as journal:
        journal.seek(max(0, end - len(last)))
        return journal.read(len(last)) == last
