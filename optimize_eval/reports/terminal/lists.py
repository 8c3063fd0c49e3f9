"""Runs, runs to be removed, evaluators that ship, errors of data files: lists for people and programs."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from datetime import datetime
from pathlib import Path

from optimize_eval.base.documents import JsonDict, JsonMapping
from optimize_eval.base.errors import State
from optimize_eval.base.frozen import frozen
from optimize_eval.base.names import told_apart
from optimize_eval.reports.inert import shortened
from optimize_eval.reports.text import Column, Screen, columns, cut, layout_table, padded
from optimize_eval.store.folder import Removal
from optimize_eval.store.layout import SINGLE
from optimize_eval.store.listing import ComparedAxes, ListedRun, StoredSearch

RUNS_SCHEMA = "optimize-eval.runs.v1"

_LONGEST = 240  # letters of a verdict, a reason or a note
_LONGEST_NAME = 30
_LEAST_WORDS = 16  # columns of what came out, or it is left out
_RESUME = "`optimize-eval runs --long` shows the commands that resume unfinished runs"
_MOST_NAMES = 3
_INTERVAL = re.compile(r" \(\d+ % CI[^()]*\)")
_AGES = ((86_400, "day"), (3600, "h"), (60, "min"), (1, "s"))
_KILO = 1000
_SIZES = ("bytes", "kB", "MB", "GB", "TB")


def render_runs(runs: Sequence[ListedRun], *, screen: Screen, folder: Path, now: float) -> str:
    """Lay out a line for each run, the newest last; `now` is the time of day in seconds."""
    if not runs:
        return _no_runs(str(folder), screen)
    names = dict(
        zip([run.folder for run in runs], told_apart([run.folder.name for run in runs]), strict=True)
    )
    oldest_first = list(reversed(runs))
    table = [
        Column("run", [names[run.folder] for run in oldest_first], is_name=True),
        Column("state", [_state(run) for run in oldest_first], is_text=True),
        Column("worked on", [_ago(now, run.changed_at) for run in oldest_first]),
    ]
    while len(table) > 1 and not screen.has_room([*table, Column("result", [" " * _LEAST_WORDS])]):
        table.pop()
    head, rule, *rows = layout_table(table, screen)
    room = screen.width - max(map(columns, [head, rule, *rows])) - len(_BESIDE)
    if room >= _LEAST_WORDS:
        results = [cut(_in_short(run, screen), room) for run in oldest_first]
        widest = max(map(columns, [head, rule, *rows]))
        head, *rows = (row + " " * (widest - columns(row)) for row in [head, *rows])
        rows = [f"{row}{_BESIDE}{words}".rstrip() for row, words in zip(rows, results, strict=True)]
        head, rule = f"{head}{_BESIDE}result", f"{rule}{_BESIDE}{'─' * min(room, max(map(columns, results)))}"
    is_open = any(_to_resume(run, screen) for run in runs)
    return "\n".join([head, rule, *rows, *(screen.wrap(" ", _RESUME) if is_open else [])])


def _in_short(run: ListedRun, screen: Screen) -> str:
    """Say what was noted of a run, and what came out."""
    words = screen.fit(shortened(run.reason, _LONGEST) if run.reason is not None else _came_out(run))
    noted = f"{screen.fit(shortened(run.note, _LONGEST))}: " if run.note else ""
    return " ".join(f"{noted}{words}".split())


def _no_runs(place: str, screen: Screen) -> str:
    text = f"no runs in {place}: `optimize-eval run` makes them, in runs/ unless --out names a folder"
    return "\n".join(screen.wrap(" ", text))


def render_long(runs: Sequence[ListedRun], *, screen: Screen, folder: Path, now: float) -> str:
    """Lay out a table with what is known of each run below its row; `now` is the time of day in seconds."""
    if not runs:
        return _no_runs(str(folder), screen)
    columns = [
        Column("run", told_apart([run.folder.name for run in runs]), is_name=True),
        Column("state", [_state(run) for run in runs], is_text=True),
        Column("calls", [_calls(run.units) for run in runs]),
        Column("size", [size_words(run.bytes) for run in runs]),
        Column("made", [_ago(now, _seconds(run.created_at)) for run in runs]),
        Column("worked on", [_ago(now, run.changed_at) for run in runs]),
    ]
    head, rule, *rows = layout_table(columns, screen)
    lines = [head, rule]
    for one, row in zip(runs, rows, strict=True):
        lines += [row, *_below(one, screen)]
    return "\n".join(lines)


def runs_to_dict(runs: Sequence[ListedRun]) -> JsonDict:
    return {"schema": RUNS_SCHEMA, "runs": [_to_dict(run) for run in runs]}


def age_words(seconds: float) -> str:
    """Write how long ago something was.

    >>> [age_words(seconds) for seconds in (-5, 42, 200, 7300, 90_000, 200_000)]
    ['0 s', '42 s', '3 min', '2 h', '1 day', '2 days']
    """
    for size, unit in _AGES:
        if many := int(seconds // size if seconds > 0 else 0):
            return f"{many:,} {unit}{'s' * (unit == 'day' and many != 1)}"
    return "0 s"


def size_words(size: float) -> str:
    """Write how large something is.

    >>> [size_words(size) for size in (0, 999, 1500, 48_200, 2_000_000, 3.2e10)]
    ['0 bytes', '999 bytes', '1.5 kB', '48 kB', '2.0 MB', '32 GB']
    """
    step = 0
    while size >= _KILO and step < len(_SIZES) - 1:
        size, step = size / _KILO, step + 1
    digits = 1 if step and size < 10 else 0  # noqa: PLR2004  two digits are enough
    return f"{size:,.{digits}f} {_SIZES[step]}"


def _state(one: ListedRun) -> str:
    words = str(one.state).replace("_", " ")
    return f"{words}, pid {one.pid}" if one.pid is not None else words


def _calls(units: Mapping[str, int]) -> str:
    """Say how many calls there are and, where some are owed, how many are done."""
    if "total" not in units:
        return ""
    total = f"{units['total']:,}"
    if "owed" not in units:
        return f"of {total}"
    return f"{units['total'] - units['owed']:,}/{total}" if units["owed"] else total


def _ago(now: float, at: float | None) -> str:
    return "" if at is None else f"{age_words(now - at)} ago"


def _seconds(at: str | None) -> float | None:
    try:
        return None if at is None else datetime.fromisoformat(at).timestamp()
    except (ValueError, OverflowError):
        return None


def _below(one: ListedRun, screen: Screen) -> list[str]:
    """Say below a run's row what came out, what it compares, and what was noted of it."""
    texts = [shortened(one.reason, _LONGEST)] if one.reason is not None else [_came_out(one)]
    texts += [_search(one.search)] if one.search else []
    texts += [_compares(one.axes)] if one.axes else []
    texts += [f"note: {shortened(one.note, _LONGEST)}"] if one.note else []
    return [line for text in texts for line in screen.wrap("   ", text)] + _to_resume(one, screen)


