"""Folders of runs that are made of what another tool wrote: for a report, and two of them to be compared."""

import re
import shlex
import shutil
from collections.abc import Container, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from secrets import token_hex
from tempfile import gettempdir

import typer

from optimize_eval.base.errors import DataError, Problem, UsageError
from optimize_eval.base.names import distinct
from optimize_eval.cli import output
from optimize_eval.cli.command_line import same_command
from optimize_eval.config.foreign_options import (
    Empty,
    Errors,
    MatchedResultsOptions,
    OtherResultsOptions,
    ReadResultsOptions,
)
from optimize_eval.data.foreign_files import OTHER_TOOL
from optimize_eval.foreign import sheet as sheets
from optimize_eval.foreign import stored, tools
from optimize_eval.foreign.rows import OTHER_RESULTS
from optimize_eval.run.preflight.data_files import CheckedFile
from optimize_eval.store.opened_run import StoredRun, open_stored

_ROOM = "results"
_LONGEST_NAME = 80
_SHOWN = 12


def store_runs(
    context: typer.Context, paths: Sequence[str], options: OtherResultsOptions, folder: Path, of_one: str
) -> list[StoredRun]:
    """Store what is in files as a run or, where they are of several tasks, as a run of each in a folder."""
    named = tools.open_files(paths)
    tasks = [options.task] if options.task is not None else named.tasks
    wanted = stored.Wanted(
        as_tool=options.errors is Errors.AS_TOOL,
        baseline=options.baseline,
        systems=options.systems,
        metrics=options.metrics,
        named=_names_of_files(options.as_names, paths),
        shown_as="" if options.out else _arguments(context, paths),
    )
    if len(tasks) == 1:
        return [_store(context, named, options, tasks[0], wanted, folder)]
    if of_one:
        raise UsageError(
            f"{of_one} is about one task, and the files are of {len(tasks)}: {', '.join(tasks[:_SHOWN])}",
            hint="name one with --task",
        )
    names = distinct(re.sub(r"[^\w.-]+", "-", task).strip(".-")[:_LONGEST_NAME] or "task" for task in tasks)
    return [
        _store(context, named, options, task, _for_task(wanted, task), folder / name)
        for task, name in zip(tasks, names, strict=True)
    ]


def _for_task(wanted: stored.Wanted, task: str) -> stored.Wanted:
    return replace(wanted, shown_as=wanted.shown_as and f"{wanted.shown_as} --task {shlex.quote(task)}")


def _store(
    context: typer.Context,
    named: tools.Named,
    options: OtherResultsOptions,
    task: str,
    wanted: stored.Wanted,
    folder: Path,
) -> StoredRun:
    sheet = _read(context, named, options, task)
    lines, unit = stored.lines_of([sheet]), stored.within_unit([sheet])
    run = stored.store(stored.Table(sheet, wanted, lines, unit=unit), folder)
    sheet.close()
    return run


def check_results(path: str) -> CheckedFile | None:
    """Read results of another tool as a report does; None where a file holds none for sure."""
    if not (what := tools.whose(path)):
        return None
    rows = 0
    problems: tuple[Problem, ...] = ()
    try:
        named = tools.open_files([path])
        rows = sum(_count_rows(named, task) for task in named.tasks)
    except DataError as error:
        problems = tuple(error.problems)
    except UsageError as error:
        problems = (Problem(path=path, rule=OTHER_RESULTS, reason=f"{error.message}: {error.hint}"),)
    advice = (
        f": `optimize-eval report {shlex.quote(path)}` says what is better (docs/results-of-other-tools.md)"
    )
    about = Problem(path=path, rule=OTHER_TOOL, reason=f"it holds {what}{'' if problems else advice}")
    return CheckedFile(path=path, kind=OTHER_TOOL, count=rows, problems=problems, notes=(about,))


def _count_rows(named: tools.Named, task: str) -> int:
    sheet = sheets.Sheet()
    try:
        tools.read_files(named, sheet, task)
        return sheet.rows
    finally:
        sheet.close()


def _arguments(context: typer.Context, paths: Sequence[str]) -> str:
    """Write what a report is of: the files, and how they were asked to be read."""
    begin = f"{context.command_path} "
    command = same_command()
    return command.removeprefix(begin) if command.startswith(begin) else shlex.join(paths)


