"""`optimize-eval validate`: whether datasets and sweep files can be used, and everything that is wrong."""

from enum import StrEnum
from typing import TYPE_CHECKING, Annotated, Any

import typer

from optimize_eval.cli import options, output
from optimize_eval.errors import SHOWN_PROBLEMS, Problem, UsageError
from optimize_eval.sweep import SUFFIX

if TYPE_CHECKING:
    from optimize_eval.preflight.sweep_files import Checked

EXAMPLES = """\b
Examples:
  optimize-eval validate train.jsonl val.jsonl
  optimize-eval validate train.jsonl --json
  optimize-eval validate sweep.toml

\b
Exit codes: 0 every file is usable, 2 something is wrong.
"""

_ROOT_RULES = frozenset({"bad_type"})


class Format(StrEnum):
    """What a file is taken for."""

    DATASET = "dataset"
    SWEEP = "sweep"


def validate(
    files: Annotated[
        list[str], typer.Argument(metavar="FILE", help="JSONL datasets, one object a line, or sweep files.")
    ],
    kind: Annotated[
        Format | None, typer.Option("--format", help="What the files are (.toml: sweep, else dataset).")
    ] = None,
    as_json: options.Json = False,
) -> None:
    """Check datasets line by line, and sweep files with every file that they name; all problems at once."""
    checked = [one for path in files for one in _checked(path, kind)]
    if as_json:
        output.emit_json({"files": [_to_dict(one) for one in checked]})
    else:
        for one in checked:
            _show(one)
    if wrong := [one for one in checked if one.problems]:
        which = f"{len(wrong)} of {len(checked)} files" if len(checked) > 1 else "the file"
        raise UsageError(
            f"{which} cannot be used; the first problem is {wrong[0].problems[0]}",
            hint="mend the lines named on stdout, then validate again",
        )


def _checked(path: str, kind: Format | None) -> "list[Checked]":
    from optimize_eval.preflight.sweep_files import check_dataset, check_sweep  # noqa: PLC0415  not for --help

    is_sweep = kind is Format.SWEEP or (kind is None and path.endswith(SUFFIX))
    return check_sweep(path) if is_sweep else [check_dataset(path)]


def _show(one: "Checked") -> None:
    if not one.problems:
        output.emit(f"{one.path}: ok, {_count(one)}")
    for problem in one.problems[:SHOWN_PROBLEMS]:
        output.emit(str(problem))
    if (more := len(one.problems) - SHOWN_PROBLEMS) > 0:
        output.emit(f"{one.path}: and {more:,} more problems")


def _count(one: "Checked") -> str:
    what = {"dataset": "record", "sweep": "evaluator", "candidates": "candidate"}[one.kind]
    return f"{one.count:,} {what}{'s' * (one.count != 1)}"


def _to_dict(one: "Checked") -> dict[str, Any]:
    return {
        "path": one.path,
        "kind": one.kind,
        "valid": one.count,
        "ids": [],
        "errors": [_error(problem) for problem in one.problems],
    }


def _error(problem: Problem) -> dict[str, Any]:
    return {
        "line_number": problem.line,
        "task_id": "?",
        "rule": problem.rule,
        "field": "_root" if problem.rule in _ROOT_RULES else "_line",
        "detail": problem.reason,
        "column": problem.column,
    }