def _came_out(one: ListedRun) -> str:
    if one.search and one.verdict is None:
        return _so_far(one.search)
    if one.verdict is not None:
        return shortened(_INTERVAL.sub("", one.verdict), _LONGEST)
    if owed := one.units.get("owed"):
        return f"{owed:,} call{'s are' if owed > 1 else ' is'} missing{_by_whom(one)}"
    return {
        State.RUNNING: "No verdict before it ends",
        State.UNFINISHED: f"Killed{_by_whom(one)}",
    }.get(one.state, "No verdict is stored: `optimize-eval report` computes it")


def _by_whom(one: ListedRun) -> str:
    return "" if one.command else "; run its command again to resume"


def _to_resume(one: ListedRun, screen: Screen) -> list[str]:
    """Give the command that goes on with what was not finished, in a line of its own, to be pasted."""
    is_open = one.state is not State.RUNNING and (
        one.units.get("owed") or one.state is State.UNFINISHED or one.search
    )
    return ["   to resume:", f"     {screen.fit(one.command)}"] if is_open and one.command else []


def _so_far(search: StoredSearch) -> str:
    """Say what a search has found that is no run yet."""
    best = search.best
    if best is None:
        return f"Unfinished search: its seed {search.seed} is not scored yet"
    seed = f"{search.seed} {search.found[0]['search_mean']:.3f}"
    if not best["found"]:
        return f"Unfinished search: nothing is ahead of {seed} so far"
    return f"Unfinished search: {search.name_of(best)} {best['search_mean']:.3f} is ahead of {seed} so far"