def store_two(
    context: typer.Context,
    before: str,
    after: str,
    options: MatchedResultsOptions,
    foreign: Container[str],
) -> tuple[str, str]:
    read = {
        path: _read(context, tools.open_files([path]), options, options.task)
        for path in (before, after)
        if path in foreign
    }
    _check_common(read)
    pairs = (before, after), (after, before)
    known = [_lines_in_run(path, other) for path, other in pairs if path not in foreign]
    lines, unit = stored.lines_of(read.values(), *known), stored.within_unit(read.values())
    folders: dict[str, Path] = {}
    systems: list[Sequence[str]] = []
    for path, sheet in read.items():
        wanted = stored.Wanted(
            as_tool=options.errors is Errors.AS_TOOL,
            metrics=options.metrics,
            renamed=_read_map(options.maps) if path == before else {},
            shown_as=shlex.quote(path),
        )
        folders[path] = folder_for_now(context) / Path(path).name
        table = stored.Table(sheet, wanted, lines, unit=unit)
        systems.append(table.systems.candidates)
        stored.store(table, folders[path])
    _propose_map(*systems)
    return str(folders.get(before, before)), str(folders.get(after, after))


def _check_common(read: Mapping[str, sheets.Sheet]) -> None:
    """Refuse files that nothing can be compared of: those of other tools, or of other tasks."""
    names = [*read]
    for what, of in (("metric", lambda sheet: sheet.evaluators), ("task", lambda sheet: [sheet.task])):
        listed = [of(sheet) for sheet in read.values()]
        if len(listed) > 1 and set(listed[0]).isdisjoint(listed[1]):
            first, second = (", ".join(map(repr, each[:_SHOWN])) for each in listed)
            raise UsageError(
                f"{names[0]} and {names[1]} have no {what} in common: {first} and {second}",
                hint="compare results of one tool, of the same tests",
            )


def _propose_map(*systems: Sequence[str]) -> None:
    """Say how to compare the one system of each whose name is not in the other."""
    if len(systems) < len(("before", "after")):
        return
    before, after = systems
    old, new = (
        [name for name in names if name not in others] for names, others in ((before, after), (after, before))
    )
    if len(old) == len(new) == 1:
        pair = shlex.quote(f"{old[0]}={new[0]}")
        output.say(
            f"note: {old[0]} is in the first only, {new[0]} in the second only: --map {pair} compares them"
        )


def folder_for_now(context: typer.Context) -> Path:
    """Make a folder that goes when the command ends; its end is seen to before it is there."""
    folder = Path(gettempdir(), f"optimize-eval-{token_hex(8)}")
    context.call_on_close(partial(shutil.rmtree, folder, ignore_errors=True))
    folder.mkdir(mode=0o700)
    return folder / _ROOM


def _read(
    context: typer.Context, named: tools.Named, options: ReadResultsOptions, task: str | None
) -> sheets.Sheet:
    read = sheets.Sheet(id_column=options.id_column, skips_empty=options.empty is Empty.SKIP)
    context.call_on_close(read.close)
    tools.read_files(named, read, task)
    return read


def _lines_in_run(run: str, other: str) -> Mapping[str, int]:
    """Find the lines of examples in a run that results of another tool were kept in."""
    document = open_stored(run).document
    if not document.origin:
        raise UsageError(
            f"the examples of {run} cannot be matched with those of {other}",
            hint="compare results with results, or with a run that `report FILE --out RUN` made",
        )
    return stored.known_lines(document)


def _read_map(given: Sequence[str]) -> Mapping[str, str]:
    pairs = [pair.partition("=") for pair in given]
    if wrong := ["".join(pair) for pair in pairs if not all(part.strip() for part in pair)]:
        raise UsageError(f"--map {wrong[0]}: this is not OLD=NEW", hint="write the names of two systems")
    return {old: new for old, _, new in pairs}


def _names_of_files(given: Sequence[str], paths: Sequence[str]) -> Mapping[int, str]:
    named: dict[int, str] = {}
    for pair in given:
        name, equals, path = pair.partition("=")
        if not name.strip() or not equals or path not in paths:
            raise UsageError(
                f"--as {pair}: this is not NAME=FILE for one of the files", hint=f"write --as NAME={paths[0]}"
            )
        named[paths.index(path)] = name.strip()
    return named
