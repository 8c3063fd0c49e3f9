"""`optimize-eval validate`: whether datasets, task files and sweep files can be used; all that is wrong."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from optimize_eval.base.documents import JsonDict
from optimize_eval.base.errors import SHOWN_PROBLEMS, Problem, UsageError
from optimize_eval.cli import groups, output
from optimize_eval.cli.foreign_folders import check_results
from optimize_eval.config.values import SUFFIX
from optimize_eval.data.foreign_files import OTHER_TOOL
from optimize_eval.foreign.tools import whose
from optimize_eval.reports.terminal.lists import render_data_errors
from optimize_eval.run.preflight.data_files import (
    CheckedFile,
    check_data,
    has_checks,
    other_tool_of,
    with_leaks,
)
from optimize_eval.store.layout import LeakedRow

EXAMPLES = """\b
Examples:
  optimize-eval validate train.jsonl val.jsonl
  optimize-eval validate tasks.jsonl --json
  optimize-eval validate sweep.toml tasks/

\b
Without --format, a file named *.toml is a sweep file, *.yaml or *.yml a task.
Records with task_id or metric_name make a task file (spec), those with metric
too (examples). What holds another tool's results can be reported. Everything
else is a dataset.

\b
Exit codes: 0 every file is usable, 2 something is wrong.
"""

_ROOT_RULES = frozenset({"bad_type"})
_YAML = (".yaml", ".yml")


class DataFormat(StrEnum):
    """What a file is taken for."""

    DATASET = "dataset"
    SPEC = "spec"
    EXAMPLES = "examples"
    TASK_YAML = "task_yaml"
    SWEEP = "sweep"


def validate(
    files: Annotated[
        list[str],
        typer.Argument(
            metavar="FILE|DIR",
            help="Datasets, task files or folders of them, sweep files.",
        ),
    ],
    kind: Annotated[
        DataFormat | None,
        typer.Option("--format", metavar="FORMAT", help=f"One of {', '.join(DataFormat)}."),
    ] = None,
    as_json: groups.Json = False,
) -> None:
    """Check data and task files line by line, and sweep files with what they name; all problems at once."""
    checked = [file for path, folder in _each(files) for file in _check_file(path, folder, kind)]
    apart = [file for file in checked if not file.split]  # of a sweep's files it is known
    if sum(bool(file.rows) for file in apart) > 1:
        known = iter(with_leaks(apart))
        checked = [file if file.split else next(known) for file in checked]
    if as_json:
        output.emit_json({"files": [_to_dict(file) for file in checked]})
    else:
        for file in checked:
            _show(file)
    if wrong := [file for file in checked if file.first_problem]:
        which = f"{len(wrong)} of {len(checked)} files" if len(checked) > 1 else "the file"
        first = (
            "" if _has_one_line(wrong) and not as_json else f"; the first problem is {wrong[0].first_problem}"
        )
        raise UsageError(f"{which} cannot be used{first}", hint=_next_step(wrong, kind))


def _each(files: Sequence[str]) -> Iterator[tuple[str, str]]:
    """Give files, and the task files of folders with these."""
    for path in files:
        if not Path(path).is_dir() or whose(path):
            yield path, ""
            continue
        from optimize_eval.run.bench_files import tasks_in  # noqa: PLC0415  few name a folder

        yield from tasks_in(path, output.say)


def _check_file(path: str, folder: str, kind: DataFormat | None) -> list[CheckedFile]:
    """Check a file as what it is; what cannot be reported as another tool's results may be used otherwise."""
    results = check_results(path) if kind is None else None
    if results and not results.problems:
        return [results]
    checked = _check_as_data(path, folder, kind)
    if results and any(file.first_problem for file in checked):
        return [results]
    return [replace(file, notes=(*file.notes, *results.problems)) for file in checked] if results else checked


def _check_as_data(path: str, folder: str, kind: DataFormat | None) -> list[CheckedFile]:
    is_sweep = kind is DataFormat.SWEEP or (kind is None and path.endswith(SUFFIX))
    is_task = kind is DataFormat.TASK_YAML or (kind is None and path.endswith(_YAML))
    data = None if is_sweep or is_task else _say_whose(check_data(path, kind), kind)
    if data and not any(map(has_checks, data.rows)):
        return [data]
    from optimize_eval.run.preflight import files_checked  # noqa: PLC0415  it loads YAML, and evaluators

    if data:
        return [files_checked.with_checks(data)]
    if is_sweep:
        return files_checked.check_sweep(path)
    return [_say_whose(files_checked.check_definition(path, folder), kind)]


