"""`optimize-eval validate`: say whether data files can be used, and everything that is wrong with them."""

from typing import Annotated, Any

import typer

from optimize_eval.cli import options, output
from optimize_eval.datasets import Reading, read_dataset
from optimize_eval.errors import SHOWN_PROBLEMS, Problem, UsageError

EXAMPLES = """\b
Examples:
  optimize-eval validate train.jsonl val.jsonl
  optimize-eval validate train.jsonl --json

\b
Exit codes: 0 every file is usable, 2 something is wrong.
"""

_ROOT_RULES = frozenset({"bad_type"})


def validate(
    files: Annotated[list[str], typer.Argument(metavar="FILE", help="JSONL datasets, one object a line.")],
    as_json: options.Json = False,
) -> None:
    """Check datasets line by line, all problems at once."""
    readings = [read_dataset(path) for path in files]
    if as_json:
        output.emit_json({"files": [_to_dict(reading) for reading in readings]})
    else:
        for reading in readings:
            _show(reading)
    if wrong := [reading for reading in readings if reading.problems]:
        which = f"{len(wrong)} of {len(files)} files" if len(files) > 1 else "the file"
        raise UsageError(
            f"{which} cannot be used; the first problem is {wrong[0].problems[0]}",
            hint="mend the lines named on stdout, then validate again",
        )


def _show(reading: Reading) -> None:
    if not reading.problems:
        count = len(reading.examples)
        output.emit(f"{reading.path}: ok, {count:,} record{'s' * (count != 1)}")
    for problem in reading.problems[:SHOWN_PROBLEMS]:
        output.emit(str(problem))
    if (more := len(reading.problems) - SHOWN_PROBLEMS) > 0:
        output.emit(f"{reading.path}: and {more:,} more problems")


def _to_dict(reading: Reading) -> dict[str, Any]:
    return {
        "path": reading.path,
        "kind": "dataset",
        "valid": len(reading.examples),
        "ids": [],
        "errors": [_error(problem) for problem in reading.problems],
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
