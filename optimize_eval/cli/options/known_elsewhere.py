"""Options and commands that people know from other tools, and what they are called here."""

import re
from collections.abc import Mapping, Sequence
from difflib import get_close_matches

from optimize_eval.base.errors import UsageError

_NO_SUCH_OPTION = re.compile(r"No such option: (--[\w-]+)")

_HERE: Mapping[str, str] = {
    "--parallel": "--concurrency N: calls at once, which there are by default",
    "--model": "--reflection-model MODEL proposes, --judge-model MODEL judges, --task-model NAME is metadata",
    "--evaluator-command": "-e 'bash eval.sh', quoted as one word",
    "--evaluator-url": "-e http://HOST/PATH",
    "--evaluator-cwd": "--cwd DIR",
    "--intake-json": "--rubric FILE, with that JSON in the file",
}
_NEW = "`optimize-eval new` writes files to start from"
_EVALUATE = "`optimize-eval run` compares candidates over data, `optimize-eval score` scores one"
_LIST = "`optimize-eval runs` lists runs, `optimize-eval evaluators list` what ships"
_TEST = "`optimize-eval preflight` checks evaluators before a run, `optimize-eval validate` checks files"
_COMMANDS: Mapping[str, str] = {
    "init": _NEW,
    "create": _NEW,
    "eval": _EVALUATE,
    "evaluate": _EVALUATE,
    "compare": "`optimize-eval run` compares candidates, `optimize-eval diff A B` two runs",
    "list": _LIST,
    "ls": _LIST,
    "test": _TEST,
    "check": _TEST,
    "show": "`optimize-eval report RUN` prints a result again, `optimize-eval view` shows it in a browser",
    "benchmark": "`optimize-eval bench` ranks models by task files",
}


def unknown_command(word: str, *others: str, names: Sequence[str]) -> UsageError:
    """Say which command of ours a word is, that is none."""
    close = get_close_matches(word, names, n=1)
    if word == "help":
        hint = f"optimize-eval {f'{others[0]} ' if [*others] and others[0] in names else ''}--help"
    elif word in _COMMANDS:
        hint = _COMMANDS[word]
    elif close:
        hint = f"did you mean optimize-eval {close[0]}?"
    else:
        hint = f"the commands are {', '.join(names)}"
    return UsageError(f"there is no command {word!r}", hint=hint)


def advice(message: str) -> str | None:
    """Say what an unknown option is called here; None where it is of no other optimizer."""
    unknown = _NO_SUCH_OPTION.match(message)
    return _HERE.get(unknown[1]) if unknown else None