def _say_whose(checked: CheckedFile, kind: DataFormat | None) -> CheckedFile:
    """Say whose a file is that cannot be used, unless its form is given."""
    return other_tool_of(checked) if kind is None else checked


def _has_one_line(wrong: Sequence[CheckedFile]) -> bool:
    """Return True if all that is wrong was shown in one line, which says where; a table is cut to fit."""
    (first, *others) = wrong
    return not others and not first.errors and len(first.problems) == 1


def _next_step(wrong: Sequence[CheckedFile], kind: DataFormat | None) -> str:
    """Ask nobody to fix what is right for the tool that it was written for."""
    if all(file.kind == OTHER_TOOL for file in wrong):
        return "nothing in it is wrong for that tool: do what is said there, then validate what comes of it"
    lines = "line" if _has_one_line(wrong) else "lines"
    return f"fix the {lines} listed above, then validate again" + _other_format(wrong, kind)


def _other_format(wrong: Sequence[CheckedFile], kind: DataFormat | None) -> str:
    """Say how a dataset that only looks like a task file is checked."""
    is_guess = kind is None and any(file.errors for file in wrong)
    return "; a plain dataset: --format dataset" if is_guess else ""


def _show(file: CheckedFile) -> None:
    if not file.first_problem:
        output.emit(f"{file.path}: ok, {_count(file)}")
    if file.copied:
        output.emit(f"{file.path}: {file.copied}")
    if file.leaked:
        output.emit(f"{file.path}: leak: {file.leaked}")
    for problem in file.problems[:SHOWN_PROBLEMS]:
        output.emit(str(problem))
    if (more := len(file.problems) - SHOWN_PROBLEMS) > 0:
        output.emit(f"{file.path}: and {more:,} more problems; --json lists all")
    for note in file.notes[:SHOWN_PROBLEMS]:
        output.emit(f"note: {note}")
    if (more := len(file.notes) - SHOWN_PROBLEMS) > 0:
        output.emit(f"{file.path}: and {more:,} more notes; --json lists all")
    if file.errors:
        _show_errors(file)


def _show_errors(file: CheckedFile) -> None:
    shown = [error.to_dict() for error in file.errors[:SHOWN_PROBLEMS]]
    output.emit(render_data_errors(shown, screen=output.screen()))
    if (more := len(file.errors) - SHOWN_PROBLEMS) > 0:
        output.emit(f"{file.path}: and {more:,} more problems; --json lists all")
    wrong, every = len(file.errors), len(file.errors) + file.count
    output.emit(f"{file.path}: {wrong:,} of {every:,} {_NOUNS[file.kind]}s cannot be used")


_NOUNS = {
    "dataset": "record",
    "sweep": "evaluator",
    "candidates": "candidate",
    "prompts": "prompt",
    "spec": "task",
    "examples": "example",
    "task_yaml": "task",
    OTHER_TOOL: "result",
}


def _count(file: CheckedFile) -> str:
    return f"{file.count:,} {_NOUNS[file.kind]}{'s' * (file.count != 1)}"


def _to_dict(file: CheckedFile) -> JsonDict:
    return {
        "path": file.path,
        "kind": file.kind,
        "valid": file.count,
        "ids": list(file.ids),
        "copies": [{"line_number": line, "of": first} for line, first in file.copies.items()],
        **({"leaks": [_leak(row) for row in file.leaks]} if file.leaks else {}),
        "errors": [*map(_error, file.problems), *(error.to_dict() for error in file.errors)],
        **({"notes": [*map(_note, file.notes)]} if file.notes or file.kind == DataFormat.TASK_YAML else {}),
    }


def _leak(row: LeakedRow) -> JsonDict:
    of = {"path": row.split, "line_number": row.like}
    return {"line_number": row.line, "of": of, "how": row.how, "similarity": row.similarity}


def _error(problem: Problem) -> JsonDict:
    return {
        "line_number": problem.line,
        "task_id": "?",
        "rule": problem.rule,
        "field": problem.field or ("_root" if problem.rule in _ROOT_RULES else "_line"),
        "detail": problem.reason,
        "column": problem.column,
        **({"path": problem.path} if problem.field else {}),  # it may be another file
    }


def _note(note: Problem) -> JsonDict:
    return {key: value for key, value in _error(note).items() if key not in {"task_id", "rule"}}
