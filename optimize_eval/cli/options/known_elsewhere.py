"""Options that people know from other optimizers, and what they are called here."""

import re
from collections.abc import Mapping

_NO_SUCH_OPTION = re.compile(r"No such option: (--[\w-]+)")

_HERE: Mapping[str, str] = {
    "--parallel": "--concurrency N: calls at once, which there are by default",
    "--model": "--reflection-model MODEL proposes, --judge-model MODEL judges, --task-model NAME is metadata",
    "--evaluator-command": "-e 'bash eval.sh', quoted as one word",
    "--evaluator-url": "-e http://HOST/PATH",
    "--evaluator-cwd": "--cwd DIR",
    "--intake-json": "--rubric FILE, with that JSON in the file",
}


def advice(message: str) -> str | None:
    """Say what an unknown option is called here; None where it is of no other optimizer."""
    unknown = _NO_SUCH_OPTION.match(message)
    return _HERE.get(unknown[1]) if unknown else None
