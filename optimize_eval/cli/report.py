"""`optimize-eval report`: a run's result once more, from its journal; `--check` computes it another way."""

import json
import shlex
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any

import orjson
import typer

from optimize_eval.cli import options, output
from optimize_eval.run.folder import SUMMARY, CannotGoOn
from optimize_eval.run.stored import open_stored

EXAMPLES = """\b
Examples:
  optimize-eval report runs/run-1f3a9c02
  optimize-eval report runs/run-1f3a9c02 --check

\b
Exit codes: 0 done, 1 --check found a difference, 2 no such run, 3 the journal is damaged.
"""

CHECK_SCHEMA = "optimize-eval.check.v1"

_DIFFERS = 1


def report(
    run: Annotated[str, typer.Argument(metavar="RUN", help="The run's folder.")],
    check: Annotated[
        bool, typer.Option("--check", help="Compute means, errors and differences anew, and compare.")
    ] = False,
    as_json: options.Json = False,
) -> None:
    """Print a run's result again; it needs the run's folder and nothing else."""
    from optimize_eval.aggregates.summary import summarise_stored  # noqa: PLC0415  a plain --help needs no statistics
    from optimize_eval.reports import terminal  # noqa: PLC0415

    stored = open_stored(run)
    summary = summarise_stored(stored)
    if check:
        _check(stored.folder, summary, as_json=as_json)
    elif as_json:
        output.emit_json(summary)
    else:
        output.emit(
            terminal.render(output.fitted(summary), width=output.width(), run=shlex.quote(str(stored.folder)))
        )


def _check(folder: Path, summary: Mapping[str, Any], *, as_json: bool) -> None:
    """Compare with what is stored, then let the script speak that shares no code with us."""
    from optimize_eval.aggregates import rederive  # noqa: PLC0415  only here

    try:
        stored = dict(json.loads((folder / SUMMARY).read_bytes()))
    except (OSError, ValueError, TypeError, RecursionError) as error:
        raise CannotGoOn(
            f"{folder / SUMMARY} cannot be read: {error}", hint="write it anew: the run's own command again"
        ) from None
    done = subprocess.run(
        [sys.executable, "-I", rederive.__file__, str(folder)], capture_output=True, text=True, check=False
    )
    if done.returncode not in {0, _DIFFERS}:
        raise CannotGoOn(f"the check broke off: {done.stderr.strip()[-200:]}")
    unlike = [key for key, value in orjson.loads(orjson.dumps(summary)).items() if stored.get(key) != value]
    lines = [f"{key}: summary.json is not what the journal gives" for key in unlike]
    lines += done.stdout.splitlines()
    agrees = not unlike and done.returncode == 0
    if as_json:
        output.emit_json({"schema": CHECK_SCHEMA, "agrees": agrees, "lines": lines})
    else:
        output.emit("\n".join(lines))
    if not agrees:
        raise typer.Exit(_DIFFERS)
