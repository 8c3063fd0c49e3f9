"""What a run refuses: scores by another program, model or task of the same name would be mixed."""

import shlex
from collections.abc import Iterable, Mapping
from typing import Any

from optimize_eval.base.errors import UsageError
from optimize_eval.store.manifest import listed

_TASK = "task:"  # what the text of an evaluator begins with that scores by a task
_IN_YAML = (".yaml", ".yml")


def kind_of(evaluator: Mapping[str, Any]) -> str:
    return "scorer" if evaluator["text"].startswith(_TASK) else "evaluator"


def contradiction(changes: Mapping[str, str], texts: Iterable[str]) -> UsageError:
    """Refuse changes, by the names of what is another now; `texts` are those of the evaluators among them."""
    options = " ".join(f"--replace {shlex.quote(name)}" for name in changes)
    head, call = _words(list(texts))
    return UsageError(
        "\n".join([head, *listed([*changes.values()])]),
        hint=f"{call} {options}, choose another folder with --out, or start over with --fresh",
    )


def _words(texts: list[str]) -> tuple[str, str]:
    if not texts or not all(text.startswith(_TASK) for text in texts):
        return "the run has scores by another program of the same name:", "call the new one with"
    files = dict.fromkeys(map(_file_of, texts))
    named = ", ".join(files)
    what = f"the task {named} has" if len(files) == 1 else f"the tasks {named} have"
    return f"{what} changed since these scores were made:", "score by what is there now with"


def _file_of(text: str) -> str:
    """Name the file of a task, which may have blanks; behind one in YAML stands the key of a scorer."""
    whole = text.removeprefix(_TASK)
    file = whole.rpartition(" ")[0]
    return file if file.endswith(_IN_YAML) else whole