def _search(search: StoredSearch) -> str:
    """Say how far a search came and how it was stopped."""
    ended = f"; {search.sentence}" if search.sentence else ""
    return f"{search.calls:,} of at most {search.budget:,} calls of the search are done{ended}"


def _compares(axes: ComparedAxes) -> str:
    """Name the axes: candidates, evaluators and examples; of a bench its models and tasks."""
    sizes = [f"{name} {many:,}" for name, many in axes.splits.items()]
    on = "" if [*axes.splits] == [SINGLE] else f"on {_names(sizes)}"
    models = [name for name in axes.task_models if name is not None]
    if axes.is_bench:
        parts = [f"models {_names(models)}", on]
        models = []
    else:
        parts = [_names(axes.candidates), f"by {_names(axes.evaluators)}", on]
    parts += [f"with {_names(models)}"] if models else []
    parts += [f"{axes.repeats:,} times"] if axes.repeats > 1 else []
    return " · ".join(filter(None, parts))


def _names(names: Sequence[str]) -> str:
    """List the first of some names.

    >>> _names(["a", "b", "c"]), _names("abcdef")
    ('a, b, c', 'a, b, c and 3 more')
    """
    shown = names if len(names) <= _MOST_NAMES + 1 else names[:_MOST_NAMES]
    more = f" and {len(names) - len(shown):,} more" if len(names) > len(shown) else ""
    return ", ".join(shortened(name, _LONGEST_NAME) for name in shown) + more


def _to_dict(one: ListedRun) -> JsonDict:
    return {
        "run": str(one.folder),
        "state": str(one.state),
        **({"pid": one.pid} if one.pid is not None else {}),
        **({"reason": one.reason} if one.reason is not None else {}),
        "verdict": one.verdict,
        "verdict_state": one.verdict_state,
        "winner": one.winner,
        "note": one.note,
        **({"command": one.command} if one.command else {}),
        "created_at": one.created_at,
        "ended_at": one.ended_at,
        "bytes": one.bytes,
        **({"units": dict(one.units)} if one.units else {}),
        **({"search": one.search.to_dict()} if one.search else {}),
        **(asdict(one.axes) if one.axes else {}),
    }


REMOVAL_SCHEMA = "optimize-eval.removed.v1"

_SHOWN = 5


def question(planned: Sequence[Removal]) -> str:
    """Ask whether it may be done."""
    what = "this run" if len(planned) == 1 else f"these {len(planned):,} runs"
    return "\n".join([*(f" {_on_one_line(_line(one))}" for one in planned), f"remove {what} for good? [y/N]"])


def render_removal(removed: Sequence[Removal]) -> str:
    return "\n".join(f"removed {_on_one_line(_line(one))}" for one in removed)


def removal_to_dict(removed: Sequence[Removal]) -> JsonDict:
    return {
        "schema": REMOVAL_SCHEMA,
        "removed": [
            {
                "run": str(one.folder),
                "bytes": one.bytes,
                "files": list(one.files),
                "left": list(one.others),
            }
            for one in removed
        ],
    }


def _line(one: Removal) -> str:
    many = len(one.files)
    return f"{one.folder}: {many:,} file{'s' * (many != 1)}, {size_words(one.bytes)}{_left(one)}"


def _left(one: Removal) -> str:
    if not one.others:
        return ""
    more = f" and {len(one.others) - _SHOWN:,} more" if len(one.others) > _SHOWN else ""
    return f"; kept, as they are not the run's: {', '.join(one.others[:_SHOWN])}{more}"


def _on_one_line(text: str) -> str:
    return " ".join(text.split())


EVALUATORS_SCHEMA = "optimize-eval.evaluators.v1"


@frozen
class ShippedEvaluator:
    """What `-e @NAME` runs; `also` are the files that its file does not run without."""

    name: str
    language: str
    summary: str
    file: str
    also: Sequence[str]
    command: Sequence[str]


@frozen
class ShippedRubric:
    """What `--rubric @NAME` names."""

    name: str
    summary: str
    file: str


