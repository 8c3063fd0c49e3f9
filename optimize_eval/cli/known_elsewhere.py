"""Options and commands that people know from other tools, and what they are called here.

What a shell offers after Tab where an option's value is one of ours; for the rest it offers files.
"""

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from difflib import get_close_matches
from pathlib import Path

from optimize_eval.base import shipped
from optimize_eval.base.errors import UsageError

QUOTE = "an option takes one value: quote a pattern, 'prompts/*.txt', or your shell makes many words of it"

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


def advice(message: str, command: str) -> str:
    """Say what to do about a command line that is refused; options of other optimizers have names here."""
    unknown = _NO_SUCH_OPTION.match(message)
    if unknown and unknown[1] in _HERE and command.endswith(" optimize"):
        return _HERE[unknown[1]]
    return QUOTE if "unexpected extra argument" in message else f"{command} --help"


_RUNS = Path("runs")
_MODELS = ("toy", "silent", "cmd:", "replay:", "http://", "https://")
_EVALUATORS = ("task:", "judge:", "http://", "https://")


def complete_run(incomplete: str) -> list[str]:
    """Offer the runs under runs/."""
    from optimize_eval.store.folder import MANIFEST  # noqa: PLC0415  a plain --help completes nothing

    return _match_beginning((str(path.parent) for path in sorted(_RUNS.glob(f"*/{MANIFEST}"))), incomplete)


def complete_model(incomplete: str) -> list[str]:
    """Offer what a model's text can begin with."""
    from optimize_eval.models.providers import PROVIDERS  # noqa: PLC0415  see above

    return _match_beginning([*_MODELS, *(f"{name}/" for name in PROVIDERS)], incomplete)


def complete_evaluator(incomplete: str) -> list[str]:
    """Offer the evaluators that ship, and what other kinds begin with."""
    return _match_beginning([*(f"@{name}" for name in _list_shipped()), *_EVALUATORS], incomplete)


def complete_shipped(incomplete: str) -> list[str]:
    """Offer the names of evaluators that ship, with or without their @."""
    return _match_beginning(
        (f"{'@' * incomplete.startswith('@')}{name}" for name in _list_shipped()), incomplete
    )


BY_METAVAR: Mapping[str, Callable[[str], list[str]]] = {
    "RUN": complete_run,
    "RUN|auto": complete_run,
    "BENCH": complete_run,
    "MODEL": complete_model,
    "SPEC": complete_evaluator,
}


def _list_shipped() -> Iterable[str]:
    return shipped.programs()


def _match_beginning(words: Iterable[str], incomplete: str) -> list[str]:
    return [word for word in words if word.startswith(incomplete)]
