"""What ships: which version this is, where its evaluators and datasets are, and what they say of themselves.

A wheel carries them under `_shipped`; in a checkout (an editable install) they stand beside the package.
"""

import re
from difflib import get_close_matches
from pathlib import Path

from optimize_eval.base.errors import UsageError

LANGUAGES = {".py": "Python", ".sh": "sh"}  # by suffix, of what `@NAME` can name

_PACKAGE = Path(__file__).resolve().parents[1]
_SHARED = r"(?m)^(?:from|import) (_[a-z]\w*)\b"
_BEFORE_WORDS = r'(?:#!.*\n)?[^\w"]*(?:r?""")?'  # the sign of a comment or of a docstring
_SENTENCE_END = r'(?<=[.?!])\s|\n|"""'
_TITLE = r"^[\w ,-]+: "


def path(name: str) -> Path:
    """Find a shipped file or folder, such as `evaluators/exact_match.py`."""
    for root in (_PACKAGE / "_shipped", _PACKAGE.parent):
        if (root / name).exists():
            return root / name
    raise UsageError(f"nothing called {name} is shipped")


def programs() -> dict[str, Path]:
    """Find the programs that `@NAME` can name, by their names."""
    files = sorted(path("evaluators").iterdir())
    return {file.stem: file for file in files if file.suffix in LANGUAGES and file.stem[0] != "_"}


def metric_path(metric: str) -> Path:
    """Find the program of a shipped metric, such as `exact_match`."""
    metrics = programs()
    if metric in metrics:
        return metrics[metric]
    close = get_close_matches(metric, metrics, n=1)
    names = ", ".join(f"@{name}" for name in sorted(metrics))
    raise UsageError(
        f"no shipped evaluator is called @{metric}",
        hint=f"did you mean @{close[0]}?" if close else f"name one of {names}",
    )


def rubrics() -> dict[str, Path]:
    """Find the rubrics that `--rubric @NAME` can name, by their names."""
    return {file.stem: file for file in sorted(path("evaluators/rubrics").glob("*.toml"))}


def rubric_path(name: str) -> Path:
    """Find a shipped rubric, such as `factuality`."""
    known = rubrics()
    if name in known:
        return known[name]
    names = ", ".join(f"@{known_name}" for known_name in known)
    raise UsageError(f"no shipped rubric is called @{name}", hint=f"name one of {names}")


def shared_by(program: Path) -> tuple[Path, ...]:
    """Find the modules beside a shipped program that it cannot run without, and those that these need."""
    files: dict[Path, None] = {}
    unread = [program] if program.suffix == ".py" else []
    while unread:
        modules = re.findall(_SHARED, unread.pop(0).read_text(encoding="utf-8"))
        beside = [program.with_name(f"{module}.py") for module in modules]
        unread += (new := [file for file in dict.fromkeys(beside) if file not in files and file.exists()])
        files |= dict.fromkeys(new)
    return tuple(files)


def summary_of(program: Path) -> str:
    """Read what a shipped program does: its first sentence, without the title before it."""
    words = re.sub(_BEFORE_WORDS, "", program.read_text(encoding="utf-8"), count=1)
    return re.sub(_TITLE, "", re.split(_SENTENCE_END, words, maxsplit=1)[0]).strip()


VERSION = "0.1.0"