def render_evaluators(
    evaluators: Sequence[ShippedEvaluator], rubrics: Sequence[ShippedRubric], *, screen: Screen
) -> str:
    """Write what each does beside its name, or below it where there is no room."""
    name_width = max(len(evaluator.name) for evaluator in evaluators)
    language_width = max(len(evaluator.language) for evaluator in evaluators)
    lines: list[str] = []
    for evaluator in evaluators:
        head = f" @{evaluator.name:<{name_width}}  {evaluator.language:<{language_width}}  "
        lines += screen.wrap(head, evaluator.summary)
    lines.append(" rubrics of judges: --rubric @NAME")
    for rubric in rubrics:
        lines += screen.wrap(f" @{rubric.name:<{name_width}}  {'rubric':<{language_width}}  ", rubric.summary)
    return "\n".join([*lines, *_which(screen)])


_WHICH = {  # those that differ little: what is compared, case, blanks
    "@string_equals": ("whole reply", "counts", "count"),
    "@accuracy": ("whole reply", "counts", "stripped at the ends"),
    "@exact": ("whole reply", "ignored", "stripped at the ends"),
    "@exact_match": ("whole reply", "ignored", "runs count as one"),
    "@contains": ("any part of it", "ignored", "stripped at the ends"),
    "@substring_contains": ("any part of it", "ignored", "runs count as one"),
    "@multiple_choice": ("first letter", "ignored", "stripped at the ends"),
    "@string_equals_mcqa": ("first letter", "counts", "count"),
}


def _which(screen: Screen) -> list[str]:
    """Say which of the evaluators that differ little to take, in words where a table has no room."""
    compared, case, blanks = zip(*_WHICH.values(), strict=True)
    table = [
        Column("which one?", [*_WHICH], is_name=True),
        Column("compares", compared, is_text=True),
        Column("case", case, is_text=True),
        Column("blanks", blanks, is_text=True),
    ]
    if screen.has_room(table, uncut=True):
        return ["", *layout_table(table, screen)]
    rows = (
        [f" {name}", *screen.wrap("   ", f"{what}; case {letters}; blanks {spaces}")]
        for name, (what, letters, spaces) in _WHICH.items()
    )
    return ["", " which one?", *(line for row in rows for line in row)]


def evaluators_to_dict(
    evaluators: Sequence[ShippedEvaluator], rubrics: Sequence[ShippedRubric]
) -> JsonMapping:
    return {
        "schema": EVALUATORS_SCHEMA,
        "evaluators": [_evaluator_to_dict(one) for one in evaluators],
        "rubrics": [
            {"name": f"@{rubric.name}", "summary": rubric.summary, "file": rubric.file} for rubric in rubrics
        ],
    }


def _evaluator_to_dict(one: ShippedEvaluator) -> JsonDict:
    return {
        "name": f"@{one.name}",
        "language": one.language,
        "summary": one.summary,
        "file": one.file,
        "also": list(one.also),
        "command": list(one.command),
    }


_TITLES = ("line", "rule", "field")
_WIDEST_FIELD = 18
_NARROWEST_DETAIL = 24
_BESIDE = "  "
_BELOW = " " * 6


def render_data_errors(errors: Sequence[JsonMapping], *, screen: Screen) -> str:
    """Lay out errors; where there is no room beside the rest, the detail stands below it."""
    rows = [
        _TITLES,
        *((f"{one['line_number']}", one["rule"], _in_line(one["field"], screen)) for one in errors),
    ]
    number, rule, field = (max(columns(row[index]) for row in rows) for index in range(3))
    field = min(field, _WIDEST_FIELD, screen.width - number - rule - 2 * len(_BESIDE) - 1)
    heads = [f" {row[0]:>{number}}{_BESIDE}{row[1]:<{rule}}{_BESIDE}{padded(row[2], field)}" for row in rows]
    has_room = columns(heads[0]) + len(_BESIDE) + _NARROWEST_DETAIL <= screen.width
    title = f"{heads[0]}{_BESIDE}detail" if has_room else heads[0].rstrip()
    lines = [title, " " + "─" * (screen.width - 2)]
    for head, error in zip(heads[1:], errors, strict=True):
        if has_room:
            lines += screen.wrap(head + _BESIDE, error["detail"])
        else:
            lines += [head.rstrip(), *screen.wrap(_BELOW, error["detail"])]
    return "\n".join(lines)


def _in_line(field: str, screen: Screen) -> str:
    return " ".join(screen.fit(field).split())
