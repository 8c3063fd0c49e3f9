"""Where the evaluators and datasets that ship with the package are.

A wheel carries them under `_shipped`; in a checkout (an editable install) they stand beside the package.
"""

from difflib import get_close_matches
from pathlib import Path

from optimize_eval.errors import UsageError

_PACKAGE = Path(__file__).resolve().parent


def path(name: str) -> Path:
    """Find a shipped file or folder, such as `evaluators/exact_match.py`."""
    for root in (_PACKAGE / "_shipped", _PACKAGE.parent):
        if (root / name).exists():
            return root / name
    raise UsageError(f"nothing called {name} is shipped")


def metric_path(metric: str) -> Path:
    """Find the program of a shipped metric, such as `exact_match`."""
    files = path("evaluators").iterdir()
    programs = {file.stem: file for file in files if file.suffix in {".py", ".sh"} and file.stem[0] != "_"}
    if metric in programs:
        return programs[metric]
    close = get_close_matches(metric, programs, n=1)
    known = ", ".join(f"@{name}" for name in sorted(programs))
    raise UsageError(
        f"no shipped evaluator is called @{metric}",
        hint=f"did you mean @{close[0]}?" if close else f"name one of {known}",
    )
