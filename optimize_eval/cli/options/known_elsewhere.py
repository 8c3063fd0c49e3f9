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
    "--cache-from": "--out DIR goes on with a search: nothing that is recorded is called again",
    "--reuse": "--out DIR goes on with a search: nothing that is recorded is called again",
}


def advice(said: str) -> str | None:
    """Say what an option that there is not is called; None where it is none that people know."""
    found = _NO_SUCH_OPTION.match(said)
    return _HERE.get(found[1]) if found else None
